"""Sends the editor's text to the session, in order and with images; returns what cannot be sent."""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple

from tau.ai.wire import ImageContent, UserMessage, text_of
from tau.base.errors import TauError
from tau.coding.session.session import Session
from tau.modes.interactive.composer.attachments import Attachments
from tau.modes.interactive.composer.draft_autosave import DraftAutosave
from tau.modes.interactive.composer.prompt_recall import PromptRecall
from tau.modes.interactive.screen_protocols import ScreenPorts

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
        ports: ScreenPorts,
        recall: PromptRecall,
        drafts: DraftAutosave,
        attachments: Attachments,
        is_command: Callable[[str], bool],
    ) -> None:
        self._display, self._current, self._notices, self._tasks, self._actions = ports
        self._recall = recall
        self._drafts = drafts
        self._attachments = attachments
        self._is_command = is_command
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
        self._drafts.text_changed()  # a draft may have been below the sent text
        if text.strip() not in _NOT_REMEMBERED:
            self._recall.add(text)
        return self._deliver(Submission(text, follow_up))

    def send_early(self, texts: Sequence[str]) -> None:
        """Send what was sent before the session existed: the screen's texts first, then those queued here."""
        for text in reversed(texts):
            if text.strip():
                self._recall.add(text)
                self._waiting.appendleft(Submission(text))
        self._send_waiting()

    def queue_command(self, command: str) -> None:
        """Run this once there is a session. It was not typed, so it is not in the history."""
        self._waiting.append(Submission(command))

    def return_to_editor(self, messages: Sequence[UserMessage]) -> None:
        """Return queued messages to the editor, before the current text."""
        texts = []
        for message in messages:
            content = message.content
            text, parts = (content, []) if isinstance(content, str) else (text_of(content), content)
            images = [part for part in parts if isinstance(part, ImageContent)]
            texts.append(self._attachments.restore(text, images))
        self._insert(self._as_message("\n\n".join(text for text in texts if text)))

    def load_message(self, text: str, images: Sequence[ImageContent] = ()) -> None:
        """Put an old message into the editor, to be edited and resent."""
        self._insert(self._as_message(self._attachments.restore(text, images)))

    def _insert(self, text: str) -> None:
        """Put a text into the editor, before the current text."""
        if not text:
            return
        editor = self._display.editor
        self._display.request_render()
        if editor.is_empty and not self._attachments.placeholders(text):
            editor.set_text(text)
            return
        draft = editor.draft()
        parts, cursor = draft["parts"], draft["cursor"]
        assert isinstance(parts, list) and isinstance(cursor, int)
        before = [*self._attachments.editor_parts(text), *(["\n\n"] if parts else [])]
        length = sum(len(part) if isinstance(part, str) else 1 for part in before)
        editor.restore({"parts": [*before, *parts], "cursor": cursor + length})

    def _as_message(self, text: str) -> str:
        """Add a leading space if it would run otherwise: text of a command file can start with anything."""
        return f" {text}" if text and self._is_command(text) else text

    def _problem(self, session: Session | None, text: str) -> str:
        """Why this cannot be sent to the model."""
        placeholders = self._attachments.placeholders(text)
        if not placeholders or session is None or "image" in session.model.input or self._is_command(text):
            return ""
        key = self._display.keys.label("app.model.select")
        return (
            f"{session.model.name} does not accept images. Choose another model ({key}) or delete "
            f"{placeholders[0]}; your text is still here."
        )

    def _deliver(self, sent: Submission) -> bool:
        images = self._attachments.loaded(sent.text)
        if self._busy or self._current.session is None or images is None:
            self._waiting.append(sent)
            self._send_waiting()
            return True
        try:
            self._submit(sent, images)
        except TauError as error:
            self._notices.show_error(str(error))
            return False
        self._send_waiting()
        return True

    def _submit(self, sent: Submission, images: Sequence[ImageContent]) -> None:
        self._actions.submit(sent.text, images, follow_up=sent.follow_up)
        self._attachments.release(sent.text)

    def _send_waiting(self) -> None:
        if not self._busy and self._current.session is not None:
            self._busy = True
            self._tasks.start(self._send_in_order())

    async def _send_in_order(self) -> None:
        """Each starts before the next is examined: a run about to start can be steered."""
        try:
            await asyncio.sleep(0)
            while self._waiting and self._current.session is not None:
                sent = self._waiting.popleft()
                try:
                    problem = self._problem(self._current.session, sent.text)
                    if problem:
                        raise TauError(problem)
                    self._submit(sent, await self._attachments.load(sent.text))
                except Exception as error:
                    self._insert(sent.text)
                    if not isinstance(error, TauError):
                        raise
                    self._notices.show_error(str(error))
                await asyncio.sleep(0)
        finally:
            self._busy = False
