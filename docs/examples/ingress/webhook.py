"""A webhook starts a task, and the task becomes part of a system prompt. Who posted it is nobody we know."""

import json

from registry import FenceKey, Foreign
from registry.prompt import own, owner, prompt, stranger


def task_of(body: bytes, sender: str) -> Foreign[str]:
    """The task that a payload asks for.

    The payload is a stranger's, even though the owner set the webhook up: docs/adr/0001-the-seven-rules.md, rule 4.
    """
    return Foreign(body, origin=f"webhook {sender}").map(json.loads).map(lambda payload: str(payload["task"]))


def system_prompt(task: Foreign[str], house_rules: str, key: FenceKey) -> str:
    """The system prompt of the agent that works on the task. What the task says is content, wherever it stands."""
    return prompt(
        own("You work on a task that came in by a webhook. Do what the house rules allow, and report what was done."),
        owner(house_rules),
        own("The task:"),
        stranger(task),
    ).text(key=key)
