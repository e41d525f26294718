"""Options that make an otherwise read-only program run another program or write files.

Not a list of everything dangerous: programs that are not allowed need approval anyway. It makes sure that
`git log *` allows only the log.
"""

from fnmatch import fnmatchcase

from msgspec import Struct


class OptionRules(Struct, frozen=True):
    """`long` without their dashes, `short` as letters, `words` as subcommands.

    `exact` are single-dash options that are not bundled letters. `operands`: every non-option is a program,
    a command or a file to write.
    """

    long: tuple[str, ...] = ()
    short: str = ""
    words: tuple[str, ...] = ()
    exact: tuple[str, ...] = ()
    operands: bool = False


_RUNS_ITS_WORDS = (
    *("env", "sudo", "doas", "su", "xargs", "nohup", "nice", "ionice", "timeout", "time", "watch", "strace"),
    *("setsid", "stdbuf", "parallel", "command", "eval", "exec", "source", ".", "builtin", "trap", "script"),
    *("sh", "bash", "zsh", "dash", "ksh", "fish", "busybox", "chroot", "unshare", "nsenter", "flock"),
)
_TABLE: dict[str, OptionRules] = {
    "git": OptionRules(
        long=(
            *("config", "config-env", "exec-path", "git-dir", "work-tree", "separate-git-dir", "template"),
            *("upload-pack", "receive-pack", "exec", "output", "output-directory", "ext-diff", "textconv"),
            *("open-files-in-pager", "extcmd", "remote"),
        ),
        short="cCOxo",
        words=(
            *("config", "bisect", "difftool", "mergetool", "filter-branch", "submodule", "hook", "daemon"),
            *("send-email", "credential", "worktree", "archive", "bundle", "instaweb", "maintenance"),
            *("upload-pack", "receive-pack", "shell", "http-backend", "for-each-repo", "remote-ext"),
        ),
    ),
    "find": OptionRules(
        exact=(
            *("-exec", "-execdir", "-ok", "-okdir", "-delete"),
            *("-fprint", "-fprint0", "-fprintf", "-fls", "-files0-from"),
        )
    ),
    "fd": OptionRules(long=("exec", "exec-batch"), short="xX"),
    "sort": OptionRules(long=("output", "compress-program", "files0-from"), short="o"),
    "date": OptionRules(long=("set", "file"), short="sf"),
    "uniq": OptionRules(operands=True),
    "xxd": OptionRules(short="r", operands=True),
    "tee": OptionRules(operands=True),
    "tree": OptionRules(short="oR"),
    "rg": OptionRules(long=("pre", "hostname-bin")),
    "ag": OptionRules(long=("pager",)),
    "sed": OptionRules(long=("in-place", "expression", "file"), short="ief", operands=True),
    "awk": OptionRules(long=("file", "exec", "include", "load"), short="fEil", operands=True),
    "tar": OptionRules(
        long=(
            *("checkpoint-action", "to-command", "use-compress-program", "info-script", "new-volume-script"),
            *("rsh-command", "rmt-command", "extract", "get", "create", "append", "update", "delete", "file"),
        ),
        short="IFxcruAPC",
        operands=True,
    ),
    "man": OptionRules(long=("pager", "preprocessor", "html"), short="PpH"),
    "less": OptionRules(long=("log-file", "LOG-FILE", "lesskey-file"), short="oOk"),
    "diff": OptionRules(long=("output", "paginate"), short="l"),
    "curl": OptionRules(
        long=(
            *(
                "output",
                "remote-name",
                "remote-name-all",
                "output-dir",
                "config",
                "dump-header",
                "cookie-jar",
            ),
            *("upload-file", "data", "form", "trace", "trace-ascii", "libcurl", "stderr", "etag-save"),
        ),
        short="oOKDcTdF",
    ),
    "wget": OptionRules(
        long=("output-document", "output-file", "execute", "config", "input-file"), short="OoePi"
    ),
    "ssh": OptionRules(short="oFLRDJ", operands=True),
    "rsync": OptionRules(long=("rsh", "rsync-path"), short="e"),
    "make": OptionRules(long=("eval", "file", "makefile", "directory"), short="fCI"),
    "pytest": OptionRules(long=("pdbcls", "override-ini", "rootdir", "confcutdir"), short="pco"),
    "npm": OptionRules(words=("exec", "config", "set"), long=("script-shell", "prefix", "globalconfig")),
    "cargo": OptionRules(long=("config", "manifest-path")),
    "go": OptionRules(exact=("-exec", "-toolexec", "-overlay", "-modfile"), words=("generate", "env")),
    "python": OptionRules(short="cX"),
    "node": OptionRules(long=("eval", "print", "require", "import", "loader"), short="epr"),
    "perl": OptionRules(short="eEMmIi"),
    "ruby": OptionRules(short="erI"),
    "eslint": OptionRules(long=("fix", "output-file", "config", "plugin"), short="oc"),
    "ruff": OptionRules(long=("output-file", "config"), short="o"),
    **dict.fromkeys(_RUNS_ITS_WORDS, OptionRules(operands=True)),
}
_TABLE |= {"gfind": _TABLE["find"], "gsort": _TABLE["sort"], "gdate": _TABLE["date"], "gsed": _TABLE["sed"]}
_TABLE |= {"gawk": _TABLE["awk"], "mawk": _TABLE["awk"], "python3": _TABLE["python"], "gtar": _TABLE["tar"]}


def is_unsafe(words: tuple[str, ...], at: int) -> bool:
    """Whether the word at this index makes the program run or write something else."""
    known = _TABLE.get(words[0].rpartition("/")[2])
    word = words[at]
    if known is None or at == 0:
        return False
    # A glob may match a file named like a subcommand.
    if any(fnmatchcase(name, word) for name in known.words) or word in known.exact:
        return True
    if word.startswith("--"):
        name = word[2:].partition("=")[0]
        # Programs accept abbreviated long options.
        return bool(name) and any(option.startswith(name) for option in known.long)
    if word.startswith("-") and len(word) > 1:
        if any(word.startswith(option) for option in known.exact):
            return True
        return any(letter in known.short for letter in word[1:].partition("=")[0])
    return known.operands
