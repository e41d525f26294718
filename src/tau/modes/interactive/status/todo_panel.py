"""The agent's tasks: those of the current phase, or all."""

from tau.coding.todo.list import Phases, Status, TodoItem, TodoPhase, tasks_of
from tau.modes.interactive.current_session import CurrentSession
from tau.modes.interactive.screen_protocols import Display
from tau.tui.component import CachedComponent, LiveComponent
from tau.tui.style import Theme
from tau.tui.text.clean import clean_line
from tau.tui.text.cut import truncate

FOLDED_TASKS = 6
_WORDS: dict[Status, str] = {
    "pending": "To do",
    "in_progress": "In progress",
    "completed": "Done",
    "abandoned": "Dropped",
}


class TodoPanel(CachedComponent, LiveComponent):
    """`refresh` rereads the list; an empty list takes no room. `toggle` shows or hides it."""

    def __init__(self, display: Display, current: CurrentSession) -> None:
        self._display = display
        self._current = current
        self._phases: Phases = ()
        self._is_enabled = True

    @property
    def shown(self) -> bool:
        return self._is_enabled and any(phase.tasks for phase in self._phases)

    def refresh(self) -> None:
        session = self._current.session
        phases = () if session is None else session.todos.phases
        if phases != self._phases:
            self._phases = phases
            self._put()

    def toggle(self) -> bool:
        """Show or hide the panel; whether it is visible once there is a task."""
        self._is_enabled = not self._is_enabled
        self._put()
        return self._is_enabled

    def clear(self) -> None:
        self._phases = ()
        self._put()

    def _put(self) -> None:
        box = self._display.layout.todo
        self._rows = None
        if self.shown != bool(box.children):
            box.clear()
            if self.shown:
                box.add(self)
        self._display.request_render()

    def _render_rows(self, width: int) -> list[str]:
        theme = self._display.theme
        rows = [] if theme.linear else [""]
        phase = _current(self._phases)
        rows.append(_heading(theme, phase, self._phases))
        shown, left = _around_current(phase.tasks)
        rows += [_task(theme, task) for task in shown]
        if left:
            rows.append(
                theme["dim"](f"  {theme.symbols.ellipsis} {left} more in this phase; /todo shows all")
            )
        return [truncate(row, width, theme.symbols.ellipsis) for row in rows]


def _current(phases: Phases) -> TodoPhase:
    """The phase with the task in progress, else the first with an open task, else the last."""
    found = [phase for phase, task in tasks_of(phases) if task.status == "in_progress"]
    found += [phase for phase, task in tasks_of(phases) if task.is_open]
    return found[0] if found else phases[-1]


def _around_current(tasks: tuple[TodoItem, ...]) -> tuple[tuple[TodoItem, ...], int]:
    """The task before the first open one and those after it; how many are left out."""
    first = next((place for place, task in enumerate(tasks) if task.is_open), len(tasks))
    start = max(min(first - 1, len(tasks) - FOLDED_TASKS), 0)
    shown = tasks[start : start + FOLDED_TASKS]
    return shown, len(tasks) - len(shown)


def _heading(theme: Theme, phase: TodoPhase, phases: Phases) -> str:
    closed = sum(not task.is_open for task in phase.tasks)
    progress = f"{closed} of {len(phase.tasks)} done"
    if len(phases) > 1:
        progress += f", phase {phases.index(phase) + 1} of {len(phases)}"
    return f"{theme['heading'](clean_line(phase.name))} {theme['dim'](progress)}"


def _task(theme: Theme, task: TodoItem) -> str:
    words = clean_line(task.content)
    if theme.linear:
        return f"{_WORDS[task.status]}: {words}"
    symbols = theme.symbols
    match task.status:
        case "completed":
            return f"  {theme['success'](symbols.checkbox_on)} {theme['dim'](words)}"
        case "abandoned":
            return f"  {theme['dim'](symbols.cross)} {theme['strike'](theme['dim'](words))}"
        case "in_progress":
            return f"  {theme['accent'](symbols.pointer)} {theme['accent'](words)}"
        case "pending":
            return f"  {theme['muted'](symbols.checkbox_off)} {words}"
