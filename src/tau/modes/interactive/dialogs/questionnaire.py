"""The agent's questions: a tab each, options with descriptions, and a line for another answer."""

from collections.abc import Callable, Sequence

from tau.coding.questions import AskAnswer, AskQuestion, answer_of, fallback
from tau.modes.interactive.dialogs.basic import CANCEL, CONFIRM, DOWN, PAGE_DOWN, PAGE_UP, UP
from tau.modes.interactive.dialogs.dialog_widgets import (
    ChoiceRows,
    DialogChoice,
    DialogFrame,
    Window,
    long_text,
)
from tau.modes.interactive.screen_protocols import Display, Notices
from tau.tui.component import Component
from tau.tui.input.key import InputEvent, Key, Paste
from tau.tui.text.cut import truncate
from tau.tui.text.wrap import wrap
from tau.tui.timer import Handle
from tau.tui.widgets.input_field import InputField
from tau.tui.widgets.tab_bar import Tab, TabBar
from tau.tui.widgets.text import Text

OTHER_LABEL = "Something else"

_Done = Callable[[list[AskAnswer] | None], None]


class Draft:
    """One question and its answer so far."""

    def __init__(self, display: Display, question: AskQuestion) -> None:
        self.question = question
        options = [
            DialogChoice(
                at, option.label, option.description, "recommended" if at == question.suggested else ""
            )
            for at, option in enumerate(question.options)
        ]
        options.append(DialogChoice(None, OTHER_LABEL if options else "Type your answer"))
        self.rows = ChoiceRows(display.theme, options, at=question.suggested or 0, multi=question.multi)
        self.field = InputField(display.theme, display.keys, prompt="  ", placeholder="type it here")
        self.window = Window(
            display.theme, Text(display.theme, long_text(question.question)), lambda: self.max_rows
        )
        self.answer: AskAnswer | None = None
        self.max_rows = 8
        """Limits the height of the question."""

    @property
    def types(self) -> bool:
        """Whether the line for another answer is highlighted."""
        return self.rows.chosen.value is None

    def settle(self) -> bool:
        """Accept the highlighted, checked or typed answer; False if there is none."""
        options = self.question.options
        typed = self.field.text.strip()
        if self.question.multi:
            at = sorted(place for place in self.rows.checked if place < len(options))
            labels = [options[place].label for place in at]
            if not labels and not typed and not self.types:
                labels = [options[self.rows.at].label]
        else:
            labels = [] if self.types else [options[self.rows.at].label]
            typed = typed if self.types else ""
        if not labels and not typed:
            return False
        self.answer = answer_of(self.question, labels, typed)
        return True


class Questionnaire(DialogFrame):
    """A single question is answered with one key; several are reviewed together before sending."""

    def __init__(
        self,
        display: Display,
        notices: Notices,
        questions: Sequence[AskQuestion],
        timeout_s: float | None,
        done: _Done,
    ) -> None:
        super().__init__(display, "The agent asks")
        self._drafts = [Draft(display, question) for question in questions]
        self._notices = notices
        self._done = done
        self._at = 0
        self._bar = TabBar(display.theme, display.keys)
        self._clock = _Clock(display, timeout_s, self._on_timeout, self) if timeout_s else None
        self._message = ""
        self._send = ChoiceRows(
            display.theme,
            [DialogChoice(True, "Send the answers"), DialogChoice(False, "Go back to the first question")],
        )

    @property
    def _draft(self) -> Draft | None:
        """The question of the active tab; None on the review tab."""
        return self._drafts[self._at] if self._at < len(self._drafts) else None

    def handle_input(self, event: InputEvent) -> bool:
        if self._clock is not None:
            self._clock.stop()
        self._message = ""
        if self.keys.matches(event, CANCEL):
            self._finish(None)
            return True
        draft = self._draft
        if draft is not None and draft.types and self._type(draft, event):
            return True
        if len(self._drafts) > 1 and self._switch_tab(event):
            return True
        return self._review(event) if draft is None else self._choose(draft, event)

    def invalidate(self) -> None:
        self._bar.invalidate()
        for draft in self._drafts:
            draft.window.invalidate()
            draft.field.invalidate()

    def body(self, width: int) -> Sequence[str]:
        rows: list[str] = []
        if len(self._drafts) > 1:
            self._bar.set_tabs(self._tabs())
            self._bar.activate(str(self._at))
            rows += self._bar.render(width)
        draft = self._draft
        rows += self._review_rows(width) if draft is None else self._question_rows(draft, width)
        if self._message:
            rows += wrap(self.theme["warning"](self._message), width)
        if self._clock is not None and self._clock.words:
            rows += wrap(self.theme["warning"](self._clock.words), width)
        return [*rows, *self.hint_rows(self._hints(draft), width)]

    def _question_rows(self, draft: Draft, width: int) -> list[str]:
        half = max(self.display.terminal.rows // 2, 4)
        options = draft.rows.rows(width, half)
        draft.max_rows = self.room(len(options) + 4)
        rows = [*draft.window.render(width), *([] if self.theme.linear else [""]), *options]
        if draft.types or draft.field.text:
            draft.field.focused = self.focused and draft.types
            rows += draft.field.render(width)
        return rows

    def _review_rows(self, width: int) -> list[str]:
        rows: list[str] = []
        for draft in self._drafts:
            rows += wrap(self.theme["strong"](long_text(draft.question.question)), width)[:2]
            rows.append(truncate(f"  {_answer_text(draft)}", width, self.theme.symbols.ellipsis))
        return [*rows, *([] if self.theme.linear else [""]), *self._send.rows(width, 4)]

    def _hints(self, draft: Draft | None) -> list[str]:
        multi = draft is not None and draft.question.multi
        count = min(len(draft.rows.choices), 9) if draft is not None else 2
        confirms = self.key(CONFIRM, "continues" if len(self._drafts) > 1 else "answers")
        return [
            *([f"1-{count} or Space checks", confirms] if multi else [f"1-{count} or {confirms}"]),
            self.key("tui.input.tab", "shows the next question") if len(self._drafts) > 1 else "",
            self.key(CANCEL, "stops the agent"),
        ]

    def _tabs(self) -> list[Tab]:
        check = self.theme.symbols.check
        tabs = [
            Tab(str(at), draft.question.id[:30], "" if draft.answer is None else check)
            for at, draft in enumerate(self._drafts)
        ]
        return [*tabs, Tab(str(len(self._drafts)), "Send")]

    def _type(self, draft: Draft, event: InputEvent) -> bool:
        """Handle a key for the free-text line; movement keys belong to the list."""
        if any(self.keys.matches(event, action) for action in (UP, DOWN, CONFIRM, "tui.input.tab")):
            return False
        if (
            isinstance(event, Key)
            and event.text.isdigit()
            and not draft.field.text
            and draft.question.options
        ):
            return False
        return draft.field.handle_input(event)

    def _switch_tab(self, event: InputEvent) -> bool:
        self._bar.activate(str(self._at))
        if not self._bar.handle_input(event):
            return False
        active = self._bar.active
        self._at = int(active.value) if active is not None else 0
        return True

    def _choose(self, draft: Draft, event: InputEvent) -> bool:
        matches = self.keys.matches
        if isinstance(event, Paste):
            return False
        if (place := draft.rows.place_of(event)) is not None:
            draft.rows.at = place
            if draft.types:
                return True
            if draft.question.multi:
                draft.rows.toggle()
            else:
                self._continue(draft)
        elif matches(event, UP) or matches(event, DOWN):
            draft.rows.move(-1 if matches(event, UP) else 1)
        elif matches(event, PAGE_UP) or matches(event, PAGE_DOWN):
            draft.window.scroll(-1 if matches(event, PAGE_UP) else 1)
        elif event.text == " " and draft.question.multi and not draft.types:
            draft.rows.toggle()
        elif matches(event, CONFIRM):
            self._continue(draft)
        else:
            return False
        return True

    def _review(self, event: InputEvent) -> bool:
        matches = self.keys.matches
        place = self._send.place_of(event)
        if place is not None:
            self._send.at = place
        elif matches(event, UP) or matches(event, DOWN):
            self._send.move(1)
            return True
        elif not matches(event, CONFIRM):
            return False
        if not self._send.chosen.value:
            self._at = 0
            return True
        missing = next((at for at, draft in enumerate(self._drafts) if draft.answer is None), None)
        if missing is None:
            self._finish([draft.answer for draft in self._drafts if draft.answer is not None])
        else:
            self._at = missing
            self._message = "This question has no answer yet."
        return True

    def _continue(self, draft: Draft) -> None:
        if not draft.settle():
            self._message = "Choose an option, or type an answer."
        elif len(self._drafts) == 1:
            assert draft.answer is not None
            self._finish([draft.answer])
        else:
            self._at += 1

    def _on_timeout(self) -> None:
        answers = [draft.answer or fallback(draft.question) for draft in self._drafts]
        self._notices.say("No answer in time; using the recommended options.", "warning")
        self._finish(answers)

    def _finish(self, answers: list[AskAnswer] | None) -> None:
        if self._clock is not None:
            self._clock.stop()
        self._done(answers)


class _Clock:
    """A visible countdown; the first key press stops it."""

    def __init__(
        self, display: Display, seconds: float, on_end: Callable[[], None], shown: Component
    ) -> None:
        self._display = display
        self._end = display.timer.time() + seconds
        self._on_end = on_end
        self._shown = shown
        self._tick: Handle | None = None
        self._wait()

    @property
    def words(self) -> str:
        if self._tick is None:
            return ""
        left = max(round(self._end - self._display.timer.time()), 0)
        if self._display.theme.linear or not self._display.theme.motion:
            return "The recommended option is used if you do not answer in time; any key stops the countdown."
        return f"Using the recommended option in {left} s; any key stops the countdown."

    def stop(self) -> None:
        if self._tick is not None:
            self._tick.cancel()
            self._tick = None

    def _wait(self) -> None:
        timer = self._display.timer
        left = self._end - timer.time()
        if left <= 0:
            self._tick = None
            self._on_end()
            return
        steps = self._display.theme.motion and not self._display.theme.linear
        self._tick = timer.call_later(min(left, 1.0) if steps else left, self._on_tick)

    def _on_tick(self) -> None:
        self._wait()
        self._display.request_render()


def _answer_text(draft: Draft) -> str:
    answer = draft.answer
    if answer is None:
        return "no answer yet"
    parts = [*answer.selected, *([answer.text] if isinstance(answer.text, str) else [])]
    return ", ".join(" ".join(part.split()) for part in parts)
