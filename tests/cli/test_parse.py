"""The command line parser."""

from typing import get_args

import pytest

from tau.ai.model import THINKING_LEVELS
from tau.base.errors import UsageError
from tau.cli.agents_command import ACTIONS as AGENTS_ACTIONS
from tau.cli.completions import SHELLS
from tau.cli.config_command import ACTIONS
from tau.cli.debug_command import VERBS as DEBUG_VERBS
from tau.cli.extensions_command import ACTIONS as EXTENSIONS_ACTIONS
from tau.cli.flags import (
    CONFLICTS,
    FLAGS,
    GROUPS,
    LIST,
    OPTIONAL,
    SWITCH,
    VALUE,
    Flag,
    Subcommand,
    subcommands,
)
from tau.cli.hooks_command import ACTIONS as HOOKS_ACTIONS
from tau.cli.login_command import AUTH_ACTIONS
from tau.cli.memory_command import ACTIONS as MEMORY_ACTIONS
from tau.cli.models_command import ACTIONS as MODELS_ACTIONS
from tau.cli.parse import parse
from tau.cli.plugin_command import ACTIONS as PLUGIN_ACTIONS
from tau.cli.relay_command import ACTIONS as RELAY_ACTIONS
from tau.cli.rules_command import ACTIONS as RULES_ACTIONS
from tau.cli.sandbox_command import ACTIONS as SANDBOX_ACTIONS
from tau.cli.sessions_command import ACTIONS as SESSIONS_ACTIONS
from tau.cli.ssh_command import ACTIONS as SSH_ACTIONS
from tau.cli.subcommand_flags import parse_subcommand
from tau.cli.trust_command import ACTIONS as TRUST_ACTIONS
from tau.cli.worktree_command import ACTIONS as WORKTREE_ACTIONS
from tau.config.settings import ApprovalMode
from tau.modes.lsp_subcommands import VERBS as LSP_VERBS
from tau.modes.mcp_subcommands import VERBS as MCP_VERBS


def test_words_and_flags_are_separated_in_any_order() -> None:
    parsed = parse(["explain", "-p", "@a.py", "--model", "sonnet:high", "this"])
    assert parsed.problem == ""
    assert parsed.words == ["explain", "@a.py", "this"]
    assert parsed.has("print")
    assert parsed.value("model") == "sonnet:high"


@pytest.mark.parametrize(
    "written", (["--resume", "abc"], ["--resume=abc"], ["-r", "abc"], ["-rabc"], ["-r=abc"])
)
def test_value_may_be_written_in_every_usual_way(written: list[str]) -> None:
    parsed = parse(written)
    assert (parsed.problem, parsed.value("resume"), parsed.words) == ("", "abc", [])


def test_short_flags_combine_and_the_last_may_take_a_value() -> None:
    parsed = parse(["-pr", "abc", "hello"])
    assert parsed.has("print")
    assert (parsed.value("resume"), parsed.words) == ("abc", ["hello"])
    assert parse(["-pc"]).values.keys() == {"print", "continue"}


def test_two_dashes_end_the_flags() -> None:
    parsed = parse(["-p", "--", "--model", "-x"])
    assert (parsed.problem, parsed.words) == ("", ["--model", "-x"])
    assert not parsed.has("model")


def test_value_may_start_with_a_dash_and_contain_an_equals_sign() -> None:
    assert parse(["--system-prompt", "- be brief"]).value("system-prompt") == "- be brief"
    assert parse(["--base-url=http://h/?a=b"]).value("base-url") == "http://h/?a=b"


def test_last_repeated_flag_wins_and_a_list_collects() -> None:
    parsed = parse(["--model", "a", "--model", "b", "--config", "x", "--config=y"])
    assert parsed.value("model") == "b"
    assert parsed.all("config") == ["x", "y"]


def test_optional_value_is_taken_only_if_valid() -> None:
    assert parse(["--list-models"]).value("list-models") == ""
    assert parse(["--list-models", "sonnet"]).value("list-models") == "sonnet"
    parsed = parse(["--list-models", "--provider", "openai"])
    assert (parsed.value("list-models"), parsed.value("provider")) == ("", "openai")


@pytest.mark.parametrize("argv", (["-r"], ["--resume"], ["-r", "--plain"], ["--resume="]))
def test_resume_without_an_id(argv: list[str]) -> None:
    parsed = parse(argv)
    assert (parsed.problem, parsed.value("resume"), parsed.words) == ("", "", [])


def test_short_flag_with_an_optional_value() -> None:
    assert parse(["-rabc"]).value("resume") == "abc"
    assert parse(["-pr", "abc"]).value("resume") == "abc"
    assert parse(["-pr"]).value("resume") == ""


@pytest.mark.parametrize(
    ("argv", "problem"),
    (
        (["--modle", "x"], 'Unknown flag "--modle". Did you mean --model?'),
        (["--prnit"], 'Unknown flag "--prnit". Did you mean --print?'),
        (["--append", "x"], 'Unknown flag "--append". Did you mean --append-system-prompt?'),
        (["--quux"], 'Unknown flag "--quux". See tau --help.'),
        (["-model", "x"], 'Unknown flag "-model". Did you mean --model?'),
        (["-px"], 'Unknown flag "-x". See tau --help.'),
        (["--model"], "--model needs a value: --model PATTERN[:LEVEL]."),
        (["-p", "--fork"], "--fork needs a value: --fork ID|PATH."),
        (["--model="], "--model needs a non-empty value: --model PATTERN[:LEVEL]."),
        (["--print=yes"], "--print takes no value."),
        (["--mode", "xml"], '--mode cannot be "xml"; use one of text, json, rpc, rpc-ui, acp.'),
        (["-c", "-r", "a"], "--continue and --resume cannot be used together."),
        (["--tools", "read", "--no-tools"], "--tools and --no-tools cannot be used together."),
    ),
)
def test_errors_are_one_line(argv: list[str], problem: str) -> None:
    assert parse(argv).problem == problem


def test_subcommand_must_be_the_first_word() -> None:
    parsed = parse(["config", "set", "--json", "a"])
    assert (parsed.subcommand, parsed.words) == ("config", ["set", "--json", "a"])
    assert parse(["config the server"]).subcommand == ""


@pytest.mark.parametrize(
    ("argv", "guess"),
    (
        (["confg", "list"], "tau config"),
        (["sesion"], "tau sessions"),
        (["session", "show", "abc"], "tau sessions"),
        (["-p", "hlep"], "tau help"),
        (["--plain", "exprot", "a.html"], "tau export"),
    ),
)
def test_mistyped_subcommand_is_not_sent_to_the_model(argv: list[str], guess: str) -> None:
    problem = parse(argv).problem
    assert f"Did you mean {guess}?" in problem and "put -- before it" in problem


@pytest.mark.parametrize("word", ["login", "logout", "auth"])
def test_tau_login_was_sent_to_the_model_as_a_prompt(word: str) -> None:
    assert parse([word, "openai"]).subcommand == word
    assert parse(["--", word]).words == [word]
    assert parse([f"{word} does not work"]).words == [f"{word} does not work"]


@pytest.mark.parametrize("flags", (["-p"], ["--model", "sonnet"], ["-pc"], ["--cwd=src", "--plain"]))
def test_subcommand_behind_a_flag_is_not_sent_to_the_model(flags: list[str]) -> None:
    for command in subcommands():
        problem = parse([*flags, command.name, "list"]).problem
        assert problem == (
            f'"{command.name}" is a command: put it before all flags; to send it as a message, '
            f"put -- before it: tau -- {command.name}."
        )


@pytest.mark.parametrize(
    "argv",
    (
        ["-p", "--", "config"],
        ["-p", "config the server"],
        ["@notes.md", "edit"],
        ["-p", "fix it", "undo"],
        ["hello"],
        ["-p", "hi"],
        ["-cp", "continue"],
        ["explain"],
        ["what?"],
        ["-r", "export"],
        ["配置"],
    ),
)
def test_message_is_not_mistaken_for_a_subcommand(argv: list[str]) -> None:
    assert parse(argv).problem == ""


@pytest.mark.parametrize("value", ("-p", "--continue", "--continu", "--", "-x"))
@pytest.mark.parametrize(
    "flag", [flag for flag in FLAGS if flag.kind in (VALUE, LIST)], ids=lambda flag: flag.name
)
def test_flag_is_not_swallowed_as_the_value_of_another(flag: Flag, value: str) -> None:
    written = f"--{flag.name}"
    assert parse([written, value, "hi"]).problem == (
        f'{written} needs a value, not "{value}"; write {written}={value} if you mean it.'
    )
    if not flag.choices:
        assert parse([f"{written}={value}", "hi"]).value(flag.name) == value


def test_table_is_consistent() -> None:
    names = [flag.name for flag in FLAGS]
    shorts = [flag.short for flag in FLAGS if flag.short]
    assert len(set(names)) == len(names)
    assert len(set(shorts)) == len(shorts)
    assert {flag.group for flag in FLAGS} == set(GROUPS)
    assert all(bool(flag.metavar) == (flag.kind != SWITCH) for flag in FLAGS)
    assert [flag.short for flag in FLAGS if flag.kind == OPTIONAL and flag.short] == ["r"]
    assert {name for pair in CONFLICTS for name in pair} <= set(names)


def test_choices_match_their_implementations() -> None:
    """The table imports nothing, so it repeats them."""
    flags = {flag.name: flag.choices for flag in FLAGS}
    commands = {command.name: command.choices for command in subcommands()}
    assert flags["thinking"] == THINKING_LEVELS
    assert flags["approval-mode"] == get_args(ApprovalMode)
    assert {name: words for name, words in commands.items() if words} == {
        "config": tuple(ACTIONS),
        "sessions": SESSIONS_ACTIONS,
        "models": MODELS_ACTIONS,
        "auth": AUTH_ACTIONS,
        "debug": DEBUG_VERBS,
        "lsp": LSP_VERBS,
        "mcp": (*MCP_VERBS, "serve"),
        "ssh": tuple(SSH_ACTIONS),
        "extensions": EXTENSIONS_ACTIONS,
        "agents": AGENTS_ACTIONS,
        "worktree": WORKTREE_ACTIONS,
        "hooks": HOOKS_ACTIONS,
        "plugin": PLUGIN_ACTIONS,
        "relay": RELAY_ACTIONS,
        "rules": RULES_ACTIONS,
        "trust": TRUST_ACTIONS,
        "sandbox": SANDBOX_ACTIONS,
        "github": ("cache",),
        "memory": MEMORY_ACTIONS,
        "completions": SHELLS,
        "help": tuple(name for name in commands if name != "help"),
    }


@pytest.mark.parametrize("command", [one for one in subcommands() if one.flags], ids=lambda one: one.name)
def test_subcommands_take_the_flags_that_the_table_declares(command: Subcommand) -> None:
    for written in command.flags:
        names, _, value = written.partition("=")
        given = value.strip("[.]").split("|")[0]
        for name in names.split("|"):
            parsed = parse_subcommand(command.name, [name, *([given] if value else []), "word"])
            assert parsed.words == ["word"]
            assert parsed.values == {names.rpartition("|")[2].strip("-"): [given]}
    with pytest.raises(UsageError, match=f'Unknown flag "--qzqz". See tau {command.name} --help.'):
        parse_subcommand(command.name, ["--qzqz"])


def test_flags_of_tau_are_accepted_where_a_subcommand_starts_a_session() -> None:
    parsed = parse_subcommand("batch", ["tasks.jsonl", "--model", "a", "--jobs=2"], common=True)
    assert (parsed.words, parsed.value("model"), parsed.value("jobs")) == (["tasks.jsonl"], "a", "2")
    with pytest.raises(UsageError, match="--keep cannot be"):
        parse_subcommand("batch", ["--keep", "some"], common=True)
