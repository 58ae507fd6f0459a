"""When folding stops: what counts as fetched whole, and for which resource."""

import json

import msgspec
import pytest

from folded_story import FoldedStory, document, noisy_log
from slicetape.log.events import Replace
from slicetape.policy.backoff import Backoff, parsed, path_in, resource_key
from slicetape.policy.fold_state import arguments_text


def started(**settings: object) -> FoldedStory:
    story = FoldedStory(**settings)  # type: ignore[arg-type]
    story.start()
    story.human("look into it")
    return story


def read(story: FoldedStory, path: str, **more: object) -> int:
    """Read a file; the seq of the result."""
    return story.uses(
        "read", {"file_path": path, **more}, document(name=f"n{len(story.events)}")
    ).seq


def by_seq(seq: int) -> dict[str, int]:
    return {"seq": seq, "formatVersion": 3}


A = '["read","path","a.txt"]'


class TestWhatCounts:
    def test_case_191_two_results_of_a_file_fetched_whole(self) -> None:
        story = started()
        first, second = read(story, "a.txt"), read(story, "a.txt", offset=9)
        story.expands(**by_seq(first))
        story.expands(**by_seq(second))
        story.enter()
        assert story.stats.backed_off == (A,)
        third, other = read(story, "a.txt", offset=20), read(story, "b.txt")
        story.says("done")
        assert not story.is_folded(story.events[third])
        assert story.is_folded(story.events[other])

    def test_case_192_parts_fetched_by_grep_and_by_lines(self) -> None:
        story = started()
        first, second = read(story, "a.txt"), read(story, "a.txt")
        story.expands(**by_seq(first), grep="row_10")
        story.expands(**by_seq(second), lines="3-9")
        story.enter()
        assert (story.stats.expanded, story.stats.backed_off) == (2, ())

    def test_case_193_and_194_one_result_by_three_locators_then_another(self) -> None:
        story = started()
        first, second = read(story, "a.txt"), read(story, "a.txt")
        story.enter()
        view = story.views[0].seq
        story.expands(**by_seq(first))
        story.expands(turn=1, step=1, call=1)
        story.expands(**by_seq(view))
        story.enter()
        assert (story.stats.expanded, story.stats.backed_off) == (3, ())
        story.uses("expand_result", {"seq": str(second), "formatVersion": 3}, "as some hosts do")
        story.enter()
        assert (story.stats.expanded, story.stats.backed_off) == (4, (A,))

    @pytest.mark.parametrize(
        "how", [{"grep": "  "}, {"lines": "some"}, {"grep": "", "lines": "-3"}]
    )
    def test_case_196_a_blank_or_malformed_filter_gets_the_whole_and_counts_so(
        self, how: dict[str, str]
    ) -> None:
        story = started()
        for seq in (read(story, "a.txt"), read(story, "a.txt")):
            story.expands(**by_seq(seq), **how)
        story.enter()
        assert story.stats.backed_off == (A,)

    def test_case_197_and_198_blocks_are_charged_one_by_one(self) -> None:
        story = started()
        calls = {id: ("read", {"file_path": f"{id}.txt"}) for id in "abc"}
        story.says(calls=calls)
        whole = story.results({"a": (document(),), "b": ("small",), "c": (document(),)})
        story.expands(**by_seq(whole.seq), block=1)
        story.expands(**by_seq(whole.seq), block=1)
        story.expands(**by_seq(whole.seq), block=2)
        story.expands(**by_seq(whole.seq), block=4)
        story.enter()
        assert story.stats.expanded == 2
        assert story.prestep.fold_state.backoff.recoveries == {'["read","path","a.txt"]': 1}
        story.expands(**by_seq(whole.seq))
        story.enter()
        assert story.stats.expanded == 3
        assert set(story.prestep.fold_state.backoff.recoveries.values()) == {1}
        story.says(calls={"a": calls["a"]})
        again = story.result("a", document())
        story.expands(**by_seq(again.seq))
        story.enter()
        assert story.stats.backed_off == ('["read","path","a.txt"]',)

    def test_case_199_a_failed_expansion(self) -> None:
        story = started()
        for seq in (read(story, "a.txt"), read(story, "a.txt")):
            story.expands(**by_seq(seq), grep="(")
        story.enter()
        assert (story.stats.expanded, story.stats.backed_off) == (0, ())

    @pytest.mark.parametrize(
        "address",
        [
            {"seq": 4},
            {"seq": 4, "formatVersion": 2},
            {"seq": 4, "formatVersion": "3"},
            {"seq": -1, "formatVersion": 3},
            {"seq": 0, "formatVersion": 3},
            {"seq": 10**9, "formatVersion": 3},
            {"seq": 4, "formatVersion": 3, "session": "another"},
            {"turn": 1},
            {"turn": 1, "step": 1, "call": 2},
            {"turn": 7, "step": 1},
            {"turn": 1, "step": 3},
        ],
    )
    def test_case_156_an_address_that_names_no_view(self, address: dict[str, object]) -> None:
        story = started()
        read(story, "a.txt")
        story.uses("expand_result", address, "pretended text")
        story.uses("expand_result", "not json", "pretended text")
        story.uses("expand_result", "[1]", "pretended text")
        story.enter()
        assert story.stats.folded == 1
        assert story.stats.expanded == 0

    def test_an_expansion_of_a_replacement_that_names_nothing(self) -> None:
        story = started()
        story.uses("expand_result", by_seq(len(story.events) + 2), "pretended text")
        story.enter()
        assert story.stats.expanded == 0

    def test_an_expansion_by_a_replacement_that_cites_something_else_first(self) -> None:
        story = started()
        asked = story.human("once more")
        seq = read(story, "a.txt")
        story.enter()
        view = story.views[0]
        cut = msgspec.structs.replace(
            view,
            seq=-1,
            surface_op=Replace(view.seq, view.seq),
            source_event_seqs=(asked.seq, view.seq),
        )
        story.uses("expand_result", by_seq(story.add(cut).seq), "pretended text")
        story.enter()
        assert story.stats.expanded == 0
        story.expands(**by_seq(seq))
        story.enter()
        assert story.stats.expanded == 1

    def test_a_resource_with_many_views_backs_off_when_half_were_fetched(self) -> None:
        story = started()
        seqs = [read(story, "a.txt") for _ in range(6)]
        for seq in seqs[:2]:
            story.expands(**by_seq(seq))
        story.enter()
        assert story.stats.backed_off == ()
        story.expands(**by_seq(seqs[2]))
        story.enter()
        assert story.stats.backed_off == (A,)


class TestResources:
    def test_case_195_arguments_in_another_key_order_are_one_resource(self) -> None:
        story = started()
        one = '{"b": [2, 1], "a": {"d": 1, "c": "é"}}'
        two = '{"a": {"c": "é", "d": 1}, "b": [2, 1]}'
        other = '{"a": {"c": "é", "d": 1}, "b": [1, 2]}'
        for arguments in (one, two):
            seq = story.uses("query", arguments, document()).seq
            story.expands(**by_seq(seq))
        story.enter()
        assert story.stats.backed_off == ('["query","arguments",{"a":{"c":"é","d":1},"b":[2,1]}]',)
        same, elsewhere = (story.uses("query", text, document()) for text in (one, other))
        story.says("done")
        assert not story.is_folded(same)
        assert story.is_folded(elsewhere)

    @pytest.mark.parametrize(
        ("tool", "arguments", "key"),
        [
            ("read", {"file_path": "a", "path": "b", "offset": 1}, '["read","path","a"]'),
            ("read", {"file_path": 1, "path": "b"}, '["read","path","b"]'),
            ("ls", {"path": ["a"]}, '["ls","arguments",{"path":["a"]}]'),
            ("ls", None, '["ls","arguments",null]'),
        ],
    )
    def test_a_path_as_written_comes_before_arguments(
        self, tool: str, arguments: object, key: str
    ) -> None:
        assert resource_key(tool, arguments) == key

    @pytest.mark.parametrize(
        "text", ["", "{", '{"a": NaN}', "[" * 100_000, '{"a": 1' + "0" * 5_000]
    )
    def test_arguments_that_are_no_json_stand_for_themselves(self, text: str) -> None:
        assert parsed(text) == text
        assert path_in(parsed(text)) is None
        assert json.loads(resource_key("t", parsed(text)))[1] == "arguments"

    @pytest.mark.parametrize("text", [b"", b"{", b"[" * 100_000])
    def test_arguments_of_nested_calls_that_cannot_be_read_are_none(self, text: bytes) -> None:
        assert arguments_text(text) == ""

    def test_arguments_too_deep_to_write_are_one_resource(self) -> None:
        deep: object = 0
        for _ in range(100_000):
            deep = [deep]
        assert resource_key("t", deep) == '["t","arguments",null]'

    def test_a_resource_is_backed_off_once(self) -> None:
        backoff = Backoff(after=1)
        for _ in range(3):
            backoff.folded("k")
        backoff.recovered("k")
        assert not backoff.off
        backoff.recovered("k")
        backoff.recovered("k")
        assert list(backoff.off) == ["k"]


class TestCodeThatCalls:
    """Running code that recalls: `run_code` is the outer call."""

    def nested(self, story: FoldedStory, root: str, sub: str, **arguments: object) -> str:
        text, error = story.recalled("expand_result", **arguments)
        story.nested(root, sub, "expand_result", arguments, text, error=error)
        return text

    def coded(self, story: FoldedStory, root: str, *expansions: dict[str, object]) -> list[str]:
        story.says(calls={root: ("run_code", {"code": root})})
        return [
            self.nested(story, root, f"{root}-{at}", **arguments)
            for at, arguments in enumerate(expansions)
        ]

    def test_case_200_the_same_result_twice_and_forwarded(self) -> None:
        story = started()
        seq = read(story, "a.txt")
        texts = self.coded(story, "r", by_seq(seq), by_seq(seq))
        outer = story.result("r", "printed:\n" + texts[0])
        story.says("done")
        assert (story.stats.expanded, story.stats.backed_off) == (2, ())
        assert not story.is_folded(outer)
        assert story.stats.folded == 1

    def test_case_201_two_results_of_one_file(self) -> None:
        story = started()
        first, second = read(story, "a.txt"), read(story, "a.txt")
        self.coded(story, "r", by_seq(first), by_seq(second))
        story.result("r", "ok")
        third = read(story, "a.txt")
        story.says("done")
        assert story.stats.backed_off == (A,)
        assert not story.is_folded(story.events[third])

    def test_case_202_a_value_that_is_discarded_protects_nothing(self) -> None:
        story = started()
        seq = read(story, "a.txt")
        self.coded(story, "r", by_seq(seq))
        outer = story.result("r", noisy_log())
        story.says("done")
        assert story.is_folded(outer)

    @pytest.mark.parametrize("ascii", [False, True])
    def test_case_203_a_value_forwarded_within_json(self, ascii: bool) -> None:
        story = started()
        result = story.uses("bash", {"command": "x"}, noisy_log() + '\nüber "all"')
        (text,) = self.coded(story, "r", by_seq(result.seq))
        outer = story.result("r", json.dumps({"found": text}, ensure_ascii=ascii))
        story.says("done")
        assert not story.is_folded(outer)

    def test_case_204_a_failed_one_beside_it(self) -> None:
        story = started()
        seq = read(story, "a.txt")
        _, bad = self.coded(story, "r", by_seq(seq), {**by_seq(seq), "grep": "("})
        assert "invalid regex" in bad
        outer = story.result("r", f"{bad}\n{noisy_log()}")
        story.says("done")
        assert story.stats.expanded == 1
        assert story.is_folded(outer)

    def test_case_205_ids_used_again_in_later_turns_are_other_executions(self) -> None:
        story = started()
        seq = read(story, "a.txt")
        (text,) = self.coded(story, "r", by_seq(seq))
        story.result("r", "ok")
        story.end()
        story.start()
        self.coded(story, "r", by_seq(seq))
        story.result("r", "ok")
        story.says("done")
        assert story.stats.expanded == 2
        story.end()
        story.start()
        story.says(calls={"r": ("run_code", {"code": "print"})})
        printed = story.result("r", text)
        story.says("done")
        assert story.is_folded(printed)

    def test_an_outer_result_forwards_only_what_its_own_call_recalled(self) -> None:
        story = started()
        seq = read(story, "a.txt")
        story.says(calls={id: ("run_code", {"code": id}) for id in "xy"})
        text = self.nested(story, "x", "x-1", **by_seq(seq))
        mine, other = story.result("x", text), story.result("y", text)
        story.says("done")
        assert not story.is_folded(mine)
        assert story.is_folded(other)

    def test_a_nested_call_of_an_unknown_root_counts_nothing(self) -> None:
        story = started()
        seq = read(story, "a.txt")
        story.says()
        self.nested(story, "nobody", "n", **by_seq(seq))
        story.nested("nobody", "m", "expand_result", "{broken", "text")
        story.enter()
        assert story.stats.expanded == 0

    def test_arguments_that_a_host_logs_as_text_count_too(self) -> None:
        story = started()
        seq = read(story, "a.txt")
        story.says(calls={"r": ("run_code", {})})
        story.nested("r", "s", "expand_result", json.dumps(by_seq(seq)), "text")
        story.enter()
        assert story.stats.expanded == 1
