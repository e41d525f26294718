"""Reads what a repository could run: bounded, without following links out of it, without running anything."""

import hashlib
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path

from msgspec import DecodeError, Struct, json

from tau.base.errors import ConfigError
from tau.base.files import typed_path
from tau.base.sizes import MIB, format_bytes
from tau.base.text import reveal_line
from tau.config.json_file import read_limited
from tau.config.paths import project_folders
from tau.config.trust_locations import TrustLocation, locations

MAX_FILES = 1_000
MAX_DEPTH = 8
MAX_FILE_BYTES = 1 * MIB
MAX_TOTAL_BYTES = 16 * MIB
MAX_SCRIPTS = 100
MAX_PROBLEMS = 20
MAX_WORDS = 2_000
MAX_FOLDERS = 20
MAX_NAME_CHARS = 1_000
SHOWN_CHARS = 1_000
# Keys whose values are programs, or say what to load.
PROGRAM_KEYS = frozenset(
    {
        *("command", "commands", "cmd", "exec", "run", "args", "argv", "program", "script", "shell"),
        *("shellPath", "interpreter", "hooks", "mcp", "mcpServers", "mcp_servers", "servers", "lsp"),
        *("lspServers", "plugin", "plugins", "enabledPlugins", "extensions", "packages", "apiKeyHelper"),
        *("awsAuthRefresh", "awsCredentialExport", "otelHeadersHelper", "statusLine", "notify", "env"),
        *("proxyCommand", "editor", "formatter", "initOptions", "settings", "adapters"),
        *("launchDefaults", "attachDefaults", "alternatives", "carrier", "carriedBy", "standalone"),
    }
)
_SHELL_LINE = re.compile(r"^\s*!(?!\[)\S|!`|!\{|^(?:hooks|mcpServers)\s*:", re.MULTILINE)
_WORD = re.compile(r"[^\s\"'`;|&()<>=$,\\]+")
_PROMPTS = (".md", ".mdc", ".toml", ".txt", ".yaml", ".yml")
_VARIABLE = re.compile(r"\$\{(?:env:)?([A-Za-z_]\w*)|\{env:([A-Za-z_]\w*)\}")
# Keys that name variables whose values a program or server gets.
_VARIABLE_KEYS = frozenset(
    {"bearer_token_env_var", "env_http_headers", "env_vars", "inherit_env", "inheritEnv", "passEnv"}
)
_URL_KEYS = ("url", "httpUrl", "serverUrl")
_WHITE = re.compile(r"\s+")


class TrustItem(Struct, frozen=True, kw_only=True):
    """One thing that could run. `path` is relative to the repository; `shown` is its gist on one line."""

    path: str
    kind: str
    digest: str
    shown: str = ""
    text: str = ""


class TrustScan(Struct, frozen=True):
    """`problems` are sentences about what cannot be checked and so cannot be trusted."""

    root: Path
    items: tuple[TrustItem, ...]
    problems: tuple[str, ...]


def scan(cwd: Path) -> TrustScan:
    """Find everything from `cwd` up to the root of its repository that could run."""
    folders = [Path(os.path.realpath(folder)) for folder in project_folders(cwd)]
    search = _Search(folders[-1])
    home = Path(os.path.realpath(typed_path("~")))
    for folder in folders:
        if folder != home:  # what is there is the user's own
            for location in locations():
                search.look(folder / location.path, location)
    search.add_scripts()
    items = sorted(search.items.values(), key=lambda item: item.path)
    return TrustScan(search.root, tuple(items), tuple(search.problems))


class _Unchecked(Exception):
    """Something that cannot be checked; `str()` says why, as a clause."""


class _Search:
    def __init__(self, root: Path) -> None:
        self.root = root
        self.items: dict[str, TrustItem] = {}
        self.problems: list[str] = []
        self._texts: list[str] = []  # that may name scripts
        self._files = 0
        self._bytes = 0
        self._seen: set[str] = set()

    def look(
        self,
        path: Path,
        location: TrustLocation,
        depth: int = 0,
        *,
        named: bool = False,
        real: Path | None = None,
    ) -> None:
        """`named`: a command runs it, so that something which is not there yet counts too.

        `real` is known for what is not a link, in a folder whose real path is known.
        """
        try:
            real = real or self._real(path)
            if real is None and named:
                raise _Unchecked("it links to something that is not there")
            if real is None:
                return
            mode = real.stat().st_mode
            if stat.S_ISDIR(mode):
                self._look_into(path, real, location, depth)
            else:
                self._take(path, real, mode, location)
        except _Unchecked as error:
            self._report(path, str(error))
        except ConfigError as error:
            reason = str(error).removeprefix(f"{error.path}: ").removesuffix(".")
            self._report(path, reason[:1].lower() + reason[1:])
        except OSError as error:
            self._report(path, f"it cannot be read ({error.strerror or error})")

    def add_scripts(self) -> None:
        """Add the files of the repository that commands name: their content runs too."""
        words = list(dict.fromkeys(word for text in self._texts for word in _named_words(text)))
        paths = dict.fromkeys(path for word in words[:MAX_WORDS] for path in self._named_paths(word))
        is_dir = os.path.isdir  # also of what is too long for a name
        folders = [path for path in paths if is_dir(path)][:MAX_FOLDERS]  # where a command may run
        inner = (folder / word for folder in folders for word in words[:MAX_WORDS] if _is_name(word))
        files = [path for path in dict.fromkeys((*paths, *inner)) if _is_something_else(path)]
        if len(words) > MAX_WORDS or len(files) > MAX_SCRIPTS:
            self.problems.append(f"Commands name more than {MAX_SCRIPTS} files; that many cannot be trusted.")
        for path in files[:MAX_SCRIPTS]:
            self.look(path, TrustLocation(path.name, "script", "all"), named=True)

    def _named_paths(self, word: str) -> Iterator[Path]:
        """Where a word may lead in the repository."""
        name = word.removeprefix("$").removeprefix("{CLAUDE_PROJECT_DIR}").removeprefix("CLAUDE_PROJECT_DIR")
        for text in (word, name.lstrip("/")):
            path = self.root / text
            if _is_name(text) and path != self.root and path.is_relative_to(self.root):
                yield path

    def _real(self, path: Path) -> Path | None:
        """The real path; None if there is nothing."""
        if not os.path.lexists(path):
            return None
        real = Path(os.path.realpath(path))
        if not real.is_relative_to(self.root):
            if not real.exists():
                return None
            raise _Unchecked(f"it links to {real}, outside the repository")
        if not real.exists():
            return None
        return real

    def _look_into(self, path: Path, real: Path, location: TrustLocation, depth: int) -> None:
        if depth > MAX_DEPTH:
            raise _Unchecked(f"it has more than {MAX_DEPTH} levels of folders")
        if str(real) in self._seen:
            return
        self._seen.add(str(real))
        with os.scandir(real) as entries:
            names = sorted((entry.name, entry.is_symlink()) for entry in entries)
        if len(names) > MAX_FILES:
            raise _Unchecked(f"it has more than {MAX_FILES:,} files")
        for name, is_link in names:
            self.look(path / name, location, depth + 1, real=None if is_link else real / name)

    def _take(self, path: Path, real: Path, mode: int, location: TrustLocation) -> None:
        if location.check == "shell lines" and path.suffix.lower() not in _PROMPTS:
            return
        if not stat.S_ISREG(mode):
            raise _Unchecked("it is not a regular file")
        name = str(path.relative_to(self.root))
        if name in self.items:
            return
        self._files += 1
        if self._files > MAX_FILES:
            if self._files == MAX_FILES + 1:
                raise _Unchecked(f"there are more than {MAX_FILES:,} files that could run")
            return
        data = read_limited(real, MAX_FILE_BYTES)
        self._bytes += len(data)
        if self._bytes > MAX_TOTAL_BYTES:
            raise _Unchecked(f"the files that could run exceed {format_bytes(MAX_TOTAL_BYTES)}")
        text = data.decode(errors="replace")
        counted = _counted(text, location)
        if counted is None:
            return
        if location.check != "all":
            self._texts.append(counted)
        content = data if counted is text else counted.encode()
        self.items[name] = TrustItem(
            path=name,
            kind=location.kind,
            digest=hashlib.sha256(content).hexdigest(),
            shown=_cut(reveal_line(_gist(counted, location))),
            text=counted,
        )

    def _report(self, path: Path, reason: str) -> None:
        name = reveal_line(str(path.relative_to(self.root)))
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(f"{name} cannot be trusted: {reveal_line(reason)}.")


def _named_words(text: str) -> Iterator[str]:
    """What may name a file: words of commands, and whole values, whose spaces and commas are letters."""
    yield from _WORD.findall(text)
    try:
        pending = [json.decode(text)]
    except (DecodeError, ValueError, RecursionError):
        return
    while pending:
        one = pending.pop()
        if isinstance(one, str):
            yield from (one, *one.split())
        elif isinstance(one, dict):
            pending += one.values()
        elif isinstance(one, list):
            pending += one


def _is_name(text: str) -> bool:
    return bool(text) and len(text) <= MAX_NAME_CHARS and "\0" not in text


def _is_something_else(path: Path) -> bool:
    """Whether there is something at a path that is no folder; a broken link is."""
    try:
        return os.path.lexists(path) and not path.is_dir()
    except (OSError, ValueError):
        return False


def _counted(text: str, location: TrustLocation) -> str | None:
    """The part of a file that matters; None if nothing in it could run."""
    if location.check == "all":
        return text
    if location.check == "shell lines":
        return text if _SHELL_LINE.search(text) else None
    try:
        content = json.decode(text)
    except (DecodeError, ValueError, RecursionError):
        return text if text.strip() else None  # another parser may read it
    kept = (
        {key: value for key, value in content.items() if _runs(key, value)}
        if isinstance(content, dict)
        else {}
    )
    return json.format(json.encode(kept, order="sorted"), indent=2).decode() if kept else None


def _runs(key: str, value: object) -> bool:
    if isinstance(value, str) and value.lstrip().startswith("!"):
        return True
    if key in PROGRAM_KEYS or key.rpartition(".")[2] in PROGRAM_KEYS:
        return bool(value)
    if isinstance(value, dict):
        return any(_runs(inner, one) for inner, one in value.items())
    if isinstance(value, list):
        return any(_runs("", one) for one in value)
    return False


def _gist(text: str, location: TrustLocation) -> str:
    """What it would run, as far as one line can say."""
    if location.check == "names programs":
        passed = ", ".join(dict.fromkeys(_passed_variables(text)))
        told = f" (with the variables {passed})" if passed else ""
        return ("; ".join(named_commands(text)) or _WHITE.sub(" ", text)) + told
    if location.check == "shell lines":
        match = _SHELL_LINE.search(text)
        return "" if match is None else text[match.start() :].lstrip().partition("\n")[0]
    return ""


def _cut(text: str) -> str:
    left_out = len(text) - SHOWN_CHARS
    return f"{text[:SHOWN_CHARS]}… ({left_out:,} more characters: tau trust show)" if left_out > 0 else text


def _passed_variables(text: str) -> Iterator[str]:
    """The variables of the user whose values the programs and servers in a JSON file get."""
    yield from (one or other for one, other in _VARIABLE.findall(text))
    for one in _objects(text):
        for key in _VARIABLE_KEYS & one.keys():
            value = one[key]
            names = (
                value.values() if isinstance(value, dict) else value if isinstance(value, list) else (value,)
            )
            yield from ("all" if name is True else str(name) for name in names if name)


def named_commands(text: str) -> Iterator[str]:
    """The programs and addresses in a JSON file."""
    for one in _objects(text):
        command, args = one.get("command"), one.get("args")
        words = command if isinstance(command, list) else [command] if isinstance(command, str) else []
        if words:
            yield " ".join(str(word) for word in (*words, *(args if isinstance(args, list) else ())))
        yield from (url for key in _URL_KEYS if isinstance(url := one.get(key), str))
        yield from (value for value in one.values() if isinstance(value, str) and value.startswith("!"))


def _objects(text: str) -> Iterator[dict[str, object]]:
    """All objects in a JSON file."""
    try:
        pending = [json.decode(text)]
    except (DecodeError, ValueError, RecursionError):
        return
    while pending:
        one = pending.pop()
        if isinstance(one, dict):
            yield one
        pending += one.values() if isinstance(one, dict) else one if isinstance(one, list) else ()


MAX_LINE_DIGESTS = 2_000
_LINE_CHARS = 8


def line_digests(text: str) -> list[str]:
    """Digests of the lines, to show later what changed without keeping the text, which may have secrets."""
    lines = text.splitlines()[:MAX_LINE_DIGESTS]
    return [hashlib.sha256(line.encode(errors="replace")).hexdigest()[:_LINE_CHARS] for line in lines]
