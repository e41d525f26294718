"""The official conformance suite judges our client; `make conformance` runs all of it."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.npm_packages import MCP_CONFORMANCE

CLIENT = Path(__file__).with_name("conformance_client.py")
HANDSHAKE = (
    *("initialize", "tools_call", "elicitation-sep1034-client-defaults", "sse-retry"),
    *("auth/metadata-default", "auth/metadata-var1", "auth/metadata-var2", "auth/metadata-var3"),
    *("auth/basic-cimd", "auth/scope-from-www-authenticate", "auth/scope-from-scopes-supported"),
    *("auth/scope-omitted-when-undefined", "auth/scope-step-up", "auth/scope-retry-limit"),
    *("auth/token-endpoint-auth-basic", "auth/token-endpoint-auth-post", "auth/token-endpoint-auth-none"),
    *("auth/pre-registration", "auth/client-credentials-basic", "json-schema-2020-12-preservation"),
)
MODERN = (
    *("tools_call", "request-metadata", *HANDSHAKE[4:18]),
    *("auth/resource-mismatch", "auth/offline-access-scope", "auth/offline-access-not-supported"),
    *("auth/authorization-server-migration", "auth/iss-supported", "auth/iss-not-advertised"),
    *("auth/iss-supported-missing", "auth/iss-wrong-issuer", "auth/iss-unexpected", "auth/iss-normalized"),
    *("auth/metadata-issuer-mismatch", "sep-2322-client-request-state", "http-standard-headers"),
    *("http-custom-headers", "http-invalid-tool-headers", "json-schema-ref-no-deref"),
    "json-schema-2020-12-preservation",
)
# Those that call no tools, prompts or resources of the suite's own.
SERVER = {
    "2025-11-25": (
        *("server-initialize", "ping", "logging-set-level", "completion-complete", "tools-list"),
        *("resources-list", "prompts-list", "dns-rebinding-protection", "server-sse-polling"),
        *("server-sse-multiple-streams", "server-session-lifecycle"),
    ),
    "2026-07-28": (
        *("completion-complete", "tools-list", "resources-list", "prompts-list", "caching"),
        *("dns-rebinding-protection", "server-sse-multiple-streams", "http-header-validation"),
        *("sep-2164-resource-not-found", "input-required-result-unsupported-methods"),
    ),
}
SCENARIOS = [("2025-11-25", name) for name in HANDSHAKE] + [("2026-07-28", name) for name in MODERN]
QUICK = {
    ("2025-11-25", "initialize"),
    ("2025-11-25", "auth/scope-step-up"),
    ("2026-07-28", "http-custom-headers"),
}


@pytest.mark.parametrize(
    ("version", "scenario"),
    [pytest.param(*one, marks=() if one in QUICK else pytest.mark.soak) for one in SCENARIOS],
)
def test_client_conforms(version: str, scenario: str, tmp_path: Path) -> None:
    modules = MCP_CONFORMANCE.require()
    suite = modules / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
    command = [str(modules / "node" / "bin" / "node"), str(suite), "client"]
    ours = ["--command", f"{sys.executable} {CLIENT}", "--scenario", scenario, "--spec-version", version]
    done = subprocess.run([*command, *ours], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]


@pytest.mark.soak
def test_server_conforms(tmp_path: Path) -> None:
    modules = MCP_CONFORMANCE.require()
    suite = modules / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
    program = [sys.executable, str(CLIENT.with_name("serve_unlocked.py"))]
    with subprocess.Popen(program, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        url = server.stdout.readline().strip()
        failed = {}
        for version, name in [(version, name) for version, names in SERVER.items() for name in names]:
            ours = ["--url", url, "--scenario", name, "--spec-version", version]
            command = [str(modules / "node" / "bin" / "node"), str(suite), "server", *ours]
            done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
            if done.returncode:
                failed[version, name] = done.stdout[-2000:]
        server.kill()
    assert not failed
