"""Key bindings of the interactive screen, besides those of the editor and lists."""

from tau.tui.input.bindings import Binding

_ROWS = (
    ("app.interrupt", "escape", "Stop the agent; twice on an empty editor: session tree"),
    ("app.clear", "ctrl+c", "Clear the editor; twice: quit"),
    ("app.exit", "ctrl+d", "Quit, if the editor is empty"),
    ("app.suspend", "ctrl+z", "Suspend tau; resume with fg"),
    ("app.display.reset", "ctrl+l", "Redraw the screen"),
    ("app.thinking.cycle", "shift+tab", "Next thinking level"),
    ("app.thinking.toggle", "ctrl+t", "Show or hide thinking"),
    ("app.model.cycleForward", "ctrl+p", "Next model"),
    ("app.model.cycleBackward", "ctrl+shift+p", "Previous model"),
    ("app.model.select", "alt+m", "Choose a model"),
    ("app.tools.expand", "ctrl+o", "Expand or collapse tool output"),
    ("app.tools.expandOne", "alt+o", "Expand one tool call: the last, then the one before"),
    ("app.editor.external", "ctrl+g", "Edit in $VISUAL or $EDITOR"),
    ("app.message.followUp", "alt+enter ctrl+enter", "Send after the agent finishes"),
    ("app.message.dequeue", "alt+up", "Edit queued messages"),
    ("app.clipboard.pasteImage", "ctrl+v", "Paste an image"),
    ("app.clipboard.copyPrompt", "alt+shift+c", "Copy the editor text"),
    ("app.clipboard.copyAnswer", "alt+c", "Copy the last answer"),
    ("app.paste.expand", "alt+p", "Expand or collapse the pasted text at the cursor"),
    ("app.history.search", "ctrl+r", "Search prompt history"),
    ("app.plan.toggle", "alt+shift+p", "Toggle plan mode"),
    ("app.permissions.cycle", "alt+a", "Next permission mode: workspace, ask, plan"),
    ("app.todo.toggle", "alt+t", "Show or hide the todo list"),
    ("app.session.new", "", "New session"),
    ("app.session.tree", "", "Session tree"),
    ("app.session.fork", "", "Fork the session"),
    ("app.session.resume", "", "Resume another session"),
    ("app.help.hotkeys", "f1", "Show keyboard shortcuts"),
)

# Looked up while the session list or tree has the focus, not the editor.
_LISTS = (
    ("app.session.togglePath", "ctrl+p", "sessions", "Sessions: this folder or all"),
    ("app.session.toggleSort", "ctrl+s", "sessions", "Sessions: sort by time, name or size"),
    ("app.session.rename", "ctrl+r", "sessions", "Sessions: rename"),
    ("app.session.delete", "ctrl+d", "sessions", "Sessions: move to the trash"),
    ("app.tree.foldOrUp", "ctrl+left alt+left", "tree", "Tree: fold, or go to the parent"),
    ("app.tree.unfoldOrDown", "ctrl+right alt+right", "tree", "Tree: unfold, or go to the first child"),
    ("app.tree.label", "L", "tree", "Tree: label this entry"),
    ("app.tree.filterForward", "ctrl+o", "tree", "Tree: next filter"),
    ("app.tree.filterBackward", "ctrl+shift+o", "tree", "Tree: previous filter"),
    ("app.tree.filterDefault", "alt+d", "tree", "Tree: default entries"),
    ("app.tree.filterNoTools", "alt+t", "tree", "Tree: without tool results"),
    ("app.tree.filterUser", "alt+u", "tree", "Tree: your messages"),
    ("app.tree.filterLabeled", "alt+l", "tree", "Tree: labeled entries"),
    ("app.tree.filterAll", "alt+a", "tree", "Tree: everything"),
    ("app.models.scope", "tab", "models", "Models: enabled or all"),
    ("app.models.saveDefault", "ctrl+s", "models", "Models: use here and in new sessions"),
    ("app.thinking.saveDefault", "ctrl+s", "thinking", "Thinking: use here and in new sessions"),
    ("app.settings.nextTab", "tab", "settings", "Settings: next group"),
    ("app.settings.previousTab", "shift+tab", "settings", "Settings: previous group"),
    ("app.settings.reset", "delete ctrl+r", "settings", "Settings: reset to default"),
)

APP_BINDINGS: dict[str, Binding] = {
    action: Binding(tuple(keys.split()), description) for action, keys, description in _ROWS
} | {action: Binding(tuple(keys.split()), description, scope) for action, keys, scope, description in _LISTS}
