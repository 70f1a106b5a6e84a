"""The way of a call: the only way to a handler, for chat, pipelines, HTTP and MCP alike.

`way` is one function on purpose, so that it can be read in one go. It alone decides what is shown, and it shows foreign
text in a fence or not at all. No text of an exception leaves it.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Coroutine, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, cast, final

from registry._admission import admit
from registry._arguments import malformed, parse
from registry._call import Call
from registry._deployment import REQUEST_ID, AuditRecord, Caller, Deployment, Permitted
from registry._foreign import class_name, join_origins
from registry._outcome import Answered, Failed, Outcome, Refused, Shed, TimedOut
from registry._render import Unshowable, failure_text, refusal_text, render, settle
from registry._reply import MixedReply
from registry._work import abandon, first_of, log_failure, start
from registry.errors import ToolCallError, ToolFailed

__all__ = ["Dispatched", "dispatch", "run_registry_tool", "start_call"]

log = logging.getLogger("hedgerow")

REFUSALS = {
    "unknown_tool": "There is no tool of this name here.",
    "not_permitted": "This caller may not use this tool.",
    "undeclared_foreign": "The tool returned text from outside and declares that it returns none. None of it is shown.",
    "double_fence": "The tool returned text that it had fenced itself. The fence is put on here and nowhere else.",
    "result_too_large": "The answer is larger than this deployment allows. None of it is shown; ask for less of it.",
}
# For the log, which the tool's author reads: what to change.
REPAIRS = {
    "undeclared_foreign": "Declare the origin in untrusted_output, or return numbers and words of your own alone.",
    "double_fence": "Return the text as a Foreign part of reply(...) and leave the fence to the dispatcher.",
    "result_too_large": "Page it (offset and limit in the input), or raise max_result_chars or max_media_bytes.",
}
SHED = "Every place was taken. The tool was not started, and may be asked again."
STOPPED = "The tool did not answer in time and was stopped. It changes nothing, so it may be asked again."
RUNS_ON = "The tool did not answer in time and may still be running. Do not repeat the call; look what it has done."


async def run_registry_tool(
    deployment: Deployment,
    name: str,
    arguments: Mapping[str, Any],
    *,
    caller: Caller | None = None,
    argument_origins: Iterable[str] = (),
) -> Outcome:
    """Call a tool and return what the call ended in, no later than the deployment's reply timeout.

    A handler that outlives its caller runs on in this event loop; a loop that ends cancels what runs on it.

    Args:
        deployment: what the composition root decided.
        name: the tool's name.
        arguments: a JSON-shaped mapping, validated against the tool's input.
        caller: who asks; None is the process itself.
        argument_origins: who chose the arguments, if not this program or its owner. Everything that may echo an argument
            is then fenced, and the outcome carries these origins on.

    Raises:
        asyncio.CancelledError: the caller was cancelled. There is no outcome then.
    """
    return (await start_call(deployment, name, arguments, caller, argument_origins)).outcome


def start_call(
    deployment: Deployment,
    name: str,
    arguments: Mapping[str, Any],
    caller: Caller | None,
    argument_origins: Iterable[str],
) -> Coroutine[Any, Any, Dispatched]:
    """The same, for a pipeline: with the reply that the answer was rendered from, since it binds values and no text."""
    call = Call(
        deployment=deployment,
        caller=caller,
        argument_origins=join_origins(argument_origins),
        deadline=time.monotonic() + deployment.reply_timeout_s,
    )
    return dispatch(call, name, arguments)


@final
@dataclass(slots=True, kw_only=True, eq=False)
class Dispatched:
    """What a call ended in and, for a nested call and a pipeline, the reply that an answer was rendered from."""

    outcome: Outcome
    reply: MixedReply | None = None
    returned: object = None
    """What the handler itself returned: in it, own parts are own even where foreign arguments had them fenced."""
    media_bytes: int = 0


async def dispatch(call: Call, name: str, arguments: object) -> Dispatched:
    """Go the way of a call, and write the audit whatever came of it."""
    started = time.monotonic()
    try:
        done = await way(call, name, arguments)
    except asyncio.CancelledError:
        audit(call, None, started)
        raise
    audit(call, done, started)
    return done


async def way(call: Call, name: str, arguments: object) -> Dispatched:
    """There is such a tool; this caller may use it; the arguments fit; there is a place; the handler runs; its answer is
    rendered and fenced; it is not too large."""
    deployment, key = call.deployment, call.deployment.fence_key

    tool = call.tool = deployment.tools.get(name) if isinstance(cast("object", name), str) else None
    if tool is None:
        return refused(call, "unknown_tool")

    # Before the arguments are read: a caller without the grant learns nothing of the schema.
    call.permitted = permission(deployment, call.caller) if call.permitted is None else call.permitted
    if call.permitted is None:
        return failed(call, "The permissions of this caller could not be decided.")
    if not call.permitted.allows(tool.grant):
        return refused(call, "not_permitted")

    try:
        request = parse(tool, arguments)
    except Exception as error:  # noqa: BLE001  # a validator of the author's raised what is no validation error
        return crashed(call, error)
    if isinstance(request, list):
        # With foreign arguments an unknown key is foreign too.
        return Dispatched(outcome=malformed(tool, arguments, request, show_unknown=not call.argument_origins))

    slot = await admit(deployment.admission, call.parent_slot, call.remaining_s)
    if slot is None:
        return Dispatched(outcome=Shed(text=SHED))

    work = start(call, tool, request, slot)
    try:
        await first_of(call, work, call.remaining_s)
    except asyncio.CancelledError:
        abandon(call, work, tool)
        raise
    if not work.done():
        abandon(call, work, tool)
        return timed_out(stopped=tool.effect == "read")
    if work.cancelled():  # by the handler itself, or by the end of its loop
        return crashed(call, asyncio.CancelledError())
    ended = work.result()
    if ended.error is not None or call.declared is None:
        return crashed(call, ended.error)

    try:
        reply = settle(ended.returned, call.declared, call.argument_origins, key)
        if reply.refusal is not None:
            code, sentence = reply.refusal.code, reply.refusal.sentence
            text = refusal_text(code, sentence, call.argument_origins, key)
            if len(text) > deployment.max_result_chars:
                raise Unshowable("result_too_large")
            return Dispatched(outcome=Refused(code=code, text=text, origins=call.argument_origins))
        answered, media_bytes = render(
            reply,
            call.declared,
            key,
            max_chars=deployment.max_result_chars,
            max_media_bytes=deployment.max_media_bytes,
        )
    except Unshowable as error:
        log.warning("Tool %r: its answer was refused as %r. %s", tool.name, error.code, REPAIRS[error.code])
        return refused(call, error.code)
    except Exception as error:  # noqa: BLE001  # a value of the handler's making raises when it is read
        return crashed(call, error)
    return Dispatched(outcome=answered, reply=reply, returned=ended.returned, media_bytes=media_bytes)


def permission(deployment: Deployment, caller: Caller | None) -> Permitted | None:
    """What a caller may use; None when the deployment's own function fails, and then nothing is permitted."""
    try:
        permitted = cast("object", deployment.permitted_for(caller))
    except Exception:
        log.exception("Deployment.permitted raised; the call is not made.")
        return None
    if isinstance(permitted, Permitted):
        return permitted
    log.error("Deployment.permitted returned a %s, not a Permitted; the call is not made.", class_name(permitted))
    return None


def refused(call: Call, code: str) -> Dispatched:
    """Refuse with a code and a fixed sentence of ours, which echoes nothing and so needs no fence."""
    text = refusal_text(code, REFUSALS[code], (), call.deployment.fence_key)
    return Dispatched(outcome=Refused(code=code, text=text))


def crashed(call: Call, error: BaseException | None) -> Dispatched:
    """Fail. Of an exception only the class leaves, and what a `ToolFailed` says for the purpose; its text goes to the log."""
    name = call.tool.name if call.tool is not None else "?"
    if isinstance(error, ToolCallError) and isinstance(error.outcome, TimedOut):
        # The nested call has the same deadline, so which of the two timers fires first is chance. A nested write that may
        # still be running must not be reported as a failure, which invites a repeat.
        return timed_out(stopped=error.outcome.text == STOPPED and call.tool is not None and call.tool.effect == "read")
    log_failure(name, error)
    if not isinstance(error, ToolFailed):
        return failed(call, f"It raised {class_name(error)}; what that says is in the log of the process.")
    text, origins = failure_text(
        error.words, error.detail, call.declared or f"tool:{name}", call.argument_origins, call.deployment.fence_key
    )
    if len(text) > call.deployment.max_result_chars:
        return failed(call, "What it says about that is larger than this deployment allows, and is not shown.")
    return Dispatched(outcome=Failed(text=text, origins=origins))


def timed_out(*, stopped: bool) -> Dispatched:
    return Dispatched(outcome=TimedOut(text=STOPPED if stopped else RUNS_ON))


def failed(call: Call, words: str) -> Dispatched:
    """Fail with a fixed sentence of ours."""
    text, _ = failure_text(words, None, "", (), call.deployment.fence_key)
    return Dispatched(outcome=Failed(text=text))


def audit(call: Call, done: Dispatched | None, started: float) -> None:
    """Give the audit its record; None is a caller that went away. What the audit raises changes nothing."""
    outcome = done.outcome if done is not None else None
    record = AuditRecord(
        tool=call.tool.name if call.tool is not None else None,
        caller=call.caller.id if call.caller is not None else None,
        code=outcome.code if outcome is not None else "cancelled",
        declared=call.declared,
        origins=outcome.origins if isinstance(outcome, (Answered, Refused, Failed)) else (),
        text_chars=len(outcome.text) if outcome is not None else 0,
        media_bytes=done.media_bytes if done is not None else 0,
        duration_s=time.monotonic() - started,
        nested=call.parent is not None,
        request_id=REQUEST_ID.get(),
    )
    try:
        call.deployment.audit(record)
    except Exception:
        log.exception("Deployment.audit raised; the outcome is not changed.")
