"""Any value as text, for whatever a handler typed `Any` returns. Never raises, and never answers with nothing to fence.

Equal plain data gives equal text.
"""

import json
from typing import Final, cast

MAX_DEPTH: Final = 50
MAX_DECIMAL_BITS: Final = 8192  # Python refuses to print much longer integers in decimal
TOO_DEEP: Final = "(deeper data left out)"


def as_text(value: object) -> str:
    """Any value as text: str as it is, bytes as UTF-8 with surrogates, JSON for plain data, `str()` for the rest."""
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value).decode("utf-8", "surrogateescape")
    if value is None or isinstance(value, bool | int | float | dict | list | tuple):
        return as_json(value)
    try:
        return str.__str__(str(value))
    except Exception:  # noqa: BLE001 - the `__str__` of a foreign value may do anything
        return described(value)


def described(value: object) -> str:
    return f"(a {type(value).__name__} that has no text form)"


def as_json(value: object) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, default=as_text)
    except Exception:  # noqa: BLE001 - a cycle, a key, a depth, a subclass that lies: anything may stand in foreign data
        return json.dumps(tame(value, MAX_DEPTH), ensure_ascii=False)


def tame(value: object, depth: int) -> object:
    """Plain data of bounded depth, with text in place of everything that JSON cannot hold."""
    try:
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, float):
            return float(value)
        if isinstance(value, int):
            return int(value) if value.bit_length() < MAX_DECIMAL_BITS else hex(value)
        if isinstance(value, dict | list | tuple):
            return tame_container(
                cast("dict[object, object] | list[object] | tuple[object, ...]", value), depth
            )
    except Exception:  # noqa: BLE001 - see as_json
        return described(value)
    return as_text(value)


def tame_container(value: dict[object, object] | list[object] | tuple[object, ...], depth: int) -> object:
    if depth == 0:
        return TOO_DEEP
    if isinstance(value, dict):
        return {as_text(key): tame(item, depth - 1) for key, item in dict.items(value)}
    return [tame(item, depth - 1) for item in value]
