"""Questions as numbered lines on a plain console."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from tau.agent.ui import NoticeLevel
from tau.base.errors import TauError
from tau.base.text import clean_line, reveal, shortened
from tau.modes.line_input import InputInterrupted, LineReader
from tau.modes.plain_transcript import PlainTranscript

YES, NO = ("y", "yes"), ("n", "no")
END_OF_TEXT = "."
MAX_SHOWN_CHARS = 200


class ConsoleUi:
    """Implements `tau.agent.ui.Ui`. An empty line, Ctrl+C and the end of input cancel a question.

    Without a user at the other end, an invalid answer cancels too: asking again would use up input meant as
    messages.
    """

    def __init__(self, lines: LineReader, transcript: PlainTranscript) -> None:
        self._lines = lines
        self._transcript = transcript
        self._one_at_a_time = asyncio.Lock()

    async def select(self, title: str, options: Sequence[str], *, timeout: float | None = None) -> str | None:
        question = [_indented(title), *(f"  {number}. {text}" for number, text in enumerate(options, 1))]
        sign = f"1-{len(options)}, empty for none: "
        return await self._ask(question, sign, timeout, lambda line: _match_option(line, options))

    async def confirm(self, title: str, message: str, *, timeout: float | None = None) -> bool | None:
        answer = await self._ask([_indented(title), _indented(message)], "y or n: ", timeout, _parse_yes)
        return None if answer is None else answer in YES

    async def input(self, title: str, placeholder: str = "", *, timeout: float | None = None) -> str | None:
        hint = f" ({placeholder})" if placeholder else ""
        return await self._ask([_indented(f"{title}{hint}")], "answer: ", timeout, lambda line: line)

    async def editor(self, title: str, prefill: str = "") -> str | None:
        """Several lines, ended by a line with a single dot."""
        async with self._one_at_a_time:
            self._transcript.line(f"{_indented(title)}\n{prefill}".rstrip())
            self._transcript.line("Enter the text; end with a single dot on a line, cancel with Ctrl+D.")
            lines: list[str] = []
            while (line := await self._read("")) != END_OF_TEXT:
                if line is None:
                    return None
                lines.append(line)
            return "\n".join(lines)

    def notify(self, message: str, level: NoticeLevel = "info") -> None:
        self._transcript.line(message if level == "info" else f"{level}: {message}")

    def status(self, key: str, text: str | None) -> None:
        """A console has no place for changing status."""

    def widget(self, key: str, lines: Sequence[str] | None) -> None:
        """See `status`."""

    def title(self, text: str) -> None:
        """See `status`."""

    async def custom(self, component: Any) -> Any:
        return None

    async def _ask(
        self, question: list[str], sign: str, timeout: float | None, parse: Callable[[str], str | None]
    ) -> str | None:
        async with self._one_at_a_time:
            if not await self._drop_early_lines():
                return None
            self._transcript.line("\n".join(map(reveal, question)))
            try:
                async with asyncio.timeout(timeout):
                    while (line := await self._read(sign)) is not None and line.strip():
                        answer = parse(line.strip())
                        if answer is not None or not self._lines.is_terminal:
                            return answer
            except TimeoutError:
                self._transcript.line("No answer in time.")
            return None

    async def _drop_early_lines(self) -> bool:
        """Lines typed before a question, such as the rest of a paste, are no answer. False after Ctrl+C."""
        try:
            early = await self._lines.pasted()
        except InputInterrupted:
            return False
        except TauError:
            return True
        if early:
            text = shortened(clean_line(" ".join(early)), MAX_SHOWN_CHARS)
            self._transcript.line(f"Ignored what was typed before this question: {text}")
        return True

    async def _read(self, sign: str) -> str | None:
        self._transcript.stream(sign)
        try:
            line = await self._lines.next()
        except (InputInterrupted, TauError):
            line = None
        if line is None:
            self._transcript.fresh_line()
        elif self._lines.is_terminal:
            self._transcript.typed_line()
        else:
            self._transcript.stream(f"{line}\n")
        return line


def _indented(text: str) -> str:
    """Indent questions, so that their lines cannot pass for tau's own messages."""
    return text.replace("\n", "\n    ")


def _match_option(line: str, options: Sequence[str]) -> str | None:
    """The option with this number, or with this prefix: the only one, or one that the others extend."""
    if line.isascii() and line.isdigit():
        return options[int(line) - 1] if 1 <= int(line) <= len(options) else None
    matches = sorted((option for option in options if option.lower().startswith(line.lower())), key=len)
    return matches[0] if matches and all(option.startswith(matches[0]) for option in matches) else None


def _parse_yes(line: str) -> str | None:
    return line.lower() if line.lower() in (*YES, *NO) else None
