"""Names and values: every error text of the configuration, and who may say it."""

import math
from dataclasses import fields

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slicetape.config import effective, from_values, override, section_problem, top_level_problem
from slicetape.config.keys import RETIRED, RETIRED_HISTORY, ROOT_KEYS, SECTIONS, TOP_LEVEL
from slicetape.errors import ConfigError
from slicetape.policy.settings import HistorySettings, Settings

VALID = "maxStepsPerTurn, defaultReasoningEffort, digest, fold, history, log, window, model, tools, mode"
ALL_DEFAULTS = {
    "model.name": None,
    "model.baseUrl": None,
    "model.contextWindow": None,
    "model.maxTokens": None,
    "model.temperature": None,
    "tools.permission": None,
    "tools.sandbox": False,
    "tools.bashTimeoutMs": 60_000,
    "mode": "slice",
    "maxStepsPerTurn": None,
    "defaultReasoningEffort": "inherit",
    "history.keepRecentTurns": 0,
    "history.entryMaxChars": None,
    "history.sealOnlyIfShorter": True,
    "log.compression": "none",
    "window.compaction": False,
    "fold.enabled": True,
    "fold.pinSteps": 0,
    "fold.pinMaxChars": 8000,
    "fold.spillPreviewMinBytes": 50000,
    "fold.backoffAfterExpansions": 2,
    "digest.enabled": True,
    "digest.minChars": 2500,
    "digest.logMinChars": 512,
    "digest.headLines": 10,
    "digest.tailLines": 4,
    "digest.maxKeepRatio": 0.9,
    "digest.structuredBlockCap": 12,
    "digest.structuredBlockMin": 0,
    "digest.logMaxErrors": 10,
    "digest.logContextLines": 3,
    "digest.maxLineChars": 1500,
    "digest.lineHeadChars": 700,
    "digest.lineTailChars": 300,
    "digest.jsonMinItems": 5,
    "digest.jsonKeepItems": 15,
    "digest.searchMinMatches": 20,
    "digest.searchMinChars": 2500,
    "digest.searchMaxPerFile": 3,
    "digest.searchMaxTotal": 30,
    "digest.diffMinLines": 50,
    "digest.diffContextLines": 2,
    "digest.diffMaxHunksPerFile": 10,
}


def nested(key: str, value: object) -> dict[str, object]:
    section, dot, name = key.partition(".")
    return {section: {name: value}} if dot else {key: value}


def refusal(values: dict[str, object]) -> str:
    with pytest.raises(ConfigError) as wrong:
        from_values(values, name="x.yaml")
    return str(wrong.value)


def test_the_defaults_are_the_documented_ones() -> None:
    assert dict(effective(Settings())) == ALL_DEFAULTS


def test_every_setting_has_a_key() -> None:
    named = {key.attribute for key in ROOT_KEYS} | set(SECTIONS)
    assert named == {field.name for field in fields(Settings)}
    for section, keys in SECTIONS.items():
        part = getattr(Settings(), section)
        assert {key.attribute for key in keys} == {field.name for field in fields(part)}


def test_an_empty_configuration_is_the_minimal_one() -> None:
    minimal = {
        "defaultReasoningEffort": "inherit",
        "fold": {"pinSteps": 0},
        "history": {"keepRecentTurns": 0},
    }
    assert from_values({}) == from_values(minimal) == Settings()


def test_case_241_every_documented_top_level_key_is_accepted() -> None:
    assert [top_level_problem(name) for name in VALID.split(", ")] == [None] * 10
    assert ", ".join(TOP_LEVEL) == VALID
    sections = {name: {} for name in SECTIONS}
    assert from_values({"mode": "slice", "maxStepsPerTurn": 3, **sections}).max_steps_per_turn == 3


def test_case_242_a_typo_gets_a_suggestion() -> None:
    text = "Unknown slice configuration key histroy. Did you mean history?"
    assert top_level_problem("histroy") == f"{text} Valid keys: {VALID}."
    assert refusal({"histroy": {}}) == f"x.yaml: {text} Valid keys: {VALID}."


def test_case_243_the_top_level_check_looks_only_at_names() -> None:
    assert top_level_problem("history") is None
    problem = section_problem("history", "pinFirstTurn")
    assert problem is not None
    assert problem.startswith("Retired history configuration")
    assert "Retired history configuration pinFirstTurn" in refusal(
        {"history": {"pinFirstTurn": True}}
    )


@pytest.mark.parametrize(
    ("key", "guidance"),
    [
        pytest.param("maxParallelToolCalls", "stock agent loop", id="case_244-parallel"),
        pytest.param("inTurnSeal", "replacement driver", id="case_244-inTurnSeal"),
        pytest.param("tape", "file-base options", id="case_244-tape"),
        pytest.param("state", "experiments are retired", id="case_244-state"),
        pytest.param("maxRequestChars", "window handling in the host", id="case_245-request"),
        pytest.param("maxHistoryChars", "would rewrite entries", id="case_245-history"),
    ],
)
def test_a_retired_key_says_where_it_went(key: str, guidance: str) -> None:
    text = top_level_problem(key)
    assert text is not None
    assert text.startswith(f"Retired slice configuration {key}: ")
    assert guidance in text
    assert text.endswith(". See README migration.")
    assert refusal({key: 1}) == f"x.yaml: {text}"


@pytest.mark.parametrize("name", ["maxStepsPerTur", "MAXSTEPSPERTURN", "max_steps_per_turn"])
def test_case_246_spelling_and_case_are_near(name: str) -> None:
    text = top_level_problem(name)
    assert text is not None
    if name == "max_steps_per_turn":  # three edits away
        assert "Did you mean" not in text
    else:
        assert "Did you mean maxStepsPerTurn?" in text


def test_case_247_nothing_near_lists_the_keys_only() -> None:
    assert (
        top_level_problem("banana")
        == f"Unknown slice configuration key banana. Valid keys: {VALID}."
    )


def test_a_typo_is_never_a_retirement() -> None:
    for retired in (*RETIRED, *RETIRED_HISTORY):
        assert "Retired" not in (top_level_problem(retired + "x") or "")
        assert "Retired" not in (section_problem("history", retired.upper()) or "")
    assert "Unknown fold" in (section_problem("fold", "pinFirstTurn") or "")


def test_case_248_the_cap_leaves_room_for_locators() -> None:
    text = refusal({"history": {"entryMaxChars": 255}})
    assert "history.entryMaxChars must be at least 256" in text
    assert "locators" in text
    assert from_values({"history": {"entryMaxChars": 256}}).history.entry_max_chars == 256


def test_case_249_history_values_that_are_accepted() -> None:
    both = {"keepRecentTurns": 1, "entryMaxChars": 4000}
    assert from_values({"history": both}).history == HistorySettings(
        keep_recent_turns=1, entry_max_chars=4000
    )
    assert from_values({"history": {}}).history == HistorySettings()
    assert HistorySettings() == HistorySettings(keep_recent_turns=0)


NOT_POSITIVE = [0, -1, 1.5, math.nan, math.inf, 2**53, None, "8000", True, [], {}]


@pytest.mark.parametrize("value", NOT_POSITIVE, ids=repr)
def test_case_250_the_cap_is_a_positive_safe_integer(value: object) -> None:
    text = refusal({"history": {"entryMaxChars": value}})
    assert text.startswith("x.yaml: history.entryMaxChars must be a positive safe integer")


@pytest.mark.parametrize("key", ["pinFirstTurn", "pinUserChars"])
def test_case_251_pinning_keys_are_to_be_removed(key: str) -> None:
    text = refusal({"history": {key: 1}})
    assert f"Retired history configuration {key}: " in text
    assert "remove the key" in text


@pytest.mark.parametrize(
    ("key", "guidance"),
    [
        ("highWaterChars", "no pressure threshold"),
        ("lowWaterChars", "no target to fall back to"),
        ("keepRecentChars", "use history.keepRecentTurns"),
        ("checkpointMaxChars", "renamed history.entryMaxChars"),
    ],
)
def test_case_252_retired_history_keys_give_guidance(key: str, guidance: str) -> None:
    text = refusal({"history": {key: 1}})
    assert f"Retired history configuration {key}: " in text
    assert guidance in text


def test_case_253_an_unknown_history_key_is_not_a_retirement() -> None:
    assert refusal({"history": {"keepRecent": 1}}) == (
        "x.yaml: Unknown history configuration keepRecent; "
        "valid keys: keepRecentTurns, entryMaxChars, sealOnlyIfShorter"
    )


@pytest.mark.parametrize(
    "value", [0, -1, 1.5, math.nan, math.inf, 2**53, None, "50", True], ids=repr
)
def test_case_254_the_step_limit_is_a_positive_safe_integer(value: object) -> None:
    text = refusal({"maxStepsPerTurn": value})
    assert text.startswith("x.yaml: maxStepsPerTurn must be a positive safe integer")


@pytest.mark.parametrize("value", ["stream", "state", "Slice", None, True])
def test_case_255_only_mode_slice_is_supported(value: object) -> None:
    text = refusal({"mode": value})
    assert "Only mode slice is supported" in text
    assert "state and stream experiments are retired" in text


WHOLE = "must be a non-negative integer"
WRONG_VALUES = [
    ("defaultReasoningEffort", "medium", "Invalid defaultReasoningEffort"),
    ("defaultReasoningEffort", False, "Invalid defaultReasoningEffort"),
    ("history.keepRecentTurns", -1, "history.keepRecentTurns must be a non-negative safe integer"),
    ("history.sealOnlyIfShorter", 1, "history.sealOnlyIfShorter must be true or false"),
    ("log.compression", "gzip", "log.compression must be none or zstd"),
    ("window.compaction", "yes", "window.compaction must be true or false"),
    ("fold.enabled", "true", "fold.enabled must be true or false"),
    ("fold.pinSteps", 1.5, f"pinSteps {WHOLE}"),
    ("fold.pinMaxChars", -0.5, "pinMaxChars must be >= 0"),
    ("fold.spillPreviewMinBytes", "50000", "spillPreviewMinBytes must be >= 0"),
    ("fold.backoffAfterExpansions", 0, "backoffAfterExpansions must be an integer >= 1"),
    ("digest.enabled", 0, "digest.enabled must be true or false"),
    ("digest.minChars", -1, f"digest.minChars {WHOLE}"),
    ("digest.logMaxErrors", 0, "digest.logMaxErrors must be an integer >= 1"),
    ("digest.logContextLines", 0.5, f"digest.logContextLines {WHOLE}"),
    ("digest.maxKeepRatio", 0, "digest.maxKeepRatio must be in (0, 1]"),
    ("digest.maxKeepRatio", 1.01, "digest.maxKeepRatio must be in (0, 1]"),
    ("digest.maxKeepRatio", math.nan, "digest.maxKeepRatio must be in (0, 1]"),
    ("digest.structuredBlockCap", 0.5, "digest.structuredBlockCap must be >= 1"),
    ("digest.maxLineChars", 0, "digest.maxLineChars must be > 0"),
    ("digest.jsonMinItems", -1, "digest.jsonMinItems must be >= 0"),
    ("digest.searchMaxTotal", True, "digest.searchMaxTotal must be >= 0"),
    ("digest.diffMinLines", math.nan, "digest.diffMinLines must be >= 0"),
]


@pytest.mark.parametrize(("key", "value", "text"), WRONG_VALUES)
def test_a_wrong_value_is_named_with_its_key(key: str, value: object, text: str) -> None:
    message = refusal(nested(key, value))
    assert text in message
    assert key in message
    assert "\n" not in message


@pytest.mark.parametrize("key", ALL_DEFAULTS)
def test_an_explicit_null_is_never_absence(key: str) -> None:
    message = refusal(nested(key, None))
    assert key in message
    assert message.endswith("found null")


@pytest.mark.parametrize("section", SECTIONS)
def test_a_section_is_a_table(section: str) -> None:
    for value, word in ((None, "null"), ([], "a list"), ("x", '"x"'), (3, "3")):
        text = f"x.yaml: {section} must be a table of keys, found {word}"
        assert refusal({section: value}) == text


@pytest.mark.parametrize("section", SECTIONS)
def test_an_unknown_key_of_a_section_lists_the_legal_ones(section: str) -> None:
    text = refusal({section: {"nope": 1}})
    valid = ", ".join(key.name for key in SECTIONS[section])
    assert text == f"x.yaml: Unknown {section} configuration nope; valid keys: {valid}"


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("maxStepsPerTurn", 2**53 - 1),
        ("maxStepsPerTurn", 1),
        ("defaultReasoningEffort", "off"),
        ("log.compression", "zstd"),
        ("fold.spillPreviewMinBytes", 0),
        ("digest.structuredBlockCap", math.inf),
        ("digest.maxLineChars", math.inf),
        ("digest.maxKeepRatio", 1),
        ("history.sealOnlyIfShorter", False),
    ],
)
def test_legal_values_are_kept(key: str, value: object) -> None:
    assert dict(effective(from_values(nested(key, value))))[key] == value


def test_a_whole_float_is_an_integer() -> None:
    kept = from_values({"maxStepsPerTurn": 5.0}).max_steps_per_turn
    assert kept == 5
    assert isinstance(kept, int)


def test_several_problems_are_counted_in_one_error() -> None:
    text = refusal({"histroy": 1, "mode": "x", "fold": {"pinSteps": -1}})
    assert text.splitlines()[0].startswith("x.yaml: Unknown slice configuration key histroy.")
    assert text.splitlines()[1] == "2 more; slicetape config check lists all"


def test_overrides_use_file_spelling_and_change_only_what_they_name() -> None:
    base = Settings(max_steps_per_turn=7)
    changed = override(
        base, {"history.keepRecentTurns": "1", "fold.enabled": "false", "log.compression": "zstd"}
    )
    assert changed.max_steps_per_turn == 7
    assert changed.history.keep_recent_turns == 1
    assert changed.fold.enabled is False
    assert changed.log.compression == "zstd"
    assert base == Settings(max_steps_per_turn=7)


@pytest.mark.parametrize(
    ("pairs", "text"),
    [
        ({"history.keepRecent": "1"}, "Unknown history configuration keepRecent"),
        ({"history": "1"}, "history must be a table of keys"),
        ({"history": "1", "history.keepRecentTurns": "1"}, "both whole and as"),
        ({"maxStepsPerTurn": "many"}, 'positive safe integer, found "many"'),
    ],
)
def test_a_wrong_override_is_explained(pairs: dict[str, str], text: str) -> None:
    with pytest.raises(ConfigError) as wrong:
        override(Settings(), pairs)
    assert text in str(wrong.value)


short = st.text(max_size=8)
scalars = st.none() | st.booleans() | st.integers() | st.floats() | short
json_like = scalars | st.lists(scalars, max_size=3) | st.dictionaries(short, scalars, max_size=3)
near_keys = st.sampled_from([*TOP_LEVEL, *RETIRED, *(k.name for s in SECTIONS.values() for k in s)])


sections = st.dictionaries(near_keys | short, json_like, max_size=4)


@given(st.dictionaries(near_keys | short, json_like | sections, max_size=4))
def test_any_values_give_settings_or_one_bounded_error(values: dict[str, object]) -> None:
    try:
        from_values(values)
        message = ""
    except ConfigError as wrong:
        message = str(wrong)
    assert len(message) < 900
    assert message.count("\n") <= 1
    assert message.encode().decode() == message


@pytest.mark.parametrize(
    ("value", "word"),
    [
        (2**300, "a number of more than 256 bits"),
        (object(), "a value of type object"),
        ("x" * 400, '"xxx'),
    ],
)
def test_what_was_found_is_named_in_a_few_words(value: object, word: str) -> None:
    text = refusal({"maxStepsPerTurn": value})
    assert f", found {word}" in text
    assert len(text) < 200
