"""The four tools as a model calls them: schemas, refusals, sessions, arguments."""

import json
from pathlib import Path
from typing import Any

import pytest

from recall_story import Story, result
from slicetape.errors import RecallError
from slicetape.log.events import Header
from slicetape.log.log import SessionLog
from slicetape.policy.teaching import KERNEL, fold_text
from slicetape.prices.tokens import counter
from slicetape.recall.schemas import schemas
from slicetape.recall.tools import RUN, Recall, dispatch
from slicetape.replay.replay import RECALL_HEAD
from slicetape.surface.session import Session

NAMES = ["recall_turn", "recall_step", "recall_search", "expand_result"]
KINDS = '["user","assistant","context","tool_input","tool_error","tool_output"]'


def types(name: str) -> dict[str, Any]:
    schema = {tool["name"]: tool["parameters"] for tool in schemas(sessions=True)}[name]
    return {key: value["type"] for key, value in schema["properties"].items()}


def test_the_schemas_are_those_of_the_specification() -> None:
    assert [tool["name"] for tool in schemas()] == NAMES == list(RUN)
    assert types("recall_turn") == {"turn": "string", "view": "string", "session": "string"}
    assert types("recall_step") == {"turn": "string", "step": "string", "session": "string"}
    assert types("recall_search") == {
        "query": "string",
        "scope": "string",
        "kinds": "array",
        "limit": "number",
        "session": "string",
    }
    assert types("expand_result") == {
        **dict.fromkeys(["formatVersion", "seq", "turn", "step", "call", "block"], "number"),
        **dict.fromkeys(["grep", "lines", "session"], "string"),
    }
    required = {tool["name"]: tool["parameters"].get("required") for tool in schemas()}
    assert required == {
        "recall_turn": ["turn"],
        "recall_step": ["turn", "step"],
        "recall_search": ["query"],
        "expand_result": None,
    }


def test_every_description_says_that_recalled_text_is_history() -> None:
    for tool in schemas():
        assert "historical" in tool["description"].lower()


def test_other_sessions_can_be_named_only_where_a_run_was_given_some() -> None:
    for offered in (False, True):
        for tool in schemas(sessions=offered):
            assert ("session" in tool["parameters"]["properties"]) is offered


def test_schemas_and_teaching_cost_at_most_what_a_replay_takes_them_for() -> None:
    told = json.dumps(schemas(), separators=(",", ":")) + KERNEL + fold_text(recall_step=True)
    assert counter("o200k").count(told) <= RECALL_HEAD


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("recall_turn", " (no owning agent on this execution)"),
        ("recall_step", ""),
        ("recall_search", " (no owning agent on this execution)"),
        ("expand_result", ""),
    ],
)
def test_without_an_agent_a_tool_says_where_it_runs(name: str, text: str) -> None:
    assert Story.ask_of(None, name) == f"ERROR {name} runs only inside an agent loop{text}"


@pytest.mark.parametrize(
    ("name", "arguments", "wrong"),
    [
        ("recall_turn", {"turn": 4}, '"turn" must be a string'),
        ("recall_turn", {"turn": "1", "view": "weird"}, '"view" must be one of ["dialogue","full"]'),
        ("recall_turn", {"turn": "1", "view": None}, '"view" must be a string'),
        ("recall_step", {"turn": 2, "step": None}, '"turn" must be a string; "step" must be a string'),
        ("recall_search", {"query": "x", "scope": "all"}, '"scope" must be one of ["dialogue","auto"]'),
        ("recall_search", {"query": "x", "kinds": "user"}, '"kinds" must be an array'),
        ("recall_search", {"query": "x", "kinds": ["user", "tool"]}, f'"kinds[1]" must be one of {KINDS}'),
        ("recall_search", {"query": "x", "limit": "5"}, '"limit" must be a number'),
        ("recall_search", {"query": "x", "limit": True}, '"limit" must be a number'),
        ("expand_result", {"turn": "2", "step": "1"}, '"turn" must be a number; "step" must be a number'),
        ("expand_result", {"seq": 1, "formatVersion": "3"}, '"formatVersion" must be a number'),
    ],
)  # fmt: skip
def test_d6_wrong_arguments_are_named_with_what_is_legal(
    name: str, arguments: dict[str, Any], wrong: str
) -> None:
    story = Story()
    story.turn(1, "a", "b")
    assert story.ask(name, **arguments) == f"ERROR invalid arguments: {wrong}"


def lenient(story: Story, name: str, **arguments: Any) -> str:
    try:
        return dispatch(name, arguments, story.recall(), lenient=True)
    except RecallError as error:
        return f"ERROR {error}"


def test_behind_a_host_without_checks_numbers_may_come_in_quotes() -> None:
    story = Story()
    story.start(1)
    story.said(1, 1, calls=[("a", "read", "{}")])
    story.returned(1, 1, result("a", "one"), result("b", "two"))
    story.end(1)
    by_ordinal = story.ask("expand_result", turn=1, step=1, call=1, block=2)
    by_seq = story.ask("expand_result", seq=3, formatVersion=3)
    assert lenient(story, "expand_result", turn="1", step=" 1 ", call="1", block="2", seq=None) == (
        by_ordinal
    )
    assert lenient(story, "expand_result", seq="3", formatVersion=3) == by_seq
    assert lenient(story, "expand_result", seq=3.0, formatVersion=3.0) == by_seq
    assert "requires formatVersion 3" in lenient(story, "expand_result", seq="3", formatVersion="3")
    assert lenient(story, "recall_turn", turn=1, view=None).startswith("[sealed turn slice-turn-1")
    assert lenient(story, "recall_step", turn=1, step=1.0).startswith("[sealed step · turn 1")
    assert "must be a string" in lenient(story, "recall_turn", turn=True)
    assert "must be an array" in lenient(story, "recall_search", query="x", kinds="user")
    assert lenient(story, "recall_search", query="two", kinds=None, limit="x").count("\n") == 1


@pytest.mark.parametrize("value", [True, 1.5, float("inf"), float("nan"), 10**400, "x", "1e3"])
def test_what_is_no_integer_names_no_turn(value: Any) -> None:
    story = Story()
    story.turn(1, "a", "b")
    assert lenient(story, "expand_result", turn=value, step=1).startswith("ERROR ")
    assert lenient(story, "recall_turn", turn=value).startswith("ERROR ")


def test_arguments_are_one_object() -> None:
    with pytest.raises(RecallError, match="invalid arguments: they must be one JSON object"):
        dispatch("recall_turn", ["1"], Story().recall())  # type: ignore[arg-type]


def test_an_unknown_tool_lists_the_tools() -> None:
    with pytest.raises(RecallError, match='no recall tool "forget"; there are recall_turn, reca'):
        dispatch("forget", {}, Story().recall())


def test_only_sessions_that_were_given_can_be_named() -> None:
    other, own = Story(), Story()
    other.tool_turn(1, "far away apple")
    own.turn(1, "near", "by")
    recall = own.recall(others={"s-2": other.recall()})
    page = Story.ask_of(recall, "recall_search", query="apple", session="s-2")
    assert page.endswith('→ expand_result({"seq":4,"formatVersion":3,"session":"s-2"})')
    page = Story.ask_of(recall, "recall_turn", turn="1", session="s-2")
    assert 'recall_turn({"turn":"1","view":"full","session":"s-2"})' in page
    assert '· expand_result({"seq":4,"formatVersion":3,"session":"s-2"})]' in page
    page = Story.ask_of(recall, "expand_result", seq=4, formatVersion=3, session="s-2")
    assert page.endswith("far away apple")
    assert "near" in Story.ask_of(recall, "recall_turn", turn="1")
    refused = Story.ask_of(recall, "recall_turn", turn="1", session="s-3" + "x" * 200)
    assert refused.startswith('ERROR session "s-3xxx')
    assert refused.endswith('(given: "s-2"); leave "session" out to read this session')
    assert len(refused) < 250
    assert "(given: none)" in own.ask("recall_turn", turn="1", session="s-2")


def test_a_live_session_is_read_as_it_grows(tmp_path: Path) -> None:
    header = Header("session", 3, "s", 1, is_seeded=False, delegation_depth=0)
    told = Story()
    told.tool_turn(1, "apple")
    with SessionLog.create(tmp_path / "session.jsonl", header) as log:
        session = Session(log, strict=False)
        recall = Recall.of_session(session)
        assert "0 hits" in Story.ask_of(recall, "recall_search", query="apple")
        for event in told.events:
            session.append(event)
        assert "1 hit(s)" in Story.ask_of(recall, "recall_search", query="apple")
        assert recall.index.taken == len(told.events)
        assert Story.ask_of(recall, "recall_turn", turn="1", view="full") == told.ask(
            "recall_turn", turn="1", view="full"
        )
