"""Completion of command names and arguments while typing."""

import os
from pathlib import Path

import pytest

from tau.ai.faux import Say, Wait
from tau.tui.widgets.autocomplete import Suggestions
from tests.modes.interactive.commands.command_rig import run_command
from tests.modes.interactive.rig import Rig, rigged, run


def offered(rig: Rig, text: str) -> Suggestions:
    found = rig.parts.commands.complete(text, len(text))
    return found or Suggestions(0, [])


def labels(rig: Rig, text: str) -> list[str]:
    return [item.label for item in offered(rig, text).items]


def put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_names_match_fuzzily(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path) as rig:
            assert labels(rig, "/comp")[0] == "/compact"
            assert labels(rig, "/cpt")[0] == "/compact"
            assert "/rename" in labels(rig, "/ren")
            assert len(labels(rig, "/")) > 35 and "/rename" not in labels(rig, "/")
            assert labels(rig, "/")[0] == "/help"
            assert labels(rig, "/usr/bin") == []
            assert rig.parts.commands.complete("hello", 5) is None
            assert rig.parts.commands.complete("/help\nmore", 10) is None

    run(test)


def test_completing_a_name_offers_its_arguments(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path) as rig:
            await rig.type("/thin")
            await rig.show("Choose the thinking level")
            await rig.press("tab")
            assert rig.front.editor.text == "/thinking "
            shown = await rig.show("xhigh")
            assert "minimal" in shown
            await rig.type("lo")
            await rig.until(lambda: "minimal" not in rig.screen(), "the one level")
            await rig.press("enter")
            await rig.show("Thinking: low, starting with the next request.")
            assert rig.session.thinking == "low"

    run(test)


def test_enter_runs_the_highlighted_command(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, rows=80) as rig:
            await rig.type("/too")
            await rig.show("Show the model's tools")
            await rig.press("enter")
            assert "tokens per request" in await rig.show("tokens per request")

    run(test)


def test_file_commands_show_their_origin(tmp_path: Path) -> None:
    put(
        Path(os.environ["TAU_HOME"]) / "commands/fix.md",
        "---\ndescription: Mends\nargument-hint: BUG\n---\nFix $1.",
    )
    put(tmp_path / ".tau/commands/fit.md", "Fits it.")
    put(tmp_path / ".claude/skills/fiddle/SKILL.md", "---\ndescription: Plays\n---\nPlay.")

    async def test() -> None:
        async with rigged(tmp_path, [[Say("Fixed.")]]) as rig:
            found = {item.label: item.description for item in offered(rig, "/fi").items}
            assert found["/fix"] == "(user) BUG: Mends"
            assert found["/fit"] == "(project) Fits it."
            assert found["/skill:fiddle"] == "(project) Plays"
            await rig.type("/fix")
            await rig.show("(user) BUG: Mends")
            await rig.press("enter")
            assert rig.front.editor.text == "/fix "
            assert rig.faux.requests == []

    run(test)


@pytest.mark.parametrize(
    ("text", "first", "value"),
    [
        ("/thinking h", "high", "high"),
        ("/todo st", "start", "start "),
        ("/queue cl", "clear", "clear"),
        ("/session d", "delete", "delete"),
        ("/stats a", "all", "all"),
        ("/changelog f", "full", "full"),
        ("/plan rev", "review", "review"),
        ("/help comp", "compact", "compact"),
        ("/rename x", None, None),
        ("/compact x", None, None),
    ],
)
def test_arguments_are_offered(tmp_path: Path, text: str, first: str | None, value: str | None) -> None:
    async def test() -> None:
        async with rigged(tmp_path) as rig:
            items = offered(rig, text).items
            if first is None:
                assert not items
            else:
                assert (items[0].label, items[0].value) == (first, value)
                assert offered(rig, text).start == text.index(" ") + 1

    run(test)


def test_prose_after_plan_is_sent_unchanged(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, [[Say("Planned.")]]) as rig:
            await rig.type("/plan the")
            await rig.press("enter")
            await rig.show("Planned.")
            assert rig.faux.requests[-1].messages[-1].content == "the"

    run(test)


def test_model_and_provider_completions_reflect_the_keys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")

    async def test() -> None:
        async with rigged(tmp_path) as rig:
            await rig.type("/model gpt-5")
            assert "(no key)" not in (await rig.show("openai/gpt-5")).split("openai/gpt-5")[1].splitlines()[0]
            models = labels(rig, "/model sonnet")
            assert models and all("sonnet" in model for model in models[:3])
            rig.front.editor.clear()
            await rig.type("/login openai")
            assert "has a key" in await rig.show("(has a key)")

    run(test)


def test_sessions_are_offered_by_title(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, [[Say("First.")]]) as rig:
            await run_command(rig, "mend the garden fence", "First.")
            await rig.idle()
            first = rig.session
            await rig.send("/new")
            await rig.until(lambda: rig.current.session not in (None, first), "a new session")
            await rig.type("/resume fence")
            shown = await rig.show(first.log.header.id[:8])
            assert shown.count("mend the garden fence") == 2
            await rig.press("enter")
            await rig.until(
                lambda: rig.current.session is not None and rig.session.log.header.id == first.log.header.id,
                "the first session",
            )

    run(test)


def test_export_file_names_are_offered(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "old.html").write_text("")
    (tmp_path / "code.py").write_text("")

    async def test() -> None:
        async with rigged(tmp_path) as rig:
            assert [label.rpartition(".")[2] for label in labels(rig, "/export ")] == ["html", "md", "json"]
            assert labels(rig, "/export o") == ["old.html"]
            assert labels(rig, "/todo import d") == ["docs/"]

    run(test)


def test_tasks_jobs_and_queued_messages_are_offered(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, [[Say("Working"), Wait()]], rows=40) as rig:
            assert labels(rig, "/todo done ") == []
            await run_command(rig, "/todo append write the parser", "Added")
            assert [item.description for item in offered(rig, "/todo done ").items] == ["write the parser"]
            assert labels(rig, "/todo done parser") == ["1"]
            assert labels(rig, "/jobs cancel ") == []
            assert labels(rig, "/queue drop ") == []
            await run_command(rig, "go", "Working")
            await rig.send("a wish")
            await rig.until(lambda: len(rig.session.queue) == 1, "the wish")
            assert [item.description for item in offered(rig, "/queue edit ").items] == ["a wish"]
            await rig.press("escape")
            await rig.idle()

    run(test)
