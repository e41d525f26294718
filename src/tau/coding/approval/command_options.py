"""Options, settings and scripts by which programs run other commands: `git -c`, `tar -I`, `sed e`."""

import re
from collections.abc import Callable

from msgspec import Struct

from tau.coding.approval.shell_words import NotUnderstoodError, ShellWord, known_value

Words = tuple[ShellWord, ...]


class RunningOptions(Struct, frozen=True):
    """Options whose value is a command: letters, and names, which may be abbreviated.

    `single`: one dash is enough for a name.
    """

    letters: str = ""
    names: tuple[str, ...] = ()
    single: bool = False


_TAR = RunningOptions(
    "IF",
    (
        *("to-command", "use-compress-program", "info-script", "new-volume-script", "rsh-command"),
        *("rmt-command", "checkpoint-action"),
    ),
)
_OPTIONS = {
    "tar": _TAR,
    "gtar": _TAR,
    "bsdtar": _TAR,
    "rsync": RunningOptions("e", ("rsh", "rsync-path")),
    "man": RunningOptions("PH", ("pager", "html")),
    "rg": RunningOptions("", ("pre", "hostname-bin")),
    "sort": RunningOptions("", ("compress-program",)),
    "split": RunningOptions("", ("filter",)),
    "wget": RunningOptions("", ("use-askpass",)),
    "npm": RunningOptions("", ("script-shell",)),
    "scp": RunningOptions("SD"),
    "sftp": RunningOptions("SD"),
    "nc": RunningOptions("ec"),
    "ncat": RunningOptions("ec", ("exec", "sh-exec", "lua-exec")),
    "go": RunningOptions("", ("exec", "toolexec", "vettool"), single=True),
    "less": RunningOptions("", ("lesskey-file",)),
    "clone": RunningOptions("u", ("upload-pack", "config", "template")),
    "rebase": RunningOptions("x", ("exec",)),
    "difftool": RunningOptions("x", ("extcmd",)),
    "grep": RunningOptions("O", ("open-files-in-pager",)),
    **dict.fromkeys(("fetch", "pull", "ls-remote", "fetch-pack"), RunningOptions("", ("upload-pack",))),
    **dict.fromkeys(("push", "send-pack"), RunningOptions("", ("receive-pack", "exec"))),
    "archive": RunningOptions("", ("exec",)),
}
# Settings of git that name no program. Every other value counts as a command.
_HARMLESS_SETTING = (
    r"(?:user|color|advice|init|push|pull|fetch|merge|rebase|commit|branch|log|status|column|core\.(?:quotepath|"
    r"autocrlf|eol|filemode|longpaths|ignorecase|abbrev|safecrlf|bare|compression)|diff\.(?:algorithm|renames|"
    r"colormoved|context|noprefix|mnemonicprefix)|http\.\w+|gc|pack|protocol|safe|feature|index|stash|tag|rerere|"
    r"clean|grep|blame|worktree|transfer|receive|remote\.[^.]+\.(?:url|fetch|pushurl|prune)|"
    r"branch\.[^.]+\.\w+|submodule\.\w+|i18n|help|apply|am|checkout|format\.pretty|maintenance)"
    r"(?:\.[\w-]+)*"
)
_GIT_VALUES = ("-C", "-c", "--git-dir", "--work-tree", "--namespace", "--super-prefix", "--attr-source")
_SED_PATTERN = r"/(?:[^/\\\n]|\\.)*/[IM]*"
_SED_ADDRESS = rf"(?:(?:\d+(?:~\d+)?|\$|{_SED_PATTERN})(?:\s*,\s*(?:[+~]?\d+|\$|{_SED_PATTERN}))?\s*!?\s*)?"
# Commands that only edit the text, besides `s` and `y`: not `e`, `w` and `W`.
_SED_EDIT = r"[dDgGhHnNpPxz=F]|[qQlL]\d*|[btT:]\s*[^\n;}]*|[aic](?:[^\n\\]|\\.)*|[rR#][^\n]*"
_SED_OPTION = (
    r"-[nrEszu]*(?:i.*)?|--(?:in-place(?:=.*)?|quiet|silent|regexp-extended|separate|null-data|posix|sandbox|"
    r"unbuffered|follow-symlinks|debug|version|help)"
)
_SED_FLAGS = r"[gpiImM\d]*"
_AWK_DANGER = r"\bsystem\b|(?<!\|)\|(?!\|)|\bprintf?\b.*>(?!=)|@\s*\w"


def find_texts(program: str, words: Words) -> list[ShellWord]:
    """The commands in a program's options, as text for a shell; raises NotUnderstoodError.

    `words` do not include the program.
    """
    special = _SPECIAL.get(program)
    if special is not None:
        return special(words)
    options = _OPTIONS.get(program) if program not in ("clone", "grep", "archive") else None
    return _option_values(words, options) if options is not None else []


def _option_values(words: Words, options: RunningOptions) -> list[ShellWord]:
    found: list[ShellWord] = []
    for at, word in enumerate(words):
        text = word.text
        following = words[at + 1] if at + 1 < len(words) else None
        if not text.startswith("-") or text == "-":
            continue
        if text == "--":
            break
        if text.startswith("--") or options.single:
            name, equals, value = text.lstrip("-").partition("=")
            if name and any(each.startswith(name) for each in options.names):
                _add(found, _rest(word, value) if equals else following)
            continue
        for letter in options.letters:
            if letter in text:
                value = text.partition(letter)[2]
                _add(found, _rest(word, value) if value else following)
    return found


def _add(found: list[ShellWord], value: ShellWord | None) -> None:
    if value is not None and value.text:
        for prefix in ("exec=", "!"):
            if value.text.startswith(prefix):
                value = _rest(value, value.text.removeprefix(prefix))
        found.append(value)


def _rest(word: ShellWord, value: str) -> ShellWord:
    return ShellWord(value, value, word.expansions)


def _find_git(words: Words) -> list[ShellWord]:
    found: list[ShellWord] = []
    at = 0
    while at < len(words) and words[at].text.startswith("-"):
        text = words[at].text
        following = words[at + 1] if at + 1 < len(words) else None
        if text.startswith(("--config-env", "--exec-path=")):
            raise NotUnderstoodError("git takes settings or programs from elsewhere")
        if text == "-c" and following is not None:
            found += _git_setting(following)
        elif text.startswith("-c"):
            found += _git_setting(_rest(words[at], text[2:]))
        at += 2 if text in _GIT_VALUES else 1
    if at == len(words):
        return found
    command, rest = known_value(words[at]), words[at + 1 :]
    if command in ("filter-branch", "daemon", "instaweb", "send-email", "cvsserver", "shell", "hook", None):
        raise NotUnderstoodError(f"git {command or ''} may run anything".replace("  ", " "))
    if command == "config":
        operands = [word for word in rest if not word.text.startswith("-")]
        if operands and operands[0].text == "set":
            operands = operands[1:]
        if len(operands) > 1:
            found += _git_setting(_rest(operands[1], f"{operands[0].text}={operands[1].text}"))
    if (command, *(word.text for word in rest[:1])) in (("bisect", "run"), ("submodule", "foreach")):
        text = " ".join(word.text for word in rest[1:] if word.text not in ("--recursive", "--quiet"))
        found.append(ShellWord(text, text, frozenset().union(*(word.expansions for word in rest))))
    options = _OPTIONS.get(command)
    return found + (_option_values(rest, options) if options is not None else [])


def _git_setting(word: ShellWord) -> list[ShellWord]:
    key, _, value = word.text.partition("=")
    if re.fullmatch(_HARMLESS_SETTING, key, re.IGNORECASE):
        return []
    if known_value(word) is None:
        raise NotUnderstoodError("a setting of git is known only when it runs")
    if re.fullmatch(r"|true|false|\d+", value, re.IGNORECASE):
        return []
    return [ShellWord(value.removeprefix("!"), value)]


def _find_sed(words: Words) -> list[ShellWord]:
    """Nothing to run, if every script only edits text."""
    scripts: list[ShellWord] = []
    operands: list[ShellWord] = []
    rest = iter(words)
    for word in rest:
        text = word.text
        if re.fullmatch(r"-[nrEszu]*e|--expression", text):
            scripts += [following] if (following := next(rest, None)) is not None else []
        elif found := re.match(r"-[nrEszu]*e|--exp\w*=", text):
            scripts.append(_rest(word, text[found.end() :]))
        elif not text.startswith("-") or text == "-":
            operands.append(word)
        elif not re.fullmatch(_SED_OPTION, text):
            raise NotUnderstoodError("a sed script may write files or run commands")
    values = [known_value(script) for script in scripts or operands[:1]]
    if not all(value is not None for value in values) or not _only_edits("\n".join(map(str, values))):
        raise NotUnderstoodError("a sed script may write files or run commands")
    return []


def _only_edits(script: str) -> bool:
    at = 0
    while True:
        at = _skip(r"[\s;{}]*", script, at)
        at = _skip(_SED_ADDRESS, script, at)
        at = _skip(r"[\s{]*", script, at)
        if at == len(script):
            return True
        end = _skip_substitution(script, at) if script[at] in "sy" else _skip(_SED_EDIT, script, at)
        if end == at or not re.compile(r"\s*(?:[;}\n#]|$)").match(script, end):
            return False
        at = end


def _skip(pattern: str, text: str, at: int) -> int:
    found = re.compile(pattern, re.DOTALL).match(text, at)
    return found.end() if found is not None else at


def _skip_substitution(script: str, at: int) -> int:
    """Returns the end of `s/a/b/` or `y/a/b/`; the same position if it may run or write something."""
    mark = re.escape(script[at + 1 : at + 2])
    part = rf"((?:(?!{mark})[^\\\n]|\\.)*){mark}"
    found = re.compile(rf".{mark}{part}{part}", re.DOTALL).match(script, at)
    # Inside brackets, some versions take the mark literally.
    if found is None or not mark or script[at + 1] in "\\\n" or re.search(r"\[[^]]*$", found[1]):
        return at
    return _skip(_SED_FLAGS, script, found.end())


def _find_awk(words: Words) -> list[ShellWord]:
    operands: list[ShellWord] = []
    rest = iter(words)
    for word in rest:
        text = word.text
        if re.fullmatch(r"-[Fv]", text):
            next(rest, None)
        elif not text.startswith("-") or text in ("-", "--"):
            operands += [word] if text != "--" else []
        elif not re.match(r"-[Fv]", text):
            raise NotUnderstoodError("an awk program may write files or run commands")
    for program in operands[:1]:
        value = known_value(program)
        if value is None or re.search(_AWK_DANGER, value, re.DOTALL):
            raise NotUnderstoodError("an awk program may write files or run commands")
    return []


_SPECIAL: dict[str, Callable[[Words], list[ShellWord]]] = {
    "git": _find_git,
    "sed": _find_sed,
    "gsed": _find_sed,
    **dict.fromkeys(("awk", "gawk", "mawk", "nawk"), _find_awk),
}
