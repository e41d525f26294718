"""The environment that leads programs to the proxy."""

from collections.abc import Mapping

_VARIABLES = ("http_proxy", "https_proxy", "all_proxy")
_NO_PROXY = "localhost,127.0.0.1,::1"
# pip takes a refusal for a bad connection and tries six times; while a question is open, it must be patient.
_PATIENCE = {"PIP_RETRIES": "1", "PIP_DEFAULT_TIMEOUT": "120"}


def proxy_env(port: int, environ: Mapping[str, str]) -> dict[str, str]:
    """Variables for the processes of a sandbox whose proxy listens on this port of its loopback.

    `ALL_PROXY` is http as well: some libraries fail at once if it is SOCKS and they lack a package.
    """
    url = f"http://127.0.0.1:{port}"
    env = {name: url for lower in _VARIABLES for name in (lower, lower.upper())}
    env |= {"no_proxy": _NO_PROXY, "NO_PROXY": _NO_PROXY}
    env |= {"NODE_USE_ENV_PROXY": "1", "YARN_HTTP_PROXY": url, "YARN_HTTPS_PROXY": url}
    java = " ".join(
        f"-D{scheme}.proxyHost=127.0.0.1 -D{scheme}.proxyPort={port}" for scheme in ("http", "https")
    )
    for name in ("MAVEN_OPTS", "GRADLE_OPTS"):
        env[name] = f"{environ.get(name, '')} {java}".strip()
    return env | {name: value for name, value in _PATIENCE.items() if name not in environ}
