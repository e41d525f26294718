"""What the agent writes into a trusted repository does not run before the user trusts it; reloads too."""

import asyncio
import os
from pathlib import Path

import pytest

from tau.ai.faux import Say, Use
from tau.base.errors import ExtensionError
from tau.config.paths import user_paths
from tau.config.trust import TrustStore
from tests.ext.extensions.host import opened


def test_an_extension_that_the_agent_writes_is_not_loaded_by_a_reload(tmp_path: Path) -> None:
    own, ran = tmp_path / ".tau/extensions", tmp_path / "ran"
    own.mkdir(parents=True)
    (own / "first.py").write_text("def extension(tau): ...\n")
    TrustStore(user_paths(os.environ)).trust(tmp_path)
    evil = f"import pathlib\npathlib.Path({str(ran)!r}).touch()\ndef extension(tau): ...\n"
    write = Use("write", path=".tau/extensions/second.py", content=evil)
    again = Use("write", path=".tau/extensions/first.py", content=evil)

    async def main() -> None:
        async with opened(tmp_path, "", [[write, again], [Say("Done.")]]) as rig:
            assert [one.name for one in rig.extensions.report()] == ["first"]
            await rig.session.prompt("go")
            assert (own / "second.py").read_text() == evil
            said = await rig.extensions.reload()
            assert not ran.exists()
            assert "tau trust" in "\n".join((*said, *rig.notices))

    asyncio.run(main())


def test_an_extension_that_waits_is_not_loaded_after_the_agent_changed_it(tmp_path: Path) -> None:
    own, ran = tmp_path / ".tau/extensions", tmp_path / "ran"
    own.mkdir(parents=True)
    code = 'activation = ["command:later"]\ndef extension(tau):\n    tau.command("later", lambda *_: None)\n'
    (own / "first.py").write_text(code)
    TrustStore(user_paths(os.environ)).trust(tmp_path)
    evil = f"import pathlib\npathlib.Path({str(ran)!r}).touch()\n{code}"
    write = Use("write", path=".tau/extensions/first.py", content=evil)

    async def main() -> None:
        async with opened(tmp_path, "", [[write], [Say("Done.")]]) as rig:
            assert [one.name for one in rig.extensions.commands()] == ["later"]
            await rig.session.prompt("go")
            with pytest.raises(ExtensionError, match="changed since you trusted it"):
                await rig.extensions.run_command("/later")
            assert not ran.exists()

    asyncio.run(main())
