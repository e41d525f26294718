"""Differences between the shells that can persist between commands, as data.

This is the extension point for other systems: a shell is identified by its program name, and all code in its
language is here. PowerShell would be another `ShellKind` (its driver would read requests from standard input
and answer on a second channel), with a named pipe instead of the FIFO for a command's output and a job object
instead of the process group; Git Bash is the bash below. A shell that is not listed runs every command in a
fresh process: `ShellSession` only needs a program that accepts `-c`.
"""

from collections.abc import Mapping
from pathlib import PurePath
from shlex import quote

from msgspec import Struct

# A request is five NUL-terminated texts: the output path, code to run first, the command, code to run last,
# and where to save the state. Answers are "R" (ready), "E" with the exit code and the folder,
# "S" (saved). The command runs in this shell, so its settings persist; the redirection hides our own
# channels from its children. All on one line, so that line numbers in a command's errors are right.
_DRIVER = (
    "{drop}; builtin printf 'R\\0'; "
    "while IFS= builtin read -r -d '' __tau_out && IFS= builtin read -r -d '' __tau_first "
    "&& IFS= builtin read -r -d '' __tau_run && IFS= builtin read -r -d '' __tau_last "
    "&& IFS= builtin read -r -d '' __tau_state; do "
    '{{ builtin eval "$__tau_first" && builtin eval "$__tau_run"; }} </dev/null >"$__tau_out" 2>&1; '
    "__tau=$?; builtin set +euxvn +o pipefail; "
    'builtin eval "$__tau_last"; '
    "builtin printf 'E%s ' \"$__tau\"; builtin pwd; builtin printf '\\0'; "
    "{{ {save}; }} >|\"$__tau_state\"; builtin printf 'S\\0'; "
    "done"
)


class ShellKind(Struct, frozen=True, kw_only=True):
    """`save` writes variables, functions, aliases and options as text that the same shell can read again."""

    name: str
    bare: tuple[str, ...]  # options to skip the user's startup files
    rc_files: tuple[str, ...]  # in the home folder; the first that exists
    save: str
    definitions: str  # the same without variables
    begin: str  # closes a descriptor and makes aliases work
    scoped: str  # runs a command with variables set only for it

    def driver(self, answers: int, before: str) -> str:
        """Return the driver script that answers on a descriptor; it runs `before` first."""
        drop = f"exec 1>&{answers} 2>/dev/null; {self.begin.format(fd=answers)}; {before or ':'}"
        return _DRIVER.format(drop=drop, save=self.save)

    def with_variables(self, command: str, variables: Mapping[str, str]) -> str:
        """Return the command with variables set only for it and its children."""
        if not variables:
            return command
        settings = " ".join(f"{name}={quote(value)}" for name, value in variables.items())
        return self.scoped.format(variables=settings, command=quote(command))


KINDS = {
    "bash": ShellKind(
        name="bash",
        bare=("--noprofile", "--norc"),
        rc_files=(".bashrc", ".bash_profile"),
        save="declare -p; declare -f; declare -F; alias -p; shopt -p; set +o; umask -p",
        definitions="declare -f; declare -F; alias -p; shopt -p; set +o",
        begin="exec {fd}>&-; shopt -s expand_aliases",
        scoped="{variables} eval {command}",
    ),
    "zsh": ShellKind(
        name="zsh",
        bare=("-f",),
        rc_files=(".zshrc",),
        save="typeset -p; functions; alias -L; set +o; builtin printf 'umask '; umask",
        definitions="functions; alias -L; set +o",
        begin="__tau_fd={fd}; exec {{__tau_fd}}>&-",
        scoped="() {{ local -x {variables}; eval {command}; }}",
    ),
}


def find_shell_kind(shell: str) -> ShellKind | None:
    return KINDS.get(PurePath(shell).name)


def change_folder_code(folder: str) -> str:
    return f"builtin cd -- {quote(folder)}"


def load_state_code(file: str) -> str:
    """Return code that loads a saved state, ignoring errors such as read-only variables."""
    return f"{{ . {quote(file)}; }} </dev/null >/dev/null 2>&1"


def export_code(variables: Mapping[str, str]) -> str:
    return "; ".join(f"export {name}={quote(value)}" for name, value in variables.items())
