"""The entry that the README shows is the one of the session that comes with slicetape."""

import re
from importlib.resources import files
from pathlib import Path

import pytest
from click.testing import CliRunner

from slicetape import HistorySettings, Prestep, Session, SessionLog, open_sessions
from slicetape.cli.demo import demo
from slicetape.log.messages import text_of
from slicetape.policy.measure import nodes_chars

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
BEFORE, AFTER = re.findall(r"^```text\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)[:2]


@pytest.fixture(scope="module")
def printed() -> set[str]:
    shown = CliRunner().invoke(demo, ["--full"])
    assert shown.exit_code == 0, shown.output
    return {line.strip() for line in shown.output.splitlines()}


def test_every_whole_line_of_the_entry_is_printed_by_the_demo(printed: set[str]) -> None:
    lines = [line for line in AFTER.splitlines() if "…" not in line]
    assert len(lines) >= 5
    assert [line for line in lines if line not in printed] == []


def test_every_cut_line_of_the_entry_begins_as_one_that_the_demo_prints(printed: set[str]) -> None:
    cut = [line.split("…")[0].strip() for line in AFTER.splitlines() if "…" in line]
    assert [a for a in filter(None, cut) if not any(b.startswith(a) for b in printed)] == []


def test_the_results_before_sealing_are_those_that_the_entry_names(printed: set[str]) -> None:
    for seq, tool, size in re.findall(r"← seq (\d+) · (\w+) · ([\d,]+) chars", BEFORE):
        start = f"seq {seq} · {tool} · {size.replace(',', '')} chars"
        assert any(start in line for line in printed), start


def test_its_sizes_are_right() -> None:
    told = next(open_sessions(str(files("slicetape.replay") / "demo" / "cc-10.jsonl.zst")))
    session = Session(SessionLog.in_memory(told.header))
    for event in told.events:
        session.append(event)
    entries = Prestep(session, HistorySettings()).before_step(1, time=0).entries
    entry = next(made for made in entries if "· turns 13-13 ·" in text_of(made.data.content))
    nodes = entry.sources
    sizes = len(nodes), nodes_chars(session.view, nodes), len(text_of(entry.data.content))
    found = re.search(
        r": (\d+) messages, ([\d,]+) characters\..*?entry of ([\d,]+) char", README, re.DOTALL
    )
    assert found
    assert sizes == tuple(int(number.replace(",", "")) for number in found.groups())
