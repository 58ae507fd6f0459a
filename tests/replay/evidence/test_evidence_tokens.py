"""The words that count: which they are, and that a scan is linear whatever the text."""

from time import perf_counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evidence_brute import words
from slicetape.replay.evidence.tokens import argued, contained, said, strings, texts_of, tokens
from story import Story


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("short_ longer", {"short_", "longer"}),
        ("abcde", set()),
        ("see src/app/main.py:12, please", {"src/app/main.py:12", "please"}),
        ("src/app/", {"src/app"}),
        ("foo.bar. foo-bar-", {"foo.bar", "foo-bar"}),
        ("a::b::c", set()),
        ("12 123 1.2 1.23 1_000 12.", {"123", "1.23", "1_000"}),
        ("port7443 x7443", {"port7443"}),
        ("7443port", {"7443"}),
        ("12abcdef", {"abcdef"}),
        ("服务器端口 端口", {"服务器端口"}),
        ("用port_7443吧", {"port_7443"}),
        ("naïveté", set()),
        ("", set()),
    ],
)
def test_a_text_contains_its_maximal_words(text: str, found: set[str]) -> None:
    assert tokens(text) == found
    assert words(text) == found


ALPHABET = "aZ_b9 0./:-\n…é服务端口ひ"


@given(st.text(ALPHABET, max_size=60))
def test_one_scan_finds_what_a_walk_letter_by_letter_finds(text: str) -> None:
    assert tokens(text) == words(text)
    wanted = frozenset(tokens(text[::-1]))
    assert contained(text, wanted) == words(text) & wanted


@given(st.text(ALPHABET, max_size=40), st.text(ALPHABET, max_size=40))
def test_no_word_goes_on_over_the_end_of_a_line(one: str, other: str) -> None:
    assert tokens(f"{one}\n{other}") == tokens(one) | tokens(other)


def test_nothing_wanted_is_nothing_looked_for() -> None:
    assert contained("alpha_one", frozenset()) == frozenset()


@pytest.mark.parametrize(
    "piece", ["a", "a.", "7", "7.", "服", "a-1", "-", "_/", "a服", "7a", "..a", "…"]
)
def test_a_megabyte_of_one_class_takes_one_scan(piece: str) -> None:
    half, whole = (piece * (size // len(piece)) for size in (500_000, 1_000_000))
    start = perf_counter()
    found = tokens(whole)
    assert perf_counter() - start < 2
    assert len(found) == len(tokens(half))


class TestTexts:
    def test_a_message_has_its_text_and_the_strings_of_its_arguments_not_its_reasoning(
        self,
    ) -> None:
        story = Story()
        arguments = {"path": "src/app", "n": 7443, "deep": [{"key_name": ["a\nb"]}, None, True]}
        event = story.says("text", thinks="reasoning", calls={"c": ("read", arguments)})
        assert list(said(event)) == ["text"]
        assert list(argued(event)) == ["src/app", "a\nb"]
        assert list(texts_of(event)) == ["text", "src/app", "a\nb"]

    def test_a_result_has_the_texts_of_all_its_blocks(self) -> None:
        story = Story()
        event = story.results({"a": ("one", "two"), "b": ("three",)})
        assert list(texts_of(event)) == ["one", "two", "three"]

    def test_other_events_say_nothing(self) -> None:
        assert list(texts_of(Story().start())) == []

    @pytest.mark.parametrize(
        ("text", "found"),
        [
            ('{"a": "x", "b": ["y", {"c": "z"}]}', ["x", "y", "z"]),
            ("*** Begin Patch", ["*** Begin Patch"]),
            ('"\\ud800"', ['"\\ud800"']),
            ('"\ud800"', ['"\ud800"']),
            ("[" * 100_000, ["[" * 100_000]),
            ("[" * 100_000 + "]" * 100_000, ["[" * 100_000 + "]" * 100_000]),
            ("7443", []),
            ("", [""]),
        ],
    )
    def test_arguments_are_decoded_where_they_are_json(self, text: str, found: list[str]) -> None:
        assert list(strings(text)) == found

    def test_schemas_give_their_keys_too(self) -> None:
        assert list(strings(b'{"name": {"type": "string"}}', keys=True)) == [
            "name",
            "type",
            "string",
        ]
        assert list(strings(b"\xff", keys=True)) == ["\ufffd"]
