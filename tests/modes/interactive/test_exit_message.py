"""What is left on the terminal at the end."""

from pathlib import Path

from tau.ai.faux import Say
from tau.config.paths import user_paths
from tests.modes.interactive.rig import Rig, rigged, run


async def talked(rig: Rig) -> None:
    await rig.send("hello")
    await rig.show("Good day.")
    await rig.idle()


def test_used_session_can_be_resumed(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, [[Say("Good day.")]]) as rig:
            await talked(rig)
            id = rig.session.log.header.id
        assert rig.front.exit_message == f"Resume with tau -r {id[:8]}"

    run(test)


def test_session_name_is_shown(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, [[Say("Good day.")]]) as rig:
            await talked(rig)
            await rig.send("/name Mend the parser")
            await rig.until(lambda: rig.session.log.name == "Mend the parser", "the name")
        assert rig.front.exit_message.endswith(": Mend the parser")

    run(test)


def test_shortest_unique_id_prefix_is_shown(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, [[Say("Good day.")]]) as rig:
            await talked(rig)
            path, id = rig.session.log.path, rig.session.log.header.id
            assert path is not None and path.parent.parent == user_paths().sessions
            path.with_name(path.name.replace(id, f"{id[:11]}#")).write_text("")
        assert rig.front.exit_message == f"Resume with tau -r {id[:12]}"

    run(test)


def test_session_elsewhere_is_named_by_its_path(tmp_path: Path) -> None:
    talks = tmp_path / "my talks"

    async def test() -> None:
        async with rigged(tmp_path, [[Say("Good day.")]], session_dir=talks) as rig:
            await talked(rig)
            path = rig.session.log.path
        assert rig.front.exit_message == f"Resume with tau -r '{path}'"

    run(test)


def test_empty_or_unsaved_session_leaves_no_message(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path) as rig:
            await rig.idle()
        assert rig.front.exit_message == ""
        async with rigged(tmp_path, [[Say("Good day.")]], save=False) as rig:
            await talked(rig)
        assert rig.front.exit_message == ""

    run(test)


def test_list_requested_on_the_command_line_is_opened_and_not_remembered(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, [[Say("Good day.")]]) as rig:
            await talked(rig)
        async with rigged(tmp_path) as rig:
            rig.parts.composer.sender.queue_command("/resume")
            rig.parts.input.begin_session(())
            await rig.show("Sessions")
            await rig.show("hello")
            await rig.press("escape")
            await rig.gone("Sessions")
            await rig.press("up")
            assert "/resume" not in rig.front.editor.text

    run(test)
