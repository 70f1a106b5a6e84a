"""Text that somebody else chose reaches a model without a fence.

A prompt is read whole: a page, a document or an unwrapped answer that stands in it bare gives orders like its author.
That holds for a call of a model, for `own(...)` and `owner(...)` of a prompt, and for a value that was taken out of a
`Foreign` by `for_program()` or out of a block by `unfence_untrusted()`: unwrapping is for readers that are not models.

Build the prompt of parts: `prompt(own("..."), stranger(text, origin="..."))`.
"""

from __future__ import annotations

from collections.abc import Iterator

from tools_check._facts import Facts
from tools_check._finding import Case, Finding
from tools_check.rules._cases import tool

SEVERITY = "error"


def check(facts: Facts) -> Iterator[Finding]:
    """Prompts with bare foreign text."""
    for noted in facts.noted("unfenced-prompt"):
        label = min(noted.labels.values(), key=lambda la: (la.depth, la.root), default=None)
        yield facts.finding(
            "unfenced-prompt",
            "error",
            noted.path,
            noted.site,
            f"Text that somebody else chose is given to {noted.text}, where a model reads it without a fence.",
            'prompt(own("..."), stranger(text, origin="...")).text(key=deployment.fence_key)',
            trace=facts.trace(label),
            identity=f"{noted.inside} {noted.text}",
        )


MODEL = "import openai\nfrom registry import Foreign, FenceKey\nfrom registry.prompt import own, owner, prompt, stranger\nimport httpx\n\nCLIENT = openai.OpenAI()\n\n"  # noqa: E501
REPORTED = (
    Case(
        "a page in a message",
        MODEL
        + "def ask(url: str) -> object:\n    page = httpx.get(url).text\n    return CLIENT.chat.completions.create(model='m', messages=[{'role': 'user', 'content': f'Sum up: {page}'}])\n",  # noqa: E501
        10,
    ),
    Case(
        "a page as the owner's words",
        MODEL + "def ask(url: str) -> object:\n    return prompt(own('Sum up.'), owner(httpx.get(url).text))\n",
    ),
    Case(
        "an unwrapped value",
        MODEL
        + "def ask(text: Foreign[str]) -> object:\n    return prompt(own('Sum up.'), owner(text.for_program()))\n",
    ),
    Case(
        "what came out of a block",
        MODEL
        + "from registry import unfence_untrusted\n\ndef ask(answer: str) -> object:\n    return CLIENT.responses.create(model='m', input=unfence_untrusted(answer))\n",  # noqa: E501
    ),
    Case(
        "a handler that asks a model",
        tool(
            "import anthropic\n\ndef page(request: Page) -> str:\n    text = httpx.get(request.url).text\n    return anthropic.Anthropic().messages.create(model='m', max_tokens=9, messages=[{'role': 'user', 'content': text}]).content[0].text\n",  # noqa: E501
            "untrusted_output='a model'",
        ),
    ),
)
SILENT = (
    Case(
        "a stranger's part",
        MODEL
        + "def ask(url: str, key: FenceKey) -> object:\n    asked = prompt(own('Sum up.'), stranger(httpx.get(url).text, origin='page')).text(key=key)\n    return CLIENT.chat.completions.create(model='m', messages=[{'role': 'user', 'content': asked}])\n",  # noqa: E501
    ),
    Case(
        "a Foreign as a stranger's part",
        MODEL + "def ask(text: Foreign[str]) -> object:\n    return prompt(own('Sum up.'), stranger(text))\n",
    ),
    Case(
        "the dispatcher's answer",
        MODEL
        + "from registry import Deployment, run_registry_tool\n\nasync def ask(deployment: Deployment) -> object:\n    outcome = await run_registry_tool(deployment, 'page', {})\n    return CLIENT.chat.completions.create(model='m', messages=[{'role': 'tool', 'content': outcome.text}])\n",  # noqa: E501
    ),
    Case(
        "our own question",
        MODEL
        + "def ask(count: int) -> object:\n    return CLIENT.responses.create(model='m', input=f'Say {count} words.')\n",
    ),
    Case(
        "a number out of a page",
        MODEL
        + "def ask(url: str) -> object:\n    return CLIENT.responses.create(model='m', input=f'The page has {len(httpx.get(url).text)} characters.')\n",  # noqa: E501
    ),
    Case(
        "the model's own words again",
        MODEL
        + "def ask() -> object:\n    first = CLIENT.responses.create(model='m', input='Say one.')\n    return CLIENT.responses.create(model='m', input=first.output_text)\n",  # noqa: E501
    ),
)
