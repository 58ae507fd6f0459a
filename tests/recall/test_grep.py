"""grep in a result: any expression a model writes, on any text, in bounded time."""

import contextlib
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slicetape.errors import RecallError
from slicetape.recall import automaton
from slicetape.recall.automaton import Automaton, Unsupported, parse
from slicetape.recall.expression import Invalid, python_expression
from slicetape.recall.grep import matching
from slicetape.recall.result import grep_page

LONG = 100_000


@pytest.mark.parametrize(
    ("pattern", "line", "found"),
    [
        ("(a+)+$", "a" * LONG + "!", False),
        ("(a+)+$", "a" * LONG, True),
        ("^(a|a)*$", "a" * LONG + "!", False),
        ("(a|aa){30}b", "a" * LONG, False),
        (r"^(\w+\s?)*$", "word " * (LONG // 5) + "!", False),
        ("(x+x+)+y", "x" * LONG, False),
        (".*a.*b.*c", "x" * LONG, False),
        ("(.*)*end$", "x" * LONG + "END", True),
        (r"\s+$", " " * LONG + "x", False),
        ("(a?){60}a{60}", "a" * 60, True),
        ("(a|b)*a(a|b){12}c", "ab" * (LONG // 2), False),
    ],
)
def test_expressions_that_explode_elsewhere_are_answered(
    pattern: str, line: str, found: bool
) -> None:
    assert matching(pattern, [line]) == ([0] if found else [])


def test_the_work_of_a_line_does_not_grow_with_the_line() -> None:
    machine = Automaton(parse("(a+)+$"))
    machine.occurs_in("a" * 100 + "!")
    before = machine.work
    machine.occurs_in("a" * LONG + "!")
    assert machine.work - before <= 5


@pytest.mark.parametrize(
    "pattern", [r"(a*)*\1$", r"(?=(a|a)*b)x+", r"(?=.*a)(.*b)\1", r"(?<=(?:a|b))(a|b)+c*\1"]
)
def test_what_only_backtracking_decides_is_refused_when_dear(pattern: str) -> None:
    with pytest.raises(RecallError, match="could take too long on this result; write it without"):
        matching(pattern, ["a" * LONG])


def test_look_around_and_references_work_on_lines_of_usual_length() -> None:
    lines = ["bar then foo", "foo only", "x" * 200]
    assert matching("(?=.*foo)(?=.*bar)", lines) == [0]
    assert matching(r"(?<y>\w)\k<y>", ["ab", "aab"]) == [1]
    assert matching("(?<!then )foo", lines) == [1]
    assert matching(r"(?=.*(\w)\1)^fo*", lines) == [1]


def test_a_machine_that_grows_too_large_is_not_built() -> None:
    with pytest.raises(RecallError, match="could take too long"):
        matching("(?:a{1,30}b{1,30}){1,30}c", ["a" * LONG])


def test_a_machine_that_works_too_long_stops(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(automaton, "MOST_WORK", 50)
    with pytest.raises(Unsupported):
        Automaton(parse("(a|b)*a(a|b){9}c")).occurs_in("abbaabab" * 40)


def test_a_pattern_has_a_longest_length() -> None:
    with pytest.raises(RecallError, match="a regex of 1001 characters is too long"):
        matching("x" * 1001, ["x"])


@pytest.mark.parametrize(
    "pattern",
    ["(", "[", "a**", "a++", "*a", "(?i)x", "(?P<n>x)", "(?>x)", "(?#x)", "(?P=n)", "x{2}{3}", "[z-a]",
     "(?<n>a)(?<n>b)", "\\", "[a\\", r"\2(a)", "x{99999999999}", "a{3,2}"],
)  # fmt: skip
def test_an_invalid_regex_is_named(pattern: str) -> None:
    with pytest.raises(RecallError) as error:
        matching(pattern, ["x"])
    assert str(error.value) == f'expand_result: invalid regex "{pattern}"'


def test_deep_nesting_is_invalid_and_not_a_crash() -> None:
    with pytest.raises(RecallError):
        matching("(" * 499 + "a*" + ")" * 499, ["x"])
    assert matching("(" * 40 + "a*" + ")" * 40, ["x"]) == [0]


@pytest.mark.parametrize(
    ("pattern", "matches", "others"),
    [
        (r"^\d+$", ["12"], ["１２", ""]),
        (r"^\D$", ["１", "x"], ["1"]),
        (r"^\w$", ["_", "z"], ["é", "折", "-"]),
        (r"^\W$", ["é", "折", "^", "["], ["_"]),
        (r"^\s$", ["\ufeff", "\u3000", "\t"], ["\x85", "\x1c"]),
        (r"^\S$", ["\x85", "\x1c", "x"], ["\u2028"]),
        (r"^[\d\s]$", ["1", "\ufeff"], ["x"]),
        (r"^[^\W]$", ["x"], ["折"]),
        (r"^.$", ["折", "😀", "\x85"], ["\r", "\u2028", "\u2029"]),
        (r"\bok\b", ["is ok", "折ok折"], ["okay"]),
        (r"a\Bb", ["ab"], ["a b"]),
        (r"^[^]$", ["\r"], [""]),
        (r"^[]$", [], ["", "x"]),
        (r"\p{L}", ["p{L}"], ["L"]),
        (r"^\A\Z\e\-\/$", ["AZe-/"], ["e-/"]),
        (r"^a{,3}$", ["a{,3}"], ["aa"]),
        (r"^a{2,}{$", ["aa{"], ["aa"]),
        (r"^x{0}$", [""], ["x"]),
        (r"\u0041\x42\cI\0", ["AB\t\0"], ["ABI0"]),
        (r"^\u{3}\x4\c!$", ["uuux4c!"], ["x4c!"]),
        (r"^\k<n>$", ["k<n>"], ["n"]),
        (r"^[\b]$", ["\x08"], ["b"]),
        (r"^[\k<n>]$", ["k", "<"], ["x"]),
        (r"^[[&&~~||]$", ["[", "&", "~", "|"], ["x"]),
        (r"^[^]]$", [], ["x", "]"]),
        (r"^(?<first>a)(?:b)(?=c)(?!d)(?<=b)(?<!x)c$", ["abc"], ["abd"]),
        ("straße|É", ["STRASSE É", "é"], ["strasse"]),
        (r"^a+?b*?c??$", ["abc"], ["cab"]),
        ("row \\d$", ["row 1"], ["row 11"]),
    ],
)
def test_expressions_have_their_javascript_meaning(
    pattern: str, matches: list[str], others: list[str]
) -> None:
    lines = [*matches, *others]
    assert matching(pattern, lines) == list(range(len(matches)))


letters = st.text(alphabet="abAB_ é折\r.", max_size=12)
patterns = st.recursive(
    st.sampled_from(
        ["a", "b", "B", "é", ".", r"\w", r"\s", "[ab]", "[^a]", r"\b", r"\B", "^", "$", "折"]
    ),
    lambda inner: st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map(lambda pair: f"(?:{pair[0]}|{pair[1]})"),
        st.tuples(inner, st.sampled_from(["*", "+", "?", "{2}", "{1,3}", "*?", "{0}", "{2,}"])).map(
            lambda pair: f"(?:{pair[0]}){pair[1]}"
        ),
    ),
    max_leaves=6,
)


@given(pattern=patterns, line=letters)
def test_the_machine_answers_as_re_does(pattern: str, line: str) -> None:
    python = python_expression(pattern)
    expected = re.search(python, line or "é", re.IGNORECASE) is not None
    line = line or "é"
    assert Automaton(parse(python)).occurs_in(line) is expected


@given(st.text(max_size=60), st.lists(st.text(max_size=20), max_size=4))
def test_no_pattern_raises_anything_but_a_recall_error(pattern: str, lines: list[str]) -> None:
    try:
        found = matching(pattern, lines)
    except RecallError:
        return
    assert found == sorted(set(found))


@given(st.text(alphabet=r"\^$.|?*+()[]{}<>=!:-,uxcdDwWsSbBkpP0123a", max_size=25))
def test_no_hostile_pattern_raises_anything_but_a_recall_error(pattern: str) -> None:
    with contextlib.suppress(RecallError):
        matching(pattern, ["abc 123", "a" * 50])


def test_a_literal_pattern_means_itself() -> None:
    with pytest.raises(Invalid):
        python_expression("a{1}{2}")
    assert python_expression("plain text-1_x") == "plain text-1_x"


def test_neighbouring_matches_share_their_context() -> None:
    text = "\n".join("hit" if at in (3, 5, 12) else f"x{at}" for at in range(15))
    assert grep_page(text, "hit", "H").split("\n") == [
        "[H · 3 of 15 lines match /hit/i]",
        *("2: x1", "3: x2", "4: hit", "5: x4", "6: hit", "7: x6", "8: x7"),
        "…[2 lines]…",
        *("11: x10", "12: x11", "13: hit", "14: x13", "15: x14"),
    ]
