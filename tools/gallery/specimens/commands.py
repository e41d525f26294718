"""Specimens of commands, jobs and cells."""

from tau.coding.jobs.delivery import JobSnapshot
from tau.coding.output import OutputMeta, Truncation
from tau.coding.ports import JobStatus
from tau.coding.shell.details import BashDetails
from tau.coding.tools.eval_output import CellDetails, EvalDetails
from tau.coding.tools.job import CancelOutcome, JobDetails
from tau.coding.tools.ssh import SshDetails
from tools.gallery.specimens.case import CWD, Result, in_all_states, one
from tools.gallery.specimens.files import png

TESTS = "\n".join(
    [
        "============================= test session starts ==============================",
        "collected 31 items",
        "",
    ]
    + [
        f"tests/test_prices.py::test_case_{number:02} PASSED {'[':>20}{number * 3:3}%]"
        for number in range(1, 32)
    ]
    + ["", "============================== 31 passed in 2.41s =============================="]
)
FAILURE = """tests/test_prices.py F                                                   [100%]

=================================== FAILURES ===================================
______________________ test_a_discount_above_one_is_refused ____________________

    def test_a_discount_above_one_is_refused():
>       with pytest.raises(ValueError):
E       Failed: DID NOT RAISE <class 'ValueError'>

tests/test_prices.py:6: Failed
=========================== short test summary info ============================
FAILED tests/test_prices.py::test_a_discount_above_one_is_refused
1 failed in 0.12s
[Exit code 1]"""
LONG = "\n".join(
    f"Compiling crate {number} of 900 (release)" if number else "[… 799 lines not shown …]"
    for number in (*range(1, 41), 0, *range(840, 901))
)
SCRIPT = """set -e
for name in prices orders; do
  python -m py_compile "src/shop/$name.py" && echo "$name is fine"
done
git status --short | head -n 20
git log --oneline -3
du -sh .git"""
COMMAND = {"command": "pytest -q tests/test_prices.py", "timeout": 120}


def _bash(**fields: object) -> BashDetails:
    known = {
        "command": "pytest -q tests/test_prices.py",
        "cwd": str(CWD),
        "exit_code": 0,
        "duration_ms": 2_610,
    }
    return BashDetails(**{**known, **fields})  # type: ignore[arg-type]


def _cut() -> OutputMeta:
    truncation = Truncation(
        kept="ends",
        ranges=[(1, 40), (840, 900)],
        total_lines=900,
        total_bytes=61_000,
        shown_bytes=50_000,
        artifact_id="3",
    )
    return OutputMeta(truncation=truncation)


BASH = [
    *in_all_states(
        "bash",
        COMMAND,
        streaming={"command": "pytest -q tes"},
        running=Result("\n".join(TESTS.split("\n")[:12]), _bash(exit_code=None, duration_ms=0), 1_900),
        done=Result(TESTS, _bash()),
        failed=Result(FAILURE, _bash(exit_code=1, duration_ms=840)),
        aborted=Result("\n".join(TESTS.split("\n")[:9]), _bash(exit_code=None, duration_ms=0), 1_400),
    ),
    one(
        "bash",
        "quiet",
        "A command that says nothing.",
        "done",
        {"command": "true"},
        Result("[No output]", _bash(duration_ms=9)),
    ),
    one(
        "bash",
        "timed-out",
        "A command that took too long.",
        "failed",
        {"command": "sleep 600", "timeout": 30},
        Result(
            "[Stopped: it ran longer than its time limit of 30 s]",
            _bash(exit_code=None, timed_out=True, duration_ms=30_012),
        ),
    ),
    one(
        "bash",
        "background",
        "A command that goes on as a job.",
        "done",
        {"command": "npm run dev", "async": True},
        Result(
            "[Running in the background as job-2; its result will follow, or use job]",
            _bash(exit_code=None, duration_ms=0, job_id="job-2"),
            15,
        ),
    ),
    one(
        "bash",
        "truncated",
        "More output than fits.",
        "done",
        {"command": "cargo build --release", "cwd": "engine"},
        Result(
            f"{LONG}\n[Showing lines 1-40 and 840-900 of 900; full output: artifact://3]",
            _bash(cwd=f"{CWD}/engine", duration_ms=94_000, meta=_cut()),
        ),
    ),
    one(
        "bash",
        "script",
        "A command of several lines.",
        "done",
        {"command": SCRIPT},
        Result("prices is fine\norders is fine\n M src/shop/prices.py", _bash(duration_ms=310)),
    ),
    one(
        "bash",
        "refused",
        "A command that was never run.",
        "failed",
        {"command": "rm -rf build"},
        Result("The user did not allow this command; ask what to do instead."),
    ),
]
SSH = in_all_states(
    "ssh",
    {"host": "staging", "command": "systemctl status shop --no-pager", "cwd": "/srv/shop"},
    streaming={"host": "staging", "command": "systemctl sta"},
    running=Result(
        "● shop.service - The shop",
        SshDetails(host="staging", target="ada@10.0.0.7", command="systemctl status shop"),
        600,
    ),
    done=Result(
        "● shop.service - The shop\n     Active: active (running) since Mon 2026-03-02 08:11:04 UTC; 2h ago",
        SshDetails(
            host="staging",
            target="ada@10.0.0.7",
            command="systemctl status shop",
            exit_code=0,
            duration_ms=730,
        ),
    ),
    failed=Result(
        "Unit shop.service could not be found.\n[Exit code 4]",
        SshDetails(
            host="staging",
            target="ada@10.0.0.7",
            command="systemctl status shop",
            exit_code=4,
            duration_ms=510,
        ),
    ),
)


def _job(number: int, status: JobStatus, label: str, **texts: str) -> JobSnapshot:
    return JobSnapshot(
        id=f"job-{number}",
        type="bash",
        status=status,
        label=label,
        duration_ms=12_400 * number,
        **texts,
    )


JOBS = [
    *in_all_states(
        "job",
        {"poll": ["job-1", "job-2"]},
        streaming={"poll": ["job-1"]},
        running=Result(
            "",
            JobDetails(jobs=[_job(1, "running", "npm run build"), _job(2, "running", "npm run dev")]),
            8_000,
        ),
        done=Result(
            "## Completed (1)",
            JobDetails(
                jobs=[
                    _job(
                        1,
                        "completed",
                        "npm run build",
                        result_text="dist/index.js  41.2 kB\ndist/app.css   3.1 kB\nbuilt in 3.2s",
                    ),
                    _job(2, "running", "npm run dev"),
                ]
            ),
        ),
        failed=Result("`list` cannot be combined with `poll` or `cancel`."),
    ),
    one(
        "job",
        "cancelled",
        "Jobs are stopped.",
        "done",
        {"cancel": ["job-2", "job-9"]},
        Result(
            "## Cancelled (2)",
            JobDetails(
                jobs=[_job(2, "cancelled", "npm run dev", error_text="The job was cancelled.")],
                cancelled=[CancelOutcome("job-2", "cancelled"), CancelOutcome("job-9", "not_found")],
            ),
        ),
    ),
]

CODE = "from shop.prices import Item, total\n\nitems = [Item('pen', Decimal('1.20'), 3)]\ntotal(items)"
PLOT = "import matplotlib.pyplot as plt\nplt.plot([1, 3, 2])\nplt.show()"
TRACE = """Traceback (most recent call last):
  File "<cell 2>", line 1, in <module>
    total(items, discount=Decimal(2))
ValueError: A discount of 2 makes no sense.
[Cell 2 of 2 failed with exit code 1]"""


def _eval(*cells: CellDetails, is_error: bool = False) -> EvalDetails:
    return EvalDetails(cells=list(cells), language="python", languages=["python"], is_error=is_error)


def _cell(code: str, title: str, **fields: object) -> CellDetails:
    known = {"language": "python", "code": code, "title": title, "status": "complete", "duration_ms": 41}
    return CellDetails(**{**known, **fields})  # type: ignore[arg-type]


CELLS = [
    {"language": "py", "code": CODE, "title": "A small order"},
    {"language": "py", "code": "total(items, discount=Decimal(2))", "title": "Too much"},
]
EVALS = [
    *in_all_states(
        "eval",
        {"cells": CELLS},
        streaming={"cells": [{"language": "py", "code": CODE[:70], "title": "A small order"}]},
        running=Result(
            "",
            _eval(
                _cell(CODE, "A small order", status="running", output="3 pens", duration_ms=0),
                _cell("total(items, discount=Decimal(2))", "Too much", status="pending", duration_ms=0),
            ),
            300,
        ),
        done=Result(
            "",
            _eval(
                _cell(CODE, "A small order", output="Decimal('4.28')"),
                _cell("net(items)", "Without tax", output="Decimal('3.60')"),
            ),
        ),
        failed=Result(
            TRACE,
            _eval(
                _cell(CODE, "A small order", output="Decimal('4.28')"),
                _cell(
                    "total(items, discount=Decimal(2))", "Too much", status="error", exit_code=1, output=TRACE
                ),
                is_error=True,
            ),
        ),
        aborted=Result(
            "[Cell 1 of 2 was stopped]",
            _eval(
                _cell(CODE, "A small order", status="error", output="[Cell 1 of 2 was stopped]"),
                _cell("net(items)", "Without tax", status="pending", duration_ms=0),
            ),
        ),
    ),
    one(
        "eval",
        "picture",
        "A cell that draws.",
        "done",
        {"cells": [{"language": "py", "code": PLOT}]},
        Result(
            "(displayed 1 image; no text output)",
            _eval(CellDetails(language="python", code=PLOT, status="complete", duration_ms=640)),
            650,
            (png(80, 40),),
        ),
    ),
    one(
        "eval",
        "refused",
        "A kernel that is not there.",
        "failed",
        {"cells": [{"language": "js", "code": "1 + 1"}]},
        Result("JavaScript cells are disabled (eval.js is false)."),
    ),
]
SPECIMENS = [*BASH, *SSH, *JOBS, *EVALS]
