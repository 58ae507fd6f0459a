"""What peers leave in front of the model, measured as it is for our arms."""

from peers_run import compared, row
from slicetape.replay.arms import arms
from slicetape.replay.evidence.fidelity import Shown as Lines
from slicetape.replay.peers.fidelity import Shown, Truths, result_of
from slicetape.replay.peers.requests import Item
from slicetape.replay.peers.rows import PeerRow
from story import Story

ROWS = [f"line {number} of the_{number}_ledger" for number in range(40)]


def using_story() -> Story:
    """A ledger is read; then its words are copied into calls, each in a turn of its own."""
    story = Story()
    story.reading_turn("ledger.txt", "\n".join(ROWS))
    for number in range(35):
        story.start()
        story.human("go on")
        call = {f"c{number}": ("note", {"text": f"the_{number}_ledger"})}
        story.says(f"noted the_{number}_ledger", calls=call)
        story.result(f"c{number}", "done")
        story.end()
    return story


def test_a_peer_that_changes_nothing_hides_nothing_as_transcript_does(tmp_path):
    session = compared(using_story(), tmp_path, "nothing", "copy")
    plain = row(session, "transcript")
    assert (plain.evidence.counts.tool.total, plain.evidence.visible) == (35, 1.0)
    for name in ("fake nothing", "fake copy"):
        peer = row(session, name)
        assert peer.evidence == plain.evidence
        assert peer.first_sight == plain.first_sight
        assert peer.cost_with_recall == plain.cost_with_recall == plain.cost
        assert peer.cost_with_reread == plain.cost_with_reread


def test_words_of_a_blanked_result_are_hidden_and_have_to_be_read_again(tmp_path):
    session = compared(using_story(), tmp_path, "clear", arms=arms("mask:1"))
    peer, masked = row(session, "fake clear"), row(session, "mask:1")
    assert peer.evidence.hidden.dropped == 34  # the first request still has the newest result
    assert peer.evidence.predicted_recalls == 34
    assert peer.evidence.visible_tool == 1 / 35
    assert peer.evidence == masked.evidence
    for id, money in peer.cost.items():
        assert peer.cost_with_recall[id] > money
        assert peer.cost_with_reread[id] > peer.cost_with_recall[id]


def test_a_cut_result_shows_the_words_of_the_lines_that_stand(tmp_path):
    peer = row(compared(using_story(), tmp_path, "first lines"), "fake first lines")
    assert peer.evidence.hidden.dropped == 34  # only line 0 stands
    assert peer.first_sight["kept-referenced"] == Lines(1, 0, 35)


def test_a_result_that_never_comes_shows_nothing_at_first_sight(tmp_path):
    peer = row(compared(using_story(), tmp_path, "pictures"), "fake pictures")
    assert peer.first_sight["kept-referenced"] == Lines(0, 0, 35)
    assert peer.fidelity["results"] == Shown(0, 35)
    assert peer.evidence.visible == 0


def test_a_row_beats_ours_when_it_is_cheaper_and_does_not_pay_for_it_later():
    def made(name: str, cost: float, recall: float, reread: float | None, lines: int) -> PeerRow:
        return PeerRow(
            name=name,
            cost={"a": cost},
            cost_with_recall={"a": recall},
            cost_with_reread={"a": reread},
            first_sight={"error": Lines(lines, 0, 9)},
        )

    ours = made("ours", 2.0, 3.0, 4.0, 8)
    assert made("better", 1.0, 3.5, 3.9, 8).beats(ours, ["a"]) == ("a",)
    assert made("dearer later", 1.0, 3.5, 4.1, 8).beats(ours, ["a"]) == ()
    assert made("no output price", 1.0, 3.5, None, 8).beats(ours, ["a"]) == ()
    assert made("dearer", 2.0, 1.0, 1.0, 8).beats(ours, ["a"]) == ()
    assert made("blind", 1.0, 1.0, 1.0, 7).beats(ours, ["a"]) == ()
    assert PeerRow(name="bare", cost={"a": 1.0}).beats(PeerRow(name="x", cost={"a": 2.0}), ["a"])


def item(text: str) -> Item:
    return Item(text.encode(), 1)


def test_only_files_of_source_code_that_are_read_count_as_sources():
    found = Truths()
    calls = {
        "a": ("read_file", '{"path":"src/a.py"}'),
        "b": ("read_file", '{"path":"notes.md"}'),
        "c": ("write_file", '{"path":"src/c.py"}'),
        "d": ("view", "no JSON"),
        "e": ("view", "[1]"),
    }
    for id, (name, arguments) in calls.items():
        quoted = arguments.replace('"', '\\"')
        function = f'{{"name":"{name}","arguments":"{quoted}"}}'
        call = f'{{"id":"{id}","type":"function","function":{function}}}'
        found.take(item(f'{{"role":"assistant","content":"","tool_calls":[{call}]}}'))
        found.take(item(f'{{"role":"tool","tool_call_id":"{id}","content":"x"}}'))
    assert [id for id, truth in found.by_call.items() if truth.source] == ["a"]


def test_the_first_result_of_a_call_is_the_one_that_counts():
    found = Truths()
    for text in ("one", "two"):
        found.take(item(f'{{"role":"tool","tool_call_id":"a","content":"{text}"}}'))
    assert found.by_call["a"].text == "one"


def test_a_message_that_speaks_of_calls_is_no_result():
    assert result_of(b'{"role":"user","content":"\\"tool_call_id\\""}') is None
    assert result_of(b'{"role":"user","tool_call_id":"a","content":""}') is None
