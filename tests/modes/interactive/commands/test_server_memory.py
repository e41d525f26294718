"""/memory with a Hindsight server: what it shows and changes there."""

from pathlib import Path

from tests.modes.interactive.rig import rigged, run
from tests.support.fake_hindsight import Item, Profile, fake_hindsight


def test_verbs_show_the_server_and_its_mental_models(tmp_path: Path) -> None:
    async def test() -> None:
        async with fake_hindsight() as server:
            settings = {
                "memory.backend": "hindsight",
                "hindsight.apiUrl": server.url,
                "hindsight.scoping": "global",
                "hindsight.autoRetain": False,
                "hindsight.mentalModelAutoSeed": False,
            }
            server.banks["tau"] = Profile()
            server.documents["tau", "1"] = Item("The cache is per tenant \x1b[31m")
            async with rigged(tmp_path, rows=40, columns=110, settings=settings) as rig:
                await rig.send("/memory")
                await rig.show("Nothing was recalled")
                await rig.send("/memory view cache")
                await rig.show("- The cache is per tenant [world]")
                await rig.send("/memory stats")
                await rig.show("1 memory in the bank tau at 127.0.0.1")
                await rig.send("/memory mm")
                await rig.show("No mental models.")
                await rig.send("/memory mm seed")
                await rig.show("Created the mental models that were missing.")
                await rig.send("/memory mm list")
                await rig.show("project-decisions  Project decisions")
                await rig.send("/memory mm show user-preferences")
                await rig.show("How does the user like to work")
                await rig.send("/memory mm refresh user-preferences")
                await rig.show("The server refreshes user-preferences.")
                await rig.send("/memory mm history user-preferences")
                await rig.show("Earlier")
                await rig.send("/memory mm delete user-preferences")
                await rig.show("Deleted user-preferences.")
                await rig.send("/memory mm show user-preferences")
                await rig.show("status 404")
                await rig.press("ctrl+c")
                await rig.send("/memory enqueue")
                await rig.show("Nothing is retained automatically")
                await rig.send("/memory clear")
                await rig.show("Hindsight has no /memory clear")

    run(test)
