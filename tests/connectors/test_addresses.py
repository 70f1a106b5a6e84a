"""Which hosts may be asked at all, and that the address that was judged is the one that is connected to."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from typing import Any

import httpcore
import pytest

from connectors._addresses import address_of, kind_refused
from connectors.http import tools
from connectors.ingress import NetworkRules, resolve_by_system
from registry.errors import DeclarationError
from tests.support.deployments import until
from tests.support.loops import in_loop
from tests.support.rows import rows
from tests.support.servers import response, site
from tests.support.told import ask

REFUSED = [row for row in rows("connectors/addresses.jsonl") if row["kind"] is not None]
REACHED = [row["address"] for row in rows("connectors/addresses.jsonl") if row["kind"] is None]
ADVICE = "Ask for a host on the public internet; only the deployment can allow another."


class Answers:
    """A resolver that gives one answer after the other, and remembers what it was asked."""

    def __init__(self, *answers: Sequence[str]) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        self.asked.append(host)
        return self.answers[min(len(self.asked), len(self.answers)) - 1]


@pytest.fixture
def connected(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Where connections were made to; none is really made, so that no test reaches beyond loopback."""
    made: list[str] = []

    async def record(self: object, host: str, *args: Any, **kwargs: Any) -> Any:
        made.append(host)
        raise httpcore.ConnectError("nothing is connected to in this test")

    monkeypatch.setattr(httpcore.AnyIOBackend, "connect_tcp", record)
    return made


@pytest.mark.parametrize("row", rows("connectors/urls.jsonl"), ids=lambda row: ascii(row["url"])[:40])
@in_loop
async def test_a_url_that_could_mislead_is_refused_before_anything_is_looked_up(row: dict[str, Any]) -> None:
    resolver = Answers(["8.8.8.8"])

    told = await ask(tools(NetworkRules(resolve=resolver)), "fetch_url", url=row["url"])

    assert (told.code, told.own) == (row["code"], f"Refused ({row['code']}): {row['says']}")
    assert (told.foreign, resolver.asked) == ((), [])


@pytest.mark.parametrize("row", REFUSED, ids=lambda row: row["address"])
@in_loop
async def test_an_address_that_is_not_public_is_refused_as_a_literal(row: dict[str, str], connected: list[str]) -> None:
    host = f"[{row['address']}]" if ":" in row["address"] else row["address"]

    told = await ask(tools(), "fetch_url", url=f"http://{host}/")

    assert (
        told.own == f"Refused (address_refused): The URL names a host with an address that is {row['kind']}. {ADVICE}"
    )
    assert connected == []


@pytest.mark.parametrize("row", REFUSED, ids=lambda row: row["address"])
@in_loop
async def test_an_address_that_is_not_public_is_refused_behind_a_name(
    row: dict[str, str], connected: list[str]
) -> None:
    told = await ask(tools(NetworkRules(resolve=Answers([row["address"]]))), "fetch_url", url="http://name.example/")

    assert (
        told.own == f"Refused (address_refused): The URL names a host with an address that is {row['kind']}. {ADVICE}"
    )
    assert connected == []


@pytest.mark.parametrize("address", REACHED)
@in_loop
async def test_a_public_address_is_connected_to(address: str, connected: list[str]) -> None:
    told = await ask(tools(NetworkRules(resolve=Answers([address]))), "fetch_url", url="http://name.example/")

    assert (told.code, connected) == ("failed", [address])
    literal = address_of(address)
    assert literal is not None
    assert kind_refused(literal) is None


@pytest.mark.parametrize("answer", [["8.8.8.8", "10.0.0.1"], ["10.0.0.1", "8.8.8.8"], ["8.8.8.8"] * 9 + ["::1"]])
@in_loop
async def test_an_answer_with_one_private_address_is_refused_whole(answer: list[str], connected: list[str]) -> None:
    told = await ask(tools(NetworkRules(resolve=Answers(answer))), "fetch_url", url="http://name.example/")

    assert (told.code, connected) == ("address_refused", [])


@pytest.mark.parametrize("odd", ["fe80::1%eth0", "8.8.8.8 ", "0x08080808", "not an address", ""])
@in_loop
async def test_an_answer_that_is_not_a_plain_address_is_refused(odd: str, connected: list[str]) -> None:
    told = await ask(tools(NetworkRules(resolve=Answers([odd]))), "fetch_url", url="http://name.example/")

    assert (told.code, connected) == ("address_refused", [])
    assert odd == "" or odd not in told.own


@in_loop
async def test_an_address_of_this_machine_is_refused_though_it_were_a_public_one(
    connected: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A test has no public address, so that of loopback stands for it."""

    def none_refused(_: object) -> None:
        return None

    monkeypatch.setattr("connectors._network.kind_refused", none_refused)

    told = await ask(tools(NetworkRules(resolve=Answers(["127.0.0.1"]))), "fetch_url", url="http://name.example/")

    assert told.own == (
        f"Refused (address_refused): The URL names a host with an address that is this machine's own. {ADVICE}"
    )
    assert connected == []


@in_loop
async def test_names_that_nobody_answers_for_keep_nothing_else_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    over = threading.Event()
    asked = threading.Semaphore(0)

    def slow(*_: object, **__: object) -> list[object]:
        asked.release()
        over.wait(5)
        return []

    monkeypatch.setattr("socket.getaddrinfo", slow)
    try:
        looking = [asyncio.create_task(resolve_by_system(f"{number}.example", 80)) for number in range(40)]
        await until(lambda: asked.acquire(blocking=False))

        assert await asyncio.wait_for(asyncio.to_thread(lambda: "at once"), 4) == "at once"
    finally:
        over.set()
    assert await asyncio.gather(*looking) == [[]] * 40


@in_loop
async def test_a_resolver_that_changes_its_answer_is_not_asked_again(connected: list[str]) -> None:
    """The lookup that is judged is the one that is used: there is no second one to answer differently."""
    resolver = Answers(["8.8.8.8"], ["127.0.0.1"])

    await ask(tools(NetworkRules(resolve=resolver)), "fetch_url", url="http://name.example/")

    assert (resolver.asked, connected) == (["name.example"], ["8.8.8.8"])


@in_loop
async def test_a_second_call_is_judged_by_its_own_lookup(connected: list[str]) -> None:
    these = tools(NetworkRules(resolve=Answers(["8.8.8.8"], ["127.0.0.1"])))

    first = await ask(these, "fetch_url", url="http://name.example/")
    second = await ask(these, "fetch_url", url="http://name.example/")

    assert (first.code, second.code, connected) == ("failed", "address_refused", ["8.8.8.8"])


@pytest.mark.parametrize("answer", [[], ["8.8.8.8"] * 1 + [f"8.8.{n}.1" for n in range(80)]])
@in_loop
async def test_a_name_without_a_usable_answer_is_a_failure(answer: list[str], connected: list[str]) -> None:
    told = await ask(tools(NetworkRules(resolve=Answers(answer))), "fetch_url", url="http://name.example/")

    assert (told.code, connected) == ("failed", [])
    assert "The host name has no address that could be used." in told.own


@in_loop
async def test_the_name_and_not_the_address_is_sent_to_the_server() -> None:
    async with site(response(b"hello")) as web:
        rules = NetworkRules(allow_hosts=frozenset({"name.example"}), resolve=Answers(["127.0.0.1"]))

        told = await ask(tools(rules), "fetch_url", url=f"http://name.example:{web.port}/")

    assert told.foreign == ("hello",)
    assert web.asked[0].headers["host"] == f"name.example:{web.port}"


@in_loop
async def test_another_address_is_tried_when_one_does_not_answer() -> None:
    async with site(response(b"hello")) as web:
        rules = NetworkRules(allow_hosts=frozenset({"name.example"}), resolve=Answers(["::1", "127.0.0.1"]))

        told = await ask(tools(rules), "fetch_url", url=f"http://name.example:{web.port}/")

    assert told.foreign == ("hello",)


@in_loop
async def test_an_allowed_host_is_matched_exactly() -> None:
    async with site(response(b"hello")) as web:
        for entry, code in (
            ("127.0.0.1", "answered"),
            (f"127.0.0.1:{web.port}", "answered"),
            ("127.0.0.1:1", "address_refused"),
            ("127.0.0.2", "address_refused"),
            ("localhost", "address_refused"),
        ):
            told = await ask(tools(NetworkRules(allow_hosts=frozenset({entry}))), "fetch_url", url=web.url())
            assert (entry, told.code) == (entry, code)


@in_loop
async def test_the_name_of_this_machine_is_refused(connected: list[str]) -> None:
    told = await ask(tools(), "fetch_url", url="http://localhost:1/")

    assert (told.code, connected) == ("address_refused", [])


@pytest.mark.parametrize(
    "entry",
    [
        "http://a.example", "*.example", "a.example/", "a.example:0", "a.example:http", "a.example:", "A.example", "", " a",
        "[a]", "::1:80x", "[::1", "0:0:0:0:0:0:0:1", "2130706433:", "a:b:c",
    ],
)  # fmt: skip
def test_an_allowed_host_that_could_never_match_is_refused_where_it_is_written(entry: str) -> None:
    with pytest.raises(DeclarationError, match="Write 'host' or 'host:port' in lower case"):
        NetworkRules(allow_hosts=frozenset({entry}))


@pytest.mark.parametrize(
    "entry", ["a.example", "a.example:80", "::1", "[::1]:80", "10.0.0.1", "10.0.0.1:80", "localhost"]
)
def test_an_allowed_host_is_a_host_or_a_host_and_a_port(entry: str) -> None:
    assert NetworkRules(allow_hosts=frozenset({entry})).allow_hosts == {entry}


@pytest.mark.parametrize(
    ("field", "value"),
    [("max_redirects", -1), ("max_bytes", 0), ("timeout_s", 0), ("timeout_s", float("nan")), ("max_bytes", True)],
)
def test_a_rule_that_bounds_nothing_is_refused_where_it_is_written(field: str, value: float) -> None:
    with pytest.raises(DeclarationError, match=f"NetworkRules: {field} is .* Write a number that is at least"):
        NetworkRules(**{field: value})  # type: ignore[arg-type]  # the test is about such values


def test_a_list_of_allowed_hosts_is_refused_where_it_is_written() -> None:
    with pytest.raises(DeclarationError, match="allow_hosts is a list"):
        NetworkRules(allow_hosts=["a.example"])  # type: ignore[arg-type]  # the test is about such values
