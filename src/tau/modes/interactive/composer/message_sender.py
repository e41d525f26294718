"""Sends the editor's text to the session, in order and with images; returns what cannot be sent."""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from tau.ai.wire import ImageContent, UserContent, UserMessage, text_of
from tau.base.errors import TauError

if TYPE_CHECKING:
    from tau.coding.session.session import Session
    from tau.modes.interactive.composer.attachments import Attachments
    from tau.modes.interactive.composer.draft_autosave import DraftAutosave
    from tau.modes.interactive.composer.prompt_recall import PromptRecall
    from tau.modes.interactive.current_session import CurrentSession
    from tau.modes.interactive.ports import AppActions, Display, Notices, Tasks

_NOT_REMEMBERED = ("/exit", "/quit")


class Submission(NamedTuple):
    text: str
    follow_up: bool = False


class MessageSender:
    """`send` accepts a text, or rejects it and leaves it in the editor.

    A message that must wait (for images to load, or for a session) holds up later ones: they arrive in order.
    """

    def __init__(
        self,
        display: "Display",
        current: "CurrentSession",
        notices: "Notices",
        tasks: "Tasks",
        actions: "AppActions",
        *,
        is_command: Callable[[str], bool],
        recall: "PromptRecall",
        keeper: "DraftAutosave",
        pictures: "Attachments",
    ) -> None:
        self._display = display
        self._current = current
        self._notices = notices
        self._tasks = tasks
        self._actions = actions
        self._is_command = is_command
        self._recall = recall
        self._keeper = keeper
        self._pictures = pictures
        self._waiting: deque[Submission] = deque()
        self._busy = False

    def send(self, text: str, *, follow_up: bool = False) -> bool:
        """Whether it was accepted; otherwise the user sees why not."""
        self._notices.clear_error()
        if not text.strip():
            return True
        problem = self._problem(self._current.session, text)
        if problem:
            self._notices.show_error(problem)
            return False
        self._keeper.changed()  # a draft may have been below the sent text
        if text.strip() not in _NOT_REMEMBERED:
            self._recall.add(text)
        return self._deliver(Submission(text, follow_up))

    def early(self, texts: Sequence[str]) -> None:
        """Send what was sent before the session existed: the screen's texts first, then those queued here."""
        for text in reversed(texts):
            if text.strip():
                self._recall.add(text)
                self._waiting.appendleft(Submission(text))
        self._go_on()

    def later(self, command: str) -> None:
        """Run this once there is a session. It was not typed, so it is not in the history."""
        self._waiting.append(Submission(command))

    def take_back(self, messages: Sequence[UserMessage]) -> bool:
        """Return queued messages to the editor, before the current text."""
        texts = []
        for message in messages:
            content = message.content
            said, images = (content, []) if isinstance(content, str) else (text_of(content), _images(content))
            texts.append(self._pictures.come_back(said, images))
        return self.put_back(self._as_message("\n\n".join(text for text in texts if text)))

    def bring_back(self, text: str, images: Sequence[ImageContent] = ()) -> bool:
        """Put an old message into the editor, to be edited and resent."""
        return self.put_back(self._as_message(self._pictures.come_back(text, images)))

    def put_back(self, text: str) -> bool:
        """Put a text into the editor, before the current text."""
        if not text:
            return False
        editor = self._display.editor
        self._display.request_render()
        if editor.is_empty and not self._pictures.marks(text):
            editor.set_text(text)
            return True
        draft = editor.draft()
        parts, cursor = draft["parts"], draft["cursor"]
        assert isinstance(parts, list) and isinstance(cursor, int)
        before = [*self._pictures.parts(text), *(["\n\n"] if parts else [])]
        length = sum(len(part) if isinstance(part, str) else 1 for part in before)
        editor.restore({"parts": [*before, *parts], "cursor": cursor + length})
        return True

    def _as_message(self, text: str) -> str:
        """Add a leading space if it would run otherwise: text of a command file can start with anything."""
        return f" {text}" if text and self._is_command(text) else text

    def _problem(self, session: "Session | None", text: str) -> str:
        """Why this cannot be sent to the model."""
        marks = self._pictures.marks(text)
        if not marks or session is None or "image" in session.model.input or self._is_command(text):
            return ""
        key = self._display.keys.label("app.model.select")
        return (
            f"{session.model.name} does not accept images. Choose another model ({key}) or delete "
            f"{marks[0]}; your text is still here."
        )

    def _deliver(self, sent: Submission) -> bool:
        images = [] if not self._pictures.marks(sent.text) else self._pictures.ready(sent.text)
        if self._busy or self._current.session is None or images is None:
            self._waiting.append(sent)
            self._go_on()
            return True
        try:
            self._submit(sent, images)
        except TauError as error:
            self._notices.show_error(str(error))
            return False
        self._go_on()
        return True

    def _submit(self, sent: Submission, images: Sequence[ImageContent]) -> None:
        self._actions.submit(sent.text, images, follow_up=sent.follow_up)
        self._pictures.let_go(sent.text)

    def _go_on(self) -> None:
        if not self._busy and self._current.session is not None:
            self._busy = True
            self._tasks.start(self._pump())

    async def _pump(self) -> None:
        """Each starts before the next is examined: a run about to start can be steered."""
        try:
            await asyncio.sleep(0)
            while self._waiting and self._current.session is not None:
                sent = self._waiting.popleft()
                try:
                    problem = self._problem(self._current.session, sent.text)
                    if problem:
                        raise TauError(problem)
                    self._submit(sent, await self._pictures.contents(sent.text))
                except Exception as error:
                    self.put_back(sent.text)
                    if not isinstance(error, TauError):
                        raise
                    self._notices.show_error(str(error))
                await asyncio.sleep(0)
        finally:
            self._busy = False


def _images(content: Sequence[UserContent]) -> list[ImageContent]:
    return [part for part in content if isinstance(part, ImageContent)]
