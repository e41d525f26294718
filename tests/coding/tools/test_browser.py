"""browser: what its calls declare, which is what approval and the rules judge."""

from pathlib import Path
from typing import Any

import pytest

from tau.agent.effects import Effects
from tau.base.errors import ToolError
from tau.coding.tools.browser import BrowserTool
from tau.config.discovery_settings import BrowserSettings
from tau.config.settings import Settings
from tests.coding.context import CallContext, call_context, call_now

CWD = Path("/work")


def effects(settings: Settings | None = None, **arguments: Any) -> Effects:
    tool = BrowserTool(settings or Settings(), None, None)
    params, ignored = tool.decode(arguments)
    assert not ignored
    return tool.effects(params, CWD)


@pytest.mark.parametrize(
    ("arguments", "declared"),
    [
        ({"url": "https://a.example/x"}, Effects(network=("a.example",))),
        ({"url": "a.example"}, Effects(network=("a.example",))),
        ({"url": "localhost:3000/a"}, Effects(network=("localhost",))),
        ({"url": "http://[::1]:80/"}, Effects(network=("::1",))),
        ({"url": "file:///etc/a%20b"}, Effects(reads=(Path("/etc/a b"),))),
        ({"url": "chrome://version"}, Effects(undeclared=True)),
        ({"url": "data:text/html,x"}, Effects()),
        ({"app": {"path": "bin/app", "args": ["-x"]}}, Effects(runs=("app: /work/bin/app -x",))),
        ({"app": {"cdp_url": "http://b.example:9222/"}}, Effects(network=("b.example",))),
    ],
)
def test_open_declares_what_it_reads_runs_and_reaches(arguments: dict[str, Any], declared: Effects) -> None:
    assert effects(action="open", **arguments) == declared


def test_run_declares_its_code_and_an_unusual_time_limit() -> None:
    assert effects(action="run", code="1").runs == ("browser: 1",)
    assert effects(action="run", code="1", timeout=999).details == (("timeout", "300 s"),)
    assert effects(action="close", all=True) == Effects()


def test_a_configured_browser_is_reached_only_without_a_program() -> None:
    settings = Settings(browser=BrowserSettings(cdp_url="http://b.example:9222"))
    assert effects(settings, action="open").network == ("b.example",)
    assert effects(settings, action="open", app={"path": "/bin/app"}).network == ()


@pytest.mark.parametrize(
    "url", ["javascript:alert(1)", "ftp://a.example", "http:///x", "http://[::1", "https://a\x00b"]
)
def test_other_addresses_are_refused_before_anything_is_asked(url: str) -> None:
    with pytest.raises(ToolError):
        effects(action="open", url=url)


def test_without_chromium_the_error_names_the_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TAU_BROWSER_PATH")
    monkeypatch.setenv("PATH", str(tmp_path))
    with call_context(tmp_path) as ctx, pytest.raises(ToolError, match="the package chromium on Debian"):
        _open(ctx)


def _open(ctx: CallContext) -> None:
    call_now(BrowserTool(Settings(), None, None), ctx, action="open")
