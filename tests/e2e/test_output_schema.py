"""`--output-schema`: the answer is JSON that matches, or the run fails and says why."""

import json
from typing import Any

import pytest

from tests.e2e.program import FAKE, Program

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"count": {"type": "integer"}, "note": {"type": "string"}},
    "required": ["count"],
}


@pytest.fixture
def schema(tau: Program) -> str:
    (tau.project / "schema.json").write_text(json.dumps(SCHEMA))
    return "schema.json"


def test_prints_only_the_json(tau: Program, schema: str) -> None:
    tau.script('Here it is:\n```json\n{"count": 3}\n```')
    done = tau.ask("how many?", "--output-schema", schema)
    assert (done.returncode, done.stdout) == (0, '{"count":3}\n')
    prompt = json.dumps(tau.server.requests[-1].body["messages"][-1])
    assert "how many?" in prompt and "required" in prompt


def test_a_wrong_answer_is_corrected_with_all_its_errors(tau: Program, schema: str) -> None:
    tau.script("three", '{"count": "three", "note": 1}', '{"count": 3}')
    done = tau.ask("how many?", "--output-schema", schema)
    assert (done.returncode, done.stdout) == (0, '{"count":3}\n')
    told = json.dumps(tau.server.requests[-1].body["messages"][-1])
    assert "$.count" in told and "$.note" in told
    assert "it is not JSON" in json.dumps(tau.server.requests[-2].body["messages"][-1])


@pytest.mark.parametrize("mode", [("-p",), ("--mode", "json", "--snapshots", "none")])
def test_fails_after_three_corrections(tau: Program, schema: str, mode: tuple[str, ...]) -> None:
    tau.script(*["no"] * 4, '{"count": 3}')
    done = tau.run(*FAKE, *mode, "how many?", "--output-schema", schema)
    assert done.returncode == 1 and '{"count":3}' not in done.stdout
    assert "The answer does not match the output schema: it is not JSON." in done.stderr


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("missing.json", 'The output schema "missing.json" cannot be read: No such file or directory.'),
        ("{", "The output schema is not JSON"),
        ('{"type": 5}', "The output schema is no JSON Schema"),
    ],
)
def test_a_schema_that_cannot_be_used_is_refused_before_any_request(
    tau: Program, given: str, said: str
) -> None:
    done = tau.ask("x", "--output-schema", given)
    assert done.returncode == 2 and said in done.stderr and not tau.server.requests


def test_other_modes_refuse_it(tau: Program, schema: str) -> None:
    done = tau.run("--mode", "rpc", "--output-schema", schema)
    assert done.returncode == 2 and "--output-schema needs -p or --mode json." in done.stderr


def test_a_batch_keeps_the_output_of_each_task(tau: Program) -> None:
    tau.script('{"count": 3}')
    rows = [{"id": "a", "prompt": "p", "output": SCHEMA}]
    (tau.project / "t.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    done = tau.run("batch", "t.jsonl", *FAKE)
    assert done.returncode == 0, done.stderr
    assert json.loads((tau.project / "t-batch/results.jsonl").read_text())["output"] == {"count": 3}
    (tau.project / "u.jsonl").write_text('{"prompt": "p", "output": {"type": 5}}\n')
    refused = tau.run("batch", "u.jsonl", *FAKE)
    assert refused.returncode == 2 and "u.jsonl:1: output: no JSON Schema" in refused.stderr
