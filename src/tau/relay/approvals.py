"""Questions of a running agent, asked in the chat and answered only by the run's sender."""

import asyncio
import re
from collections.abc import Awaitable, Callable

from msgspec import Struct

from tau.base.text import shortened

MAX_TITLE_CHARS = 1500
MAX_SHOWN_CHARS = 500
ANSWER = re.compile(r"\s*(?P<word>y|yes|n|no|\d+)\s*(?:#(?P<number>\d+))?\s*", re.IGNORECASE)


class OpenApproval(Struct, eq=False):
    number: int
    channel: str
    chat: str
    sender: str
    options: list[str]
    answer: asyncio.Future[str | None]


class Approvals:
    """All open questions; each has a number that an answer may name."""

    def __init__(self, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self._number = 0
        self.open: list[OpenApproval] = []

    async def ask(
        self,
        event: dict[str, object],
        channel: str,
        chat: str,
        sender: str,
        tell: Callable[[str, tuple[str, ...]], Awaitable[None]],
    ) -> dict[str, object]:
        """Ask in the chat; returns the fields of the agent's answer. Without one in time: cancelled."""
        if event.get("method") not in ("select", "confirm"):
            return {"cancelled": True}
        offered = event.get("options")
        options = [str(one) for one in offered] if isinstance(offered, list) else ["Yes", "No"]
        self._number += 1
        future: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()
        question = OpenApproval(self._number, channel, chat, sender, options, future)
        self.open.append(question)
        texts = (str(event.get(name) or "") for name in ("title", "message"))
        title = "\n".join(text for text in texts if text)
        if len(title) > MAX_TITLE_CHARS:  # nobody may allow what they cannot read to its end
            beginning = shortened(title, MAX_SHOWN_CHARS)
            await tell(f"{beginning}\nThis was denied: the question is too long for a chat.", ())
            return {"cancelled": True}
        is_yes_no = _is_yes_no(options)
        rows = [f"{at}. {one}" for at, one in enumerate(options, 1)][2 if is_yes_no else 0 :]
        listed = "".join(f"\n{row}" for row in rows)
        ask = "y/n" if is_yes_no else f"{listed}\nAnswer"
        try:
            buttons = tuple(f"{word} #{question.number}" for word in ("y", "n")) if is_yes_no else ()
            more = f"{listed}\n" if is_yes_no and listed else ""
            await tell(f"{title} {more}{ask} #{question.number}", buttons)
            async with asyncio.timeout(self._timeout_s):
                choice = await future
        except TimeoutError:
            await tell(f"#{question.number} was denied: nobody answered.", ())
            choice = None
        finally:
            self.open.remove(question)
        if choice is None:
            return {"cancelled": True}
        if event.get("method") == "confirm":
            return {"confirmed": choice == options[0]}
        return {"value": choice}

    def settle(self, channel: str, chat: str, sender: str, body: str) -> bool:
        """Whether the message answered an open question of its sender."""
        match = ANSWER.fullmatch(body)
        if match is None:
            return False
        number = int(match["number"]) if match["number"] else None
        mine = [
            one
            for one in self.open
            if (one.channel, one.chat, one.sender) == (channel, chat, sender)
            and number in (None, one.number)
            and not one.answer.done()
        ]
        if len(mine) != 1:  # several are open: the number is needed
            return False
        options, word = mine[0].options, match["word"].lower()
        if word.isdigit():
            index = int(word) - 1
        elif _is_yes_no(options):
            index = 0 if word.startswith("y") else 1
        else:
            index = -1
        if not 0 <= index < len(options):
            return False
        mine[0].answer.set_result(options[index])
        return True


def _is_yes_no(options: list[str]) -> bool:
    """Whether y and n are the first two options; what follows them needs its number."""
    return [one.lower() for one in options[:2]] == ["yes", "no"]
