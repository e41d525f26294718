"""Where servers are defined, in whose spelling, and which definition wins."""

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest

from tau.base.errors import ConfigError
from tau.base.run import LocalRunner
from tau.config.discovery.registry import CapabilityRegistry, DiscoveryOptions
from tau.config.paths import user_paths
from tau.ext.mcp.config import ServerEntry, exa_key, read_server, resolve
from tau.ext.mcp.config_edit import change_member
from tau.ext.mcp.config_files import ServerList, find_servers, own_file


def found(cwd: Path, *, trusted: bool = True) -> ServerList:
    paths = user_paths(os.environ)
    return find_servers(CapabilityRegistry(cwd, paths, DiscoveryOptions(trusted=trusted)), cwd)


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


@pytest.fixture
def home() -> Path:
    return Path.home()


def test_servers_of_all_agents_are_found(tmp_path: Path, home: Path) -> None:
    write(own_file(user_paths(os.environ)), '{"mcpServers": {"own": {"command": "own"}}}')
    write(tmp_path / ".mcp.json", '{"mcpServers": {"shared": {"command": "shared"}}}')
    projects = {str(tmp_path): {"mcpServers": {"p": {"command": "p"}}}}
    write(home / ".claude.json", json.dumps({"mcpServers": {"c": {"command": "c"}}, "projects": projects}))
    codex = '[mcp_servers.x]\ncommand = "x"\nstartup_timeout_sec = 5\nbearer_token_env_var = "T"\n'
    write(home / ".codex/config.toml", codex)
    write(home / ".cursor/mcp.json", '{"mcpServers": {"cur": {"url": "https://c.example/mcp"}}}')
    write(home / ".gemini/settings.json", '{"mcpServers": {"g": {"httpUrl": "https://g.example/mcp"}}}')
    write(
        tmp_path / "opencode.json",
        '{"mcp": {"oc": {"type": "local", "command": ["a", "b"], "environment": {"K": "v"}}}}',
    )
    write(tmp_path / ".vscode/mcp.json", '{\n  // a comment\n  "servers": {"vs": {"command": "v",},},\n}')
    write(
        home / ".codeium/windsurf/mcp_config.json",
        '{"mcpServers": {"w": {"serverUrl": "https://w.example/sse"}}}',
    )
    servers = {entry.name: entry for entry in found(tmp_path).active}
    assert set(servers) == {"own", "shared", "c", "p", "x", "cur", "g", "oc", "vs", "w"}
    assert servers["x"].server.startup_timeout == 5000
    assert servers["x"].server.headers == {"Authorization": "Bearer ${T}"}
    assert (servers["oc"].server.command, servers["oc"].server.args) == ("a", ["b"])
    assert servers["g"].server.type == "http" and servers["vs"].line == 3


def test_the_first_definition_wins_even_to_turn_a_server_off(tmp_path: Path, home: Path) -> None:
    write(own_file(user_paths(os.environ)), '{"mcpServers": {"a": {"command": "own", "enabled": false}}}')
    write(
        home / ".cursor/mcp.json",
        '{"mcpServers": {"a": {"command": "other"}, "b": {"command": "b"}, "c": {"command": "b"}}}',
    )
    entries = found(tmp_path).entries
    assert [(one.name, one.state) for one in entries] == [
        ("a", "disabled"),
        ("a", "shadowed"),
        ("b", "active"),
        ("c", "shadowed"),
    ]
    assert entries[3].why == "It is the same server as b."


def test_disabled_servers_wins(tmp_path: Path, home: Path) -> None:
    write(own_file(user_paths(os.environ)), '{"disabledServers": ["b"], "enabledServers": ["b", "c"]}')
    text = '{"mcpServers": {"b": {"command": "b"}, "c": {"command": "c", "enabled": false}}}'
    write(home / ".cursor/mcp.json", text)
    assert [entry.name for entry in found(tmp_path).active] == ["c"]


def test_servers_of_an_untrusted_repository_wait(tmp_path: Path) -> None:
    write(tmp_path / ".mcp.json", '{"mcpServers": {"evil": {"command": "rm"}}, "disabledServers": ["mine"]}')
    write(own_file(user_paths(os.environ)), '{"mcpServers": {"mine": {"command": "m"}}}')
    listing = found(tmp_path, trusted=False)
    assert [(one.name, one.state) for one in listing.entries] == [("mine", "active"), ("evil", "waiting")]


def test_a_repository_cannot_leave_the_sandbox(tmp_path: Path) -> None:
    write(tmp_path / ".mcp.json", '{"mcpServers": {"s": {"command": "x", "sandbox": false}}}')
    [entry] = found(tmp_path).active
    assert entry.server.sandbox


def test_an_invalid_server_is_named_with_file_and_line_and_stops_nothing_else(tmp_path: Path) -> None:
    text = (
        '{"mcpServers": {\n "bad": {"type": "quantum"},\n "../x": {"command": "a"},\n'
        ' "good": {"command": "g"}}}'
    )
    path = write(own_file(user_paths(os.environ)), text)
    listing = found(tmp_path)
    assert [entry.name for entry in listing.active] == ["good"]
    assert listing.errors[0] == (
        f"mcp:bad ({path}:2)",
        'The type "quantum" is unknown; use stdio, http or sse.',
    )
    assert "The name may have letters" in listing.errors[1][1]


def test_a_file_that_cannot_be_read_is_named_with_its_line_and_without_its_content(tmp_path: Path) -> None:
    path = write(
        own_file(user_paths(os.environ)), '{"mcpServers": {\n "a": {"env": {"KEY": "sk-1"}} "b": 1}}'
    )
    assert found(tmp_path).errors == (("mcp", f"{path}:2: Invalid JSON: Expected comma or '}}'."),)


def test_a_list_that_is_none_is_an_error(tmp_path: Path) -> None:
    path = write(own_file(user_paths(os.environ)), '{"mcpServers": {},\n"disabledServers": "x"}')
    assert found(tmp_path).errors == (("mcp", f"{path}:2: disabledServers must be a list."),)


def test_a_field_of_the_wrong_type_is_named() -> None:
    with pytest.raises(ValueError, match=r"^command: expected str, got int\.$"):
        read_server({"command": 5})


@pytest.mark.parametrize(
    "fields",
    [
        {"command": "npx", "env": {"EXA_API_KEY": "${KEY_OF_EXA}"}},
        {"url": "https://mcp.exa.ai/mcp?exaApiKey=${KEY_OF_EXA}"},
        {"url": "https://mcp.exa.ai/mcp", "headers": {"x-api-key": "${KEY_OF_EXA}"}},
    ],
)
def test_the_key_of_an_exa_server_is_known(fields: dict[str, Any], tmp_path: Path) -> None:
    entry = ServerEntry(name="exa", server=read_server(fields), provider="native", path=tmp_path / "mcp.json")
    server = asyncio.run(resolve(entry, {"KEY_OF_EXA": "exa-0123456789"}, tmp_path, LocalRunner()))
    assert exa_key(server) == "exa-0123456789"
    assert not exa_key(read_server({"url": "https://exa.ai.example/mcp?exaApiKey=x"}))


def test_a_key_is_not_sent_unencrypted() -> None:
    with pytest.raises(ValueError, match="use https"):
        read_server({"url": "http://example.com/mcp", "headers": {"Authorization": "Bearer x"}})


def test_values_hold_variables_defaults_and_commands(tmp_path: Path) -> None:
    fields = {
        "command": "${BIN:-/bin/x}",
        "env": {"KEY": "!echo secret", "PLACE": "${workspaceFolder}/a"},
        "args": ["${GIVEN}"],
    }
    entry = ServerEntry(
        name="s", server=read_server(fields), provider="test", path=tmp_path / "mcp.json", line=3
    )

    async def main() -> None:
        runner = LocalRunner()
        server = await resolve(entry, {"GIVEN": "given"}, tmp_path, runner)
        assert (server.command, server.args) == ("/bin/x", ["given"])
        assert server.env == {"KEY": "secret", "PLACE": f"{tmp_path}/a"}
        with pytest.raises(ConfigError, match=r"mcp.json:3: The variable GIVEN is not set"):
            await resolve(entry, {}, tmp_path, runner)
        runner.close()

    asyncio.run(main())


def test_an_edit_keeps_comments_order_and_unknown_keys(tmp_path: Path) -> None:
    before = (
        '{\n  // mine\n  "other": [1, 2], /* x */\n  "mcpServers": {\n    "a": {"command": "a"}, // first\n'
        '    "b": {"command": "b"}\n  }\n}\n'
    )
    path = write(tmp_path / "mcp.json", before)
    assert change_member(path, ("mcpServers", "c"), {"command": "c"})
    assert "// mine" in path.read_text() and "// first" in path.read_text()
    assert change_member(path, ("mcpServers", "c"), None)
    assert path.read_text() == before
    assert change_member(path, ("mcpServers", "a"), None)
    assert change_member(path, ("mcpServers", "b"), None)
    assert not change_member(path, ("mcpServers", "b"), None)
    assert '"other": [1, 2]' in path.read_text()


def test_misspelled_field_is_named_with_its_line(tmp_path: Path) -> None:
    """It was ignored without a word."""
    path = own_file(user_paths(os.environ))
    text = """{
  "mcpServers": {
    "a": {
      "comand": "a"
    },
    "b": {
      "command": "b",
      "enviroment": {"K": "v"},
      "startup_timout_sec": 3,
      "oauth": {
        "clientID": "c"
      },
      "colour": "red"
    },
    "e": {"command": "e", "url": "https://e.example/mcp"},
    "f": {"command": "f", "url": "https://f.example/mcp", "auth": "oauth"},
    "c": {"command": "c", "alwaysAllow": [], "description": "mine", "environment": {}, "disabled": false}
  }
}
"""
    write(path, text)
    write(tmp_path / ".mcp.json", '{"mcpServers": {"d": {"command": "d", "comand": "x", "colour": "red"}}}')
    place = f"({path}:%d)"
    assert set(found(tmp_path).errors) == {
        (f"mcp:a {place % 3}", "It has neither a command nor a url."),
        (f"mcp:a {place % 4}", 'The field "comand" is unknown; did you mean command?'),
        (f"mcp:b {place % 8}", 'The field "enviroment" is unknown; did you mean environment?'),
        (
            f"mcp:b {place % 9}",
            'The field "startup_timout_sec" is unknown; did you mean startup_timeout_sec?',
        ),
        (f"mcp:b {place % 11}", 'The field "clientID" is unknown; did you mean clientId?'),
        (f"mcp:b {place % 13}", 'The field "colour" is unknown.'),
        (f"mcp:e {place % 15}", "It has a command and a url; the command is used."),
        (f"mcp:d ({tmp_path}/.mcp.json:1)", 'The field "comand" is unknown; did you mean command?'),
    }
    assert [entry.name for entry in found(tmp_path).active] == ["b", "e", "f", "c", "d"]
