"""Whatever a handler typed `Any` returns becomes text, and nothing slips through."""

import json

import pytest

from registry._fence import FenceKey, as_text, fence_untrusted, is_block, unfence_untrusted

KEY = FenceKey.from_bytes(b"a key of the tests alone")


class Silent:
    def __str__(self) -> str:
        raise RuntimeError("foreign text")


class Shouting(str):
    __slots__ = ()

    def __str__(self) -> str:
        return "something else"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("as it is\ud800", "as it is\ud800"),
        (Shouting("as it is"), "as it is"),
        (b"caf\xc3\xa9 \xff", "café \udcff"),
        (bytearray(b"x"), "x"),
        (memoryview(b"x"), "x"),
        (None, "null"),
        (True, "true"),
        (7, "7"),
        (1.5, "1.5"),
        ({"é": [1, (2, None)]}, '{"é": [1, [2, null]]}'),
        ({"k": b"\xff", "s": Silent()}, '{"k": "\udcff", "s": "(a Silent that has no text form)"}'),
        ({(1, 2): "key"}, '{"[1, 2]": "key"}'),
        (Silent(), "(a Silent that has no text form)"),
        (range(3), "range(0, 3)"),
    ],
)
def test_a_value_becomes_text(value: object, text: str) -> None:
    assert as_text(value) == text


def test_bytes_come_back_from_the_text() -> None:
    every = bytes(range(256))
    block = fence_untrusted(as_text(every), origin="web", key=KEY)
    assert unfence_untrusted(block, key=KEY).encode("utf-8", "surrogateescape") == every


def test_cycles_depths_and_huge_numbers_do_not_raise() -> None:
    cycle: list[object] = []
    cycle.append(cycle)
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    assert as_text(cycle).startswith("[[[")
    assert "left out" in as_text(deep)
    assert json.loads(as_text([10**10_000]))[0].startswith("0x")


@pytest.mark.parametrize("value", ["", b"", 0, None, {}, [], False])
def test_no_type_slips_through_the_fence(value: object) -> None:
    block = fence_untrusted(value, origin="web", key=KEY)  # type: ignore[arg-type]  # what `Any` lets through
    assert is_block(block, key=KEY)
