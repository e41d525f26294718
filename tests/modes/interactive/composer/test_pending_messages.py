"""Queued messages above the editor."""

from pathlib import Path

from tau.ai.faux import Say, Use, Wait
from tests.modes.interactive.rig import rigged, run


def test_queued_messages_show_the_key_that_dequeues_them(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, [[Say("In progress"), Wait(None)]]) as rig:
            await rig.send("go")
            await rig.show("In progress")
            rig.session.steer("look here first")
            rig.session.follow_up("then\nthere")
            shown = await rig.show("Next: look here first")
            assert "Later: then there" in shown
            assert "Alt+Up edits the last one" in shown
            rig.session.queue.take_back()
            await rig.gone("Later:")
            rig.session.queue.take_back()
            await rig.gone("Next:")
            assert not rig.front.layout.pending.children

    run(test)


def test_message_leaves_the_list_when_it_is_sent(tmp_path: Path) -> None:
    async def test() -> None:
        script = [
            [Use("bash", command=f"until [ -e {tmp_path}/go ]; do sleep 0.01; done")],
            [Say("I saw it.")],
        ]
        async with rigged(tmp_path, script) as rig:  # type: ignore[arg-type]
            await rig.send("go")
            await rig.show("Running bash")
            rig.session.steer("a word in between")
            await rig.show("Next: a word in between")
            (tmp_path / "go").touch()
            shown = await rig.show("I saw it.")
            assert "Next:" not in shown and "❯ a word in between" in shown

    run(test)


def test_many_messages_take_a_few_rows_and_say_how_many_more_there_are(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path) as rig:
            rig.parts.transcript.pending.show([f"message {number} " + "x" * 200 for number in range(9)], [])
            shown = await rig.show("4 more queued")
            assert "message 4" in shown and "message 5" not in shown
            for width in (1, 5, 20, 80):
                assert all(len(row) <= 200 for row in rig.parts.transcript.pending.render(width))

    run(test)


def test_queued_messages_of_a_resumed_session_are_shown(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, [[Say("Done.")]]) as rig:
            await rig.send("go")
            await rig.show("Done.")
            await rig.idle()
            rig.session.follow_up("left over")
            path = str(rig.session.log.path)
        async with rigged(tmp_path, [[Say("Done.")]], resume=path) as rig:
            await rig.show("Later: left over")

    run(test)
