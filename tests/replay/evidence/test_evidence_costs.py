"""What recalls would cost: the pages they bring, and the requests they add."""

from fractions import Fraction

import pytest

from evidence_story import measured
from replay_run import fresh, recorded
from slicetape.log.messages import text_of
from slicetape.prices.cost import Tokens, cost
from slicetape.prices.sheet import sheet
from slicetape.recall.records import result_blocks, result_text
from slicetape.recall.tools import Recall, dispatch
from slicetape.replay.counting import FRAME
from slicetape.replay.evidence.recalls import Pages, Recalled, predicted, with_recall, with_reread
from slicetape.replay.evidence.references import References
from slicetape.replay.nodes import Nodes
from slicetape.replay.pricing import bills
from slicetape.replay.recording import Recording
from slicetape.replay.run import Run
from story import Story

FILLER = "filler line of no use\n" * 60


def story(*, copies: str = "port_7443", after: int = 2) -> Story:
    """Two results are sealed; the next turn copies something of them and goes on."""
    it = Story()
    it.start()
    it.human("read both")
    it.reads("a.txt", f"{FILLER}use port_7443 here\n{FILLER}use port_7445 here")
    it.reads("b.txt", f"port_7444 {FILLER}")
    it.end()
    it.start()
    it.human("open it")
    it.says(calls={"c": ("bash", {"command": f"open {copies}"})})
    it.result("c", "done")
    for _ in range(after):
        it.says("more")
    it.end()
    return it


def recalls(recording: Recording, done: Run, nodes: Nodes) -> list[Recalled]:
    assert done.visibility
    pages = Pages(References(recording), nodes)
    return [row for seen in done.visibility.seen if (row := pages.recalled(seen))]


def one(it: Story, name: str = "tape") -> Recalled:
    recording = recorded(it)
    (found,) = recalls(recording, measured(recording, name), fresh())
    return found


class TestPages:
    def test_a_recall_brings_the_matching_lines_as_the_tool_gives_them(self) -> None:
        it = story()
        recording = recorded(it)
        done = measured(recording, "transcript")
        result = next(e for e in done.session.log.events if type(e).__name__ == "ToolResult")
        arguments = {"seq": result.seq, "formatVersion": 3, "grep": "port_7443"}
        page = dispatch("expand_result", arguments, Recall.of(done.session.view))
        found = one(it)
        assert found.part == len(page.replace("[read ·", "[tool ·"))
        assert found.whole == len(f"{FILLER}use port_7443 here\n{FILLER}use port_7445 here")
        assert found.later == 2
        assert found.request == 2

    def test_a_small_result_comes_whole(self) -> None:
        it = Story()
        it.start()
        it.reads("a.txt", "port_7443")
        it.end()
        it.start()
        it.human("go on")
        it.says(calls={"c": ("bash", {"command": "open port_7443"})})
        assert (one(it).part, one(it).whole) == (9, 9)

    def test_two_words_of_one_result_read_it_once(self) -> None:
        single, double = one(story()), one(story(copies="port_7443 port_7445"))
        assert double.whole == single.whole
        assert single.part < double.part < double.whole

    def test_words_of_two_results_read_both(self) -> None:
        both = one(story(copies="port_7443 port_7444"))
        assert both.whole == one(story()).whole + len(f"port_7444 {FILLER}")

    def test_the_cheapest_of_several_sources_is_read(self) -> None:
        it = Story()
        it.start()
        for text in (FILLER * 3, FILLER, FILLER * 2):
            it.reads("a.txt", f"port_7443 {text}")
        it.end()
        it.start()
        it.human("go on")
        it.says(calls={"c": ("bash", {"command": "open port_7443"})})
        assert one(it).whole == len(f"port_7443 {FILLER}")

    def test_very_many_words_read_everything_whole(self) -> None:
        names = " ".join(f"name_{number:03}" for number in range(40))
        it = Story()
        it.start()
        it.reads("a.txt", names.replace(" ", "\n" * 9))
        it.end()
        it.start()
        it.human("go on")
        it.says(calls={"c": ("bash", {"command": names})})
        assert one(it).part == one(it).whole

    def test_a_word_too_long_to_look_for_brings_the_whole(self) -> None:
        name = "x" * 3_000
        it = Story()
        it.start()
        it.reads("a.txt", f"{name}\n{FILLER}")
        it.end()
        it.start()
        it.human("go on")
        it.says(calls={"c": ("bash", {"command": name})})
        assert one(it).part == one(it).whole

    def test_each_page_is_made_once_for_all_arms(self) -> None:
        recording, nodes = recorded(story()), fresh()
        pages = Pages(References(recording), nodes)
        runs = [measured(recording, name) for name in ("tape", "mask:0")]
        counts = []
        for done in runs:
            assert done.visibility
            for seen in done.visibility.seen:
                pages.recalled(seen)
            counts.append(nodes.counts.counted)
        assert counts[0] == counts[1]

    def test_what_was_only_said_or_not_copied_is_not_recalled(self) -> None:
        it = story()
        it.start()
        it.human("go on")
        it.says("so port_7445")
        recording = recorded(it)
        done = measured(recording, "tape")
        assert done.visibility
        assert done.visibility.seen[-1].hidden
        assert not predicted(done.visibility.seen[-1])


class TestPrices:
    @pytest.mark.parametrize("name", ["rel-30", "rel-10", "rel-none", "v41-flash-20260910-offpeak"])
    def test_a_recall_is_one_request_more(self, name: str) -> None:
        recording, nodes = recorded(story()), fresh()
        done, row = measured(recording, "tape"), sheet(name)
        (bill,) = bills(done.sent, [row], ttl=False)
        found = recalls(recording, done, nodes)
        own = bill.rows[found[0].request]
        old = Tokens(own.cached, own.written, own.fresh)
        part, whole = found[0].part, found[0].whole
        extra = with_recall(bill, done.sent, found) - bill.money
        assert extra == cost(old + Tokens(fresh=part), row)
        read = Tokens(fresh=whole, cached=2 * whole)
        price = row.reread_out if row.out is None else row.out
        assert price is not None
        output = 120 * price / row.per
        reread = with_reread(bill, done.sent, found)
        assert reread is not None
        assert reread - bill.money == cost(old + read, row) + output
        assert reread > with_recall(bill, done.sent, found)

    def test_without_recalls_nothing_is_added(self) -> None:
        recording = recorded(story())
        done = measured(recording, "transcript")
        (bill,) = bills(done.sent, [sheet("rel-30")], ttl=False)
        assert recalls(recording, done, fresh()) == []
        assert with_recall(bill, done.sent, []) == bill.money == with_reread(bill, done.sent, [])

    def test_a_sheet_without_a_price_of_output_has_no_cost_of_reading_again(self) -> None:
        recording = recorded(story())
        done = measured(recording, "tape")
        from slicetape.prices.sheet import sheets

        row = next(one for one in sheets() if one.out is None and one.reread_out is None)
        (bill,) = bills(done.sent, [row], ttl=False)
        found = recalls(recording, done, fresh())
        assert with_reread(bill, done.sent, found) is None
        assert with_recall(bill, done.sent, found) > bill.money

    def test_the_rows_of_a_bill_add_up_to_it(self) -> None:
        done = measured(recorded(story()), "tape")
        (bill,) = bills(done.sent, [sheet("rel-30")], ttl=False)
        assert sum(bill.rows, Tokens()) == bill.tokens
        assert isinstance(bill.money, Fraction)


def test_the_text_of_a_result_is_what_recall_gives() -> None:
    it = story()
    result = next(e for e in it.events if type(e).__name__ == "ToolResult")
    (block,) = result_blocks(result)  # type: ignore[arg-type]
    assert fresh().recorded(result).tokens - FRAME == len(result_text(block))
    assert text_of(()) == ""
