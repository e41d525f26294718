"""Completion scripts for bash, zsh and fish, generated from the table in `flags.py`.

Flags, commands and files need no program; for other values the scripts run `tau completions values`.
"""

from tau.cli.flags import (
    FILE,
    FLAGS,
    FOLDER,
    LIST,
    OPTIONAL,
    SESSIONS,
    SUBCOMMANDS,
    SWITCH,
    TOOLS,
    Flag,
    Subcommand,
)

SHELLS = ("bash", "zsh", "fish")

HINTS = {
    "bash": 'eval "$(tau completions bash)" in ~/.bashrc',
    "zsh": 'eval "$(tau completions zsh)" in ~/.zshrc, after compinit',
    "fish": "tau completions fish > ~/.config/fish/completions/tau.fish",
}


_BASH_FUNCTIONS = """\
_tau_words() { COMPREPLY=($(compgen -W "$1" -- "$word")); }
_tau_values() {  # compgen -W would run commands in them
    local value
    while IFS=$'\\t' read -r value _; do
        if [[ $value == "$word"* ]]; then COMPREPLY+=("$value"); fi
    done < <("${COMP_WORDS[0]}" completions values "$1" 2>/dev/null)
    if [[ $word == *:* ]]; then COMPREPLY=("${COMPREPLY[@]#"${word%:*}:"}"); fi
}
_tau_list() {
    local before=""
    if [[ $word == *,* ]]; then before="${word%,*},"; word="${word##*,}"; fi
    _tau_values "$1"
    COMPREPLY=("${COMPREPLY[@]/#/$before}")
}
_tau_paths() {
    local path
    compopt -o filenames 2>/dev/null
    while IFS= read -r path; do COMPREPLY+=("$2$path"); done < <(compgen "$1" -- "${word#"$2"}")
}
_tau_command() {  # choices, options, choices that take a value, kind of value
    if [[ $word == -* ]]; then _tau_words "$2"
    elif [ "$count" -eq 2 ]; then _tau_words "$1"
    elif [ "$count" -eq 3 ] && [[ " $3 " == *" ${words[2]} "* ]]; then _tau_values "$4"; fi
}
"""


def completion_script(shell: str) -> str:
    script = {"bash": _bash, "zsh": _zsh, "fish": _fish}[shell]()
    return f"# tau completion for {shell}. To enable: {HINTS[shell]}\n{script}"


def _bash() -> str:
    words = [f"--{flag.name}" for flag in FLAGS] + [f"-{flag.short}" for flag in FLAGS if flag.short]
    commands = [command.name for command in SUBCOMMANDS]
    values = []
    for flag in FLAGS:
        if flag.kind == SWITCH:
            continue
        names = f"--{flag.name}" + (f"|-{flag.short}" if flag.short else "")
        test = "[[ $word == -* ]] || " if flag.kind == OPTIONAL else ""
        value = f'_tau_words "{" ".join(flag.choices)}"' if flag.choices else _bash_value(flag.completes)
        values.append(f"        {names}) {test}{{ {value}; return; }} ;;")
    value_cases = "\n".join(values)
    nested_cases = "\n".join(map(_bash_command, SUBCOMMANDS))
    return f"""\
{_BASH_FUNCTIONS}\
_tau() {{
    local words=() part word last count
    for part in "${{COMP_WORDS[@]:0:COMP_CWORD+1}}"; do
        if [ "$part" = : ] || [[ ${{words[*]}} == *: ]]; then  # bash splits words at colons
            words[${{#words[@]}}-1]+="$part"
        else
            words+=("$part")
        fi
    done
    count=$((${{#words[@]}} - 1))
    word="${{words[count]}}" last="${{words[count-1]}}"
    if [ "$word" = = ]; then word=""; fi
    if [ "$last" = = ]; then last="${{words[count-2]}}"; fi
    COMPREPLY=()
    if [ "$count" -gt 1 ]; then case "${{words[1]}}" in
{nested_cases}
    esac; fi
    case "$last" in
{value_cases}
    esac
    case "$word" in
        @*) _tau_paths -f @; compopt -o nospace 2>/dev/null ;;
        -*) _tau_words "{" ".join(words)}" ;;
        *) [ "$count" -eq 1 ] && _tau_words "{" ".join(commands)}" ;;
    esac
}}
complete -F _tau tau
"""


def _bash_command(command: Subcommand) -> str:
    options = " ".join(command.options)
    if command.choices:
        takes, kind = _value_choices(command)
        call = f'_tau_command "{" ".join(command.choices)}" "{options}" "{" ".join(takes)}" "{kind}"'
    else:
        value = _bash_value(command.completes)
        call = f'if [[ $word == -* ]]; then _tau_words "{options}"; else {value}; fi'
    return f"        {command.name}) {call}; return ;;"


def _bash_value(kind: str) -> str:
    known = {
        "": ":",
        FILE: "_tau_paths -f ''",
        FOLDER: "_tau_paths -d ''",
        SESSIONS: "_tau_values sessions; _tau_paths -f ''",
        TOOLS: "_tau_list tools",
    }
    return known.get(kind, f"_tau_values {kind}")


def _value_choices(command: Subcommand) -> tuple[list[str], str]:
    """The choices that take a value, which is of the same kind for all."""
    return list(command.values), next(iter(command.values.values()), "")


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
    helps = [(command.name, _zsh_words(command.help)) for command in SUBCOMMANDS]
    commands = " ".join(f"{name}:{help}" for name, help in helps)
    nested_cases, arguments = "\n".join(map(_zsh_command, SUBCOMMANDS)), " \\\n".join(lines)
    return f"""\
_tau_values() {{
    local -a found=("${{(@f)$($program completions values $1 2>/dev/null)}}")
    [[ -n $found[1] ]] || return 1
    found=("${{(@)found//:/\\\\:}}")
    found=("${{(@)found//$'\\t'/:}}")
    _describe value found
}}
_tau_list() {{ compset -P '*,'; _tau_values $1 }}
_tau_sessions() {{ _tau_values sessions; _files }}
_tau_command() {{  # options, choices, choices that take a value, kind of value
    if [[ $words[CURRENT] == -* ]]; then compadd -- ${{=1}}
    elif (( CURRENT == 3 )); then compadd -- ${{=2}}
    elif (( CURRENT == 4 && ${{${{=3}}[(Ie)$words[3]]}} )); then _tau_values $4; fi
}}
_tau_rest() {{
    if compset -P @; then _files; return; fi
    if (( CURRENT == 2 )); then
        local -a commands=({commands})
        _describe command commands
    fi
}}
_tau() {{
    local program=$words[1]
    if (( CURRENT > 2 )); then case "$words[2]" in
{nested_cases}
    esac; fi
    _arguments \\
{arguments} \\
        '*:message:_tau_rest'
}}
compdef _tau tau
"""


def _zsh_command(command: Subcommand) -> str:
    options = " ".join(command.options)
    if command.choices:
        takes, kind = _value_choices(command)
        call = f"_tau_command '{options}' '{' '.join(command.choices)}' '{' '.join(takes)}' '{kind}'"
    else:
        value = _zsh_action(command.completes)
        call = f"if [[ $words[CURRENT] == -* ]]; then compadd -- {options}; else {value}; fi"
    return f"        {command.name}) {call}; return ;;"


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
    return f"{colon}{name}:{_zsh_action(flag.completes) if flag.completes else ' '}"


def _zsh_action(kind: str) -> str:
    known = {
        "": ":",
        FILE: "_files",
        FOLDER: "_files -/",
        SESSIONS: "_tau_sessions",
        TOOLS: "_tau_list tools",
    }
    return known.get(kind, f"_tau_values {kind}")


def _fish() -> str:
    lines = [
        *("function __tau_at_file", "    string match -q -- '@*' (commandline -ct)", "end"),
        *("complete -c tau -f", "function __tau_files"),
        *("    printf '@%s\\n' (__fish_complete_path (string sub -s 2 -- (commandline -ct)))", "end"),
        *("function __tau_values", "    tau completions values $argv 2>/dev/null", "end"),
        "function __tau_list",
        "    set -l before (commandline -ct | string replace -r '^--?\\w+=' '' | string match -r '.*,')",
        *("    __tau_values $argv | string replace -r '^' \"$before\"", "end"),
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
        lines += _fish_command(command)
    return "\n".join(lines) + "\n"


def _fish_command(command: Subcommand) -> list[str]:
    here = f"__fish_seen_subcommand_from {command.name}"
    lines = []
    for option in command.options:
        name = f"-l {option[2:]}" if option.startswith("--") else f"-s {option[1:]}"
        lines.append(f"complete -c tau -n '{here}' {name}")
    takes, kind = _value_choices(command)
    if command.choices:
        first = f"{here}; and not __fish_seen_subcommand_from {' '.join(command.choices)}"
        lines.append(f"complete -c tau -n '{first}' -a '{' '.join(command.choices)}'")
    if kind:
        taking = f"{here}; and __fish_seen_subcommand_from {' '.join(takes)}"
        lines.append(f"complete -c tau -n '{taking}' -a '(__tau_values {kind})'")
    if command.completes:
        lines.append(f"complete -c tau -n '{here}'{_fish_kind(command.completes)}")
    return lines


def _fish_value(flag: Flag) -> str:
    if flag.kind == SWITCH:
        return ""
    if flag.choices:
        return f" -x -a '{' '.join(flag.choices)}'"
    exclusive = "" if flag.completes in (FILE, SESSIONS) else " -x"
    return exclusive + _fish_kind(flag.completes)


def _fish_kind(kind: str) -> str:
    known = {
        "": "",
        FILE: " -r -F",
        FOLDER: " -a '(__fish_complete_directories)'",
        SESSIONS: " -r -F -a '(__tau_values sessions)'",
        TOOLS: " -a '(__tau_list tools)'",
    }
    return known.get(kind, f" -a '(__tau_values {kind})'")


def _fish_quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace("'", "\\'")
