"""What the HTTP server says about itself is true: its OpenAPI document and the example of its page."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.program import Program
from tests.e2e.serve_client import serving
from tests.support.fake_answers import Text
from tests.support.limits import HANG_S
from tests.support.soak import is_soaking

PAGE = Path(__file__).resolve().parents[2] / "docs" / "serve.md"
FEW = "list_sessions|create_session|view_session|get_messages|find_files|command_(prompt|set_todos)"
NO_END = "stream_events"  # its answer has no end
LOCKOUT = "ignored_auth"  # the check takes 429, after ten wrong tokens, for an error


def test_schemathesis_finds_nothing(tau: Program, tmp_path: Path) -> None:
    tau.settings(**{"titles.enabled": False})
    with serving(tau) as server:
        status, document = server.call("GET", "/v1/openapi.json")
        assert status == 200
        id = server.start_run()
        for path in document["paths"].values():
            for operation in path.values():
                for parameter in operation["parameters"]:
                    if (parameter["in"], parameter["name"]) == ("path", "id"):
                        parameter["schema"]["enum"] = [id]
        schema = tmp_path / "schema.json"
        schema.write_text(json.dumps(document))
        program = Path(sys.executable).with_name("st")
        chosen = () if is_soaking() else ("--include-operation-id-regex", f"^({FEW})$", "--phases", "fuzzing")
        ran = subprocess.run(
            [
                *(program, "--no-color", "run", schema, "--url", server.address.rstrip("/"), *chosen),
                *("--header", f"Authorization: Bearer {server.token}", "--max-examples", "5"),
                *("--exclude-operation-id-regex", f"^({NO_END}|trade_token|delete_session)$"),
                *("--exclude-checks", LOCKOUT, "--generation-database", "none", "--warnings", "off"),
            ],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=HANG_S * (10 if is_soaking() else 2),
            check=False,
        )
        assert ran.returncode == 0, ran.stdout[-5_000:] + ran.stderr[-1_000:]
        assert "No issues found" in ran.stdout
        assert server.child.poll() is None


def test_example_of_the_page_prints_the_answer(tau: Program) -> None:
    for program in ("curl", "jq"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")
    tau.script(Text("It tests itself.", deltas=3))
    *_, example = re.findall(r"```sh\n(.*?)```", PAGE.read_text(), re.DOTALL)
    with serving(tau) as server:
        lines = example.replace("8228", str(server.port)).splitlines()
        lines[0] = "echo > address"  # the server runs already
        text = "\n".join(lines).replace("~/.tau/agent", os.environ["TAU_HOME"])
        with subprocess.Popen(["bash", "-c", text], cwd=tau.project, stdout=subprocess.PIPE) as shell:
            assert shell.stdout is not None
            answered = b""
            while b"itself." not in answered:
                piece = os.read(shell.stdout.fileno(), 4096)
                assert piece, answered
                answered += piece
            server.child.terminate()  # ends the stream
            shell.wait(HANG_S)
    assert b"It tests itself." in answered
