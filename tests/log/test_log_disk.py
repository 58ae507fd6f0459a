"""A disk that refuses a write leaves the log as it was, and the write can be tried again."""

import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from logged import HEADER, human, start
from slicetape.errors import SessionLocked, StorageFailed
from slicetape.log.lock import SessionLock
from slicetape.log.log import SessionLog

NAMES = pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.zstd"], ids=["plain", "zstd"])
NOISE = "".join(chr(0x4E00 + n * 7919 % 20000) for n in range(6000))
"""A text that does not compress to nothing."""


@contextmanager
def files_up_to(size: int) -> Iterator[None]:
    """The operating system refuses to let any file grow beyond `size`."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@NAMES
def test_a_full_disk_leaves_the_log_unchanged(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    with SessionLog.create(path, HEADER) as log:
        log.append(start(1))
        before = path.read_bytes()
        with files_up_to(len(before) + 3000):
            for _ in range(2):
                with pytest.raises(
                    StorageFailed, match=f"{name}: nothing was written: .*unchanged"
                ):
                    log.append(human(NOISE))
                assert (path.read_bytes(), len(log.events)) == (before, 1)
            log.append(human("a small one fits"))
        log.append(human(NOISE))
        log.sync()
        assert len(log.events) == 3
    assert len(SessionLog.read(path).events) == 3


def test_a_full_disk_at_the_first_event_leaves_no_file(tmp_path: Path) -> None:
    path = tmp_path / "new" / "session.v3.jsonl"
    log = SessionLog.create(path, HEADER)
    with files_up_to(100), pytest.raises(StorageFailed, match="nothing was written"):
        log.append(human(NOISE))
    assert [entry.name for entry in path.parent.iterdir()] == ["session.lock"]
    log.append(human(NOISE))
    log.close()
    assert len(SessionLog.read(path).events) == 1


def test_a_full_disk_while_a_torn_end_is_mended_loses_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    with SessionLog.create(path, HEADER) as log:
        log.extend([start(1), human("kept")])
    path.write_bytes(path.read_bytes() + b'{"type"')
    with SessionLog.open(path) as log:
        with files_up_to(path.stat().st_size + 10), pytest.raises(StorageFailed):
            log.append(human(NOISE))
        assert len(SessionLog.read(path).events) == 2
        log.append(human(NOISE))
    assert len(SessionLog.read(path).events) == 3


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    log = SessionLog.create(tmp_path / "file" / "s" / "session.v3.jsonl", HEADER)
    with pytest.raises(StorageFailed, match="nothing was written"):
        log.append(start(1))
    log.close()
    with pytest.raises(StorageFailed, match="nothing was written"):
        SessionLog.of_lines([log.header_line]).copy_to(tmp_path / "file" / "copy.jsonl")


def test_a_log_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "a.jsonl"
    folder.mkdir()
    with pytest.raises(StorageFailed, match=r"a\.jsonl"):
        SessionLog.open(folder)


@contextmanager
def without_a_disk(path: Path) -> Iterator[None]:
    """Every operation on this program's open file `path` fails, as on a disk that has gone."""
    found = [
        fd
        for entry in Path("/proc/self/fd").iterdir()
        if entry.exists() and os.path.samestat(os.fstat(fd := int(entry.name)), path.stat())
    ]
    kept = os.dup(found[0])
    out, into = os.pipe()
    os.dup2(into, found[0])
    try:
        yield
    finally:
        os.dup2(kept, found[0])
        for fd in (kept, out, into):
            os.close(fd)


ON_LINUX = pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc")


@ON_LINUX
def test_a_sync_that_fails_can_be_tried_again(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    with SessionLog.create(path, HEADER) as log:
        log.append(start(1))
        log.append(human("x"))
        before = path.read_bytes()
        with without_a_disk(path), pytest.raises(StorageFailed, match="sync again"):
            log.sync()
        log.sync()
        assert path.read_bytes() == before


# --- the lock


HOLD = (
    "import sys; from pathlib import Path; from slicetape.log.log import SessionLog\n"
    "log = SessionLog.open(Path(sys.argv[1])); print('held', flush=True); sys.stdin.read()"
)


def test_a_second_process_is_refused_until_the_first_has_died(tmp_path: Path) -> None:
    path = tmp_path / "session.v3.jsonl"
    with SessionLog.create(path, HEADER) as log:
        log.append(start(1))
    command = [sys.executable, "-c", HOLD, str(path)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        with pytest.raises(SessionLocked, match="another process writes this session; end it"):
            SessionLog.open(path)
        assert len(SessionLog.read(path).events) == 1
        other.kill()
    with SessionLog.open(path) as log:
        log.append(human("mine now"))


def test_the_lock_of_a_new_log_is_taken_with_its_first_event(tmp_path: Path) -> None:
    path = tmp_path / "session.v3.jsonl"
    first, second = SessionLog.create(path, HEADER), SessionLog.create(path, HEADER)
    first.append(start(1))
    with pytest.raises(SessionLocked):
        second.append(start(1))
    first.close()
    second.close()


def test_logs_of_other_names_in_one_folder_have_their_own_locks(tmp_path: Path) -> None:
    with (
        SessionLog.create(tmp_path / "a.jsonl", HEADER) as one,
        SessionLog.create(tmp_path / "b.jsonl", HEADER) as two,
    ):
        one.append(start(1))
        two.append(start(1))
    assert (tmp_path / "a.jsonl.lock").exists()


def test_a_lock_file_stays_and_is_released_twice_without_harm(tmp_path: Path) -> None:
    lock = SessionLock(tmp_path / "session.v3.jsonl")
    lock.release()
    lock.release()
    SessionLock(tmp_path / "session.v3.jsonl").release()
    assert (tmp_path / "session.lock").exists()


def test_a_lock_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    with pytest.raises(StorageFailed, match="cannot be locked"):
        SessionLock(tmp_path / "no" / "session.v3.jsonl")
    with pytest.raises(StorageFailed, match="cannot be locked"):
        SessionLock(tmp_path / "no" / "session.v3.jsonl")
