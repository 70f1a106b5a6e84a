"""A connector: the state of the lamps of a house, which a server reports."""

from collections.abc import Callable

from pydantic import Field

from connectors.ingress import NetworkRules, fetch
from registry import AnyTool, MixedReply, ToolDef, ToolFailed, ToolInput, refuse, reply
from registry.errors import IngressRefused


class ReadLamp(ToolInput):
    room: str = Field(description="The room that the lamp is in.", pattern="^[a-z]{1,20}$")


def tools(server: str, secret: Callable[[str], str], rules: NetworkRules) -> tuple[AnyTool, ...]:
    """Make the lamp tools.

    Args:
        server: the address of the server, such as `https://lamps.example`.
        secret: gives a secret by its name.
        rules: which hosts may be asked.
    """

    def origin(request: ReadLamp) -> str:
        return f"lamp server, room {request.room}"

    async def read_lamp(request: ReadLamp) -> MixedReply:
        try:
            answer = await fetch(
                f"{server}/lamps/{request.room}",
                rules=rules,
                origin=origin(request),
                headers={"Authorization": f"Bearer {secret('lamps')}"},
            )
        except IngressRefused as refused:
            return refuse(refused.code, refused.sentence)
        if answer.status == 404:
            return refuse("no_lamp", "There is no lamp in this room.")
        if answer.status != 200:
            raise ToolFailed(f"The lamp server answered with status {answer.status}.", detail=answer.text())
        state = answer.text().map(str.strip).one_of("on", "off")
        if state is not None:
            return reply(f"The lamp in the {request.room} is {state}.")
        return reply("The lamp server says of this lamp:", answer.text())

    return (
        ToolDef(
            name="read_lamp",
            description="Say whether the lamp of a room is on.",
            input=ReadLamp,
            handler=read_lamp,
            untrusted_output=origin,
            effect="read",
        ),
    )
