"""The fields of a class of the project by what is written: their names, their types, and which of them can hold no text of a
stranger."""

from __future__ import annotations

from typing import Final

from tools_check import _classes, _eval, _types
from tools_check._ir import Node, dotted, walk
from tools_check._run import Frame, Run
from tools_check._values import (
    Cls,
    Ext,
    Func,
    Typed,
    Value,
    sorted_refs,
)  # fmt: skip


def fields(run: Run, cls: Cls) -> list[tuple[str, Node, Frame]]:
    """The annotated fields in order of definition, those of the bases first."""
    known = run.fields.get(cls)
    if known is not None:
        return known
    found = written_fields(run, cls)
    if cls in run.mros and all(base in run.class_env for base in run.mros[cls][0]):
        run.fields[cls] = found
    return found


def written_fields(run: Run, cls: Cls) -> list[tuple[str, Node, Frame]]:
    out: dict[str, tuple[str, Node, Frame]] = {}
    for owner in reversed(_classes.mro(run, cls)[0]):
        found = _classes.definition(run, owner)
        if found is None:
            continue
        module, index = found
        frame = _classes.class_frame(run, module, owner)
        for name in run.record_names.get(owner, ()):
            out[name] = (name, ("n", "object"), frame)
        for base in module.ir.classes[index].bases:
            if base[0] == "s" and (dotted(base[1]) or "").rpartition(".")[2] == "RootModel":
                out["root"] = ("root", base[2], frame)
        for statement in module.ir.classes[index].body:
            if statement[1] == "ann" and statement[2][0] == "n":
                annotation = statement[3]
                if annotation[0] == "s" and (dotted(annotation[1]) or "").endswith("ClassVar"):
                    continue
                out[statement[2][1]] = (statement[2][1], annotation, frame)
    return list(out.values())


def keeps_extras(run: Run, cls: Cls) -> bool:
    """Whether a model keeps what it has no field for (`extra="allow"`)."""
    for owner in _classes.mro(run, cls)[0]:
        found = _classes.definition(run, owner)
        if found is None:
            continue
        classes = found[0].ir.classes
        written = classes[found[1]]
        if ("extra", ("k", "allow")) in written.keywords:
            return True
        settings: list[Node] = [s for s in written.body if s[1] == "=" and s[2][0] == ("n", "model_config")]
        inner: list[int] = [s[2] for s in written.body if s[1] == "class"]
        settings += [classes[i].body for i in inner if classes[i].name == "Config"]
        if any(node == ("k", "allow") for part in settings for node in walk(part)):
            return True
    return False


def annotated_field(run: Run, cls: Cls, name: str) -> Value | None:
    """The value of a field that is only annotated."""
    for field_name, annotation, frame in fields(run, cls):
        if field_name == name:
            return _types.typed(run, frame, annotation)
    return None


def is_plain_field(run: Run, cls: Cls, name: str) -> bool:
    """Whether a field of a record is, by its type, a number, a truth value, a date or the like: no text of anybody."""
    if not _classes.shows_fields(run, cls) or _classes.is_exception(run, cls):
        return False
    return any(
        field_name == name and is_plain(run, frame, annotation) for field_name, annotation, frame in fields(run, cls)
    )


def is_plain(run: Run, frame: Frame, annotation: Node, depth: int = 0) -> bool:
    """Whether every value of an annotation is a number, a truth value, a date, an enum of ours, or None."""
    if depth > 4:
        return False
    if annotation[0] == "k":
        node = _types.name_node(annotation[1]) if isinstance(annotation[1], str) else None
        return annotation[1] is None or (node is not None and is_plain(run, frame, node, depth + 1))
    if annotation[0] == "b" and annotation[1] == "BitOr":
        return all(is_plain(run, frame, annotation[i], depth + 1) for i in (2, 3))
    if annotation[0] == "s":
        name = (dotted(annotation[1]) or "").rpartition(".")[2]
        items: tuple[Node, ...] = annotation[2][1] if annotation[2][0] == "t" else (annotation[2],)
        if name == "Annotated":
            return is_plain(run, frame, items[0], depth + 1)
        return name in ("Optional", "Union", "Final") and all(is_plain(run, frame, i, depth + 1) for i in items)
    refs = sorted_refs(_eval.evaluate(run, frame, annotation)) if annotation[0] in ("n", "a") else ()
    return bool(refs) and all(is_plain_type(run, frame, ref, depth) for ref in refs)


def is_plain_type(run: Run, frame: Frame, ref: object, depth: int) -> bool:
    if isinstance(ref, Cls):
        return _classes.is_enum(run, ref)
    if isinstance(ref, Typed):
        return is_plain(run, _types.frame_of(run, ref) or frame, ref.node, depth + 1)
    return isinstance(ref, Ext) and (ref.qname in _classes.SAFE_TYPES or _types.is_wrapper(run, ref))


def maker(run: Run, cls: Cls, name: str) -> Value | None:
    """What makes the default of a field out of the instance: `Factory(f, takes_self=True)`, `@name.default`."""
    if not {d.rpartition(".")[2] for d in _classes.decorators(run, cls)} & ATTRS:
        return None
    for owner in _classes.mro(run, cls)[0]:
        found = _classes.definition(run, owner)
        if found is None:
            continue
        module, index = found
        for method in module.methods(index):
            written = module.ir.defs[method]
            if ("a", ("n", name), "default") in [d[:3] for d in written.decorators]:
                value = run.class_env.get(owner, {}).get(written.name)
                return value if value is not None and any(isinstance(r, Func) for r in value.refs) else None
        for s in module.ir.classes[index].body:
            target, default = (s[2], s[4]) if s[1] == "ann" else (s[2][0], s[3]) if s[1] == "=" else (None, None)
            if target != ("n", name) or default is None:
                continue
            for node in walk(default):
                if node[0] == "x" and node[3] and any(w == "takes_self" and v == ("k", True) for _, w, v in node[3]):
                    return _eval.evaluate(run, _classes.class_frame(run, module, owner), node[3][0][2])
    return None


ATTRS: Final = frozenset({"define", "frozen", "mutable", "s", "attrs", "attributes"})


def hidden_fields(run: Run, cls: Cls) -> set[str]:
    """The fields that writing out an instance leaves out: `field(repr=False)`."""
    out: set[str] = set()
    for owner in _classes.mro(run, cls)[0]:
        found = _classes.definition(run, owner)
        for s in found[0].ir.classes[found[1]].body if found is not None else ():
            default: Node = (s[4] if s[1] == "ann" and s[2][0] == "n" else None) or ("k", None)
            if default[0] == "x" and any(word == "repr" and value == ("k", False) for _, word, value in default[3]):
                out.add(s[2][1])
    return out
