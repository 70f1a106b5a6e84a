"""Two tools: notes that other people wrote, and how many there are."""

from registry import Foreign, MixedReply, OwnReply, ToolDef, ToolInput, refuse, reply

NOTES = {1: "Water the hedge on Monday."}


class Number(ToolInput):
    """Which note."""

    number: int


class Nothing(ToolInput):
    """No arguments."""


async def read_note(request: Number) -> MixedReply:
    """A note is a stranger's, whoever asks for it."""
    if request.number not in NOTES:
        return refuse("no_such_note", "There is no note of this number.")
    return reply(f"Note {request.number}.", Foreign(NOTES[request.number]))


async def count_notes(_: Nothing) -> OwnReply:
    """A number is ours."""
    return reply(f"{len(NOTES)} notes.")


TOOLS = (
    ToolDef(
        name="read_note",
        description="Read a note.",
        input=Number,
        handler=read_note,
        untrusted_output=lambda request: f"note {request.number}",
        effect="read",
    ),
    ToolDef(
        name="count_notes",
        description="Count the notes.",
        input=Nothing,
        handler=count_notes,
        untrusted_output=False,
        effect="read",
    ),
)
