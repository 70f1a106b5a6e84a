"""A retrieval block: pieces of documents that are put in front of a question. Their sources can be written by anybody."""

from collections.abc import Iterable

from registry import FenceKey
from registry.prompt import AnthropicPrompt, own, owner, prompt, stranger


def with_documents(question: str, found: Iterable[tuple[str, str]], key: FenceKey) -> AnthropicPrompt:
    """The arguments of a request that answers from documents.

    Each piece is fenced under the document it came from: docs/adr/0001-the-seven-rules.md, rule 4.

    Args:
        question: the owner's.
        found: the name of a document and the piece of it that was found.
        key: the fence key of the deployment.
    """
    pieces = [stranger(piece, origin=f"document {name}") for name, piece in found]
    return prompt(
        own("Answer from the {count} pieces of documents that follow, and name the document.", count=len(pieces)),
        *pieces,
        owner(question),
    ).anthropic(key=key)
