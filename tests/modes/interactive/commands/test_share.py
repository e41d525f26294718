"""/share: a preview and a question, then a secret gist without secrets."""

from pathlib import Path

import pytest

from tau.ai.faux import Say
from tests.modes.interactive.rig import rigged, run

KEY = "sk-ant-api03-" + "Ab3" * 25
GH = """#!/bin/sh
printf '%s\\n' "$@" >> {log}
for last; do :; done
cat "$last" >> {log}
echo https://gist.github.com/1234
"""


@pytest.fixture
def gh_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What the gh on the PATH was asked, with the file that it got."""
    folder = tmp_path / "bin"
    folder.mkdir()
    log = tmp_path / "gh.log"
    program = folder / "gh"
    program.write_text(GH.format(log=log), encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=":")
    return log


def test_a_conversation_is_shared_after_a_preview_and_a_question(tmp_path: Path, gh_log: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()

    async def test() -> None:
        async with rigged(folder, [[Say("Hello there.")]], rows=40, columns=100) as rig:
            await rig.send(f"My key is {KEY}")
            await rig.show("Hello there.")
            await rig.send("/share")
            shown = await rig.show("Share this conversation as a secret gist?")
            assert "It goes to GitHub." in shown
            await rig.press("escape")
            await rig.show("Not shared.")
            assert not gh_log.exists()
            await rig.send("/share")
            await rig.show("Share this conversation as a secret gist?")
            await rig.press("up", "enter")
            await rig.show("Shared: https://gist.github.com/1234")

    run(test)
    sent = gh_log.read_text("utf-8")
    assert sent.startswith("gist\ncreate\n--desc\n") and "--public" not in sent
    assert "Hello there." in sent and KEY not in sent
