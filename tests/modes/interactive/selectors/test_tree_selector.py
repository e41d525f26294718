"""The session tree on screen: what its keys do, where they lead, what is written."""

from pathlib import Path

import pytest

from tau.ai.faux import Fail, FauxStep, Say, Use, Wait
from tau.base.errors import ProviderError
from tau.coding.session.entries import BranchSummaryEntry
from tau.modes.interactive.selectors.tree_selector import choose_entry
from tests.modes.interactive.rig import Rig, run
from tests.modes.interactive.selectors.selector_rig import closed, open_conversation, opened, settled

SHOWS = "── Session tree"
SUMMARY = {"branchSummary.enabled": True}


def tree_rows(screen: str) -> list[str]:
    """What is between the search line and the keys."""
    rows = screen.splitlines()
    start = next(number for number, row in enumerate(rows) if "Session tree" in row) + 2
    end = next(number for number in range(start, len(rows)) if rows[number].startswith("Enter"))
    return [row for row in rows[start:end] if row.strip()]


async def branched(rig: Rig) -> None:
    """`start` with two branches: A, which is abandoned, and B."""
    point = rig.session.tree.branch_points()[1]
    await rig.session.goto(point.entry_id)
    await rig.send("way B")
    await rig.until(lambda: len(rig.faux.requests) == 3)
    await rig.idle()


def test_active_branch_is_marked_and_the_leaf_selected(tmp_path: Path) -> None:
    async def test() -> None:
        async with open_conversation(tmp_path, "start", "way A") as rig:
            await branched(rig)
            async with opened(rig, choose_entry, SHOWS):
                assert tree_rows(await settled(rig)) == [
                    "  • user: start",
                    "  • assistant: Answer 1.",
                    "  ├─ user: way A",
                    "  │  assistant: Answer 2.",
                    "  └─ • user: way B",
                    "❯    • assistant: Answer 3.",
                ]
                assert "default, 6 entries" in rig.screen()
                await rig.press("escape")

    run(test)


def test_user_message_returns_to_the_editor(tmp_path: Path) -> None:
    async def test() -> None:
        async with open_conversation(tmp_path, "start", "way A") as rig:
            before = rig.session.tree.branch_points()[1].entry_id
            parent = rig.session.log.node(before)
            async with opened(rig, choose_entry, SHOWS):
                await rig.press("up", "enter")
            assert rig.front.editor.text == "way A"
            assert parent is not None and rig.session.log.leaf == parent.parent_id
            assert "Answer 2." not in await rig.gone("Answer 2.")
            assert "Answer 1." in rig.screen()

    run(test)


def test_first_message_moves_to_the_root(tmp_path: Path) -> None:
    async def test() -> None:
        async with open_conversation(tmp_path, "start") as rig:
            async with opened(rig, choose_entry, SHOWS):
                await rig.press("up", "enter")
            assert rig.front.editor.text == "start" and not rig.session.log.messages()

    run(test)


def test_draft_is_not_lost(tmp_path: Path) -> None:
    async def test() -> None:
        async with open_conversation(tmp_path, "start", "way A") as rig:
            await rig.type("half a thought")
            async with opened(rig, choose_entry, SHOWS):
                await rig.press("up", "enter")
            assert rig.front.editor.text == "way A\n\nhalf a thought"

    run(test)


def test_answer_becomes_the_new_leaf(tmp_path: Path) -> None:
    async def test() -> None:
        async with open_conversation(tmp_path, "start", "way A") as rig:
            async with opened(rig, choose_entry, SHOWS):
                await rig.press("up", "up", "enter")
            assert rig.front.editor.is_empty
            await rig.gone("way A")
            assert [row.text for row in rig.session.tree.rows() if row.leaf] == ["Answer 1."]

    run(test)


def test_selecting_the_current_position_says_so(tmp_path: Path) -> None:
    async def test() -> None:
        async with open_conversation(tmp_path, "start", settings=SUMMARY) as rig:
            leaf = rig.session.log.leaf
            async with opened(rig, choose_entry, SHOWS):
                await rig.press("enter")
            await rig.show("Already at this point.")
            assert rig.session.log.leaf == leaf

    run(test)


def test_selection_stays_after_labeling(tmp_path: Path) -> None:
    async def test() -> None:
        async with open_conversation(tmp_path, "start") as rig:
            leaf = rig.session.log.leaf
            assert leaf is not None
            async with opened(rig, choose_entry, SHOWS):
                await rig.press("L")
                await rig.show("Label this entry")
                await rig.type("milestone")
                await rig.press("enter")
                await rig.show("❯ • [milestone] assistant: Answer 1.")
                await rig.press("escape")
            assert rig.session.tree.labels == {leaf: "milestone"}
            assert rig.session.log.leaf != leaf and rig.session.tree.is_at(leaf)

    run(test)


def test_empty_label_removes_it_and_escape_keeps_it(tmp_path: Path) -> None:
    async def test() -> None:
        async with open_conversation(tmp_path, "start") as rig:
            leaf = rig.session.log.leaf
            assert leaf is not None
            rig.session.tree.label(leaf, "old")
            async with opened(rig, choose_entry, "[old]"):
                await rig.press("L")
                await rig.show("Label this entry")
                await rig.press("escape")
                await rig.show("[old]")
                await rig.press("L")
                await rig.show("Label this entry")
                await rig.press("ctrl+u", "enter")
                await rig.show(SHOWS)
                await rig.gone("[old]")
                await rig.press("escape")
            assert rig.session.tree.labels == {}

    run(test)


def test_filters_cycle_in_both_directions_and_have_direct_keys(tmp_path: Path) -> None:
    async def test() -> None:
        answers: list[list[FauxStep]] = [[Say("Looking."), Use("bash", command="true")], [Say("Done.")]]
        async with (
            open_conversation(tmp_path, "start", answers=answers) as rig,
            opened(rig, choose_entry, "default, 4"),
        ):
            assert "result: [bash: true]" in rig.screen()
            await rig.press("ctrl+o")
            await rig.show("no-tools, 3")
            await rig.press("ctrl+o")
            await rig.show("user-only, 1 entry")
            await rig.press("alt+l")
            assert "No entry has a label." in await rig.show("labeled-only, 0")
            await rig.press("alt+a")
            assert "model change: faux/faux" in await rig.show("all, ")
            await rig.press("ctrl+o")
            await rig.show("default, 4")
            await rig.press("ctrl+shift+o")
            await rig.show("all, ")
            for key, name in (("alt+d", "default"), ("alt+t", "no-tools"), ("alt+u", "user-only")):
                await rig.press(key)
                await rig.show(f"{name}, ")
            await rig.press("escape")

    run(test)


def test_initial_filter_is_a_setting(tmp_path: Path) -> None:
    async def test() -> None:
        settings = {"interaction.treeFilter": "user-only"}
        async with open_conversation(tmp_path, "start", settings=settings) as rig:
            async with opened(rig, choose_entry, "user-only, 1 entry"):
                await rig.press("escape")
            assert not rig.parts.dialogs.open

    run(test)


def test_search_needs_all_words_and_ignores_case(tmp_path: Path) -> None:
    async def test() -> None:
        async with (
            open_conversation(tmp_path, "Fix the parser", "Fix the lexer", "Write docs") as rig,
            opened(rig, choose_entry, SHOWS),
        ):
            await rig.type("FIX lex")
            await rig.show("1 entry")
            assert tree_rows(await settled(rig)) == ["❯ • user: Fix the lexer"]
            await rig.press("backspace", "backspace", "backspace")
            await rig.show("2 entries")
            await rig.type("nowhere")
            await rig.show("No matches for: FIX nowhere")
            await rig.press("enter")
            await rig.press("escape")
            await rig.show("6 entries")
            await rig.press("escape")

    run(test)


def test_escape_clears_the_search_first_but_ctrl_c_closes(tmp_path: Path) -> None:
    async def test() -> None:
        async with open_conversation(tmp_path, "start") as rig:
            async with opened(rig, choose_entry, SHOWS):
                await rig.type("start")
                await rig.show("1 entry")
                await rig.press("escape")
                await rig.show("2 entries")
                await rig.type("start")
                await rig.show("1 entry")
                await rig.press("ctrl+c")
            assert "Session tree" not in await settled(rig)

    run(test)


def test_arrows_wrap_around_and_pages_turn(tmp_path: Path) -> None:
    async def test() -> None:
        texts = [f"question {number}" for number in range(8)]
        async with open_conversation(tmp_path, *texts, rows=12) as rig, opened(rig, choose_entry, "16/16"):
            assert len([row for row in tree_rows(rig.screen()) if ":" in row]) == 6
            await rig.press("down")
            await rig.show(" 1/16")
            await rig.press("up")
            await rig.show("16/16")
            await rig.press("left")
            await rig.show("10/16")
            await rig.press("pageUp")
            assert "❯" in tree_rows(await rig.show(" 4/16"))[3], "the selection is in the middle"
            await rig.press("right", "right", "right")
            await rig.show("16/16")
            await rig.press("home")
            await rig.show(" 1/16")
            await rig.press("escape")

    run(test)


def test_branch_folds_and_unfolds(tmp_path: Path) -> None:
    async def test() -> None:
        async with open_conversation(tmp_path, "start", "way A") as rig:
            await branched(rig)
            async with opened(rig, choose_entry, SHOWS):
                await rig.press("alt+left")  # to the start of the branch
                await rig.press("alt+left")
                assert tree_rows(await settled(rig))[-1] == "❯ └─ ▸ • user: way B"
                await rig.press("alt+left")  # to where the branches split
                await rig.press("alt+left")
                assert tree_rows(await settled(rig)) == ["  • user: start", "❯ ▸ • assistant: Answer 1."]
                await rig.press("alt+right")
                assert len(tree_rows(await settled(rig))) == 5
                await rig.press("alt+right")
                assert "❯ ├─ user: way A" in await settled(rig)
                await rig.type("answer 3")
                assert "❯ • assistant: Answer 3." in await settled(rig), "a search looks into folds"
                await rig.press("ctrl+c")

    run(test)


def test_without_a_summary_the_move_is_immediate(tmp_path: Path) -> None:
    async def test() -> None:
        async with open_conversation(tmp_path, "start", "way A", settings=SUMMARY) as rig:
            async with opened(rig, choose_entry, SHOWS):
                await rig.press("up", "enter")
                shown = await rig.show("❯ No summary")
                assert "Summarize with a custom prompt" in shown
                await rig.press("enter")
            assert rig.front.editor.text == "way A" and len(rig.faux.requests) == 2

    run(test)


@pytest.mark.parametrize("custom", [False, True])
def test_abandoned_branch_is_summarized(tmp_path: Path, custom: bool) -> None:
    async def test() -> None:
        answers: list[list[FauxStep]] = [[Say("Answer 1.")], [Say("Answer 2.")], [Say("A was tried.")]]
        async with open_conversation(tmp_path, "start", "way A", answers=answers, settings=SUMMARY) as rig:
            async with opened(rig, choose_entry, SHOWS):
                await rig.press("up", "up", "enter")
                await rig.show("No summary")
                await rig.press("down")
                if custom:
                    await rig.press("down", "enter")
                    await rig.show("What should the summary focus on?")
                    await rig.type("the decisions")
                await rig.press("enter")
            entries = [entry for _, entry in rig.session.log.entries()]
            (summary,) = [entry for entry in entries if isinstance(entry, BranchSummaryEntry)]
            assert summary.summary.startswith("A was tried.")
            assert ("the decisions" in rig.faux.requests[2].system) is custom
            await rig.show("Summary of the abandoned branch")

    run(test)


def test_escape_goes_back_step_by_step_and_moves_nothing(tmp_path: Path) -> None:
    async def test() -> None:
        async with open_conversation(tmp_path, "start", "way A", settings=SUMMARY) as rig:
            leaf = rig.session.log.leaf
            async with opened(rig, choose_entry, SHOWS):
                await rig.press("up", "enter")
                await rig.show("No summary")
                await rig.press("up", "enter")  # wrap around: the custom prompt
                await rig.show("What should the summary focus on?")
                await rig.press("escape")
                await rig.show("No summary")
                await rig.press("escape")
                await rig.show(SHOWS)
                await rig.press("escape")
            assert rig.session.log.leaf == leaf and rig.front.editor.is_empty

    run(test)


def test_stopped_summary_returns_to_the_tree(tmp_path: Path) -> None:
    async def test() -> None:
        answers: list[list[FauxStep]] = [[Say("Answer 1.")], [Say("Answer 2.")], [Wait()]]
        async with open_conversation(tmp_path, "start", "way A", answers=answers, settings=SUMMARY) as rig:
            leaf = rig.session.log.leaf
            async with opened(rig, choose_entry, SHOWS):
                await rig.press("up", "enter")
                await rig.show("No summary")
                await rig.press("down", "enter")
                await rig.show("Summarizing the branch")
                await rig.press("escape")
                await rig.show("Enter go there")
                await rig.press("escape")
            assert rig.session.log.leaf == leaf and not rig.session.busy

    run(test)


def test_failed_summary_is_reported_in_the_tree(tmp_path: Path) -> None:
    async def test() -> None:
        failing = Fail(ProviderError("The server is gone."))
        answers: list[list[FauxStep]] = [[Say("Answer 1.")], [Say("Answer 2.")], [failing]]
        async with open_conversation(tmp_path, "start", "way A", answers=answers, settings=SUMMARY) as rig:
            leaf = rig.session.log.leaf
            async with opened(rig, choose_entry, SHOWS):
                await rig.press("up", "enter")
                await rig.show("No summary")
                await rig.press("down", "enter")
                assert "Session tree" in await rig.show("The server is gone.")
                await rig.press("escape")
            assert rig.session.log.leaf == leaf

    run(test)


def test_nothing_moves_while_the_agent_works(tmp_path: Path) -> None:
    async def test() -> None:
        answers: list[list[FauxStep]] = [[Say("Answer 1.")], [Wait()]]
        async with open_conversation(tmp_path, "start", answers=answers) as rig:
            await rig.send("go on")
            await rig.until(lambda: rig.current.running)
            task = rig.parts.tasks.start(choose_entry(rig.context))
            await rig.show(SHOWS)
            await rig.press("home", "enter")
            await rig.show("The agent is busy")
            await rig.press("escape")
            await closed(rig, task)
            rig.session.abort()
            await rig.idle()

    run(test)


def test_screen_reader_gets_levels_and_branches_as_text(tmp_path: Path) -> None:
    async def test() -> None:
        settings = {"display.screenReader": True}
        async with open_conversation(tmp_path, "start", settings=settings) as rig:
            async with opened(rig, choose_entry, "Session tree (default, 2 entries)"):
                shown = await rig.show("Selected: assistant: Answer 1. (level 1, on the active branch, ")
                assert "Keys: Enter go there, Esc close" in shown
                assert not set("├└│•❯─") & set(shown.partition("Session tree")[2])
                await rig.press("escape")
            assert not rig.parts.dialogs.open

    run(test)
