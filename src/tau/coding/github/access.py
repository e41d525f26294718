"""GitHub as one session uses it: gh, the cache and the folder of work trees, for one working folder."""

import asyncio
import re
from collections.abc import Callable
from functools import cached_property
from pathlib import Path

from tau.agent.events import AgentEvent, ToolEnd, ToolStart
from tau.backends.github.gh import Gh
from tau.backends.github.names import RepositoryName, checkout_repository, parse_repository
from tau.base import log
from tau.base.errors import ToolError
from tau.base.programs import find_program
from tau.base.run import Runner
from tau.base.tasks import Background
from tau.coding.github.cache import ThreadCache, cache_file
from tau.coding.github.checkouts import PullRequestCheckouts
from tau.config.paths import Paths
from tau.config.tool_settings import GithubSettings

OFF = "GitHub is off in this session; the user turns it on with tau config set github.enabled true."


_CHANGES = re.compile(r"\bgh\s[^|;&\n]*\b(?:issue|pr)\s+(?!(?:list|view|status|diff|checks|checkout)\b)[a-z]")


class GithubAccess:
    """Exists only where GitHub may be asked. The session closes `background`."""

    def __init__(self, runner: Runner, cwd: Path, paths: Paths, settings: GithubSettings) -> None:
        self.soft_ttl_s = settings.cache.soft_ttl_sec
        self.cwd = cwd
        self.worktrees = paths.home / "wt"
        self.gh = Gh(runner, cwd, paths.cache / "gh-fields.json")
        self.checkouts = PullRequestCheckouts(self.gh, runner, cwd, self.worktrees)
        self.background = Background()
        self.warn: Callable[[str], None] = log.warning
        self._told = 0
        self._changing: set[str] = set()
        self._paths = paths
        self._settings = settings

    @property
    def is_offered(self) -> bool:
        return find_program("gh") is not None

    @cached_property
    def cache(self) -> ThreadCache:
        return ThreadCache(cache_file(self._paths), self._settings)

    def tell_notices(self) -> None:
        """Tell the user what is wrong with the cache, once."""
        notices = self.cache.notices[self._told :]
        self._told += len(notices)
        for notice in notices:
            self.warn(notice)

    async def repository(self, host: str) -> RepositoryName:
        """The one of the checkout, as gh finds it. Raises ToolError."""
        words = ("repo", "view", "--json", "url", "-q", ".url")
        try:
            return parse_repository((await self.gh.text(*words, host=host)).strip())
        except ToolError:  # git may rewrite addresses so that gh does not know them
            if (found := checkout_repository(self.cwd)) is None:
                raise
            return found

    def observe(self, event: AgentEvent) -> None:
        """Forget what is kept when a command of the agent may have changed it."""
        match event:
            case ToolStart(tool_name="bash") if _CHANGES.search(str(event.args.get("command", ""))):
                self._changing.add(event.tool_call_id)
            case ToolEnd(tool_name="bash") if event.tool_call_id in self._changing:
                self._changing.discard(event.tool_call_id)
                self.background.start(asyncio.to_thread(self.cache.drop))
