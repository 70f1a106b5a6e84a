"""A call over HTTP: which status an outcome has, and what stands in its body."""

from __future__ import annotations

from registry import reply
from tests.support.deployments import Text, deploy, tool
from tests.support.http import served


def test_an_answer_is_200_with_the_text_that_a_model_may_read() -> None:
    with served(deploy(tool(lambda request: reply(f"Read {request.text}."), takes=Text))) as server:
        answer = server.call("tool", {"text": "it"})

    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/json")
    assert answer.json() == {"outcome": "answered", "text": "Read it.", "origins": [], "data": None, "media": []}
