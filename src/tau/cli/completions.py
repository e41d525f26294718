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
    SWITCH,
    TOOLS,
    Flag,
    Subcommand,
    subcommands,
)

_TEMPLATES = __file__.replace("completions.py", "completion_templates")

SHELLS = ("bash", "zsh", "fish")

HINTS = {
    "bash": 'eval "$(tau completions bash)" in ~/.bashrc',
    "zsh": 'eval "$(tau completions zsh)" in ~/.zshrc, after compinit',
    "fish": "tau completions fish > ~/.config/fish/completions/tau.fish",
}


def completion_script(shell: str) -> str:
    script = {"bash": _bash, "zsh": _zsh, "fish": _fish}[shell]()
    return f"# tau completion for {shell}. To enable: {HINTS[shell]}\n{script}"


def _fill_template(file: str, **parts: str) -> str:
    """Replace each `@NAME@` of a template."""
    with open(f"{_TEMPLATES}/{file}", encoding="utf-8") as template:  # noqa: PTH123  pathlib is slow to import
        text = template.read()
    for name, part in parts.items():
        text = text.replace(f"@{name.upper()}@", part)
    return text


def _bash() -> str:
    words = [f"--{flag.name}" for flag in FLAGS] + [f"-{flag.short}" for flag in FLAGS if flag.short]
    values = []
    for flag in FLAGS:
        if flag.kind == SWITCH:
            continue
        names = f"--{flag.name}" + (f"|-{flag.short}" if flag.short else "")
        test = "[[ $word == -* ]] || " if flag.kind == OPTIONAL else ""
        value = f'_tau_words "{" ".join(flag.choices)}"' if flag.choices else _bash_value(flag.completes)
        values.append(f"        {names}) {test}{{ {value}; return; }} ;;")
    return _fill_template(
        "bash.sh",
        names=" ".join(command.name for command in subcommands()),
        commands="\n".join(map(_bash_command, subcommands())),
        flags=" ".join(words),
        values="\n".join(values),
    )


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
    helps = [(command.name, _zsh_words(command.help)) for command in subcommands()]
    return _fill_template(
        "zsh.sh",
        names=" ".join(f"{name}:{help}" for name, help in helps),
        commands="\n".join(map(_zsh_command, subcommands())),
        arguments=" \\\n".join(lines),
    )


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
    lines = []
    for flag in FLAGS:
        short = f" -s {flag.short}" if flag.short else ""
        lines.append(
            f"complete -c tau{short} -l {flag.name}{_fish_value(flag)} -d '{_fish_quoted(flag.help)}'"
        )
    for command in subcommands():
        lines.append(
            f"complete -c tau -n __fish_use_subcommand -a {command.name} -d '{_fish_quoted(command.help)}'"
        )
        lines += _fish_command(command)
    return _fill_template("tau.fish", rules="\n".join(lines))


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
