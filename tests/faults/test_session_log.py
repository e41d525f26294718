"""Whatever happens to a session file, it loads, loses and reports at most the torn record, and continues."""

import errno
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tau.ai.faux import FAUX_MODEL
from tau.ai.normalization import normalize_history
from tau.ai.wire import AssistantMessage, TextContent, ToolCall, ToolResultMessage, Usage, UserMessage
from tau.base.errors import SessionError
from tau.coding.session.entries import CompactionEntry, ModelChange, SessionInfo, ThinkingLevelChange
from tau.coding.session.storage.fork import fork
from tau.coding.session.storage.log import SessionLog

CWD = Path("/somewhere")
AFTER = UserMessage("after the crash", 9)


def answer(*parts: TextContent | ToolCall) -> AssistantMessage:
    return AssistantMessage(list(parts), "faux", "faux", "faux", Usage(), "stop", 2)


def filled(folder: Path, *, large: bool = False) -> Path:
    """A session; if `large`, one that is not read at once."""
    log = SessionLog.new(folder, CWD)
    if large:
        log.append_message(UserMessage("x" * 600_000, 0))
    log.append(ModelChange(provider=FAUX_MODEL.provider, model_id=FAUX_MODEL.id))
    log.append(ThinkingLevelChange(thinking_level="low"))
    log.append_message(UserMessage("hällo\u2028", 1))
    kept = log.append_message(answer(TextContent("hi")))
    log.append(CompactionEntry(summary="so far", first_kept_entry_id=kept))
    log.append_message(UserMessage("more", 3))
    log.append_message(answer(ToolCall("c", "read", {"path": "x"})))
    log.append_message(ToolResultMessage("c", "read", [TextContent("text")], False, 5, {"lines": 1}))
    log.close()
    assert log.path is not None
    return log.path


def records(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().split(b"\n") if line]


def is_json(line: bytes) -> bool:
    try:
        json.loads(line)
    except ValueError:
        return False
    return True


def goes_on(path: Path) -> SessionLog:
    """Load, append, load again; the old entries are there, and the next request can be made."""
    log = SessionLog.open(path)
    before = log.messages()
    log.append_message(AFTER)
    log.close()
    again = SessionLog.open(path)
    assert again.messages() == [*before, AFTER]
    assert not any("is incomplete" in warning for warning in again.warnings)
    assert normalize_history(again.messages(), FAUX_MODEL)[-1] == AFTER
    again.close()
    return log


def test_file_cut_at_any_byte_loads_and_can_be_continued(tmp_path: Path) -> None:
    whole = filled(tmp_path).read_bytes()
    for cut in range(whole.index(b"\n") + 1, len(whole)):
        path = tmp_path / f"{cut}.jsonl"
        path.write_bytes(whole[:cut])
        complete = [line for line in whole[:cut].split(b"\n")[1:] if line and is_json(line)]
        log = goes_on(path)
        assert len(records(path)) == 1 + len(complete) + 1
        torn = whole[:cut].rsplit(b"\n", 1)[1]
        assert bool(log.warnings) == bool(torn and not is_json(torn))


def test_file_cut_at_any_byte_can_be_read_without_being_changed(tmp_path: Path) -> None:
    whole = filled(tmp_path).read_bytes()
    path = tmp_path / "cut.jsonl"
    for cut in range(whole.index(b"\n") + 1, len(whole), 7):
        path.write_bytes(whole[:cut])
        complete = [line for line in whole[:cut].split(b"\n")[1:] if line and is_json(line)]
        log = SessionLog.open(path, read_only=True)
        assert [log.line(node) for node in log.nodes()] == complete
        log.close()
        assert path.read_bytes() == whole[:cut]
    assert not (tmp_path / "cut.jsonl.torn").exists()


def test_header_cut_at_any_byte_is_refused_in_a_sentence(tmp_path: Path) -> None:
    whole = filled(tmp_path).read_bytes()
    for cut in range(whole.index(b"\n")):
        path = tmp_path / f"{cut}.jsonl"
        path.write_bytes(whole[:cut])
        with pytest.raises(SessionError, match="not a session"):
            SessionLog.open(path)


@pytest.mark.parametrize("zeros", [1, 4096, 700_000])
def test_zeros_after_any_line_are_cut_and_reported(tmp_path: Path, zeros: int) -> None:
    whole = filled(tmp_path).read_bytes()
    ends = [index + 1 for index, byte in enumerate(whole) if byte == 0x0A]
    for end in (*ends, ends[-1] - 10):
        path = tmp_path / f"{end}.jsonl"
        path.write_bytes(whole[:end] + b"\0" * zeros)
        log = goes_on(path)
        assert len(log.warnings) == 1
        assert b"\0" not in path.read_bytes()


@pytest.mark.parametrize(
    "harm", [b"", b"garbage", b'{"type":"message","id":"', b"\0\0\0", b'{"id":5}', b"{} {}"]
)
def test_any_damaged_line_costs_only_that_line(tmp_path: Path, harm: bytes) -> None:
    lines = filled(tmp_path).read_bytes().split(b"\n")[:-1]
    for number in range(1, len(lines)):
        path = tmp_path / f"{number}.jsonl"
        path.write_bytes(b"\n".join([*lines[:number], harm, *lines[number + 1 :]]) + b"\n")
        log = goes_on(path)
        assert (
            len([*log.branch()]) == len(lines) - 1
        )  # the header and the line are missing, the new one is there
        assert bool(log.warnings) == (bool(harm) or number < len(lines) - 1)


def test_damaged_text_costs_its_entry_and_is_reported(tmp_path: Path) -> None:
    path = filled(tmp_path)
    path.write_bytes(path.read_bytes().replace(b'"more"', b'"m\xffre"'))
    log = SessionLog.open(path)
    assert UserMessage("more", 3) not in log.messages()
    assert len(log.messages()) == 4
    assert "is damaged and was skipped" in log.warnings[0]
    log.append_message(AFTER)
    log.close()
    assert b'"m\xffre"' in path.read_bytes()


class Broken:
    """A system call that fails at the n-th call, once or from then on."""

    def __init__(self, real: Callable[..., Any], at: int, number: int, *, part: bool) -> None:
        self.real, self.at, self.number, self.part = real, at, number, part
        self.calls = 0

    def __call__(self, fd: int, *rest: Any) -> Any:
        self.calls += 1
        if self.calls < self.at:
            return self.real(fd, *rest)
        if self.part and rest and self.calls == self.at:
            return self.real(fd, bytes(rest[0])[: max(1, len(rest[0]) // 2)])
        raise OSError(self.number, os.strerror(self.number))


APPENDED = [
    ModelChange(provider="p", model_id="m"),
    SessionInfo(name="name"),
    UserMessage("one", 1),
    answer(TextContent("two")),
    CompactionEntry(summary="so far", first_kept_entry_id=""),
    UserMessage("three", 3),
]


def append(log: SessionLog, what: Any) -> None:
    if isinstance(what, UserMessage | AssistantMessage):
        log.append_message(what)
    else:
        log.append(what)


def state(log: SessionLog) -> object:
    context = log.context()
    return log.leaf, [node.id for node in log.nodes()], log.name, context.messages, context.model


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO, errno.EDQUOT])
@pytest.mark.parametrize("call", ["write", "fdatasync", "ftruncate"])
@pytest.mark.parametrize("part", [False, True])
def test_disk_failure_at_any_call_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, call: str, part: bool
) -> None:
    for at in range(1, 8):
        log = SessionLog.new(tmp_path / str(at), CWD)
        failed = 0
        with monkeypatch.context() as patch:
            real = Broken(getattr(os, call, os.fsync), at, number, part=part and call == "write")
            patch.setattr(os, call, real, raising=False)
            for what in APPENDED:
                before = state(log)
                try:
                    append(log, what)
                except SessionError as error:
                    failed += 1
                    assert os.strerror(number) in str(error)
                    assert state(log) == before
        assert log.path is not None
        if log.path.exists():
            on_disk = [record["id"] for record in records_of_whole_lines(log.path)[1:]]
            assert on_disk in ([], [node.id for node in log.nodes()])
        log.append_message(AFTER)
        kept = state(log)
        log.close()
        again = SessionLog.open(log.path)
        assert state(again) == kept
        assert again.warnings == []
        again.close()
        assert failed == 0 or call != "ftruncate"


def records_of_whole_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().split(b"\n")[:-1]]


def test_unwritable_new_session_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = SessionLog.new(tmp_path, CWD)
    with monkeypatch.context() as patch, pytest.raises(SessionError, match="No space left"):
        patch.setattr(os, "write", Broken(os.write, 1, errno.ENOSPC, part=False))
        log.append_message(AFTER)
    log.close()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("number", [errno.EIO, errno.ENOSPC])
def test_failed_repair_is_reported_in_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    path = filled(tmp_path)
    path.write_bytes(path.read_bytes()[:-5])
    before = path.read_bytes()
    with monkeypatch.context() as patch, pytest.raises(SessionError, match="cannot be opened"):
        patch.setattr(os, "write", Broken(os.write, 1, number, part=False))
        SessionLog.open(path)
    assert path.read_bytes() == before
    goes_on(path)


def test_unreadable_disk_is_reported_in_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = SessionLog.open(filled(tmp_path, large=True))
    with monkeypatch.context() as patch, pytest.raises(SessionError, match="cannot be read"):
        patch.setattr(os, "pread", Broken(os.pread, 1, errno.EIO, part=False))
        log.messages()
    assert len(log.messages()) == 5
    log.close()


def test_unwritable_file_is_read_with_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = filled(tmp_path)
    real = os.open

    def refuse(path: Any, flags: int, *rest: Any, **more: Any) -> int:
        if flags & os.O_RDWR:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        return real(path, flags, *rest, **more)

    monkeypatch.setattr(os, "open", refuse)
    log = SessionLog.open(path)
    assert len(log.messages()) == 5
    assert len(log.warnings) == 1
    with pytest.raises(SessionError, match="Permission denied"):
        log.append_message(AFTER)
    log.close()


OTHER = """
import sys
from pathlib import Path
from tau.ai.wire import UserMessage
from tau.coding.session.storage.log import SessionLog
log = SessionLog.open(Path(sys.argv[1]))
for number, line in enumerate(sys.stdin, 100):
    log.append_message(UserMessage(line.strip(), number))
    print(len(log.messages()), flush=True)
"""


def test_two_processes_on_one_session(tmp_path: Path) -> None:
    path = filled(tmp_path)
    other = subprocess.Popen(
        [sys.executable, "-c", OTHER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert other.stdin is not None and other.stdout is not None
    with other, other.stdin as tell, other.stdout as reported:
        print("from the other one", file=tell, flush=True)
        assert reported.readline() == "6\n"
        with pytest.raises(SessionError, match="open in another tau"):
            SessionLog.open(path)
        seen = SessionLog.open(path, read_only=True)
        assert seen.messages()[-1] == UserMessage("from the other one", 100)
        with pytest.raises(SessionError, match="read-only"):
            seen.append_message(AFTER)
        copy = fork(path, tmp_path / "forks", CWD)
        copy.append_message(AFTER)
        print("once more", file=tell, flush=True)
        assert reported.readline() == "7\n"
        assert copy.messages() == [*seen.messages(), AFTER]
        seen.close()
        copy.close()
    assert SessionLog.open(path, read_only=True).messages()[-1] == UserMessage("once more", 101)


def test_line_being_written_by_another_process_is_not_reported_as_torn(tmp_path: Path) -> None:
    path = filled(tmp_path)
    log = SessionLog.open(path)
    with path.open("ab") as file:
        file.write(b'{"type":"message","id":"half')
    seen = SessionLog.open(path, read_only=True)
    assert seen.warnings == []
    seen.close()
    log.close()
    seen = SessionLog.open(path, read_only=True)
    assert "is incomplete" in seen.warnings[0]
    seen.close()


def test_deleted_file_is_recreated_with_the_next_entry(tmp_path: Path) -> None:
    path = filled(tmp_path)
    log = SessionLog.open(path)
    path.unlink()
    before = log.messages()
    log.append_message(AFTER)
    assert log.messages() == [*before, AFTER]
    log.move(log.leaf)
    assert log.messages() == [*before, AFTER]
    log.close()
    assert SessionLog.open(path, read_only=True).messages() == [*before, AFTER]


def test_replaced_file_is_continued_and_nothing_is_lost(tmp_path: Path) -> None:
    path = filled(tmp_path)
    log = SessionLog.open(path)
    redacted = path.read_bytes().replace(b'"more"', b'"..."')
    (tmp_path / "new").write_bytes(redacted)
    (tmp_path / "new").replace(path)
    before = log.messages()
    log.append_message(AFTER)
    log.move(log.leaf)
    assert log.messages() == [*before, AFTER]
    with pytest.raises(SessionError, match="open in another tau"):
        SessionLog.open(path)
    log.close()
    again = SessionLog.open(path)
    assert UserMessage("...", 3) in again.messages()
    assert again.messages()[-1] == AFTER
    again.close()


def test_file_changed_under_us_yields_no_wrong_entries(tmp_path: Path) -> None:
    path = filled(tmp_path, large=True)
    log = SessionLog.open(path)
    content = path.read_bytes()
    with path.open("rb+") as file:
        file.write(content.replace(b"so far", b"and so far"))
    log.messages()
    assert any("changed by another program" in warning for warning in log.warnings)
    log.append_message(AFTER)
    assert log.messages()[-1] == AFTER
    log.close()


CROWD = """
import os, sys
from pathlib import Path
from tau.ai.wire import UserMessage
from tau.coding.session.storage.log import SessionLog
log = SessionLog.new(Path(sys.argv[1]), Path("/w"), blobs=Path(sys.argv[1]) / "blobs")
for number in range(30):
    log.append_message(UserMessage(f"{os.getpid()} {number}", number))
log.close()
print(log.path)
"""


def test_twenty_processes_write_twenty_sessions_in_one_folder(tmp_path: Path) -> None:
    command = [sys.executable, "-c", CROWD, str(tmp_path / "s")]
    crowd = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(20)]
    paths = set()
    for one in crowd:
        out, _ = one.communicate()
        assert one.returncode == 0
        path = Path(out.strip())
        log = SessionLog.open(path)
        assert log.messages() == [UserMessage(f"{one.pid} {number}", number) for number in range(30)]
        assert log.warnings == []
        log.close()
        paths.add(path)
    assert set((tmp_path / "s").iterdir()) == paths
    assert len(paths) == 20
