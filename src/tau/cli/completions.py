"""Completion scripts for bash, zsh and fish, generated from the table in `flags.py`.

The scripts are self-contained: completing a word starts no program.
"""

from tau.cli.flags import FILE, FLAGS, FOLDER, LIST, OPTIONAL, SUBCOMMANDS, SWITCH, Flag

SHELLS = ("bash", "zsh", "fish")

HINTS = {
    "bash": 'eval "$(tau completions bash)" in ~/.bashrc',
    "zsh": 'eval "$(tau completions zsh)" in ~/.zshrc, after compinit',
    "fish": "tau completions fish > ~/.config/fish/completions/tau.fish",
}


def completion_script(shell: str) -> str:
    made = {"bash": _bash, "zsh": _zsh, "fish": _fish}[shell]()
    return f"# tau completion for {shell}. To enable: {HINTS[shell]}\n{made}"


def _bash() -> str:
    words = [f"--{flag.name}" for flag in FLAGS] + [f"-{flag.short}" for flag in FLAGS if flag.short]
    commands = [command.name for command in SUBCOMMANDS]
    values = []
    for flag in FLAGS:
        if flag.kind in (SWITCH, OPTIONAL):
            continue
        names = f"--{flag.name}" + (f"|-{flag.short}" if flag.short else "")
        values.append(f"        {names}) {_bash_value(flag)}; return ;;")
    nested = [
        f'        {command.name}) _tau_second "{" ".join(command.choices)}"; return ;;'
        for command in SUBCOMMANDS
    ]
    value_cases, nested_cases = "\n".join(values), "\n".join(nested)
    return f"""\
_tau_second() {{ if [ "$COMP_CWORD" -eq 2 ]; then _tau_words "$1"; fi; }}
_tau_words() {{ COMPREPLY=($(compgen -W "$1" -- "$word")); }}
_tau_paths() {{
    local path
    compopt -o filenames 2>/dev/null
    COMPREPLY=()
    while IFS= read -r path; do COMPREPLY+=("$2$path"); done < <(compgen "$1" -- "${{word#"$2"}}")
}}
_tau() {{
    local word="${{COMP_WORDS[COMP_CWORD]}}" last="${{COMP_WORDS[COMP_CWORD-1]}}"
    if [ "$word" = = ]; then word=""; fi
    if [ "$last" = = ]; then last="${{COMP_WORDS[COMP_CWORD-2]}}"; fi
    COMPREPLY=()
    case "$last" in
{value_cases}
    esac
    if [ "$COMP_CWORD" -gt 1 ]; then case "${{COMP_WORDS[1]}}" in
{nested_cases}
    esac; fi
    case "$word" in
        @*) _tau_paths -f @; compopt -o nospace 2>/dev/null ;;
        -*) _tau_words "{" ".join(words)}" ;;
        *) [ "$COMP_CWORD" -eq 1 ] && _tau_words "{" ".join(commands)}" ;;
    esac
}}
complete -F _tau tau
"""


def _bash_value(flag: Flag) -> str:
    if flag.choices:
        return f'_tau_words "{" ".join(flag.choices)}"'
    if flag.completes:
        return f"_tau_paths {'-d' if flag.completes == FOLDER else '-f'} ''"
    return ":"


def _zsh() -> str:
    lines = []
    for flag in FLAGS:
        help = flag.help.replace("'", "'\\''").replace("[", "(").replace("]", ")").replace(":", "\\:")
        once = "*" if flag.kind == LIST else ""
        if flag.short and not once:
            names = f"'(-{flag.short} --{flag.name})'{{-{flag.short},--{flag.name}{_zsh_equals(flag)}}}"
        else:
            names = f"'{once}'--{flag.name}{_zsh_equals(flag)}"
        lines.append(f"        {names}'[{help}]{_zsh_value(flag)}'")
    nested = [
        f"        {command.name}) compadd -- {' '.join(command.choices)}; return ;;"
        for command in SUBCOMMANDS
    ]
    helps = [(command.name, _zsh_words(command.help)) for command in SUBCOMMANDS]
    commands = " ".join(f"{name}:{help}" for name, help in helps)
    nested_cases, arguments = "\n".join(nested), " \\\n".join(lines)
    return f"""\
_tau_rest() {{
    if compset -P @; then _files; return; fi
    if (( CURRENT == 2 )); then
        local -a commands=({commands})
        _describe command commands
    fi
}}
_tau() {{
    if (( CURRENT == 3 )); then case "$words[2]" in
{nested_cases}
    esac; fi
    _arguments \\
{arguments} \\
        '*:message:_tau_rest'
}}
compdef _tau tau
"""


def _zsh_words(text: str) -> str:
    """Quote text as one zsh word; a colon would end it."""
    return "".join(f"\\{letter}" if letter in " ;|&<>()'\"`$:\\" else letter for letter in text)


def _zsh_equals(flag: Flag) -> str:
    return "" if flag.kind in (SWITCH, OPTIONAL) else "="


def _zsh_value(flag: Flag) -> str:
    if flag.kind == SWITCH:
        return ""
    colon = "::" if flag.kind == OPTIONAL else ":"
    name = flag.metavar.replace(":", " ").replace("[", "").replace("]", "")
    if flag.choices:
        return f"{colon}{name}:({' '.join(flag.choices)})"
    return f"{colon}{name}:{ {FILE: '_files', FOLDER: '_files -/'}.get(flag.completes, ' ') }"


def _fish() -> str:
    lines = [
        "function __tau_at_file",
        "    string match -q -- '@*' (commandline -ct)",
        "end",
        "complete -c tau -f",
        "function __tau_files",
        "    printf '@%s\\n' (__fish_complete_path (string sub -s 2 -- (commandline -ct)))",
        "end",
        "complete -c tau -n __tau_at_file -a '(__tau_files)'",
    ]
    for flag in FLAGS:
        short = f" -s {flag.short}" if flag.short else ""
        lines.append(
            f"complete -c tau{short} -l {flag.name}{_fish_value(flag)} -d '{_fish_quoted(flag.help)}'"
        )
    for command in SUBCOMMANDS:
        lines.append(
            f"complete -c tau -n __fish_use_subcommand -a {command.name} -d '{_fish_quoted(command.help)}'"
        )
        lines.append(
            f"complete -c tau -n '__fish_seen_subcommand_from {command.name}'"
            f" -a '{' '.join(command.choices)}'"
        )
    return "\n".join(lines) + "\n"


def _fish_value(flag: Flag) -> str:
    if flag.kind in (SWITCH, OPTIONAL):
        return ""
    if flag.choices:
        return f" -x -a '{' '.join(flag.choices)}'"
    return {FILE: " -r -F", FOLDER: " -x -a '(__fish_complete_directories)'"}.get(flag.completes, " -x")


def _fish_quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace("'", "\\'")
