"""Runs the stages over a set of files and gives what was seen: tools with their verdicts, and what rules
want to know."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, final

from tools_check import _call, _classes, _described, _exec, _frameworks, _invoke, _offered, _ours
from tools_check._catalog import Catalog
from tools_check._collector import rare_collections
from tools_check._elsewhere import Elsewhere
from tools_check._files import SourceFile
from tools_check._ir import Def, ModuleIR, Node
from tools_check._link import Module, Project, collect_names, last_name
from tools_check._row import Verdict
from tools_check._run import STEPS_PER_ENTRY, Frame, Noted, Run, ToolSeen
from tools_check._spelled import DECORATORS
from tools_check._values import (
    CLEAN,
    EMPTY,
    PLAIN_KINDS,
    Cls,
    Ext,
    Func,
    Import,
    Label,
    Labels,
    Method,
    Obj,
    Partial,
    Value,
    Wrapped,
    flat,
    join,
    join_labels,
    of,
    sorted_refs,
    with_labels,
)  # fmt: skip
from tools_check._worlds import worlds

ROUNDS: Final = 3


@final
@dataclass(slots=True, kw_only=True)
class Judged:
    """A tool and what its handler returns."""

    tool: ToolSeen
    own: Labels
    theirs: Labels
    fenced: bool = False
    cut: bool = False  # the budget ended before the handler did
    handler_path: str = ""
    handler_ordinal: int = -1
    handler_name: str = ""
    module: Module | None = None  # where the tool is defined
    called: frozenset[str] = frozenset()
    whole: bool = True  # the handler was followed to its end

    @property
    def labels(self) -> Labels:
        return join_labels((self.own, self.theirs))

    @property
    def verdict(self) -> Verdict:
        kinds = {root.kind for root in self.labels}
        return "foreign" if "foreign" in kinds else "undecided" if kinds else "own"

    def first(self, kind: str) -> Label | None:
        """The label of this kind with the shortest way."""
        found = [label for root, label in self.labels.items() if root.kind == kind]
        return min(found, key=lambda label: (label.depth, label.root)) if found else None


@final
@dataclass(slots=True, kw_only=True)
class Analysis:
    """All that was found, over every world."""

    tools: list[Judged] = field(default_factory=list[Judged])
    noted: dict[tuple[str, str, int], Noted] = field(default_factory=dict[tuple[str, str, int], Noted])
    too_deep: set[str] = field(default_factory=set[str])
    called: set[tuple[str, int]] = field(default_factory=set[tuple[str, int]])  # functions, by module and number
    cut: set[str] = field(default_factory=set[str])  # files whose top level was too large to follow whole
    hides_ours: bool = False  # a module of the user's own is named `registry`


def analyse(
    files: Iterable[SourceFile],
    roots: Iterable[SourceFile],
    load: Callable[[SourceFile], ModuleIR | None],
    catalog: Catalog,
    tick: Callable[[str], None] = lambda _text: None,
    frameworks: _frameworks.Frameworks | None = None,
    imports: Mapping[str, tuple[str, ...]] | None = None,
    elsewhere: Elsewhere | None = None,
) -> Analysis:
    """Follow the tools that the root files define; with `frameworks`, those of other frameworks too.

    Args:
        imports: what each file imports, by its shown path.
        elsewhere: for a second look, what this run does not hold.
    """
    listed = list(roots)
    found = Analysis()
    with rare_collections():
        for world in worlds(files):
            mine = [source for source in listed if source.shown in world.own]
            run = Run(Project(world.files, load), catalog)
            run.frameworks = frameworks
            run.elsewhere = elsewhere
            for source in world.files:
                for target in (imports or {}).get(source.shown, ()):
                    run.project.users.setdefault(target, []).append(source.name)
            found.hides_ours |= run.project.has_file("registry") and not run.project.has_file("registry._tooldef")
            found.tools += follow_world(run, mine, tick) if mine else []
            for key, noted in run.noted.items():
                found.noted.setdefault(key, noted)
            found.too_deep |= run.too_deep
            found.called |= run.called
            found.cut |= run.cut
    found.tools.sort(key=lambda j: (j.tool.path, j.tool.site))
    return found


def follow_world(run: Run, roots: list[SourceFile], tick: Callable[[str], None]) -> list[Judged]:
    """Follow the tools of files that can import one another."""
    project, frameworks = run.project, run.frameworks
    modules: list[Module] = []
    for source in roots:
        tick(source.shown)
        module = project.module(source.name)
        if module is not None and module.file is source:
            modules.append(module)
    for module in modules:
        budget(run)
        try:
            _exec.run_module(run, module)
        except RecursionError:
            deeper(run, module.path)
    if frameworks is not None:
        _frameworks.find_base_classes(run, project.loaded())
    for module in modules:
        tick(module.path)
        follow_functions(run, module, makers(run, module))
        if frameworks is not None:
            budget(run)
            _frameworks.class_tools(run, module)
            _frameworks.module_tools(run, module)
    if run.elsewhere is not None:
        follow_entries(run, run.elsewhere, modules)
    if frameworks is not None:
        offers(run, modules)
    for module in project.loaded():
        module.forget_spoken()
    judged: list[Judged] = []
    for _ in range(ROUNDS):
        version, known = run.version, len(run.tools)
        run.round += 1
        if run.round > 1 or frameworks is not None:  # what was followed so far holds, but for tools yet to be listed
            run.memo.clear()
        judged = judge_all(run, judged, tick)
        if run.round == 1 and run.elsewhere is None:
            for module in modules:
                follow_functions(run, module, spoken_of(run, module))
        if run.version == version and len(run.tools) == known:
            break
    return judged


def judge_all(run: Run, before: list[Judged], tick: Callable[[str], None]) -> list[Judged]:
    """Judge every tool that is known by now; with `before`, what the round before made of them."""
    known = {id(judged.tool): judged for judged in before}
    out: list[Judged] = []
    for tool in list(run.tools.values()):
        if run.elsewhere is not None and not run.elsewhere.is_asked(tool.path):
            continue
        have = known.get(id(tool))
        # What is foreign stays foreign, and what is too large stays so: only the others can change with what was learned
        # since.
        stays = have is not None and (have.verdict == "foreign" or have.cut)
        out.append(have if have is not None and stays else judge(run, tool, tick))
    return out


def offers(run: Run, modules: list[Module]) -> None:
    """The tools that stand in what a project offers to a model, once all that makes tools has been followed."""
    for module in modules:
        budget(run)
        try:
            _offered.module_offers(run, module)
        except RecursionError:
            deeper(run, module.path)
    budget(run)
    _described.by_schema(run, modules)
    _offered.unfold(run)


def budget(run: Run, steps: int = STEPS_PER_ENTRY) -> None:
    """A new entry has a new budget."""
    run.steps = 0
    run.limit = steps
    run.exhausted = run.ended = False
    Obj.looked = 0


def follow_functions(run: Run, module: Module, chosen: set[int]) -> None:
    """Follow those functions of a module that nobody has followed."""
    run.entry = True
    for index, definition in enumerate(module.ir.defs):
        if definition.parent >= 0 or definition.name == "<lambda>" or index not in chosen:
            continue
        if (module.name, index) in run.visited and run.elsewhere is None:
            continue
        budget(run, STEPS_PER_ENTRY // 3)
        try:
            follow_function(run, module, index, definition)
        except RecursionError:
            deeper(run, module.path)
    run.entry = False


def follow_entries(run: Run, elsewhere: Elsewhere, modules: list[Module]) -> None:
    """Follow the functions that code elsewhere may call."""
    for module in modules:
        if elsewhere.is_asked(module.path):
            follow_functions(run, module, {i for i in range(len(module.ir.defs)) if elsewhere.is_entry(module.name, i)})


def follow_function(run: Run, module: Module, index: int, definition: Def) -> None:
    """Follow a function, or a method on an instance of its class, with arguments of which only the types are known."""
    frame = Frame(module, None, None)
    if definition.owner < 0:
        _invoke.call_with_types(run, frame, Func(module.name, index, None, None, None))
        return
    cls = Cls(module.name, definition.owner)
    if cls not in run.class_env:
        return
    method = _classes.find_method(run, cls, definition.name)
    if method is not None and (method.module, method.at) == (module.name, index):
        kind = _classes.kind_of(definition)
        me = None if kind == "static" else of(cls) if kind == "class" else _classes.typed_instance(run, cls)
        _invoke.call_with_types(run, frame, _classes.bind(method, me) if me is not None else method)


def deeper(run: Run, path: str) -> Value:
    """Give up on one entry: it is undecided, and the run says so. The stack of what was being followed is dropped."""
    run.too_deep.add(path)
    run.exhausted, run.ended, run.dispatching = True, False, None
    run.stack.clear()
    run.active.clear()
    return EMPTY


OURS: Final = frozenset(
    {"ToolDef", "Foreign", "ToolFailed", "refuse", "reply", "fence_untrusted", "handler", "for_program",
     "OwnReply", "MixedReply", "call_tool", "call_tool_sync", "own", "owner", "stranger", "prompt", "unfence_untrusted"}
)  # fmt: skip


def linked_names(run: Run, module: Module, names: frozenset[str]) -> frozenset[str]:
    """Names of the module that stand for functions which build tools elsewhere."""
    out: set[str] = set()
    for name, value in module.env.items():
        for ref in sorted_refs(value):
            if isinstance(ref, Func) and ref.module != module.name:
                other = run.project.module(ref.module)
                if other is not None and ref.at in of_interest(other, names, frozenset()):
                    out.add(name)
    return frozenset(out)


TOOL_ENDINGS: Final = ("Tool", "Toolkit", "ToolBase", "ToolSpec", "Toolset")


def makers(run: Run, module: Module) -> set[int]:
    """The functions of a module in which tools may be built: they are followed before any tool is."""
    ours = frozenset({"ToolDef"})
    others = run.frameworks.short_names if run.frameworks is not None else frozenset[str]()
    known = ours if uses_registry(module) else frozenset[str]()
    found = of_interest(module, known, others) | of_interest(module, linked_names(run, module, ours), frozenset())
    if run.frameworks is None:
        return found
    found |= tool_factories(module, run.frameworks.base_names)
    found |= {outermost(module, index) for index in _offered.offering(module)}
    return found | of_interest(module, frozenset(), registering(run, module))


def registering(run: Run, module: Module) -> frozenset[str]:
    """Names of the module that stand for what makes a tool of a function: a framework's, or a function's of the files."""
    out = {module.ir.defs[at].name for at in handing_on(run, module)}
    for name, value in module.env.items():
        for ref in value.refs:
            qname = f"{ref.module}.{ref.name}" if isinstance(ref, Import) else ref.qname if isinstance(ref, Ext) else ""
            if qname and run.frameworks.is_named(run.catalog.resolve(qname)):
                out.add(name)  # under whatever name it was imported
            elif isinstance(ref, Func) and ref.module != module.name and ref.env is None:
                other = run.project.module(ref.module)
                if other is not None and ref.at in handing_on(run, other):
                    out.add(name)
    return frozenset(out)


def handing_on(run: Run, module: Module) -> set[int]:
    """The functions of a module that hand a parameter of theirs to what makes tools."""
    known = run.handing_on.get(module.name)
    if known is None:
        assert run.frameworks is not None
        names = run.frameworks.givers
        known = run.handing_on[module.name] = {
            index
            for index, spoken in enumerate(module.spoken())
            if not names.isdisjoint(spoken.called)
            and hands_on(module.ir.defs[index].body, names, {p.name for p in module.ir.defs[index].params})
        }
    return known


def hands_on(body: Node, names: frozenset[str], params: set[str]) -> bool:
    """Whether a call of a name, or of what a call of one gives, gets a parameter: `server.tool(...)(bound(f))`."""
    stack: list[Node] = [body]
    while stack:
        node = stack.pop()
        if len(node) == 4 and node[0] == "x":
            callee = node[2]
            if last_name(callee[2] if callee[0] == "x" else callee) in names:
                given: set[str] = set()
                collect_names(node[3], given, set())
                if not params.isdisjoint(given) and (callee[0] == "x" or last_name(callee) not in DECORATORS):
                    return True
        stack.extend(part for part in node if part.__class__ is tuple)
    return False


def tool_factories(module: Module, bases: frozenset[str]) -> set[int]:
    """The outermost functions with a class inside that has methods and inherits from what is called as a tool's base is."""
    out: set[int] = set()
    having = {d.owner for d in module.ir.defs if not d.name.startswith("__") or d.name == "__call__"}
    for index, written in enumerate(module.ir.classes):
        names = {last_name(base) for base in written.bases} if written.parent >= 0 and index in having else set[str]()
        if not names.isdisjoint(bases) or any(name.endswith(TOOL_ENDINGS) for name in names):
            out.add(outermost(module, written.parent))
    return out


def outermost(module: Module, index: int) -> int:
    """The function of a module that another one stands in."""
    while module.ir.defs[index].parent >= 0:
        index = module.ir.defs[index].parent
    return index


def spoken_of(run: Run, module: Module) -> set[int]:
    """The functions of a module that a rule looks at: what a handler calls has been followed by then, with the arguments
    that it really gets.
    """
    ours = OURS | model_names(run, module) if uses_registry(module) else frozenset[str]()
    linked = linked_names(run, module, ours | {"ToolDef"})
    return of_interest(module, ours, frozenset()) | of_interest(module, linked, frozenset())


def model_names(run: Run, module: Module) -> frozenset[str]:
    """Names of the module that stand for a model's library or for a client of one."""
    return frozenset(
        name
        for name, value in module.env.items()
        if any(run.catalog.reads_prompts(root.name) for root in value.labels)
        or any(run.catalog.reads_prompts(ref.qname) for ref in value.refs if isinstance(ref, Ext))
    )


def uses_registry(module: Module) -> bool:
    """Whether a module knows our registry, itself or through what it imports."""
    return any(
        (isinstance(ref, Ext) and ref.qname.startswith("registry"))
        or (isinstance(ref, Import) and ref.module.startswith("registry"))
        or (isinstance(ref, Obj) and ref.kind == "tool")
        for value in module.env.values()
        for ref in value.refs
    )


def of_interest(module: Module, mentioned: frozenset[str], called: frozenset[str]) -> set[int]:
    """The outermost functions that mention a name of one set, or call or decorate with a name of the other."""
    out: set[int] = set()
    for index, spoken in enumerate(module.spoken() if mentioned or called else ()):
        if not (mentioned.isdisjoint(spoken.mentioned) and called.isdisjoint(spoken.called)):
            out.add(outermost(module, index))
    return out


def judge(run: Run, tool: ToolSeen, tick: Callable[[str], None]) -> Judged:
    """Follow one tool's handler and sort what it returns."""
    tick(tool.path)
    budget(run)
    module = run.project.module(tool.module)
    assert module is not None, "a tool was seen in a module that is loaded"
    frame = Frame(module, None, None)
    handler = tool.fields.get("handler", EMPTY)
    run.seeking = tool.style != "registry" and not tool.dispatcher
    run.redirected = []
    try:
        answer = follow_handler(run, frame, tool, handler)
    except RecursionError:
        answer = deeper(run, tool.path)
    run.seeking = False
    if not flat(answer):
        answer = with_labels(answer, read_of_clients(run, frame, answer, tool.site))
    own, theirs = _ours.answer_labels(run, frame, answer, tool.site)
    judged = Judged(tool=tool, own=own, theirs=theirs, module=module)
    judged.fenced = any(o.kind == "fenced" for o in answer.objects()) or any(
        o.kind == "fenced" for r in answer.objects() if r.kind == "reply" for o in r.fields.get("own", EMPTY).objects()
    )
    judged.fenced |= any(root.name == "fence_untrusted" and root in run.fenced for root in own)  # in a longer text
    judged.called, judged.whole = frozenset(frame.called), not run.exhausted
    if run.exhausted and not run.ended:
        judged.cut = True
        judged.own = join_labels((own, run.unknown(frame, tool.site, "a handler too large to follow")))
    place = definition_of(run, of(tool.definition) if tool.definition is not None else handler)
    if place is not None:
        judged.handler_path, judged.handler_ordinal, judged.handler_name = place
    return judged


def follow_handler(run: Run, frame: Frame, tool: ToolSeen, handler: Value) -> Value:
    """Call the handler as its framework would."""
    if tool.style == "registry":
        return _call.call(run, frame, handler, _call.Args((input_value(run, tool),)), tool.site, "the handler")
    out: list[Value] = []
    for ref in sorted_refs(handler):
        if not isinstance(ref, Func):
            out.append(_call.call(run, frame, of(ref), _call.NOTHING, tool.site, "the handler"))
            continue
        given: dict[str, Value] = {}
        module = run.project.module(ref.module)
        ref = on_instance(run, ref, module)
        if tool.dispatcher and module is not None:
            names = [p.name for p in module.ir.defs[ref.at].params if p.kind in ("p", "k")]
            given = {name: of(_frameworks.ARGUMENTS) for name in names[-1:]}
            run.dispatching = tool.style
        wrapped = None if tool.dispatcher or module is None else through_wrapper(run, ref, module, tool.definition)
        if wrapped is not None:
            out.append(_invoke.invoke(run, frame, ref, wrapped, tool.site))
        else:
            out.append(_invoke.call_with_types(run, frame, ref, given, outside=True))
        run.dispatching = None
    return join(*out)


def read_of_clients(run: Run, frame: Frame, answer: Value, site: int) -> Labels:
    """What an answer reads of a client without calling it: `return self.db.schema`."""
    values = [answer, *(child for obj in answer.objects() if obj.kind in PLAIN_KINDS for child in obj.children())]
    out: list[Labels] = []
    for ref in (ref for value in values for ref in sorted_refs(value)):
        if isinstance(ref, Method) and ref.kind == "ext":
            owner, _, name = run.catalog.resolve(ref.name).rpartition(".")
            origin = run.catalog.held_by_client(owner)
            if origin is not None and not run.catalog.is_clean(owner, name):
                out.append(run.source(frame, site, ref.name, origin))
    return join_labels(out)


def through_wrapper(run: Run, ref: Func, module: Module, original: Func | None) -> _call.Args | None:
    """What a wrapper that takes anything is called with: what the function under it takes, its instance first."""
    if original is None or (ref.module, ref.at) == (original.module, original.at) or ref.self_value is not None:
        return None
    if "*" not in {p.kind for p in module.ir.defs[ref.at].params}:
        return None
    home = run.project.module(original.module)
    if home is None:
        return None
    bound = on_instance(run, original, home)
    args = _invoke.arguments_by_type(run, home, bound, outside=True)
    if bound.self_value is None:
        return args
    return _call.Args((bound.self_value, *args.positional), args.keywords, args.star, args.dstar)


def on_instance(run: Run, func: Func, module: Module | None) -> Func:
    """A method that was decorated in its class is called on some instance of it."""
    if func.self_value is not None or func.owner is None or module is None:
        return func
    definition = module.ir.defs[func.at]
    if definition.owner < 0 or _classes.kind_of(definition) not in ("method", "class"):
        return func
    is_class = _classes.kind_of(definition) == "class"
    return _classes.bind(func, of(func.owner) if is_class else _classes.typed_instance(run, func.owner))


def input_value(run: Run, tool: ToolSeen) -> Value:
    """What the dispatcher hands to the handler: an instance of the input model, whose bytes a model chose."""
    classes = [r for r in sorted_refs(tool.fields.get("input", EMPTY)) if isinstance(r, Cls)]
    if not classes:
        return CLEAN
    return _classes.typed_instance(run, classes[0])


def definition_of(run: Run, handler: Value) -> tuple[str, int, str] | None:
    """Where a handler is defined: file, statement, qualified name."""
    for ref in sorted_refs(handler):
        if isinstance(ref, Func):
            module = run.project.module(ref.module)
            if module is not None:
                definition = module.ir.defs[ref.at]
                return module.path, definition.ordinal, definition.qualname
        if isinstance(ref, Partial | Wrapped):
            return definition_of(run, ref.func)
        if isinstance(ref, Obj) and ref.kind == "inst":
            method = _classes.find_method(run, ref.cls, "__call__")
            if method is not None:
                return definition_of(run, of(method))
    return None
