"""Words that people type for a command that tau calls something else."""

_WORDS = {
    "exit": "bye close end leave q",
    "new": "reset start wipe",
    "resume": "continue history load open sessions switch",
    "name": "title",
    "session": "about info version whoami",
    "tree": "history messages",
    "fork": "clone duplicate",
    "export": "save share write",
    "copy": "clipboard yank",
    "compact": "compress condense summarize summary",
    "context": "memory-usage tokens window",
    "usage": "bill billing price spend spending tokens",
    "stats": "insights statistics",
    "rewind": "back checkpoint checkpoints restore revert rollback",
    "undo": "back changes restore revert rollback",
    "todo": "list plan-list tasks",
    "jobs": "background bashes kill processes ps stop tasks",
    "ports": "forward servers",
    "permissions": "allow allowed-tools approval approvals approve ask auto deny mode modes rules yolo",
    "plan": "mode read-only readonly",
    "tools": "functions",
    "add-dir": "add cd dir directory folder workspace",
    "trust": "safe",
    "review": "audit check code-review diff security-review",
    "init": "agents-md instructions memory remember setup",
    "model": "engine llm",
    "thinking": "effort reasoning think",
    "theme": "appearance color colors dark light",
    "settings": "edit-mode options preferences prefs set statusline vi vim",
    "hotkeys": "bindings keybindings keymap keys shortcuts",
    "transcript": "expand collapse details output verbose",
    "help": "commands man manual skills",
    "login": "api-key apikey auth connect key provider providers setup signin",
    "logout": "signout",
    "changelog": "news release-notes releases updates whats-new",
    "reload": "refresh restart",
    "doctor": "diagnose health sandbox troubleshoot",
    "debug": "bug feedback issue log logs report",
    "retry": "again regenerate repeat",
    "queue": "pending queued waiting",
}
"""By command, in the order in which they are suggested."""
MOST = 2
"""How many commands one word may suggest."""


def meant(word: str) -> list[str]:
    """The commands that this word may mean, best first."""
    wanted = word.lower().replace("_", "-")
    return [command for command, words in _WORDS.items() if wanted in words.split()]
