"""Bad input to the commands that read: one clear message, no traceback, nothing changed."""

import gzip
import os
from pathlib import Path

import pytest

from cli_run import Cli, told, transcript, two_turns
from data import shared
from slicetape.log.log import SessionLog

LOG = "dsh-logs/v3-tools.jsonl"


def rows() -> list[bytes]:
    return shared(LOG).read_bytes().splitlines()


def saved(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


REFUSED = {
    "an empty file": (b"", "is empty"),
    "NUL bytes": (bytes(4096), "NUL bytes"),
    "binary": (b"\x7fELF\x02\x01\x00\x00" * 40, "NUL bytes"),
    "text": (b"plain words\n", "no transcript of a known format"),
    "unknown JSON": (b'{"hello": 1}\n', "no transcript of a known format"),
    "a zip": (b"PK\x03\x04" + b"x" * 60, "zip archive"),
    "a newer log": (
        b'{"type":"session","version":9,"id":"s","createdAt":1,"isSeeded":false}\n',
        "format 9 is newer",
    ),
    "a damaged archive": (b"\x28\xb5\x2f\xfd" + b"junk" * 10, "cannot be unpacked"),
}


@pytest.mark.parametrize("what", REFUSED)
@pytest.mark.parametrize("command", ["show", "import", "export"])
def test_what_is_no_session_is_refused(cli: Cli, tmp_path: Path, command: str, what: str) -> None:
    data, says = REFUSED[what]
    err = cli.fails(command, saved(tmp_path / "x.jsonl", data))
    assert says in err
    assert "x.jsonl" in err
    assert not cli.home.exists()


@pytest.mark.parametrize("command", ["show", "import", "export", "verify"])
def test_an_event_that_may_not_be_skipped_refuses_the_log(
    cli: Cli, tmp_path: Path, command: str
) -> None:
    first, *_ = rows()
    weird = b'{"type":"future/kind","seq":0,"time":1,"data":{}}'
    ran = cli(command, saved(tmp_path / "x.jsonl", b"\n".join([first, weird, b""])))
    assert ran.code == 1
    assert "'future/kind'" in ran.out + ran.err
    assert "x.jsonl, line 2" in ran.out + ran.err


def damaged(kind: str) -> bytes:
    lines = rows()
    at = 20
    middle = {
        "duplicate seq": [lines[at - 1], *lines[at:]],
        "missing seq": lines[at + 1 :],
        "out of order": [lines[at + 1], lines[at], *lines[at + 2 :]],
        "NUL-filled": [bytes(300), *lines[at + 1 :]],
        "not JSON": [b'{"type":"turn/st', *lines[at + 1 :]],
    }[kind]
    return b"\n".join([*lines[:at], *middle, b""])


@pytest.mark.parametrize(
    "kind", ["duplicate seq", "missing seq", "out of order", "NUL-filled", "not JSON"]
)
@pytest.mark.parametrize("packed", [False, True])
def test_a_damaged_log_is_shown_up_to_the_damage(
    cli: Cli, tmp_path: Path, kind: str, packed: bool
) -> None:
    data = damaged(kind)
    name, data = ("x.jsonl.gz", gzip.compress(data)) if packed else ("x.jsonl", data)
    path = saved(tmp_path / name, data)
    ran = cli("show", path)
    assert ran.code == 0
    assert ran.err.count("\n") == 1
    assert "read up to the damage at" in ran.err
    assert "behind it" in ran.err
    assert "── turn 1" in ran.out
    found = cli("verify", path, "--json")
    assert found.code == 1
    (problem,) = found.json["problems"]
    assert problem["rule"] == "damage"
    assert problem["seq"] == found.json["events"] == 19
    assert path.read_bytes() == data


def test_a_torn_end_is_told_and_is_no_problem(cli: Cli, tmp_path: Path) -> None:
    data = shared(LOG).read_bytes()
    for name, cut in (("x.jsonl", data[:40_000]), ("x.jsonl.gz", gzip.compress(data[:40_000]))):
        ran = cli("show", saved(tmp_path / name, cut))
        assert ran.code == 0
        assert "never written whole" in ran.err
        assert cli("verify", tmp_path / name).code == 0


@pytest.mark.parametrize("format", [0, 4])
def test_a_damaged_log_of_another_format_opens_up_to_the_damage(
    cli: Cli, tmp_path: Path, format: int
) -> None:
    lines = shared(f"dsh-logs/v{format}-tools.jsonl").read_bytes().splitlines()
    data = b"\n".join([*lines[:60], b'{"broken', *lines[61:]])
    ran = cli("show", saved(tmp_path / "x.jsonl", data))
    assert ran.code == 0
    assert "line 61 is not JSON" in ran.err
    assert "more lines" in ran.err


def test_a_missing_file_and_an_unknown_id_are_told_apart(cli: Cli) -> None:
    assert "absent.jsonl: no such file" in cli.fails("show", "absent.jsonl")
    assert "./absent: no such file" in cli.fails("show", "./absent")
    err = cli.fails("show", "absent")
    assert "no session 'absent'" in err
    assert "no file is called so either" in err
    assert "no such file" in cli.fails("import", "absent")


def test_a_folder_is_no_session_unless_it_holds_one(cli: Cli, tmp_path: Path) -> None:
    cli("import", transcript(tmp_path / "fix.jsonl"))
    folder = cli.home / "sessions" / "--proj--" / "fix"
    assert cli("show", folder).out == cli("show", "fix").out
    assert "a folder without a session log" in cli.fails("show", tmp_path)
    assert "name the files in it" in cli.fails("import", tmp_path)


def test_names_that_are_none(cli: Cli) -> None:
    cli.fails("show", "", code=2)
    cli.fails("show", "a\0b", code=2)
    assert "too long" in cli.fails("show", "./" + "x" * 5000)


def test_the_start_of_two_ids_is_ambiguous_and_a_whole_id_is_not(cli: Cli, tmp_path: Path) -> None:
    for name in ("abc", "abcd", "abd"):
        cli("import", transcript(tmp_path / f"{name}.jsonl"))
    err = cli.fails("show", "ab")
    assert "'ab' is the start of 3 session ids: abc, abcd, abd" in err
    assert cli("show", "abc").code == 0
    assert cli("show", "abd").code == 0


def test_a_session_that_is_being_written_is_read_without_waiting(cli: Cli, tmp_path: Path) -> None:
    cli("import", transcript(tmp_path / "fix.jsonl"))
    (path,) = cli.home.rglob("session.v3.jsonl")
    with SessionLog.open(path) as writer:
        for command in ("show", "verify", "export"):
            assert cli(command, "fix").code == 0
        assert cli("sessions", "--json").json["id"] == "fix"
        assert "already there" in cli("import", tmp_path / "fix.jsonl").out
        writer.sync()


def test_a_home_that_cannot_be_written_is_told(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = transcript(tmp_path / "fix.jsonl")
    monkeypatch.setenv("SLICETAPE_HOME", str(file))
    assert "Not a directory" in cli.fails("import", file)
    assert "Not a directory" in cli.fails("sessions")
    monkeypatch.setenv("SLICETAPE_HOME", "/proc/slicetape")
    assert "nothing was written" in cli.fails("import", file)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_home_is_listed_and_searched(cli: Cli, tmp_path: Path) -> None:
    cli("import", transcript(tmp_path / "fix.jsonl"))
    cli.home.chmod(0o500)
    try:
        ran = cli("search", "retry", "--json")
        assert ran.rows[0]["session"] == "fix"
        assert "cannot be written" in ran.err
    finally:
        cli.home.chmod(0o700)


def test_a_wrong_format_is_named_with_the_known_ones(cli: Cli, tmp_path: Path) -> None:
    file = transcript(tmp_path / "fix.jsonl")
    err = cli.fails("import", file, "--format", "claud-code")
    assert "unknown format 'claud-code'" in err
    assert "claude-code" in err


def test_hostile_ids_and_titles_stay_text(cli: Cli, tmp_path: Path) -> None:
    def tell(story: object) -> None:
        story.short_turn("\x1b[2J\u202ehello", "ok")  # type: ignore[attr-defined]

    log = told(tmp_path / "a.jsonl", tell, id="x\x1b[31m", cwd="/pro\x9bj")
    for command in (("import", log), ("sessions",), ("show", log), ("search", "hello")):
        for terminal in (False, True):
            ran = cli(*command, terminal=terminal)
            assert ran.code == 0
            for bad in ("\x1b[2J", "\x1b[31mx", "\u202e", "\x9b"):
                assert bad not in ran.out + ran.err


def test_an_unreadable_session_does_not_hide_the_others(cli: Cli, tmp_path: Path) -> None:
    for name in ("good", "ill"):
        cli("import", transcript(tmp_path / f"{name}.jsonl"))
    ill = cli.home / "sessions" / "--proj--" / "ill" / "session.v3.jsonl"
    ill.write_bytes(b"")
    ran = cli("sessions", "--json")
    assert [row["id"] for row in ran.rows] == ["good"]
    assert "empty" in ran.err
    (_, found) = cli("verify", "--all", "--json").rows
    assert found["session"] == "ill"
    assert str(ill) in found["problems"][0]["text"]
    ill.write_bytes(bytes(100))
    assert "NUL bytes" in cli("verify", "--all").out


def test_a_log_that_breaks_the_surface_says_which_event(cli: Cli, tmp_path: Path) -> None:
    log = told(tmp_path / "a.jsonl", two_turns)
    lines = log.read_bytes().splitlines()
    seq = len(lines) - 1
    bad = (
        b'{"type":"user/message","seq":%d,"time":0,"data":{"id":"b","role":"user","content":[],'
        b'"source":{"kind":"plugin","plugin":"p"}},"surfaceOp":{"op":"replace","startSeq":0,'
        b'"endSeq":0},"sourceEventSeqs":[0]}'
    ) % seq
    log.write_bytes(b"\n".join([*lines, bad, b""]))
    assert "slicetape verify" in cli.fails("show", log)
    found = cli("verify", log, "--json").json
    assert [(p["seq"], p["rule"]) for p in found["problems"]] == [(seq, "surface")]
    assert len(cli("show", log, "--events").rows) == seq + 1


def test_a_packed_log_of_a_newer_format_or_without_a_header(cli: Cli, tmp_path: Path) -> None:
    first = rows()[0]
    newer = gzip.compress(first.replace(b'"version":3', b'"version":9') + b"\n")
    assert "format 9" in cli.fails("show", saved(tmp_path / "a.jsonl.gz", newer))
    weird = b'{"type":"future/kind","seq":0,"time":1,"data":{}}'
    packed = gzip.compress(b"\n".join([first, weird, b""]))
    assert "future/kind" in cli.fails("show", saved(tmp_path / "b.jsonl.gz", packed))
    odd = first.replace(b'"id":', b'"x":')
    assert "not a session log" in cli.fails(
        "show", saved(tmp_path / "c.jsonl.gz", gzip.compress(odd))
    )


def test_a_packed_log_that_is_cut_is_shown_as_far_as_it_goes(cli: Cli, tmp_path: Path) -> None:
    packed = gzip.compress(shared(LOG).read_bytes() * 1)
    ran = cli("show", saved(tmp_path / "a.jsonl.gz", packed[: len(packed) * 3 // 4]))
    assert ran.code == 0
    assert "cut or damaged" in ran.err
    assert "── turn 1" in ran.out
