"""Claude Code accepts the plugins that tau writes, and tau loads what Claude Code has installed."""

import json
import subprocess
from pathlib import Path

from tau.config.discovery.registry import CapabilityRegistry
from tau.config.paths import user_paths
from tau.ext.plugins import scaffold
from tests.support.npm_packages import CLAUDE


def test_claude_code_validates_and_installs_what_tau_writes(tmp_path: Path) -> None:
    program = CLAUDE.require() / ".bin" / "claude"

    def claude(*words: str) -> str:
        command = [str(program), "plugin", *words]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    scaffold.write("demo", "plugin", tmp_path)
    (tmp_path / ".claude-plugin").mkdir()
    rows = [{"name": "demo", "source": "./demo"}]
    manifest = {"name": "market", "owner": {"name": "me"}, "plugins": rows}
    (tmp_path / ".claude-plugin" / "marketplace.json").write_text(json.dumps(manifest))
    assert "passed" in claude("validate", str(tmp_path / "demo"))
    assert "passed" in claude("validate", str(tmp_path))
    claude("marketplace", "add", str(tmp_path))
    claude("install", "demo@market")
    found = CapabilityRegistry(tmp_path, user_paths())
    assert [one.name for one in found.items("skills")] == ["demo"]
    assert [one.name for one in found.items("slash-commands")] == ["demo:demo"]
    claude("disable", "demo@market")
    assert CapabilityRegistry(tmp_path, user_paths()).items("skills") == []
