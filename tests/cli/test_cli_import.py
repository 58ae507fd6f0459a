"""`slicetape import` and `slicetape export`: in and out again, whole, and never over anything."""

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest
import zstandard

from cli_run import CLAUDE, Cli, told, transcript, two_turns
from data import shared
from log_rows import e, lines, user
from slicetape.log.log import SessionLog

LOG = "dsh-logs/v3-tools.jsonl"
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


def stored(cli: Cli) -> list[Path]:
    return sorted(path for path in cli.home.rglob("session.v*") if path.is_file())


def test_a_transcript_becomes_a_session_whose_id_is_printed(cli: Cli, tmp_path: Path) -> None:
    ran = cli("import", transcript(tmp_path / "fix.jsonl"))
    assert (ran.code, ran.out, ran.err) == (0, "fix\n", "")
    (path,) = stored(cli)
    assert path == cli.home / "sessions" / "--proj--" / "fix" / "session.v3.jsonl"
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert cli("verify", "fix").code == 0


def test_project_and_id_can_be_given(cli: Cli, tmp_path: Path) -> None:
    file = transcript(tmp_path / "fix.jsonl")
    ran = cli("import", file, "--project", tmp_path / "other", "--id", "mine")
    assert ran.out == "mine\n"
    log = SessionLog.read(stored(cli)[0])
    assert (log.header.id, log.header.cwd) == ("mine", str(tmp_path / "other"))


def test_importing_again_says_so_and_changes_nothing(cli: Cli, tmp_path: Path) -> None:
    file = transcript(tmp_path / "fix.jsonl")
    cli("import", file)
    before = stored(cli)[0].read_bytes()
    ran = cli("import", file)
    assert (ran.code, ran.out) == (0, "fix (already there, with the same content)\n")
    assert stored(cli)[0].read_bytes() == before


def test_another_session_of_that_id_is_refused_with_what_to_do(cli: Cli, tmp_path: Path) -> None:
    file = transcript(tmp_path / "fix.jsonl")
    cli("import", file)
    before = stored(cli)[0].read_bytes()
    transcript(file, {**CLAUDE[0], "uuid": "u9", "timestamp": "2026-01-02T03:05:00.000Z"})
    err = cli.fails("import", file)
    assert "already there with other content" in err
    assert "--id NAME" in err
    assert stored(cli)[0].read_bytes() == before
    assert cli("import", file, "--id", "fix-2").out == "fix-2\n"


def test_one_bad_file_does_not_stop_the_others(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("plain words\n")
    ran = cli("import", tmp_path / "notes.txt", transcript(tmp_path / "fix.jsonl"))
    assert (ran.code, ran.out) == (1, "fix\n")
    assert ran.err.startswith("error: 'notes.txt' is no transcript of a known format")


def test_an_id_is_for_one_file_alone(cli: Cli, tmp_path: Path) -> None:
    file = transcript(tmp_path / "fix.jsonl")
    assert "exactly one FILE" in cli.fails("import", file, file, "--id", "x", code=2)


def test_pictures_are_kept_by_content(cli: Cli, tmp_path: Path) -> None:
    picture = {"type": "base64", "media_type": "image/png", "data": PIXEL}
    said = {"role": "user", "content": [{"type": "image", "source": picture}]}
    cli("import", transcript(tmp_path / "p.jsonl", {**CLAUDE[0], "uuid": "u8", "message": said}))
    (kept,) = (cli.home / "attachments" / "v1").iterdir()
    shown = cli("show", "p").out
    assert f"[image 1×1 image/png sha256:{kept.name}]" in shown
    assert kept.read_bytes().startswith(b"\x89PNG")
    assert cli("verify", "p", "--json").json["notes"] == []
    kept.write_bytes(b"other")
    (problem,) = cli("verify", "p", "--json").json["problems"]
    assert problem["rule"] == "blob-changed"
    kept.unlink()
    assert cli("verify", "p", "--json").json["notes"] == [
        "1 picture named here and not kept in this home"
    ]


def test_a_file_of_several_sessions_gives_all_of_them(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "chats.jsonl"
    rows = [{"messages": [{"role": "user", "content": f"ask {n}"},
                          {"role": "assistant", "content": f"say {n}"}]} for n in (1, 2, 3)]  # fmt: skip
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert cli("import", file).out.split() == ["chats/0001", "chats/0002", "chats/0003"]
    assert "say 2" in cli("show", "chats/0002").out
    assert "say 3" in cli("show", f"{file}#3").out
    assert "name one as chats.jsonl#1 to chats.jsonl#3" in cli.fails("show", file, code=2)
    assert "there is no session 4" in cli.fails("show", f"{file}#4", code=2)
    assert cli("import", file, "--id", "talk").out.split()[0] == "talk/0001"


@pytest.mark.parametrize("name", ["dsh-logs/v0-tools.jsonl", "dsh-logs/v4-tools.jsonl"])
def test_logs_of_other_formats_come_in_as_format_3(cli: Cli, name: str) -> None:
    assert cli("import", shared(name)).code == 0
    (path,) = stored(cli)
    assert path.name == "session.v3.jsonl"
    assert cli("verify", "example").code == 0
    assert cli("import", shared(name)).out.endswith("(already there, with the same content)\n")


def test_a_log_comes_out_byte_for_byte_as_it_went_in(cli: Cli, tmp_path: Path) -> None:
    log = shared(LOG)
    cli("import", log)
    assert cli("export", "example-001").raw == log.read_bytes()
    assert cli("export", "example-001", "-o", tmp_path / "out.jsonl").code == 0
    assert (tmp_path / "out.jsonl").read_bytes() == log.read_bytes()
    assert cli("export", log).raw == log.read_bytes()


def test_the_compressed_form_is_frames_with_the_header_alone(cli: Cli, tmp_path: Path) -> None:
    cli("import", shared(LOG))
    packed = tmp_path / "out.jsonl.zstd"
    assert cli("export", "example-001", "-o", packed).code == 0
    first = zstandard.ZstdDecompressor().decompressobj()
    assert first.decompress(packed.read_bytes()).count(b"\n") == 1
    assert cli("export", packed).raw == shared(LOG).read_bytes()
    assert cli("export", "example-001", "--zstd").raw == packed.read_bytes()
    assert cli("import", packed, "--id", "again").out == "again\n"
    assert cli("export", packed, "--zstd").raw == packed.read_bytes()


def test_format_4_and_back_gives_the_same_lines(cli: Cli, tmp_path: Path) -> None:
    four = tmp_path / "four.jsonl"
    assert cli("export", shared(LOG), "--format-version", "4", "-o", four).code == 0
    assert json.loads(four.read_bytes().split(b"\n")[0])["version"] == 4
    assert cli("export", four).raw == shared(LOG).read_bytes()


def test_a_log_that_only_format_4_can_say_is_kept_in_it(cli: Cli, tmp_path: Path) -> None:
    tools = {"id": "d", "role": "developer", "source": {"kind": "model-selection"},
             "content": [{"type": "tool-addition", "toolName": "read"}]}  # fmt: skip
    developer = e("developer/message", {"turn": 1, "step": 0, "message": tools}, surfaceOp="append")
    body = [e("turn/start", {"turn": 1}), user({"kind": "user"}), developer]
    file = tmp_path / "v4.jsonl"
    file.write_bytes(b"\n".join(lines(4, body)) + b"\n")
    ran = cli("import", file)
    assert ran.out == "s\n", ran.err
    assert "requests behind it cannot be rebuilt" in ran.err
    (path,) = stored(cli)
    assert path.name == "session.v4.jsonl"
    assert path.read_bytes() == file.read_bytes()
    assert "cannot be said whole in format 3" in cli.fails("export", "s")
    assert cli("export", "s", "--format-version", "4").raw == file.read_bytes()
    assert "cannot be rebuilt" in cli("verify", "s").out


def test_export_never_overwrites_and_makes_no_folders(cli: Cli, tmp_path: Path) -> None:
    log = told(tmp_path / "a.jsonl", two_turns)
    (tmp_path / "there.jsonl").write_text("mine")
    assert "already there" in cli.fails("export", log, "-o", tmp_path / "there.jsonl")
    assert (tmp_path / "there.jsonl").read_text() == "mine"
    assert "no such folder" in cli.fails("export", log, "-o", tmp_path / "no" / "x.jsonl")
    assert not (tmp_path / "no").exists()


def test_compressed_bytes_do_not_go_to_a_terminal(cli: Cli, tmp_path: Path) -> None:
    ran = cli("export", told(tmp_path / "a.jsonl", two_turns), "--zstd", terminal=True)
    assert (ran.code, ran.out) == (2, "")
    assert "name a file with -o" in ran.err


def test_a_transcript_is_exported_as_a_log(cli: Cli, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    assert cli("export", transcript(tmp_path / "fix.jsonl"), "-o", out).code == 0
    assert SessionLog.read(out).header.id == "fix"
    assert cli("verify", out).code == 0


def test_packed_logs_and_logs_of_a_wrong_name_are_opened(cli: Cli, tmp_path: Path) -> None:
    data = shared(LOG).read_bytes()
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(data))
    (tmp_path / "b.jsonl").write_bytes(zstandard.compress(data))
    (tmp_path / "c.zstd").write_bytes(data)
    for name in ("a.jsonl.gz", "b.jsonl", "c.zstd"):
        assert cli("export", tmp_path / name).raw == data
        assert cli("import", tmp_path / name).code == 0


def test_a_damaged_log_is_imported_only_when_that_is_asked_for(cli: Cli, tmp_path: Path) -> None:
    rows = shared(LOG).read_bytes().split(b"\n")
    bad = tmp_path / "bad.jsonl"
    bad.write_bytes(b"\n".join([*rows[:20], b'{"broken', *rows[21:]]))
    err = cli.fails("import", bad)
    assert "damaged at line 21" in err
    assert "behind it" in err
    assert stored(cli) == []
    ran = cli("import", bad, "--to-damage")
    assert (ran.code, ran.out) == (0, "example-001\n")
    assert "read up to the damage" in ran.err
    assert len(SessionLog.read(stored(cli)[0]).events) == 19
    assert "only a part could be exported" in cli.fails("export", bad)


def test_a_cut_transcript_is_imported_with_a_warning(cli: Cli, tmp_path: Path) -> None:
    file = transcript(tmp_path / "fix.jsonl")
    file.write_bytes(file.read_bytes()[:-30])
    ran = cli("import", file)
    assert (ran.code, ran.out) == (0, "fix\n")
    assert "warning:" in ran.err
    assert "line 3 is damaged" in ran.err


def test_a_bar_is_shown_on_a_terminal_and_ids_stay_on_stdout(cli: Cli, tmp_path: Path) -> None:
    files = [transcript(tmp_path / f"t{n}.jsonl") for n in range(4)]
    ran = cli("import", *files, terminal=True)
    assert ran.out.split() == ["t0", "t1", "t2", "t3"]
    assert "importing t1.jsonl" in ran.err
    assert cli("sessions", terminal=True).err
    assert "verifying" in cli("verify", "--all", terminal=True).err


def test_a_full_disk_leaves_nothing_behind(cli: Cli, tmp_path: Path) -> None:
    file = transcript(tmp_path / "fix.jsonl")
    code = (
        "import resource, sys\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (400, 400))\n"
        "from slicetape.cli.program import run\n"
        "sys.exit(run(sys.argv[1:]))\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code, "import", str(file)], capture_output=True, check=False
    )
    assert ran.returncode == 1
    assert ran.stdout == b""
    assert ran.stderr.startswith(b"error: ")
    assert b"nothing was written: File too large" in ran.stderr
    assert stored(cli) == []
    assert cli("import", file).out == "fix\n"


def test_a_full_disk_behind_stdout_is_told(cli: Cli, tmp_path: Path) -> None:
    log = told(tmp_path / "a.jsonl", two_turns)
    for command in ("show", "export", "recall"):
        more = ["expand", "5"] if command == "recall" else []
        with Path("/dev/full").open("wb") as full:
            ran = subprocess.run(
                [sys.executable, "-m", "slicetape.cli", command, str(log), *more],
                stdout=full, stderr=subprocess.PIPE, check=False,
            )  # fmt: skip
        assert ran.returncode == 1, command
        assert ran.stderr == b"error: No space left on device\n", command
