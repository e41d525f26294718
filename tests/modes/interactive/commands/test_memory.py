"""/memory: what it shows, changes and asks."""

from pathlib import Path

from tau.ai.faux import Say
from tau.backends.memory.store import MemoryStore
from tau.coding.project_memory import memory_file, primary_checkout
from tau.config.paths import user_paths
from tau.config.settings import MemorySettings
from tests.modes.interactive.rig import rigged, run

ON = {"memory.backend": "local", "memory.autoRetain": False}


def store() -> MemoryStore:
    return MemoryStore(memory_file(user_paths(), MemorySettings()))


def test_verbs_show_change_and_repair(tmp_path: Path) -> None:
    id = store().add("The cache is per tenant", scope=str(primary_checkout(tmp_path)))
    other = store().add("Deploys happen on Tuesday", scope="/elsewhere")

    async def test() -> None:
        async with rigged(tmp_path, [[Say("Because.")]], rows=40, columns=110, settings=ON) as rig:
            await rig.send("Why is the cache per tenant?")
            await rig.show("Recalled 1 memory; /memory shows them.")
            await rig.send("/memory")
            shown = await rig.show("Recalled and latest memories")
            assert id in shown and other not in shown
            await rig.press("escape")
            await rig.show("Nothing was changed.")
            await rig.send(f"/memory edit {id} The cache is per user")
            await rig.show(f"Memory {id} updated.")
            await rig.send("/memory view user")
            await rig.show(f"{id}  The cache is per user")
            await rig.send("/memory stats")
            await rig.show("2 memories, 0 of them hidden")
            await rig.send("/memory rebuild")
            await rig.show("Rebuilt the search index of 2 memories.")
            await rig.send("/memory diagnose")
            await rig.show("is fine.")
            await rig.send("/memory enqueue")
            await rig.show("Nothing is retained automatically")
            await rig.send(f"/memory forget {id} {other}")
            await rig.show("Deleted 1 of 2 memories.")

    run(test)
    assert [item.id for item in store().items()] == [other]


def test_a_key_opens_the_memories_to_edit_or_forget_one(tmp_path: Path) -> None:
    for text in ("The cache is per tenant", "Deploys happen on Tuesday"):
        store().add(text, scope=str(primary_checkout(tmp_path)))

    async def test() -> None:
        async with rigged(tmp_path, [[Say("Because.")]], rows=40, columns=110, settings=ON) as rig:
            await rig.send("Why is the cache per tenant?")
            await rig.show("Recalled 1 memory")
            await rig.press("alt+shift+m")
            await rig.show("Recalled and latest memories")
            await rig.press("enter")
            await rig.show("Forget")
            await rig.press("down", "enter")
            await rig.show("Deleted 1 of 1 memory.")

    run(test)
    assert [item.text for item in store().items()] == ["Deploys happen on Tuesday"]


def test_deleting_all_asks_first(tmp_path: Path) -> None:
    store().add("The cache is per tenant", scope=str(primary_checkout(tmp_path)))
    for text in ("Deploys happen on Tuesday", "Tests run at night"):
        store().add(text, scope="/elsewhere")

    async def test() -> None:
        async with rigged(tmp_path, rows=40, settings=ON) as rig:
            await rig.send("/memory clear")
            await rig.show("Delete all memories of this project?")
            await rig.press("escape")
            await rig.show("Nothing was deleted.")
            await rig.send("/memory clear")
            await rig.show("Delete all memories of this project?")
            await rig.press("up", "enter")
            await rig.show("Deleted 1 memory.")
            await rig.send("/memory reset")
            await rig.show("Delete the memories of all projects?")
            await rig.press("up", "enter")
            await rig.show("Deleted 2 memories.")

    run(test)
    assert store().items() == []


def test_unknown_verbs_and_missing_memory_say_what_there_is(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, rows=40) as rig:
            await rig.send("/memory stats")
            await rig.show("turn it on with `tau config set memory.backend")
        async with rigged(tmp_path, rows=40, settings=ON) as rig:
            await rig.send("/memory dance")
            await rig.show("There is no /memory dance; there are view, stats")
            await rig.press("ctrl+c")
            await rig.send("/memory mm list")
            await rig.show("The local memory has no mental models.")

    run(test)
