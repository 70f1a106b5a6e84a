"""Streamable HTTP: who the caller is, and which requests are let in."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator
from typing import Any

import httpx2
import pytest
from mcp.shared.exceptions import MCPError

from registry import AuditRecord, Caller, Deployment, Permitted
from registry.errors import DeclarationError
from registry.surfaces.mcp import http_app, serve_http
from tests.support.deployments import WAIT_S, Text, deploy, tool
from tests.support.loops import in_loop
from tests.support.mcp_servers import ERAS, Era, bearer, http_server
from tests.support.mcp_tools import SECRET, says

CALLERS = {
    "token-of-anna": Caller("anna", frozenset({"one", "two"})),
    "token-of-bert": Caller("bert", frozenset({"two", "three"})),
}
INITIALIZE: dict[str, Any] = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}
HEADERS = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}

each_era = pytest.mark.parametrize("era", ERAS)


def three(**settings: Any) -> Deployment:
    return deploy(*(tool(says, name=name, takes=Text) for name in ("one", "two", "three")), **settings)


@each_era
@in_loop
async def test_a_token_narrows_what_its_holder_sees_and_may_call(era: Era) -> None:
    seen: list[tuple[str | None, str]] = []

    def audit(record: AuditRecord) -> None:
        seen.append((record.caller, record.code))

    deployment = three(permitted=Permitted.of("two", "three"), audit=audit)
    async with http_server(deployment, verify=CALLERS.get) as url:
        for token, may in (("token-of-anna", ["two"]), ("token-of-bert", ["two", "three"])):
            async with bearer(url, token, era) as client:
                assert [found.name for found in (await client.list_tools()).tools] == may
                for name in ("one", "two", "three"):
                    result = await client.call_tool(name, {"text": "x"})
                    assert result.structured_content is not None
                    assert (result.structured_content["outcome"] == "answered") is (name in may)

    assert seen == [
        ("anna", "not_permitted"), ("anna", "answered"), ("anna", "not_permitted"),
        ("bert", "not_permitted"), ("bert", "answered"), ("bert", "answered"),
    ]  # fmt: skip


@in_loop
async def test_without_a_valid_token_nothing_is_answered_and_no_token_is_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def verify(token: str) -> Caller | None:
        if token == "raises":
            raise RuntimeError(token)
        return CALLERS.get(token)

    caplog.set_level(logging.DEBUG)
    async with http_server(three(), verify=verify) as url, httpx2.AsyncClient(timeout=WAIT_S) as http:
        for authorization in (
            "",
            "Bearer token-of-nobody",
            "Bearer raises",
            "Basic dG9rZW4=",
            "Bearer t\u00f6ken",
        ):
            headers = httpx2.Headers(HEADERS, encoding="latin-1")
            if authorization:
                headers["Authorization"] = authorization
            answer = await http.post(url, json=INITIALIZE, headers=headers)
            assert (answer.status_code, answer.headers["www-authenticate"].partition(" ")[0]) == (401, "Bearer")

    said = " ".join(record.getMessage() + str(record.exc_text or "") for record in caplog.records)
    assert "token-of" not in said
    assert "raises" not in said


@each_era
@in_loop
async def test_one_holders_session_is_not_anothers(era: Era) -> None:
    async with http_server(three(), verify=CALLERS.get) as url, httpx2.AsyncClient(timeout=WAIT_S) as http:
        anna, bert = ({**HEADERS, "Authorization": f"Bearer {token}"} for token in CALLERS)
        opened = await http.post(url, json=INITIALIZE, headers=anna)
        session = {"Mcp-Session-Id": opened.headers["mcp-session-id"]}
        stolen = await http.post(url, json={**INITIALIZE, "method": "tools/list"}, headers={**bert, **session})
        unknown = await http.post(url, json=INITIALIZE, headers={**bert, "Mcp-Session-Id": "0" * 32})

    assert (opened.status_code, stolen.status_code) == (200, 404)
    assert (stolen.status_code, stolen.json()) == (unknown.status_code, unknown.json())


@in_loop
async def test_a_foreign_host_or_origin_is_refused() -> None:
    async with http_server(three()) as url, httpx2.AsyncClient(timeout=WAIT_S) as http:
        port = url.rpartition(":")[2].partition("/")[0]

        async def status(**headers: str) -> int:
            answer = await http.post(url, json=INITIALIZE, headers={**HEADERS, **headers})
            return answer.status_code

        for host in ("localhost", f"localhost:{port}", "127.0.0.1", f"[::1]:{port}"):
            assert await status(Host=host) == 200
        for host in ("evil.example", f"evil.example:{port}", "localhost.evil.example", "127.0.0.1.evil.example:80"):
            assert await status(Host=host) == 421
        for origin in ("http://evil.example", "null", f"http://localhost:{port}", "http://localhost.evil.example"):
            assert await status(Origin=origin) == 403


@in_loop
async def test_a_body_that_is_too_long_is_refused_before_it_is_read() -> None:
    async with http_server(three(), max_message_bytes=1000) as url, httpx2.AsyncClient(timeout=WAIT_S) as http:

        async def chunks() -> AsyncGenerator[bytes]:
            for _ in range(20):
                yield b" " * 100

        declared = await http.post(url, content=b" " * 1001, headers=HEADERS)
        streamed = await http.post(url, content=chunks(), headers=HEADERS)
        fits = await http.post(url, json=INITIALIZE, headers=HEADERS)

    assert (declared.status_code, streamed.status_code, fits.status_code) == (413, 413, 200)


@in_loop
async def test_a_body_that_does_not_come_is_408_and_holds_no_connection() -> None:
    async with http_server(three(), body_timeout_s=0.1) as url:
        port = int(url.rpartition(":")[2].partition("/")[0])
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        head = f"POST /mcp HTTP/1.1\r\nhost: localhost:{port}\r\ncontent-length: 100\r\n"
        head += "".join(f"{name}: {value}\r\n" for name, value in HEADERS.items())
        writer.write(f"{head}\r\n{{".encode())
        said = await asyncio.wait_for(reader.read(), WAIT_S)
        writer.close()
        async with httpx2.AsyncClient(timeout=WAIT_S) as http:
            after = await http.post(url, json=INITIALIZE, headers=HEADERS)

    assert said.startswith(b"HTTP/1.1 408 ")
    assert said.endswith(b"\r\n\r\nThe body did not come in time.")
    assert after.status_code == 200


@each_era
@in_loop
async def test_what_is_not_the_protocol_gets_no_text_of_an_exception(era: Era) -> None:
    version = {"MCP-Protocol-Version": "2026-07-28"} if era == "auto" else {}
    bodies = [
        b"",
        b"{",
        b"[]",
        b"null",
        b'{"jsonrpc":"2.0","id":1,"method":7}',
        b"[" * 50_000,
        b'{"id":' + b"9" * 5000 + b"}",
    ]
    async with http_server(three()) as url, httpx2.AsyncClient(timeout=WAIT_S) as http:
        for body in [*bodies, f'{{"{SECRET}": 1}}'.encode()]:
            answer = await http.post(url, content=body, headers={**HEADERS, **version})
            assert 400 <= answer.status_code < 500
            assert "Traceback" not in answer.text
            assert SECRET not in answer.text
        assert (await http.post(url, json=INITIALIZE, headers=HEADERS)).status_code == 200


@in_loop
async def test_what_other_machines_reach_must_ask_for_a_token() -> None:
    with pytest.raises(DeclarationError, match="which other machines reach"):
        await serve_http(three(), port=0, verify=None, host="0.0.0.0")


def test_an_authorization_server_without_tokens_is_refused() -> None:
    oauth: Any = object()
    with pytest.raises(DeclarationError, match="verify is None"):
        http_app(three(), verify=None, oauth=oauth)


@each_era
@in_loop
async def test_a_caller_without_the_grant_learns_nothing_of_the_schema(era: Era) -> None:
    async with http_server(three(), verify=CALLERS.get) as url, bearer(url, "token-of-anna", era) as client:
        allowed = pytest.raises(MCPError, match="text: is required")
        with allowed:
            await client.call_tool("one", {"wrong": 1})
        refused = await client.call_tool("three", {"wrong": 1})

    assert refused.structured_content is not None
    assert refused.structured_content["outcome"] == "not_permitted"
    assert "text" not in str(refused.content[0]).partition("text=")[2].partition("'")[0]
