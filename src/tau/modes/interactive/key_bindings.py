"""The keys of the interactive screen, beside those of the editor and of lists."""

from tau.tui.input.bindings import Binding

_ROWS = (
    ("app.interrupt", "escape", "Stop what runs; on an empty editor, twice: the tree"),
    ("app.clear", "ctrl+c", "Clear the editor; twice: quit"),
    ("app.exit", "ctrl+d", "Quit, if the editor is empty"),
    ("app.suspend", "ctrl+z", "Put tau into the background; fg brings it back"),
    ("app.display.reset", "ctrl+l", "Draw the screen anew"),
    ("app.thinking.cycle", "shift+tab", "Next level of thinking"),
    ("app.thinking.toggle", "ctrl+t", "Show or hide what the model thinks"),
    ("app.model.cycleForward", "ctrl+p", "Next model"),
    ("app.model.cycleBackward", "ctrl+shift+p", "Previous model"),
    ("app.model.select", "alt+m", "Choose a model"),
    ("app.tools.expand", "ctrl+o", "Show all tool output, or its essence"),
    ("app.tools.expandOne", "alt+o", "Show all output of one call: the last, then the one before"),
    ("app.editor.external", "ctrl+g", "Write in the editor named by VISUAL or EDITOR"),
    ("app.message.followUp", "alt+enter ctrl+enter", "Send when the agent has finished"),
    ("app.message.dequeue", "alt+up", "Take back what waits to be sent"),
    ("app.clipboard.pasteImage", "ctrl+v", "Paste a picture"),
    ("app.clipboard.copyPrompt", "alt+shift+c", "Copy what is in the editor"),
    ("app.clipboard.copyAnswer", "alt+c", "Copy the last answer"),
    ("app.paste.expand", "alt+p", "Show the pasted text at the cursor, or fold it"),
    ("app.history.search", "ctrl+r", "Search what was asked before"),
    ("app.plan.toggle", "alt+shift+p", "Plan mode on or off"),
    ("app.todo.toggle", "alt+t", "Show or hide the list of tasks"),
    ("app.session.new", "", "New session"),
    ("app.session.tree", "", "Session tree"),
    ("app.session.fork", "", "Fork the session"),
    ("app.session.resume", "", "Go on with another session"),
    ("app.help.hotkeys", "f1", "Show all keys"),
)

# These are looked up while a list of sessions or the tree has the focus, not the editor.
_LISTS = (
    ("app.session.togglePath", "ctrl+p", "sessions", "Sessions: of this folder or of all"),
    ("app.session.toggleSort", "ctrl+s", "sessions", "Sessions: by time, by name, by size"),
    ("app.session.rename", "ctrl+r", "sessions", "Sessions: rename"),
    ("app.session.delete", "ctrl+d", "sessions", "Sessions: move to the trash"),
    ("app.tree.foldOrUp", "ctrl+left alt+left", "tree", "Tree: fold, or go to the parent"),
    ("app.tree.unfoldOrDown", "ctrl+right alt+right", "tree", "Tree: unfold, or go to the first child"),
    ("app.tree.label", "L", "tree", "Tree: label this entry"),
    ("app.tree.filterForward", "ctrl+o", "tree", "Tree: next filter"),
    ("app.tree.filterBackward", "ctrl+shift+o", "tree", "Tree: previous filter"),
    ("app.tree.filterDefault", "alt+d", "tree", "Tree: the usual entries"),
    ("app.tree.filterNoTools", "alt+t", "tree", "Tree: without results of tools"),
    ("app.tree.filterUser", "alt+u", "tree", "Tree: what you said"),
    ("app.tree.filterLabeled", "alt+l", "tree", "Tree: what has a label"),
    ("app.tree.filterAll", "alt+a", "tree", "Tree: everything"),
    ("app.models.scope", "tab", "models", "Models: only your own set, or all"),
    ("app.models.saveDefault", "ctrl+s", "models", "Models: use it here and in new sessions"),
    ("app.thinking.saveDefault", "ctrl+s", "thinking", "Thinking: use it here and in new sessions"),
    ("app.settings.nextTab", "tab", "settings", "Settings: next group"),
    ("app.settings.previousTab", "shift+tab", "settings", "Settings: previous group"),
    ("app.settings.reset", "delete ctrl+r", "settings", "Settings: back to the default"),
)

APP_BINDINGS: dict[str, Binding] = {
    action: Binding(tuple(keys.split()), description) for action, keys, description in _ROWS
} | {action: Binding(tuple(keys.split()), description, scope) for action, keys, scope, description in _LISTS}
