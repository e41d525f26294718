"""Says how Chromium is started, and what is missing for it."""

import os
from collections.abc import Mapping

from tau.base.errors import ToolError
from tau.config.web_access import BROWSER_VARIABLE, find_browser, has_browser_driver

PROXY_VARIABLE = "TAU_BROWSER_PROXY"
LOOPBACK_VARIABLE = "TAU_BROWSER_PROXY_BYPASS_LOOPBACK"
CERTIFICATES_VARIABLE = "TAU_BROWSER_PROXY_IGNORE_CERT_ERRORS"
_OFF = ("", "0", "false", "no")
NO_PROGRAM = (
    "No Chromium was found. Install one (the package chromium on Debian and Fedora, or Google Chrome), or"
    f" set {BROWSER_VARIABLE} to its program. tau downloads nothing."
)
NO_DRIVER = "The browser needs an extra: pip install 'tau-agent[browser]'."


def require_driver() -> None:
    """Raises ToolError that names the extra."""
    if not has_browser_driver():
        raise ToolError(NO_DRIVER)


def require_chromium(environ: Mapping[str, str] = os.environ) -> str:
    """Raises ToolError that names the package."""
    require_driver()
    program = find_browser(environ)
    if program is None and (named := environ.get(BROWSER_VARIABLE)):
        raise ToolError(f"{BROWSER_VARIABLE} is {named}, which is not a program; correct it, or remove it.")
    if program is None:
        raise ToolError(NO_PROGRAM)
    return program


def is_set(environ: Mapping[str, str], name: str, *, default: bool = False) -> bool:
    return default if name not in environ else environ[name].strip().lower() not in _OFF


def arguments(proxy_port: int) -> list[str]:
    """What Chromium gets besides Playwright's own: everything it sends goes through our proxy."""
    return [
        f"--proxy-server=http://127.0.0.1:{proxy_port}",
        "--proxy-bypass-list=<-loopback>",  # without it, requests to this machine go around the proxy
        "--disable-quic",
        "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
        "--dns-prefetch-disable",
        "--no-pings",
        "--disable-dev-shm-usage",
    ]
