"""A deployment is decided in full, or not built."""

# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false
# The handlers are lambdas in tables, which no annotation reaches; mypy takes what they get for Any.

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import pytest

from registry import Admission, Deployment, Permitted, Registry
from registry.errors import DeclarationError
from tests.support.deployments import Nothing, deploy, tool


def test_every_field_is_required() -> None:
    whole = {field.name: getattr(deploy(), field.name) for field in fields(Deployment)}

    for name in whole:
        with pytest.raises(TypeError, match=name):
            Deployment(**{key: value for key, value in whole.items() if key != name})


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"tools": []}, "tools is a list. Write a Registry."),
        (
            {"permitted": True},
            "permitted is True. Write Permitted.every(), Permitted.of(...) or a function of the caller.",
        ),
        ({"permitted": None}, "permitted is None."),
        ({"admission": 8}, "admission is 8. Write an Admission."),
        ({"reply_timeout_s": 0}, "reply_timeout_s is 0. Write a number of seconds above 0."),
        ({"reply_timeout_s": float("inf")}, "reply_timeout_s is inf."),
        ({"reply_timeout_s": True}, "reply_timeout_s is True."),
        ({"catalog_prose": "hidden"}, "catalog_prose is 'hidden'. Write 'quoted' or 'omitted'."),
        ({"max_result_chars": 0}, "max_result_chars is 0. Write a whole number above 0."),
        ({"max_media_bytes": 1.5}, "max_media_bytes is 1.5."),
        ({"audit": None}, "audit is None. Write a function of an AuditRecord."),
    ],
)
def test_a_field_that_decides_nothing_is_refused_with_what_to_write(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(DeclarationError) as caught:
        replace(deploy(), **changes)
    assert f"Deployment: {words}" in str(caught.value)


def test_a_key_that_is_none_is_refused_and_the_secret_is_not_shown() -> None:
    secret: Any = "a secret that is no key"
    with pytest.raises(DeclarationError) as caught:
        replace(deploy(), fence_key=secret)
    assert "secret" not in str(caught.value)


def test_the_short_cut_is_one_posture_and_takes_a_registry_or_tools() -> None:
    found = tool(lambda request: "ok", takes=Nothing)

    assert list(Deployment.single_user([found]).tools) == ["tool"]
    assert Deployment.single_user(Registry([found])).permitted == Permitted.every()
    assert Deployment.single_user([], reply_timeout_s=2).admission.window_s == 1


def test_permitted_has_no_empty_form() -> None:
    with pytest.raises(DeclarationError, match=r"Write Permitted\.every\(\) or Permitted\.of"):
        Permitted()
    with pytest.raises(DeclarationError, match="unpack a list of them"):
        Permitted.of(["a"])  # type: ignore[arg-type]


def test_a_bound_can_be_read_without_its_insides() -> None:
    assert repr(Admission(max_concurrent=2, window_s=1)) == "Admission(max_concurrent=2, window_s=1.0)"
