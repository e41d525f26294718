"""Shared by the command tests: the messages a model got, and the answer to a command."""

from tests.modes.interactive.rig import Rig


def last_sent(rig: Rig) -> str:
    """The text of the last message that the model got."""
    content = rig.faux.requests[-1].messages[-1].content
    return content if isinstance(content, str) else "".join(getattr(part, "text", "") for part in content)


async def run_command(rig: Rig, command: str, text: str) -> str:
    """The screen, as soon as the command shows this text."""
    await rig.send(command)
    shown = await rig.show(text)
    assert text in shown
    return shown
