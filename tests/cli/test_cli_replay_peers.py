"""`slicetape replay --peers`: the table and the JSON of other libraries, and what goes wrong."""

from pathlib import Path

import pytest

from cli_run import Cli, told
from peer_stubs import install_stubs
from slicetape.replay.peers.environment import Environment
from slicetape.replay.peers.pins import peers
from story import Story


def reading(story: Story) -> None:
    for number in range(4):
        story.reading_turn(f"src/{number}.py", "2026 ERROR gone\n" + f"line {number}\n" * 1_500)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return told(tmp_path / "session.v3.jsonl", reading)


@pytest.fixture
def home(cli: Cli) -> Path:
    install_stubs(cli.home)
    return cli.home


def broken(home: Path, name: str, text: str) -> None:
    """Put another library in the place of a peer's."""
    (peer,) = peers(name)
    (found,) = Environment.of(peer, home=home).folder.glob("[lL]ib/**/headroom/__init__.py")
    found.write_text(text)


def test_peers_get_a_table_below_that_of_the_arms(cli: Cli, home: Path, log: Path) -> None:
    ran = cli("replay", log, "--arms", "tape", "--peers")
    assert (ran.code, ran.err) == (0, "")
    _, arms, table = ran.out.partition("under other libraries, relative to transcript")
    assert arms
    rows = [line.split("  ")[1] for line in table.splitlines() if line.startswith("  ")]
    assert rows[:3] == ["peer", "transcript", "headroom default"]
    assert rows.count("openai-agents 5/2000") >= 1
    assert "at headroom-ai==0.42.0, langchain==1.5.2" in table
    assert max(map(len, ran.out.splitlines())) <= 100


def test_programs_get_the_rows_in_the_same_object(cli: Cli, home: Path, log: Path) -> None:
    report = cli("replay", log, log, "--arms", "tape", "--json", "--peers").json
    assert [len(session["rows"]) for session in report["peers"]] == [17, 17]
    row = report["peers"][0]["rows"][9]
    assert (row["name"], row.get("prefix_breaks", 0)) == ("pydantic 4k", 0)
    assert row["versions"] == {"pydantic-ai-harness": "0.62.0", "pydantic-ai-slim": "2.62.0"}
    assert row["fidelity"]["errors"] == {"shown": 0, "of": 4}
    assert [row["name"] for row in report["peers_total"]][:2] == ["transcript", "headroom default"]
    assert "peers" not in cli("replay", log, "--arms", "tape", "--json").json


def test_several_sessions_get_a_table_over_all(cli: Cli, home: Path, log: Path) -> None:
    ran = cli("replay", log, log, "--arms", "tape", "--peers")
    assert "all 2 sessions under other libraries" in ran.out


def test_a_peer_that_fails_is_told_below_the_table(cli: Cli, home: Path, log: Path) -> None:
    broken(home, "headroom", "raise OSError('no model \\x1b[2J file')")
    ran = cli("replay", log, "--arms", "tape", "--peers")
    assert ran.code == 0
    text = " ".join(ran.out.split())
    assert (
        "headroom default is failed: headroom cannot be opened: OSError: no model \\x1b[2J file"
        in text
    )
    assert "headroom carried is absent: broke off 3 times" in text
    assert "\x1b" not in ran.out


def test_requests_that_a_peer_fails_on_are_told_below_the_table(
    cli: Cli, home: Path, log: Path
) -> None:
    broken(home, "headroom", "def compress(messages, **options): raise KeyError('role')")
    text = " ".join(cli("replay", log, "--arms", "tape", "--peers").out.split())
    assert (
        "headroom default failed on 8 of 8 requests, which were sent as they came: KeyError: 'role'"
        in text
    )


def test_a_person_sees_which_peer_is_at_work(cli: Cli, home: Path, log: Path) -> None:
    ran = cli("replay", log, "--arms", "tape", "--peers", terminal=True)
    assert ran.code == 0
