"""An agent class for Harbor: `harbor run --agent-import-path tau.modes.batch.harbor_agent:TauAgent`.

Only Harbor's own harness imports it, in an environment that has both packages.
"""

import json
import shlex
from typing import Any

from harbor.agents.installed.base import BaseInstalledAgent, with_prompt_template  # type: ignore[import-not-found]

from tau.base.version import VERSION

PACKAGE = "tau-agent"
LOG = "/logs/agent/tau.jsonl"
KEY_VARIABLES = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "OPENROUTER_API_KEY")


class TauAgent(BaseInstalledAgent):  # type: ignore[misc]
    """Installs tau in the container with uv or pip, and runs it once with the instruction."""

    @staticmethod
    def name() -> str:
        return "tau"

    def version(self) -> str:
        return str(self._version or VERSION)

    async def install(self, environment: object) -> None:
        await self.ensure_system_dependencies(environment, ("curl", "bash", "git", "ripgrep"))
        package = shlex.quote(f"{PACKAGE}=={self.version()}")
        await self.exec_as_agent(
            environment,
            command=(
                "set -e; if command -v uv >/dev/null; then uv tool install "
                f"{package}; else python3 -m pip install --user {package}; fi"
            ),
        )

    @with_prompt_template  # type: ignore[untyped-decorator]
    async def run(self, instruction: str, environment: object, context: Any) -> None:
        words = ["tau", "--mode", "json", "--snapshots", "none", "--yolo", "--no-session"]
        words += ["--model", self.model_name] if self.model_name else []
        tau = f"{shlex.join(words)} -- {shlex.quote(instruction)} 2>&1 </dev/null"
        command = f'set -o pipefail; export PATH="$HOME/.local/bin:$PATH"; {tau} | tee {LOG}'
        env = {name: value for name in KEY_VARIABLES if (value := self._get_env(name))}
        await self.exec_as_agent(environment, command=command, env=env)

    def populate_context_post_run(self, context: Any) -> None:
        """Tokens and cost, from the events that tau wrote."""
        path = self.logs_dir / "tau.jsonl"
        if not path.is_file():
            return
        tokens = {"input": 0, "output": 0, "cacheRead": 0}
        cost = 0.0
        for line in path.read_text(errors="replace").splitlines():
            if not line.startswith('{"type":"message_end"'):
                continue
            usage = json.loads(line).get("message", {}).get("usage") or {}
            for name in tokens:
                tokens[name] += usage.get(name, 0)
            cost += (usage.get("cost") or {}).get("total", 0.0)
        context.n_input_tokens = tokens["input"] + tokens["cacheRead"]
        context.n_cache_tokens = tokens["cacheRead"]
        context.n_output_tokens = tokens["output"]
        context.cost_usd = cost
