"""The meaning of hedgerow's own names: ToolDef, Foreign and its exits, reply, refuse, ToolFailed, the fence."""

from __future__ import annotations

from typing import Final

from tools_check import _call, _classes, _elsewhere, _eval, _prompts
from tools_check._run import Frame, Run, ToolSeen
from tools_check._values import (
    CLEAN,
    DATA,
    EMPTY,
    Cls,
    Labels,
    Obj,
    Value,
    flat,
    join,
    join_labels,
    labelled,
    of,
    sorted_refs,
    without_labels,
)  # fmt: skip

COMPUTED: Final = ""  # stands for the name of a tool that is not a constant
FIELDS = ("name", "description", "input", "handler", "untrusted_output", "scope", "effect", "dispatches")


def call_ours(run: Run, frame: Frame, name: str, args: _call.Args, site: int) -> Value | None:
    """What calling one of our names gives; None for those that behave like any other function outside."""
    match name:
        case "ToolDef":
            return tool(run, frame, args, site, None)
        case "Foreign":
            return foreign(run, frame, args.get(0, "value") or EMPTY, site)
        case "Foreign.join":
            return joined(run, frame, args.get(0, "items") or EMPTY, site)
        case "reply":
            return reply(run, frame, args, site)
        case "refuse":
            return refuse(run, frame, args, site)
        case "ToolFailed":
            return failed(run, frame, args, site)
        case "IngressRefused":
            return refused(run, frame, args, site)
        case "call_tool" | "call_tool_sync":
            return nested(run, frame, args, site)
        case "fence_untrusted":
            text = args.get(0, "text") or EMPTY
            source = run.passed(frame, site, "fence_untrusted", "fenced by hand", args.labels())
            run.note("fence-call", frame, site, "fence_untrusted", args.labels() or source)
            run.fenced.update(source)
            obj = run.new(frame, "fenced")
            obj.elem = join(labelled(source), without_labels(text))
            return of(obj)
        case "unfence_untrusted":
            return labelled(run.passed(frame, site, "unfence_untrusted", "unfenced text", args.labels()), DATA)
        case "fence_notice" | "remaining_s":
            return CLEAN
        case "Media":
            obj = run.new(frame, "media")
            obj.elem = join(*args.values())
            return of(obj)
        case "Registry" | "Deployment":
            obj = run.new(frame, "registry")
            obj.elem = join(*args.values())
            return of(obj)
        case "run_registry_tool" | "run_registry_tool_sync":
            answer = run.source(frame, site, f"registry.{name}", "a tool's answer")
            run.fenced.update(answer)
            return labelled(answer, DATA)
        case "own" | "owner":
            _prompts.reached(run, frame, site, f"{name}()", shown_labels(args))
            return CLEAN
        case "stranger":
            _prompts.told(run, frame, site, shown_labels(args))
            source = run.passed(frame, site, "stranger", "a stranger's part of a prompt", shown_labels(args))
            run.fenced.update(source)
            return labelled(source, DATA)
        case "prompt":
            _prompts.reached(run, frame, site, "prompt()", shown_labels(args))
            return labelled(args.labels(), DATA)
        case _:
            return None


def shown_labels(args: _call.Args) -> Labels:
    """The labels of the arguments, those inside a `Foreign` too."""
    inner = [o.elem for value in args.values() for o in value.objects() if o.kind == "foreign"]
    return join_labels([args.labels(), *(flat(value) for value in inner)])


def nested(run: Run, frame: Frame, args: _call.Args, site: int) -> Value:
    """`call_tool(name, arguments)`: which tools a handler calls is remembered with it."""
    name = args.get(0, "name") or EMPTY
    names = set(name.strings())
    frame.called |= names or {COMPUTED}
    if not name.exact:
        frame.called.add(COMPUTED)
    return foreign(run, frame, EMPTY, site)


def tool(run: Run, frame: Frame, args: _call.Args, site: int, base: Obj | None) -> Value:
    """A `ToolDef(...)`, or `dataclasses.replace` of one."""
    fields: dict[str, Value] = dict(base.fields) if base is not None else {}
    fields.update(zip(FIELDS, args.positional, strict=False))
    fields.update(dict(args.keywords))
    opaque = args.star is not None or args.dstar is not None
    if args.dstar is not None:
        for name in FIELDS:
            value = _call.lookup_key(args.dstar, name)
            if not value.is_empty():
                fields.setdefault(name, value)
    obj = run.new(frame, "tool")
    obj.fields = fields
    handler = fields.get("handler", EMPTY)
    key = (frame.module.path, site, handler.digest(1), fields.get("untrusted_output", EMPTY).digest(1))
    have = run.tools.get(key)
    if have is None:
        run.tools[key] = ToolSeen(
            style="registry", path=frame.module.path, module=frame.module.name, site=site, fields=obj.fields,
            opaque=opaque or (base is not None and base.shared and "?" in base.fields), entry=run.entry,
        )  # fmt: skip
    else:
        have.entry = have.entry and run.entry
    return of(obj)


def foreign(run: Run, frame: Frame, inner: Value, site: int) -> Value:
    """A `Foreign`: whatever is inside has been chosen by somebody else, known or not."""
    obj = run.new(frame, "foreign")
    labels = flat(inner)
    if not any(r.kind == "foreign" for r in labels):
        inner = join(inner, labelled(run.source(frame, site, "registry.Foreign", "a Foreign value")))
    obj.elem = inner
    return of(obj)


def joined(run: Run, frame: Frame, items: Value, site: int) -> Value:
    """`Foreign.join((a, b))`: one `Foreign` of what each of them holds."""
    parts = _eval.iterate(run, frame, items)
    held = run.new(frame, "tuple")
    held.exact = False
    inner = [inside(run, frame, obj, site) for obj in parts.objects() if obj.kind == "foreign"]
    wrapped = frozenset(obj for value in inner for obj in value.objects() if obj.kind == "foreign")
    inner += [inside(run, frame, obj, site) for obj in sorted(wrapped, key=lambda obj: obj.serial)]
    everything = join(Value(parts.labels, frozenset({DATA})), *inner)
    held.elem = Value(everything.labels, everything.refs - wrapped, everything.consts)
    return foreign(run, frame, of(held), site)


def inside(run: Run, frame: Frame, obj: Obj, site: int) -> Value:
    """What a `Foreign` holds, which is never ours."""
    if any(r.kind == "foreign" for r in flat(obj.elem)):
        return obj.elem
    return join(obj.elem, labelled(run.source(frame, site, "registry.Foreign", "a Foreign value"), DATA))


def foreign_method(run: Run, frame: Frame, obj: Obj, name: str, args: _call.Args, site: int) -> Value:
    """The ways out of a `Foreign`, and the one way on (`map`)."""
    inner = inside(run, frame, obj, site)
    match name:
        case "map":
            result = _call.call(
                run,
                frame,
                args.get(0, "fn") or EMPTY,
                _call.Args((inner,)),
                site,
                "the function given to map",
            )
            return foreign(run, frame, join(result, labelled(flat(inner))), site)
        case "measure":
            _call.call(
                run,
                frame,
                args.get(0, "fn") or EMPTY,
                _call.Args((inner,)),
                site,
                "the function given to measure",
            )
            return CLEAN
        case "one_of":
            return join(without_labels(join(*args.values())), CLEAN)
        case "narrow":
            model = args.get(0, "model") or EMPTY
            return join(
                *(_classes.typed_instance(run, ref) for ref in sorted_refs(model) if isinstance(ref, Cls)),
                CLEAN,
            )
        case "for_program":
            return inner
        case "origin":
            return CLEAN
        case _:
            return labelled(flat(inner), DATA)


def reply(run: Run, frame: Frame, args: _call.Args, site: int) -> Value:
    """A `reply(...)`: own parts and foreign parts side by side."""
    obj = run.new(frame, "reply")
    note_fragments(run, frame, args, site)
    own: list[Value] = []
    theirs: list[Value] = []
    parts = list(args.positional)
    if args.star is not None:
        parts.append(_eval.iterate(run, frame, args.star))
    data = args.get(-1, "data")
    if data is not None:
        parts.append(data)
    for part in parts:
        is_foreign = [o for o in part.objects() if o.kind == "foreign" or (o.kind == "media")]
        rest = Value(part.labels, part.refs - frozenset(is_foreign), part.consts, exact=part.exact)
        theirs.extend(of(o) for o in is_foreign)
        if rest.labels or rest.refs or rest.consts:
            own.append(rest)
            shown = _classes.shown(run, frame, rest, site)
            if any(r.kind == "foreign" for r in shown):
                run.note("foreign-framing", frame, site, "reply", shown)
    obj.fields["own"] = join(*own)
    obj.fields["foreign"] = join(*theirs)
    return of(obj)


BLOCKS: Final = 3


def note_fragments(run: Run, frame: Frame, args: _call.Args, site: int) -> None:
    """Each foreign part becomes a block of its own; more than three are hard to read."""
    blocks = sum(any(o.kind == "foreign" for o in p.objects()) or _elsewhere.is_from(p.labels) for p in args.positional)
    if blocks > BLOCKS or (args.star is not None and _elsewhere.is_from(args.star.labels)):
        run.note("fragmented-reply", frame, site, str(blocks))


def refuse(run: Run, frame: Frame, args: _call.Args, site: int) -> Value:
    """A `refuse(code, sentence)` is our own words."""
    labels = args.labels()
    if any(r.kind == "foreign" for r in labels):
        run.note("foreign-framing", frame, site, "refuse", labels)
    obj = run.new(frame, "reply")
    obj.fields["own"] = labelled(labels, DATA)
    return of(obj)


def failed(run: Run, frame: Frame, args: _call.Args, site: int) -> Value:
    """A `ToolFailed(own words, detail=Foreign)`."""
    words = args.get(0, "message") or EMPTY
    labels = _classes.shown(run, frame, words, site)
    if any(r.kind == "foreign" for r in labels):
        run.note("foreign-error", frame, site, "ToolFailed", labels)
    obj = run.new(frame, "failure")
    obj.elem = join(*args.values())
    return of(obj)


def refused(run: Run, frame: Frame, args: _call.Args, site: int) -> Value:
    """An `IngressRefused(code, sentence)` is our own words; a handler hands them to `refuse`."""
    labels = args.labels()
    if any(r.kind == "foreign" for r in labels):
        run.note("foreign-framing", frame, site, "IngressRefused", labels)
    obj = run.new(frame, "ext", "registry.IngressRefused")
    obj.elem = join(*args.values())
    return of(obj)


OWN_WORDS: Final = {"ToolFailed": ("words",), "IngressRefused": ("code", "sentence")}
THEIR_NAMES: Final = frozenset(name for names in OWN_WORDS.values() for name in names)


def own_words(base: Value, name: str) -> bool:
    """Whether an attribute is the own words of a failure or refusal, which are judged where it is made."""
    if name not in THEIR_NAMES:
        return False
    kinds = {"ToolFailed" if o.kind == "failure" else str(o.cls).removeprefix("registry.") for o in base.objects()}
    return bool(kinds) and all(name in OWN_WORDS.get(kind, ()) for kind in kinds)


def answer_labels(run: Run, frame: Frame, value: Value, site: int) -> tuple[Labels, Labels]:
    """What an answer shows as ours, and what it hands over as foreign."""
    own: list[Value] = [labelled(value.labels)]
    theirs: list[Value] = []
    for obj in value.objects():
        if obj.kind == "reply":
            own.append(obj.fields.get("own", EMPTY))
            theirs.append(obj.fields.get("foreign", EMPTY))
        elif obj.kind == "foreign":
            theirs.append(inside(run, frame, obj, site))
            theirs.append(of(obj))
        else:
            own.append(of(obj))
    return flat(join(*own)), flat(join(*theirs))
