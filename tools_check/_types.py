"""From an annotation to the value that a parameter or field of that type may be; follows names, guesses
nothing."""

from __future__ import annotations

from typing import Final

from tools_check import _classes, _eval
from tools_check._ir import Node
from tools_check._run import Frame, Run
from tools_check._values import (
    CLEAN,
    DATA,
    EMPTY,
    NO_CONSTS,
    Cls,
    Data,
    Ext,
    Method,
    Obj,
    Typed,
    Value,
    join,
    of,
    sorted_refs,
    with_labels,
)

ELEMENTS: Final = frozenset(
    {"list", "List", "Sequence", "Iterable", "Iterator", "set", "Set", "frozenset", "tuple", "Tuple",
     "Collection",
     "AsyncIterator", "AsyncIterable", "Generator", "AsyncGenerator", "deque", "Deque", "MutableSequence"}
)  # fmt: skip
MAPPINGS: Final = frozenset({"dict", "Dict", "Mapping", "MutableMapping", "defaultdict", "OrderedDict", "DefaultDict"})
WRAPPERS: Final = frozenset(
    {"Optional", "Annotated", "Awaitable", "Coroutine", "ClassVar", "Final", "Required", "NotRequired",
     "ReadOnly", "Union", "type", "Type", "SkipValidation", "InstanceOf", "Mapped"}
)  # fmt: skip
CALLABLE: Final = Data("callable")  # something that is called, of which nothing else is known
SCALARS: Final = frozenset({"int", "float", "bool", "complex", "None", "NoneType"})
CONSTRUCTORS: Final = ELEMENTS | MAPPINGS | WRAPPERS | {"Literal", "LiteralString", "Callable"}


def written_type(run: Run, frame: Frame, base: Value, key: Value, value: Value, node: Node) -> Value:
    """What `X[...]` is where X is a type: the type as it is written, for those who read data by it."""
    if any(is_constructor(run, ref) for ref in base.refs):
        literals = join(key, *(item for obj in key.objects() if obj.kind == "tuple" for item in obj.fields.values()))
        named = frozenset({Typed(frame.module.name, frame.owner, node)})
        is_literal = any(isinstance(ref, Ext) and ref.qname.endswith(".Literal") for ref in base.refs)
        return Value(value.labels, value.refs | named, literals.consts if is_literal else NO_CONSTS)
    for ref in base.refs:
        if isinstance(ref, Cls):  # `Page[Issue]`: what a variable of types stands for in some use of the class
            run.type_args[ref] = join(run.type_args.get(ref, EMPTY), *_eval_items(key))
    return value


def _eval_items(key: Value) -> list[Value]:
    tuples = [obj for obj in key.objects() if obj.kind == "tuple"]
    return [item for obj in tuples for item in obj.fields.values()] or [key]


def is_constructor(run: Run, ref: object) -> bool:
    """Whether a name is one that types are made with (`list`, `Literal`)."""
    if not isinstance(ref, Ext):
        return False
    module, _, name = run.catalog.resolve(ref.qname).rpartition(".")
    return name in CONSTRUCTORS and module in (
        "builtins",
        "typing",
        "typing_extensions",
        "collections",
        "collections.abc",
    )


def is_wrapper(run: Run, ref: Ext) -> bool:
    """Whether a name only stands around types (`Optional`), so that what it stands around decides."""
    return is_constructor(run, ref) and ref.qname.rpartition(".")[2] in ("Optional", "Union", "Annotated", "Final")


def frame_of(run: Run, ref: Typed) -> Frame | None:
    """Where the names of a written type are looked up."""
    module = run.project.module(ref.module)
    if module is None:
        return None
    return _classes.class_frame(run, module, ref.owner) if ref.owner is not None else Frame(module, None, None)


def parameter(run: Run, frame: Frame, node: Node | None) -> Value:
    """The value of a parameter with this annotation: instances in it are this call's own."""
    value = typed(run, frame, node)
    views = [
        _classes.typed_parameter(run, ref.cls)
        for ref in value.objects()
        if ref.kind == "inst" and ref is next(iter(run.instances.get(ref.cls, EMPTY).objects()), None)
    ]
    if not views:
        return value
    rest = frozenset(r for r in value.refs if not (r.__class__ is Obj and r.kind == "inst"))
    return join(Value(value.labels, rest, value.consts, exact=value.exact), *views)


def typed(run: Run, frame: Frame, node: Node | None, depth: int = 0) -> Value:
    """The value of something with this annotation."""
    if node is None or depth > 6:
        return EMPTY
    tag = node[0]
    if tag == "k":
        return from_text(run, frame, node[1], depth) if isinstance(node[1], str) else EMPTY
    if tag == "b" and node[1] == "BitOr":
        return join(typed(run, frame, node[2], depth + 1), typed(run, frame, node[3], depth + 1))
    if tag == "s":
        return subscripted(run, frame, node, depth)
    if tag in ("n", "a"):
        return named(run, frame, _eval.evaluate(run, frame, node), depth)
    return EMPTY


def from_text(run: Run, frame: Frame, text: str, depth: int) -> Value:
    """A quoted annotation: only dotted names, `X | None` and `X[...]` are read."""
    text = text.strip()
    if len(text) > 200:
        return EMPTY
    parts = [p.strip() for p in text.split("|")]
    if len(parts) > 1 and "[" not in text:
        return join(*(from_text(run, frame, p, depth + 1) for p in parts))
    head, bracket, rest = text.partition("[")
    node = name_node(head)
    if node is None:
        return EMPTY
    if bracket and rest.endswith("]"):
        inner = tuple(("k", p.strip()) for p in rest[:-1].split(",")) if "[" not in rest else (("k", rest[:-1]),)
        return subscripted(run, frame, ("s", node, inner[0] if len(inner) == 1 else ("t", inner)), depth)
    return typed(run, frame, node, depth + 1)


def name_node(text: str) -> Node | None:
    parts = text.split(".")
    if not all(p.isidentifier() for p in parts):
        return None
    node: Node = ("n", parts[0])
    for part in parts[1:]:
        node = ("a", node, part, 0)
    return node


def subscripted(run: Run, frame: Frame, node: Node, depth: int) -> Value:
    """`X[...]`."""
    head = node[1]
    name = head[2] if head[0] == "a" else head[1] if head[0] == "n" else ""
    items: tuple[Node, ...] = node[2][1] if node[2][0] == "t" else (node[2],)
    if name in ("Literal", "LiteralString"):
        return CLEAN
    if name == "Callable":
        # What calls it gives is known by its type alone; where a function is given, that one is followed instead.
        given = typed(run, frame, items[-1], depth + 1)
        return of(CALLABLE, Method("typed", "", given)) if given.objects() else of(CALLABLE)
    if name in ELEMENTS:
        obj = run.new(frame, "list")
        obj.exact = False
        obj.elem = join(*(typed(run, frame, item, depth + 1) for item in items))
        return of(obj, DATA)
    if name in MAPPINGS:
        obj = run.new(frame, "dict")
        obj.exact = False
        obj.elem = typed(run, frame, items[-1], depth + 1)
        return of(obj, DATA)
    if name in WRAPPERS:
        chosen = items[:1] if name == "Annotated" else items
        return join(*(typed(run, frame, item, depth + 1) for item in chosen))
    value = typed(run, frame, head, depth + 1)
    inner = join(*(typed(run, frame, item, depth + 1) for item in items))
    for obj in value.objects():
        if obj.kind == "foreign":
            obj.elem = join(obj.elem, inner)
        elif obj.kind == "ext":
            obj.fields.setdefault("[type]", inner)
    return value


def named(run: Run, frame: Frame, target: Value, depth: int) -> Value:
    """An instance of whatever class the annotation names."""
    out: list[Value] = []
    written = any(isinstance(ref, Typed) for ref in target.refs)
    for ref in sorted_refs(target):
        if isinstance(ref, Cls):
            out.append(_classes.typed_instance(run, ref))
        elif isinstance(ref, Ext) and not (written and is_constructor(run, ref)):
            out.append(external(run, frame, ref.qname))
        elif isinstance(ref, Typed):
            where = frame_of(run, ref)
            out.append(typed(run, where, ref.node, depth + 1) if where is not None else EMPTY)
        elif isinstance(ref, tuple):
            continue
    return join(*out) if out else EMPTY


def external(run: Run, frame: Frame, qname: str) -> Value:
    """An instance of a class outside."""
    short = qname.rpartition(".")[2]
    module = qname.rpartition(".")[0]
    if module in ("builtins", "typing", "collections.abc", "datetime", "decimal", "uuid", "enum", "types"):
        if short in ("Any", "object", "Callable", "Self", "TypeVar", "Protocol"):
            return EMPTY
        return CLEAN
    qname = run.catalog.resolve(qname)
    if qname == "registry.Foreign":
        obj = run.new(frame, "foreign")
        return of(obj)
    if qname == "registry.ToolDef":
        return of(run.new(frame, "tool"))
    obj = run.new(frame, "ext", qname)
    value = of(obj)
    origin = run.catalog.foreign_type(qname)
    if origin is None:
        return value
    site = (frame.definition.ordinal << 10 | 1023) if frame.definition else 1023
    return with_labels(value, run.source(frame, site, qname, origin))
