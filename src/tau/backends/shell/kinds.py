"""Differences between the shells that can persist between commands, as data.

This is the extension point for other systems: a shell is identified by its program name, and all code in its
language is here. PowerShell would be another `ShellKind` (it would read requests from standard input and
answer on a second channel), with a named pipe instead of the FIFO for a command's output and a job object
instead of the process group; Git Bash is the bash below. A shell that is not listed runs every command in a
fresh process: `ShellSession` only needs a program that accepts `-c`.
"""

import os
from collections.abc import Mapping
from pathlib import PurePath
from shlex import quote

from msgspec import Struct

# A request is four NUL-terminated texts on standard input: the end of the output path, code to run first, the
# command, code to run last. Shells read it byte by byte, so it is short. Answers go to a FIFO by its path, so
# no descriptor of ours is open for a command to close: "R" (ready), "E" with the exit code and the folder,
# "O" with the options if they changed, "S" with the rest of the state, "N" (ready for the next, unless the
# command closed standard input). The command runs in this shell, so its settings persist, and its exit trap
# finds its output. Then `reset` makes `builtin` reliable again, and an exit trap runs as it does at the end
# of `bash -c`. All on one line, so that line numbers in a command's errors are right.
_STEP = (
    "IFS= \\builtin read -r -d '' __tau_out && IFS= \\builtin read -r -d '' __tau_first "
    "&& IFS= \\builtin read -r -d '' __tau_run && IFS= \\builtin read -r -d '' __tau_last || \\builtin exit; "
    '\\exec >{outputs}"$__tau_out" 2>&1; {{ \\builtin eval "$__tau_first" && \\builtin eval "$__tau_run"; }} '
    "</dev/null; {{ __tau=$?; {reset}; }} >/dev/null 2>&1; "
    "\\builtin {list_traps} >|{traps}; \\builtin trap - EXIT HUP INT QUIT PIPE TERM USR1 USR2; "
    "__tau_exit=; [[ -s {traps} ]] && __tau_exit=$(<{traps})$'\\n'; "
    # In POSIX mode, `-` is listed where there is none.
    "if [[ $__tau_exit == *\\ EXIT$'\\n'* && $__tau_exit != 'trap -- - EXIT'* ]]; then "
    "__tau_exit=${{__tau_exit#*-- }}; __tau_exit=${{__tau_exit%%\\ EXIT$'\\n'*}}; "
    '{{ (\\builtin exit "$__tau"); \\builtin eval "\\\\builtin eval $__tau_exit"; }} </dev/null; '
    "{{ {reset}; }} >/dev/null 2>&1; fi; "
    '\\exec >/dev/null 2>&1; {{ \\builtin eval "$__tau_last"; '
    '[[ . -ef $PWD ]] || \\builtin cd -- "$PWD"; '  # removed and created again: enter the new folder
    "\\builtin printf 'E%s ' \"$__tau\"; \\builtin pwd; \\builtin printf '\\0'; }} >{answers} 2>/dev/null; "
    "{{ {save_options} \\builtin printf S; {save}; \\builtin printf '\\0'; "
    "[[ -p /dev/fd/0 ]] && \\builtin printf 'N\\0'; }} >{answers} 2>/dev/null"
)
_SAVE_OPTIONS = (
    "[[ $__tau_saved == {key} ]] || {{ __tau_saved={key}; "
    "\\builtin printf O; {options}; \\builtin printf '\\0'; }};"
)
# Not a loop: `break` and `continue` in a command would leave it, and with `set -n` it would never end.
_DRIVER = (
    "exec >/dev/null 2>&1; {begin}; {before}; __tau_saved=; __tau_step={step}; __tau_steps={steps}; "
    ": >|{traps}; \\builtin printf 'R\\0' >{answers}; {all}"  # a command may set a umask that forbids all
)
_REPEATS = 100  # of repeats: the commands of one shell


class ShellKind(Struct, frozen=True, kw_only=True):
    """`save` writes variables, functions and aliases as text that the same shell can read again.

    `options` does so for options if `options_key` has changed: bash makes a system call for every line, and
    options are half of the lines.

    `reset` ends what a command may have done to our own code: options, traps, functions named `builtin`,
    `eval` or `exec`, disabled builtins, closed descriptors.
    """

    name: str
    bare: tuple[str, ...]  # options to skip the user's startup files
    rc_files: tuple[str, ...]  # in the home folder; the first that exists
    save: str
    definitions: str  # the same without variables
    begin: str  # makes aliases work
    close: str  # closes a descriptor
    list_traps: str  # the exit trap first
    reset: str
    options: str = ""
    options_key: str = ""
    scoped: str  # runs a command with variables set only for it

    def driver(self, outputs: str, answers: str, traps: str, before: str) -> str:
        """Return the script that answers on a FIFO; it runs `before` first, and uses the file `traps`.

        The paths for the output of commands start with `outputs`.
        """
        step = _STEP.format(
            reset=self.reset,
            list_traps=self.list_traps,
            save=self.save,
            save_options=_SAVE_OPTIONS.format(key=self.options_key, options=self.options)
            if self.options
            else "",
            outputs=quote(outputs),
            answers=quote(answers),
            traps=quote(traps),
        )
        return _DRIVER.format(
            begin=self.begin,
            before=before or ":",
            step=quote(step),
            steps=quote('\\builtin eval "$__tau_step";' * _REPEATS),
            answers=quote(answers),
            traps=quote(traps),
            all='\\builtin eval "$__tau_steps";' * _REPEATS,
        )

    def load_code(self, file: str, fd: int = -1) -> str:
        """Return code that loads a saved state, ignoring errors such as read-only variables.

        With `fd`, the file is one that only we and the shell have open.
        """
        load = f"{{ . {quote(file)}; }} </dev/null >/dev/null 2>&1; {self.reset}"
        return load if fd < 0 else f"{load}; {self.close.format(fd=fd)}"

    def with_variables(self, command: str, variables: Mapping[str, str]) -> str:
        """Return the command with variables set only for it and its children."""
        if not variables:
            return command
        settings = " ".join(f"{name}={quote(value)}" for name, value in variables.items())
        return self.scoped.format(variables=settings, command=quote(command))


_COMMON = "alias cd eval exec exit export printf pwd read set trap umask"
_NEEDED = f"{_COMMON} declare shopt"
# POSIX mode, entered by an assignment, is the only way past a function named `builtin`. It changes options.
_RESET_BASH = (
    "__tau_on=:$SHELLOPTS:${BASHOPTS-expand_aliases:interactive_comments:sourcepath}:; POSIXLY_CORRECT=y; "
    "\\trap - DEBUG ERR RETURN; \\set +euxvn +o pipefail; \\unset -f builtin eval exec; "
    f"\\builtin enable {_NEEDED} || {{ \\unset -f enable; \\enable builtin {_NEEDED}; }}; "
    "[[ $__tau_on == *:posix:* ]] || \\set +o posix; "
    "for __tau_name in expand_aliases inherit_errexit interactive_comments shift_verbose sourcepath; do "
    '[[ $__tau_on == *:"$__tau_name":* ]] && __tau_set=-s || __tau_set=-u; '
    '\\builtin shopt "$__tau_set" "$__tau_name"; done'
)
_RESET_ZSH = (
    "for __tau_name in builtin eval exec; do \\unfunction $__tau_name 2>/dev/null || :; done; "
    f"\\builtin enable {_COMMON} typeset functions; "
    "\\builtin set +euxvn +o pipefail; "
    "\\builtin trap - DEBUG ZERR"
)
KINDS = {
    "bash": ShellKind(
        name="bash",
        bare=("--noprofile", "--norc"),
        rc_files=(".bashrc", ".bash_profile"),
        save="\\builtin declare -p; \\builtin declare -f; \\builtin declare -F; \\builtin alias -p; "
        "\\builtin umask -p",
        options="\\builtin shopt -p; \\builtin set +o",
        options_key='"$BASHOPTS:$SHELLOPTS"',
        definitions="declare -f; declare -F; alias -p; shopt -p; set +o",
        begin="shopt -s expand_aliases",
        close="\\exec {fd}>&-",
        list_traps="trap -p EXIT",
        reset=_RESET_BASH,
        scoped="{variables} eval {command}",
    ),
    "zsh": ShellKind(
        name="zsh",
        bare=("-f",),
        rc_files=(".zshrc",),
        save="\\builtin typeset -p; \\builtin functions; \\builtin alias -L; \\builtin set +o; "
        "\\builtin printf 'umask '; \\builtin umask",
        definitions="functions; alias -L; set +o",
        begin=":",
        close="__tau_fd={fd}; \\exec {{__tau_fd}}>&-",
        list_traps="trap",
        reset=_RESET_ZSH,
        scoped="() {{ local -x {variables}; \\builtin eval {command}; }}",
    ),
}


def find_shell_kind(shell: str) -> ShellKind | None:
    return KINDS.get(PurePath(shell).name)


def change_folder_code(folder: str) -> str:
    return f"\\builtin cd -- {quote(folder)}"


def export_code(variables: Mapping[str, str]) -> str:
    return "; ".join(f"\\builtin export {name}={quote(value)}" for name, value in variables.items())


def shell_bytes(text: str) -> bytes:
    try:
        return os.fsencode(text)
    except UnicodeEncodeError:  # a lone surrogate, which JSON allows
        return (
            text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()
        )  # not with `?`, a glob
