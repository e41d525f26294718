"""What differs between the shells that can live on from one command to the next, as data.

The seam for other systems: a shell is known by the name of its program, and all that is written in its
language stands here. PowerShell would be another `ShellKind` (its driver reads requests from standard input
and answers on a second channel just so), with a named pipe in the place of the FIFO that takes a command's
output and a job object in the place of the process group; Git Bash is the bash below. A shell that is not
listed runs every command in a fresh process: `ShellSession` needs no more than a program that knows `-c`.
"""

from collections.abc import Mapping
from pathlib import PurePath
from shlex import quote

from msgspec import Struct

# A request is five texts, each ended by NUL: where the output goes, what is done before, the command, what is
# done after, and where the state is saved. Answers are "R" (ready), "E" with the exit code and the folder,
# "S" (saved). The command runs in this shell, so that what it sets lives on; the redirection keeps our own
# channels from its children. All on one line: a command's lines are counted from the one that reads it.
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
    bare: tuple[str, ...]  # options with which it reads no file of the user
    rc_files: tuple[str, ...]  # under the home folder, the first that exists
    save: str
    definitions: str  # the same without variables
    begin: str  # closes a descriptor and makes aliases work
    scoped: str  # a command with variables that hold for it alone

    def driver(self, answers: int, before: str) -> str:
        """The text of a shell that answers on a descriptor; `before` is what it does first of all."""
        drop = f"exec 1>&{answers} 2>/dev/null; {self.begin.format(fd=answers)}; {before or ':'}"
        return _DRIVER.format(drop=drop, save=self.save)

    def with_variables(self, command: str, variables: Mapping[str, str]) -> str:
        """The command with variables that are there for it and what it starts, and gone afterwards."""
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


def kind_of(shell: str) -> ShellKind | None:
    return KINDS.get(PurePath(shell).name)


def change_folder(folder: str) -> str:
    return f"builtin cd -- {quote(folder)}"


def read_in(file: str) -> str:
    """Take over what a shell has saved; what it cannot take (its own constants) is no error."""
    return f"{{ . {quote(file)}; }} </dev/null >/dev/null 2>&1"


def exports(variables: Mapping[str, str]) -> str:
    return "; ".join(f"export {name}={quote(value)}" for name, value in variables.items())
