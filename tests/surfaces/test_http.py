"""A call over HTTP: which status an outcome has, what stands in its body, and what is refused before a tool is looked for.

Every test talks to a real server over a socket.
"""

from __future__ import annotations

import asyncio
import json
import logging
import threading
from collections.abc import Callable
from typing import Any

import pytest
from pydantic import Field

from registry import (
    Admission,
    Foreign,
    Media,
    Permitted,
    ToolFailed,
    ToolInput,
    call_tool,
    fence_untrusted,
    refuse,
    reply,
)
from registry.surfaces.http import HttpSurface, Tokens
from tests.support.deployments import KEY, WAIT_S, Text, codes, deploy, tool, until_sync
from tests.support.http import TOKEN, answer_of, served, token

SECRET = "what nobody may see"


def raises(error: BaseException) -> Callable[[Any], str]:
    """A handler that fails."""

    def fail(_: object) -> str:
        raise error

    return fail


# -- one row of the table for each outcome -------------------------------------------------------------------------


def test_an_answer_is_200_with_the_text_that_a_model_may_read() -> None:
    with served(deploy(tool(lambda request: reply(f"Read {request.text}."), takes=Text))) as server:
        answer = server.call("tool", {"text": "it"})

    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/json")
    assert answer.json() == {"outcome": "answered", "text": "Read it.", "origins": [], "data": None, "media": []}


def test_both_halves_of_a_foreign_answer_say_whose_they_are() -> None:
    page = tool(lambda _: reply("One page.", Foreign("hello"), data=Foreign({"a": "b"})), "a page")
    with served(deploy(page)) as server:
        answer = server.call("tool")

    assert answer.json() == {
        "outcome": "answered",
        "text": "One page.\n" + fence_untrusted("hello", origin="a page", key=KEY),
        "origins": ["a page"],
        "data": {"untrusted": {"a": "b"}, "origins": ["a page"]},
        "media": [],
    }


def test_media_stand_between_their_two_lines_and_not_in_the_text() -> None:
    picture = tool(lambda _: reply("One.", Foreign(Media(b"\x00\xff", "image/png"))), "a camera")
    with served(deploy(picture)) as server:
        answer = server.call("tool").json()

    (part,) = answer["media"]
    assert (part["mime"], part["base64"], part["origins"]) == ("image/png", "AP8=", ["a camera"])
    assert "a camera" in part["opening"]
    assert part["closing"]
    assert "AP8=" not in answer["text"]


def test_a_refusal_of_a_handler_is_200_since_it_is_a_result() -> None:
    with served(deploy(tool(lambda _: refuse("no_such_issue", "There is no such issue.")))) as server:
        answer = server.call("tool")

    assert answer.status_code == 200
    assert answer.json() == {
        "outcome": "no_such_issue",
        "text": "Refused (no_such_issue): There is no such issue.",
        "origins": [],
    }


def test_an_answer_that_is_too_large_is_a_refusal_and_so_200() -> None:
    with served(deploy(tool(lambda _: "x" * 50_000_000), max_result_chars=1000)) as server:
        answer = server.call("tool")

    assert (answer.status_code, answer.json()["outcome"]) == (200, "result_too_large")


def test_malformed_arguments_are_422_and_no_value_comes_back() -> None:
    with served(deploy(tool(lambda _: "x", takes=Text))) as server:
        answer = server.call("tool", {"text": [SECRET], "SECRET key": 1})

    assert (answer.status_code, answer.headers["content-type"]) == (422, "application/problem+json")
    assert answer.json() == {
        "type": "urn:hedgerow:problem:malformed",
        "title": "The arguments do not fit.",
        "status": 422,
        "detail": "Correct the fields that `text` names.",
        "request_id": answer.headers["x-request-id"],
        "outcome": "malformed",
        "text": "The arguments do not fit the input of this tool; it was not called.\n"
        "- text: must be a string\n- (an unknown field): is not a field of this tool",
        "origins": [],
        "errors": [
            {"pointer": "#/text", "detail": "must be a string"},
            {"pointer": "#", "detail": "is not a field of this tool"},
        ],
    }


class Room(ToolInput):
    """A field with fields."""

    size: int


class House(ToolInput):
    """An input with places of every kind."""

    rooms: list[Room] = Field([])
    names: dict[str, int] = Field({})
    odd: int = Field(0, alias="a/b~c d")


@pytest.mark.parametrize(
    ("arguments", "errors"),
    [
        ({"rooms": [{"size": 1}, {"size": SECRET}]}, [("#/rooms/1/size", "must be a whole number")]),
        ({"rooms": SECRET}, [("#/rooms", "must be a list")]),
        ({"names": {SECRET: SECRET}}, [("#/names", "must be a whole number")]),
        ({"a/b~c d": SECRET}, [("#/a~1b~0c%20d", "must be a whole number")]),
        ({SECRET: 1}, [("#", "is not a field of this tool")]),
        ({"rooms": [{"size": 1, "door": SECRET}]}, [("#/rooms/0/door", "is not a field of this tool")]),
        ([], [("#", "must be an object")]),
    ],
)
def test_each_error_of_malformed_arguments_says_where_it_is_and_shows_no_value(
    arguments: Any, errors: list[tuple[str, str]]
) -> None:
    with served(deploy(tool(lambda _: "x", takes=House))) as server:
        answer = server.call("tool", arguments)

    assert [(one["pointer"], one["detail"]) for one in answer.json()["errors"]] == errors
    assert SECRET not in answer.text


def test_of_many_errors_the_first_twenty_are_shown() -> None:
    with served(deploy(tool(lambda _: "x", takes=House))) as server:
        answer = server.call("tool", {"rooms": [{"size": "x"}] * 30})

    assert [one["pointer"] for one in answer.json()["errors"]] == [f"#/rooms/{n}/size" for n in range(20)]
    assert answer.json()["text"].endswith("- and 10 more")


@pytest.mark.parametrize("body", ["[]", "1", "null", '"text"'])
def test_json_that_is_no_object_is_malformed(body: str) -> None:
    with served(deploy(tool(lambda _: "x", takes=Text))) as server:
        answer = server.post("tool", body.encode())

    assert (answer.status_code, answer.json()["outcome"]) == (422, "malformed")


@pytest.mark.parametrize(
    "error",
    [RuntimeError(SECRET), SystemExit(SECRET), BaseExceptionGroup("g", [KeyboardInterrupt(SECRET)])],
    ids=lambda error: type(error).__name__,
)
def test_a_handler_that_raises_is_500_and_what_the_exception_says_stays_in_the_log(error: BaseException) -> None:
    with served(deploy(tool(raises(error)))) as server:
        answer = server.call("tool")
        after = server.call("tool")

    assert (answer.status_code, answer.json()["outcome"]) == (500, "failed")
    assert SECRET not in answer.text
    assert after.status_code == 500, "the server goes on"


def test_the_detail_of_a_failure_is_fenced_where_a_model_may_read_it_and_nowhere_else() -> None:
    failing = tool(raises(ToolFailed("The database said no.", Foreign("syntax error"))), "a database")
    with served(deploy(failing)) as server:
        problem = server.call("tool").json()

    text = problem.pop("text")
    assert text.endswith(fence_untrusted("syntax error", origin="a database", key=KEY))
    assert problem["origins"] == ["a database"]
    assert "syntax" not in json.dumps(problem)


def test_a_call_that_finds_no_place_is_503_and_says_when_to_ask_again() -> None:
    inside, leave = threading.Event(), threading.Event()

    def stay(_: object) -> str:
        inside.set()
        until_sync(leave)
        return "done"

    audited: list[Any] = []
    deployment = deploy(tool(stay), admission=Admission(max_concurrent=1, window_s=0), audit=audited.append)
    with served(deployment) as server:
        answers: list[int] = []
        first = threading.Thread(target=lambda: answers.append(server.call("tool").status_code))
        first.start()
        until_sync(inside)
        shed = server.call("tool")
        leave.set()
        first.join(WAIT_S)

    assert (shed.status_code, shed.json()["outcome"], shed.headers["retry-after"]) == (503, "shed", "1")
    assert (answers, codes(audited)) == ([200], ["shed", "answered"])


@pytest.mark.parametrize(("effect", "says"), [("read", "may be asked again"), ("write", "Do not repeat")])
def test_a_call_that_runs_out_of_time_is_504_and_says_whether_to_repeat_it(effect: Any, says: str) -> None:
    leave = threading.Event()

    async def stay(_: object) -> str:
        while not leave.is_set():  # noqa: ASYNC110  # set by the thread of the test
            await asyncio.sleep(0.001)
        return "done"

    admission = Admission(max_concurrent=1, window_s=0.01)
    with served(deploy(tool(stay, effect=effect), admission=admission, reply_timeout_s=0.1)) as server:
        answer = server.call("tool")
        places = admission.in_use
        leave.set()

    assert (answer.status_code, answer.json()["outcome"]) == (504, "timed_out")
    assert says in answer.json()["text"]
    assert effect == "read" or places == 1, "the place belongs to the work"


# -- who may come in -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "given",
    ["", "Bearer", "Bearer wrong", f"Basic {TOKEN}", TOKEN, f"Bearer {TOKEN}x", f"Bearer {TOKEN} {TOKEN}",
     "Bearer \xff\xfe", "Bearer " + "x" * 5000],
)  # fmt: skip
@pytest.mark.parametrize("path", ["tools/tool", "tools", "openapi.json"])
def test_without_a_token_nothing_is_said_of_any_instance(given: str, path: str) -> None:
    with served(deploy(tool(lambda _: "x"))) as server:
        for instance in ("main", "nowhere"):
            method = "POST" if path == "tools/tool" else "GET"
            headers = [(b"authorization", given.encode("latin-1"))]
            answer = server.client.request(method, f"/v1/instances/{instance}/{path}", headers=headers)
            assert (answer.status_code, answer.headers["www-authenticate"]) == (401, 'Bearer realm="hedgerow"')
            assert answer.json()["type"] == "urn:hedgerow:problem:unauthorized"


def test_the_scheme_may_be_written_in_any_case() -> None:
    with served(deploy(tool(lambda _: "x"))) as server:
        assert server.call("tool", authorization=f"bEARER {TOKEN}").status_code == 200


def test_two_authorization_headers_are_none() -> None:
    with served(deploy(tool(lambda _: "x"))) as server:
        twice = [("authorization", f"Bearer {TOKEN}")] * 2
        assert server.client.get("/v1/instances/main/tools", headers=twice).status_code == 401


def test_an_unknown_instance_a_forbidden_one_and_an_unknown_tool_cannot_be_told_apart() -> None:
    other = deploy(tool(lambda _: "x"))
    main = deploy(tool(lambda _: "x"), admission=other.admission)
    same = {"x-request-id": "same", "content-type": "application/json"}
    with served(main, other, tokens=(token(), token("second", name="second", instances=("other1",)))) as server:
        found = [
            server.client.post(f"/v1/instances/{where}", content="{}", headers={**server.headers, **same})
            for where in ("nowhere/tools/tool", "other1/tools/tool", "main/tools/nothing", "other1/tools/nothing")
        ]
        found += [server.get(f"/v1/instances/{where}/tools", **same) for where in ("nowhere", "other1")]

    assert {answer.status_code for answer in found} == {404}
    assert len({answer.content for answer in found}) == 1
    assert len({tuple((k, v) for k, v in answer.headers.items() if k != "date") for answer in found}) == 1


def test_a_token_narrows_what_the_deployment_permits_and_the_list_shows_the_same() -> None:
    tools = [tool(lambda _: "x", name=name) for name in ("a", "b", "c")]
    deployment = deploy(*tools, permitted=Permitted.of("a", "b"))
    with served(deployment, tokens=(token(grants=frozenset({"b", "c"})),)) as server:
        statuses = {name: server.call(name).status_code for name in "abcd"}
        listed = server.get("/v1/instances/main/tools").json()
        described = server.get("/v1/instances/main/openapi.json").json()

    assert statuses == {"a": 403, "b": 200, "c": 403, "d": 404}
    assert [one["name"] for one in listed["tools"]] == ["b"]
    assert list(described["paths"]) == ["/v1/instances/main/tools/b"]


def test_the_list_comes_in_pages_of_what_the_token_may_use() -> None:
    tools = [tool(lambda _: "x", name=f"tool{n}") for n in range(250)]
    may = [one.name for one in tools[::2]]
    with served(deploy(*tools), tokens=(token(grants=frozenset(may)),)) as server:
        sizes: list[int] = []
        names: list[str] = []
        query = ""
        while True:
            page = server.get(f"/v1/instances/main/tools{query}").json()
            sizes.append(len(page["tools"]))
            names += [one["name"] for one in page["tools"]]
            if page["next_cursor"] is None:
                break
            query = f"?cursor={page['next_cursor']}"
        whole = server.get("/v1/instances/main/tools?limit=1000").json()

    assert (names, sizes) == (may, [100, 25])
    assert ([one["name"] for one in whole["tools"]], whole["next_cursor"]) == (may, None)


@pytest.mark.parametrize(
    "query",
    ["cursor=", "cursor=-1", "cursor=x", "cursor=%D9%A3", "cursor=1&cursor=2", "limit=0", "limit=1001", "limit=9e9"],
)
def test_a_page_that_there_is_not_is_400_and_not_repeated(query: str) -> None:
    with served(deploy(tool(lambda _: "x"))) as server:
        answer = server.get(f"/v1/instances/main/tools?{query}")
        closed = server.client.get(f"/v1/instances/main/tools?{query}")

    assert (answer.status_code, answer.json()["title"], closed.status_code) == (400, "There is no such page.", 401)
    assert query not in answer.text


def test_a_query_of_many_fields_is_400() -> None:
    with served(deploy(tool(lambda _: "x"))) as server:
        assert server.get(f"/v1/instances/main/tools?{'a=1&' * 5000}").status_code == 400


def test_without_the_grant_the_schema_cannot_be_found_out() -> None:
    with served(deploy(tool(lambda _: "x", takes=Text)), tokens=(token(grants=frozenset()),)) as server:
        answer = server.call("tool", {"wrong": 1})

    assert (answer.status_code, answer.json()["outcome"]) == (403, "not_permitted")
    assert "wrong" not in answer.text
    assert "text" not in answer.json()["text"]


def test_the_caller_of_the_audit_is_the_id_of_the_token() -> None:
    audited: list[Any] = []
    with served(deploy(tool(lambda _: "x"), audit=audited.append)) as server:
        server.call("tool")

    assert [record.caller for record in audited] == ["tester"]


def test_the_audit_names_the_request_and_a_nested_call_the_same_one() -> None:
    async def asks(_: Any) -> Any:
        return await call_tool("inner", {})

    seen: list[tuple[str | None, str | None]] = []
    tools = (tool(lambda _: "x", name="inner"), tool(asks, name="outer", dispatches=frozenset({"inner"})))
    deployment = deploy(*tools, audit=lambda record: seen.append((record.tool, record.request_id)))
    with served(deployment) as server:
        server.call("outer", **{"x-request-id": "mine"})
        made = server.call("inner", **{"x-request-id": "not one"}).headers["x-request-id"]

    assert seen == [("inner", "mine"), ("outer", "mine"), ("inner", made)]


def test_no_token_is_in_the_log_or_in_a_repr(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG), served(deploy(tool(raises(RuntimeError("x"))))) as server:
        server.call("tool")
        server.call("tool", authorization="Bearer wrong-but-secret")
        server.client.get(f"/v1/instances/main/tools?access_token={TOKEN}")
        held = token()
        said = f"{server.surface!r} {server.surface.tokens!r}"

    lines = [record.getMessage() for record in caplog.records if not record.name.startswith("http")]
    assert any("caller=tester" in line for line in lines)
    assert not [line for line in lines if TOKEN in line or "wrong-but-secret" in line or held.sha256 in line]
    assert TOKEN not in said
    assert held.sha256 not in said


# -- what is refused before a tool is looked for -------------------------------------------------------------------


@pytest.mark.parametrize(
    "given",
    [None, "text/plain", "application/x-www-form-urlencoded", "application/jsonp", "application/json; charset=latin-1",
     "application/json, text/plain"],
)  # fmt: skip
def test_only_json_is_read(given: str | None) -> None:
    with served(deploy(tool(lambda _: "x"))) as server:
        headers = {**server.headers, **({} if given is None else {"content-type": given})}
        answer = server.client.post("/v1/instances/main/tools/tool", content="{}", headers=headers)

    assert (answer.status_code, answer.json()["type"]) == (415, "urn:hedgerow:problem:not-json-type")


def test_a_packed_body_is_not_unpacked() -> None:
    with served(deploy(tool(lambda _: "x"))) as server:
        answer = server.call("tool", **{"content-encoding": "gzip"})

    assert answer.status_code == 415


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"nonsense", b'{"text": NaN}', b'{"text": Infinity}', b'{"text": "\\ud800"}', b"\xff\xfe{}", b"[" * 50_000,
     b'{"text": ' + b"9" * 9000 + b"}", b"\xef\xbb\xbf{}"],
    ids=lambda body: repr(body[:20]),
)  # fmt: skip
def test_what_is_not_json_is_400_without_a_word_of_it(body: bytes) -> None:
    with served(deploy(tool(lambda _: "x", takes=Text))) as server:
        answer = server.post("tool", body)

    assert (answer.status_code, answer.json()["type"]) == (400, "urn:hedgerow:problem:not-json")
    assert set(answer.json()) == {"type", "title", "status", "detail", "request_id"}


def test_a_body_that_says_that_it_is_too_large_is_refused_unread() -> None:
    audited: list[Any] = []
    with served(deploy(tool(lambda _: "x"), audit=audited.append), max_body_bytes=1000) as server:
        # Nothing of the body is sent: a server that waited for it would not answer.
        with server.raw(server.head(length=10**12)) as connection:
            answer = answer_of(connection)
        after = server.call("tool")

    assert answer[0] == 413
    assert b"urn:hedgerow:problem:too-large" in answer[1]
    assert (after.status_code, codes(audited)) == (200, ["answered"])


def test_a_body_in_chunks_is_counted_while_it_comes() -> None:
    with served(deploy(tool(lambda _: "x")), max_body_bytes=1000) as server:
        endless = server.head(length=None, more=b"") + (b"400\r\n" + b"x" * 0x400 + b"\r\n") * 2
        with server.raw(endless) as connection:
            answer = answer_of(connection)

    assert answer[0] == 413


def test_a_client_that_sends_too_much_sees_why() -> None:
    """A connection that is closed on unread bytes is reset, and the answer would be lost."""
    with served(deploy(tool(lambda _: "x", takes=Text)), max_body_bytes=1000) as server:
        answer = server.call("tool", {"text": "x" * 3000})

    assert answer.status_code == 413


def test_a_body_that_does_not_come_is_408_and_starts_nothing() -> None:
    audited: list[Any] = []
    with (
        served(deploy(tool(lambda _: "x"), audit=audited.append), body_timeout_s=0.1) as server,
        server.raw(server.head(length=10, more=b"{")) as connection,
    ):
        answer = answer_of(connection)

    assert answer[0] == 408
    assert audited == []


# -- addresses and methods -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/", "/v1", "/v1/instances/main/tools/", "/v1/instances/main/tools/a/b", "/healthz/"])
def test_an_address_that_there_is_not_is_a_problem_like_any_other(path: str) -> None:
    with served(deploy(tool(lambda _: "x"))) as server:
        answer = server.get(path)

    assert (answer.status_code, answer.json()["type"]) == (404, "urn:hedgerow:problem:not-found")


def test_a_method_that_is_not_for_an_address_names_those_that_are() -> None:
    with served(deploy(tool(lambda _: "x"))) as server:
        answer = server.get("/v1/instances/main/tools/tool")

    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")
    assert answer.json()["type"] == "urn:hedgerow:problem:method-not-allowed"


def test_no_browser_page_of_another_site_can_call() -> None:
    """There is no CORS header anywhere, and JSON alone is read; so a browser asks first and is told no."""
    with served(deploy(tool(lambda _: "x"))) as server:
        asked = server.client.options(
            "/v1/instances/main/tools/tool",
            headers={"origin": "http://evil.example", "access-control-request-method": "POST"},
        )

    assert asked.status_code == 405
    assert not [name for name in asked.headers if name.startswith("access-control")]


def test_every_answer_may_neither_be_stored_nor_sniffed() -> None:
    with served(deploy(tool(lambda _: "x"))) as server:
        found = [server.call("tool"), server.get("/nowhere"), server.get("/openapi.json"), server.get("/healthz")]

    assert {(a.headers["cache-control"], a.headers["x-content-type-options"]) for a in found} == {
        ("no-store", "nosniff")
    }


# -- ids -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("given", ["a", "A-b_c.9", "x" * 64])
def test_a_request_keeps_its_id(given: str) -> None:
    with served(deploy(tool(lambda _: "x"))) as server:
        assert server.call("tool", **{"x-request-id": given}).headers["x-request-id"] == given


@pytest.mark.parametrize("given", ["", "x" * 65, "a b", "a;b", "\x1b[31m", "é", "a\tb", '"', "%0d%0aset-cookie: a=b"])
def test_an_id_of_any_other_form_is_replaced(given: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "hedgerow.http"), served(deploy(tool(lambda _: "x"))) as server:
        sent: Any = {"x-request-id": given.encode("latin-1"), "traceparent": given.encode("latin-1")}
        answer = server.client.get("/healthz", headers=sent)

    shown = answer.headers["x-request-id"]
    assert (len(shown), set(shown) <= set("0123456789abcdef")) == (32, True)
    (line,) = [record.getMessage() for record in caplog.records if record.name == "hedgerow.http"]
    assert f"request={shown} trace=- " in line


def test_two_ids_are_none() -> None:
    with served(deploy(tool(lambda _: "x"))) as server:
        twice = [("x-request-id", "first"), ("x-request-id", "second")]
        assert server.client.get("/healthz", headers=twice).headers["x-request-id"] not in ("first", "second")


def test_a_trace_is_logged_and_is_in_no_answer(caplog: pytest.LogCaptureFixture) -> None:
    trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    with caplog.at_level(logging.INFO, "hedgerow.http"), served(deploy(tool(lambda _: "x"))) as server:
        answer = server.call("tool", traceparent=f"00-{trace}-00f067aa0ba902b7-01")

    assert any(f"trace={trace}" in record.getMessage() for record in caplog.records)
    assert trace not in answer.text + str(answer.headers)


@pytest.mark.parametrize(
    "given",
    ["00-" + "0" * 32 + "-00f067aa0ba902b7-01", "00-4bf92f3577b34da6a3ce929d0e0e4736-" + "0" * 16 + "-01",
     "01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
     "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more"],
)  # fmt: skip
def test_a_trace_that_is_not_of_the_exact_form_is_dropped(given: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "hedgerow.http"), served(deploy(tool(lambda _: "x"))) as server:
        server.call("tool", traceparent=given)

    assert any("trace=- " in record.getMessage() for record in caplog.records)


# -- clients that leave --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("effect", "ended"), [("read", "stopped"), ("write", "done")])
def test_a_client_that_leaves_stops_a_read_and_not_a_write(effect: Any, ended: str) -> None:
    inside, leave, over = threading.Event(), threading.Event(), threading.Event()
    ends: list[str] = []
    audited: list[Any] = []

    async def stay(_: object) -> str:
        inside.set()
        try:
            while not leave.is_set():  # noqa: ASYNC110  # set by the thread of the test
                await asyncio.sleep(0.001)
            ends.append("done")
        except asyncio.CancelledError:
            ends.append("stopped")
            raise
        finally:
            over.set()
        return "done"

    gone = threading.Event()

    def audit(record: Any) -> None:
        audited.append(record)
        gone.set()

    with served(deploy(tool(stay, effect=effect), audit=audit)) as server:
        with server.raw(server.head(length=2, more=b"{}")):
            until_sync(inside)
        until_sync(gone)
        leave.set()
        until_sync(over)

    assert (ends, codes(audited)) == ([ended], ["cancelled"])


# -- the surface itself --------------------------------------------------------------------------------------------


def test_a_fault_of_the_surface_itself_is_500_without_a_word_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError(SECRET)

    monkeypatch.setattr(HttpSurface, "opened", broken)
    with served(deploy(tool(lambda _: "x"))) as server:
        answer = server.call("tool")

    assert (answer.status_code, answer.json()["type"]) == (500, "urn:hedgerow:problem:internal")
    assert SECRET not in answer.text


def test_instances_with_an_admission_each_are_refused_since_their_bounds_would_add_up() -> None:
    two = {"a": deploy(tool(lambda _: "x")), "b": deploy(tool(lambda _: "x"))}
    with pytest.raises(TypeError, match="an Admission each"):
        HttpSurface(two, tokens=Tokens([token(instances=("a",))]), max_body_bytes=10, body_timeout_s=1)


def test_a_token_for_an_instance_that_there_is_not_is_refused() -> None:
    with pytest.raises(TypeError, match=r"tokens open the instances \['b'\]"):
        HttpSurface(
            {"a": deploy(tool(lambda _: "x"))},
            tokens=Tokens([token(instances=("b",))]),
            max_body_bytes=10,
            body_timeout_s=1,
        )


def test_a_surface_that_nobody_could_enter_is_refused() -> None:
    with pytest.raises(TypeError, match="nobody could come in"):
        Tokens([])


def test_the_process_is_ready_until_it_is_asked_to_end_and_healthy_to_the_last() -> None:
    with served(deploy(tool(lambda _: "x"))) as server:
        before = server.client.get("/readyz"), server.client.get("/healthz")
        server.surface.is_draining = True
        after = server.client.get("/readyz"), server.client.get("/healthz")

    assert [answer.status_code for answer in (*before, *after)] == [200, 200, 503, 200]
    assert after[0].headers["connection"] == "close"
