"""Where text goes into a model: which bytes of somebody else stand there without a fence.

A call of a model is a call into a library of which the catalogue says `prompts`: what goes into it is a prompt.  What was
fenced on its way (`fence_untrusted`, `prompt`, an answer of the dispatcher) may stand there; a model's own earlier words
may too.
"""

from __future__ import annotations

from typing import Final

from tools_check._run import Frame, Run
from tools_check._values import Labels

MODEL: Final = "llm"


def is_client(run: Run, labels: Labels) -> bool:
    """Whether a value came out of a model's library: a client, whose methods are calls of the model."""
    return any(run.catalog.reads_prompts(root.name) for root in labels)


def reached(run: Run, frame: Frame, site: int, where: str, labels: Labels) -> None:
    """Note bytes that reach a prompt without a fence."""
    bare = {
        root: label
        for root, label in labels.items()
        if root.kind == "foreign" and root not in run.fenced and label.origin != MODEL
    }
    if bare:
        run.note("unfenced-prompt", frame, site, where, bare)


def told(run: Run, frame: Frame, site: int, labels: Labels) -> None:
    """Note a stranger's part of a prompt: a way in that is fenced, which the inventory lists."""
    foreign = {root: label for root, label in labels.items() if root.kind == "foreign"}
    run.note("prompt-part", frame, site, "stranger()", foreign)
