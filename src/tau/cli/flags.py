"""All flags and subcommands; parsing, --help, completions and the docs table derive from them.

This module and its readers import nothing, to keep `tau --help` fast.
"""

SWITCH = "switch"  # --plain
VALUE = "value"  # --model PATTERN; the last one wins
OPTIONAL = "optional"  # --list-models [QUERY]
LIST = "list"  # --config FILE, repeatable

# What shells offer for a value. They know files and folders; the rest `tau completions values` lists.
FILE, FOLDER = "file", "folder"
SETTINGS, TOOLS, MODELS, PROVIDERS = "settings", "tools", "models", "providers"
HOSTS, SESSIONS = "hosts", "sessions"


class Flag:
    """One flag. `completes` says what shells offer for its value; `TOOLS` are a list with commas."""

    __slots__ = ("choices", "completes", "group", "help", "kind", "metavar", "name", "short")

    def __init__(
        self,
        name: str,
        help: str,
        group: str,
        kind: str = SWITCH,
        metavar: str = "",
        completes: str = "",
        *,
        short: str = "",
        choices: str = "",
    ) -> None:
        self.name = name
        self.help = help
        self.group = group
        self.kind = kind
        self.short = short
        self.choices = tuple(choices.split())
        self.metavar = metavar or "|".join(self.choices)
        self.completes = completes

    @property
    def usage(self) -> str:
        """Such as `-r, --resume ID|PATH`."""
        short = f"-{self.short}, " if self.short else ""
        value = f" [{self.metavar}]" if self.kind == OPTIONAL else f" {self.metavar}" if self.metavar else ""
        return f"{short}--{self.name}{value}"


class Subcommand:
    """`values` is what shells offer after each of the `choices`, `completes` what they offer without any."""

    __slots__ = ("choices", "completes", "flags", "help", "name", "options", "usage", "values")

    def __init__(self, usage: str, help: str, rows: dict[str, str]) -> None:
        self.name = usage.split()[0]
        self.usage = usage
        self.help = help
        self.choices = tuple(rows.get("choices", "").split())
        self.values = dict(pair.split("=", 1) for pair in rows.get("values", "").split())
        self.flags = tuple(rows.get("flags", "").split())
        self.options = (*(text.partition("=")[0].rpartition("|")[2] for text in self.flags), "--help")
        self.completes = rows.get("completes", "")


_subcommands: list[Subcommand] = []


def subcommands() -> list[Subcommand]:
    """All subcommands, from `subcommands.txt`, read when they are first needed.

    The file has a block for each: its usage, its help, its flags and what shells offer. A flag is written
    `-s|--name=VALUE`; `=[VALUE]` may be left out, `=VALUE...` is repeatable, `=one|two` are the choices.
    """
    if not _subcommands:
        with open(__file__.replace("flags.py", "subcommands.txt"), encoding="utf-8") as file:  # noqa: PTH123
            blocks = file.read().strip().split("\n\n")
        for block in blocks:
            usage, help, *rows = map(str.strip, block.split("\n"))
            _subcommands.append(Subcommand(usage, help, dict(row.split(": ", 1) for row in rows)))
        names = " ".join(command.name for command in _subcommands)
        _subcommands.append(
            Subcommand("help [COMMAND]", "print the help of tau or of a command", {"choices": names})
        )
    return _subcommands


OUTPUT, SESSION, MODEL, PROMPT, SAFETY, CODE, OTHER = (
    *("Modes", "Sessions", "Models", "Prompt and tools", "Safety and settings", "Extensions", "Other"),
)
ROLE_FLAGS = {
    "smol": "titles and other small tasks",
    "slow": "hard questions",
    "plan": "plan mode",
}
GROUPS = (OUTPUT, SESSION, MODEL, PROMPT, SAFETY, CODE, OTHER)

FLAGS = (
    Flag("print", "print the answer and exit", OUTPUT, short="p"),
    Flag(
        "mode",
        "text: final answer only; json: session header and events as JSON lines; rpc: a program sends"
        " commands as JSON lines; rpc-ui: the same, and the program shows dialogs; acp: serve an editor",
        OUTPUT,
        VALUE,
        choices="text json rpc rpc-ui acp",
    ),
    Flag(
        "snapshots",
        "json and rpc: send the whole message with every update, or only what is new",
        OUTPUT,
        VALUE,
        choices="full none",
    ),
    Flag(
        "output-schema",
        "with -p or --mode json: the answer is JSON that matches this JSON Schema",
        OUTPUT,
        VALUE,
        "FILE",
        FILE,
    ),
    Flag(
        "rpc-version",
        "json and rpc: 1 sends the result of a failed tool call as text, 2 as an object (default)",
        OUTPUT,
        VALUE,
        choices="1 2",
    ),
    Flag(
        "json", "like --mode json, and read JSON lines (message, interrupt, permissions) from stdin", OUTPUT
    ),
    Flag("plain", "line-by-line conversation, no colors", OUTPUT),
    Flag("screen-reader", "plain lines in order, no boxes or animation", OUTPUT),
    Flag("continue", "continue the most recent session in this folder", SESSION, short="c"),
    Flag(
        "resume",
        "resume a session by id prefix, or pick one",
        SESSION,
        OPTIONAL,
        "ID|PATH",
        SESSIONS,
        short="r",
    ),
    Flag("fork", "continue in a copy of this session", SESSION, VALUE, "ID|PATH", SESSIONS),
    Flag("session-dir", "store sessions in this folder", SESSION, VALUE, "DIR", FOLDER),
    Flag("no-session", "do not save this session", SESSION),
    Flag("provider", "use only models of this provider", MODEL, VALUE, "NAME", PROVIDERS),
    Flag(
        "model",
        "model id, provider/id or part of its name; :LEVEL sets thinking",
        MODEL,
        VALUE,
        "PATTERN[:LEVEL]",
        MODELS,
    ),
    Flag("thinking", "thinking level", MODEL, VALUE, choices="off minimal low medium high xhigh max"),
    *(
        Flag(role, f"model for {purpose}", MODEL, VALUE, "PATTERN", MODELS)
        for role, purpose in ROLE_FLAGS.items()
    ),
    Flag(
        "api-key",
        "API key for this run; visible in the process list, so prefer a variable or auth.json",
        MODEL,
        VALUE,
        "KEY",
    ),
    Flag("base-url", "send requests to this server", MODEL, VALUE, "URL"),
    Flag(
        "list-models",
        "list known or matching models (see tau models); with --json, as JSON",
        MODEL,
        OPTIONAL,
        "QUERY",
        MODELS,
    ),
    Flag("system-prompt", "replace the system prompt", PROMPT, VALUE, "TEXT|FILE", FILE),
    Flag("append-system-prompt", "append to the system prompt", PROMPT, VALUE, "TEXT|FILE", FILE),
    Flag("tools", "allow only these tools, such as read,mcp__docs_*", PROMPT, VALUE, "NAMES", TOOLS),
    Flag("no-tools", "allow no tools", PROMPT),
    Flag("skills", "offer only these skills, such as pdf,git-*", PROMPT, VALUE, "GLOBS"),
    Flag("no-skills", "offer no skills", PROMPT),
    Flag("no-rules", "use no rules, not even those that come with tau", PROMPT),
    Flag(
        "mcp-config",
        "start the MCP servers of this file too; repeatable",
        group=PROMPT,
        kind=LIST,
        metavar="FILE",
        completes=FILE,
    ),
    Flag("no-lsp", "use no language servers", group=PROMPT),
    Flag("no-mcp", "start no MCP servers but those of --mcp-config", group=PROMPT),
    Flag(
        "approval-mode",
        "ask before every change, allow the workspace, only read, or never ask",
        SAFETY,
        VALUE,
        choices="ask workspace plan yolo",
    ),
    Flag("yolo", "same as --approval-mode yolo", SAFETY),
    Flag("config", "settings file for this run; repeatable", SAFETY, LIST, "FILE", FILE),
    Flag("cwd", "work in this folder", SAFETY, VALUE, "DIR", FOLDER),
    Flag("add-dir", "add a folder to the workspace; repeatable", SAFETY, LIST, "DIR", FOLDER),
    Flag("max-turns", "answers of the model in this run", SAFETY, VALUE, "N"),
    Flag("max-tokens", "tokens that this session and its agents can use", SAFETY, VALUE, "N"),
    Flag("max-minutes", "start no request after this time", SAFETY, VALUE, "N"),
    Flag("max-cost", "dollars that this session and its agents can spend", SAFETY, VALUE, "USD"),
    Flag("max-agents", "agents that one prompt can start", SAFETY, VALUE, "COUNT"),
    Flag("trust", "let this repository's extensions, hooks and servers run, this time only", SAFETY),
    Flag("allow-home", "allow working in the home folder", SAFETY),
    Flag("extension", "load a Python extension; repeatable", CODE, LIST, "PATH", FILE, short="e"),
    Flag("hook", "load a Python hook; repeatable", CODE, LIST, "PATH", FILE),
    Flag("plugin-dir", "use the plugin in this folder; repeatable", CODE, LIST, "DIR", FOLDER),
    Flag("no-extensions", "load only extensions given with -e and --hook", CODE),
    Flag("flag", "set a flag of an extension; repeatable", CODE, LIST, "NAME[=VALUE]"),
    Flag("watch", "load extensions given with -e again when they change", CODE),
    Flag("version", "print the version and exit", OTHER, short="v"),
    Flag("help", "print this help and exit", OTHER, short="h"),
)


# Mutually exclusive flags.
CONFLICTS = (
    ("output-schema", "json"),
    ("continue", "resume"),
    ("continue", "no-session"),
    ("resume", "no-session"),
    ("fork", "continue"),
    ("fork", "resume"),
    ("fork", "no-session"),
    ("tools", "no-tools"),
    ("approval-mode", "yolo"),
    ("json", "mode"),
    ("json", "print"),
    ("json", "plain"),
    ("plain", "print"),
    ("plain", "mode"),
    ("screen-reader", "plain"),
    ("screen-reader", "print"),
    ("screen-reader", "mode"),
    ("screen-reader", "json"),
)
