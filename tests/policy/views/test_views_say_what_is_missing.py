"""Where the reference hides, alters or mistakes something, and ours does not."""

import json
import time
from dataclasses import replace

import pytest

from slicetape.policy.settings import DigestSettings
from slicetape.policy.views import RULES, Condensed, Rules, condense

SETTINGS = DigestSettings(
    min_chars=6000,
    log_min_chars=512,
    max_keep_ratio=0.55,
    structured_block_min=3,
    search_min_matches=120,
    search_min_chars=10_000,
    search_max_per_file=5,
    search_max_total=60,
)


def of(text: str, tool: str = "bash", path: str | None = None, rules: Rules = RULES) -> Condensed:
    return condense(text, tool, path, settings=SETTINGS, rules=rules)


def lines_of(text: str, tool: str = "bash", rules: Rules = RULES) -> list[str]:
    found = of(text, tool, rules=rules)
    assert found.view is not None
    return found.view.split("\n")


def noise(count: int, start: int = 0) -> list[str]:
    return [f"2026-09-04 10:00 INFO quiet step {start + index}" for index in range(count)]


def test_a_search_view_names_each_file_that_has_no_room() -> None:
    text = "\n".join(
        f"src/m{file}.ts:{line}: x = call()" for file in range(40) for line in range(12)
    )
    shown = lines_of(text, "grep")
    assert "[... and 12 more matches in src/m39.ts]" in shown
    silent = lines_of(text, "grep", replace(RULES, name_files=False))
    assert not any("src/m39.ts" in line for line in silent)


def test_a_search_view_counts_files_beyond_those_it_names() -> None:
    text = "\n".join(f"src/m{file}.ts:1: x = call()" for file in range(600))
    shown = lines_of(text, "grep")
    assert "[... and 1 more matches in src/m119.ts]" in shown
    assert shown[-1] == "[... and 480 more files, 480 matches]"


def test_a_search_view_counts_files_when_naming_them_saves_too_little() -> None:
    text = "\n".join(f"src/m{file}.ts:1: x = call()" for file in range(130))
    shown = lines_of(text, "grep")
    assert shown[-1] == "[... and 70 more files, 70 matches]"
    assert len(shown) == 61


def test_an_error_group_says_how_many_there_are_and_where() -> None:
    rows = noise(400)
    for index in range(50, 306, 16):
        rows[index] = f"2026-09-04 10:00 ERROR request {index} took {index * 3} ms"
    shown = lines_of("\n".join(rows))
    at = shown.index("…[×16 like the line above · first line 51, last line 291]…")
    assert shown[at - 1] == rows[50]


def test_a_warning_group_is_counted_too() -> None:
    rows = noise(300)
    for index in range(30, 290, 10):
        rows[index] = f"2026-09-04 10:00 WARN retry {index}"
    shown = lines_of("\n".join(rows))
    assert "…[×26 like the line above · first line 31, last line 281]…" in shown


def test_each_failed_test_has_its_line_though_they_are_alike() -> None:
    rows = [f"tests/test_m{index % 9}.py::test_{index} PASSED" for index in range(300)]
    failed = [60, 120, 180]
    for index in failed:
        rows[index] = rows[index].replace("PASSED", "FAILED")
    shown = lines_of("\n".join(rows))
    assert all(rows[index] in shown for index in failed)
    assert not any(line.startswith("…[×") for line in shown)


def test_a_trace_is_shown_to_the_exception_it_ends_in() -> None:
    frames = [
        line
        for depth in range(20)
        for line in (f'  File "m{depth}.py", line {depth}, in f', f"    return g{depth}()")
    ]
    end = "KeyError: 'user'"
    trace = ["Traceback (most recent call last):", *frames, end]
    shown = lines_of("\n".join([*noise(90), *trace, *noise(90)]))
    assert shown[shown.index(end) - 1] == frames[-1]
    assert end not in lines_of(
        "\n".join([*noise(90), *trace, *noise(90)]), rules=replace(RULES, end_traces=False)
    )
    assert of("\n".join([*noise(200), *trace[:-1]])).view is not None


def test_of_many_failed_tests_the_first_and_the_last_are_shown_and_all_are_counted() -> None:
    rows = [f"tests/test_m.py::test_{index} PASSED" for index in range(900)]
    for index in range(100, 800):
        rows[index] = rows[index].replace("PASSED", "FAILED")
    shown = lines_of("\n".join(rows))
    assert rows[100] in shown
    assert rows[799] in shown
    assert "…[×700 like the line above · first line 101, last line 800]…" in shown


@pytest.mark.parametrize(
    "mark",
    [
        "npm ERR! code",
        "npm WARN! old",
        "error: x",
        "warning: unused",
        "error[E0308]: y",
        "  ✕ adds",
    ],
)
def test_marks_that_are_no_words_make_a_log(mark: str) -> None:
    text = "\n".join([f"{mark} number {index} of the build" for index in range(60)])
    assert of(text).kind == "log"
    assert of(text, rules=replace(RULES, more_marks=False)).kind in ("data", "log")


def test_an_npm_error_stands_in_the_view() -> None:
    rows = noise(200)
    rows[100] = "npm ERR! code ENOENT"
    assert rows[100] in lines_of("\n".join(rows))
    assert rows[100] not in lines_of("\n".join(rows), rules=replace(RULES, more_marks=False))


def test_a_time_is_not_a_line_number() -> None:
    text = "\n".join(f"10:00:{index % 60:02} starting {index}" for index in range(100))
    assert of(text).kind == "log"
    assert of(text, rules=replace(RULES, keep_times=False)).kind == "data"
    numbered = "\n".join(f"{index}: {line}" for index, line in enumerate(text.split("\n"), 1))
    assert of(numbered).kind == "log"


def test_colour_codes_do_not_hide_an_error() -> None:
    rows = [f"\x1b[32mINFO\x1b[0m 2026-09-04 10:00 INFO step {index}" for index in range(200)]
    rows[100] = "\x1b[31mERROR\x1b[0m the disk is full"
    assert rows[100] in lines_of("\n".join(rows))
    assert rows[100] not in lines_of("\n".join(rows), rules=replace(RULES, see_colours=False))


DIFF = "\n".join(
    ["diff --git a/a b/a", "--- a/a", "+++ b/a", "@@ -1,300 +1,300 @@"]
    + [f" context {index}" for index in range(300)]
    + ["-old", "+new"]
)


@pytest.mark.parametrize("tool", ["read", "read_file", "bash", "edit"])
@pytest.mark.parametrize(
    "text",
    [DIFF, json.dumps([{"a": "x" * 100}] * 200), "\n".join(noise(300))],
    ids=["diff", "json", "log"],
)
def test_a_source_path_is_never_condensed(tool: str, text: str) -> None:
    assert of(text, tool, "pkg/module.PY") == Condensed(
        None, "code", text.count("\n") + 1, text.count("\n") + 1
    )


def test_json_items_keep_their_digits_their_keys_and_their_escapes() -> None:
    item = '{"n": 12345678901234567890, "f": 1.10, "z": -0.0, "10": 1, "9": "\\u00e9", "i": %d}'
    text = "[" + ", ".join(item % index for index in range(200)) + "]"
    shown = lines_of(text)
    assert shown[1] == ('{"n":12345678901234567890,"f":1.10,"z":-0.0,"10":1,"9":"\\u00e9","i":0},')


def test_keys_that_occur_twice_stay_twice() -> None:
    rows = ", ".join(f'{{"a": {index}, "a": "{"x" * 40}"}}' for index in range(200))
    text = f'{{"k": 1, "k": 2, "rows": [0], "rows": [{rows}], "k": 3}}'
    shown = lines_of(text)
    assert shown[0] == '{"k":1,"k":2,"rows":[0],"k":3}'
    assert shown[1] == '"rows": ['
    assert shown[2].startswith('{"a":0,"a":"xxxx')


@pytest.mark.parametrize(
    ("key", "rest"),
    [('"rows"', '{"a":"]"}'), ('"r\\"ows\\\\"', '{"a":"]"}'), ('"r\\u006fws"', '{"a":"]"}')],
)
@pytest.mark.parametrize("first", [True, False])
def test_the_name_of_the_field_is_as_it_is_written(key: str, rest: str, first: bool) -> None:
    array = json.dumps([{"n": index, "pad": "p" * 40} for index in range(200)])
    text = f'{{{key}: {array}, "a": "]"}}' if first else f'{{"a": "]", {key}: {array}}}'
    shown = lines_of(text)
    assert shown[:2] == [rest, f"{key}: ["]


def test_an_array_that_stands_twice_is_taken_from_its_own_field() -> None:
    array = json.dumps([{"n": index, "pad": "p" * 40} for index in range(200)])
    text = f'{{"wrap": {{"rows": {array}}}, "rows": {array}}}'
    found = condense(text, "bash", None, settings=replace(SETTINGS, max_keep_ratio=0.9))
    assert found.view is not None
    assert found.view.split("\n")[0].startswith('{"wrap":{"rows":[{"n":0,')
    assert found.view.split("\n")[1] == '"rows": ['


def test_what_all_items_have_in_common_is_said_once() -> None:
    rows = [
        {"id": i, "region": "eu", "ok": True, "n": 5, "score": 1.5, "gone": None}
        for i in range(5000)
    ]
    shown = lines_of(json.dumps(rows))
    said = [line for line in shown if line.startswith("…[in all ")]
    assert said == ['…[in all 5000 items: "region":"eu","ok":true,"n":5,"gone":null]…,']


@pytest.mark.parametrize(
    "odd",
    [
        {"id": 1, "region": "us"},
        {"id": 1},
        {"id": 1, "region": "eu", "inner": {"region": "us"}},
        ["region"],
        {"id": 1, "region": None},
    ],
    ids=["other", "absent", "nested", "no object", "null"],
)
def test_one_item_that_differs_makes_no_constant(odd: object) -> None:
    rows: list[object] = [{"id": i, "region": "eu", "pad": "p" * i} for i in range(200)]
    rows[77] = odd
    assert not any("in all" in line for line in lines_of(json.dumps(rows)))


def test_a_key_that_occurs_twice_in_one_item_makes_no_constant() -> None:
    rows = [f'{{"id": {i}, "region": "eu", "pad": "{"p" * 40}{i}"}}' for i in range(200)]
    rows[77] = '{"id": 77, "region": "us", "region": "eu"}'
    assert not any("in all" in line for line in lines_of(f"[{', '.join(rows)}]"))


def test_a_marker_counts_long_lines_as_they_were() -> None:
    text = "\n".join("word " * 400 for _ in range(40))
    (marker,) = [line for line in lines_of(text) if line.startswith("…[+")]
    assert marker == f"…[+26 lines / {26 * 2001} chars]…"


def test_the_head_counts_in_the_ratio() -> None:
    rows = [*noise(8), "2026-09-04 10:00 ERROR boom", *noise(14, 9)]
    text = "\n".join(rows)
    bare = condense(text, "bash", None, settings=replace(SETTINGS, max_keep_ratio=0.95))
    assert bare.view is not None
    tight = replace(SETTINGS, max_keep_ratio=0.95)
    assert condense(text, "bash", None, settings=tight, head_chars=300).view is None
    off = replace(RULES, head_counts=False)
    assert condense(text, "bash", None, settings=tight, rules=off, head_chars=300).view is not None


@pytest.mark.parametrize("text", [DIFF, "\n".join(noise(300)), "x\n" * 9000])
def test_digests_that_are_switched_off_leave_everything_whole(text: str) -> None:
    off = DigestSettings(enabled=False)
    assert condense(text, "bash", None, settings=off).view is None
    on = condense(text, "bash", None, settings=off, rules=replace(RULES, obey_enabled=False))
    assert on.view is not None


@pytest.mark.parametrize("depth", [50, 5000, 200_000])
def test_deep_and_truncated_json_is_no_error(depth: int) -> None:
    for text in ("[" * depth + "]" * depth, "[" * depth, '{"a":' * depth + "1" + "}" * depth):
        assert of(text).total_lines == 1


@pytest.mark.parametrize(
    "item", ["1e999", '"\\ud83d"', "NaN", '"\ud83d"', "1" * 5000, '{"\\ud83d": 1}', "-"]
)
def test_json_that_readers_disagree_about_is_no_error(item: str) -> None:
    text = f"[{', '.join([item, *(str(index) + '0' * 60 for index in range(200))])}]"
    for rules in (RULES, replace(RULES, own_bytes=False)):
        of(text, rules=rules)
        of("\n".join([f"[{item}]"] * 300), rules=rules)


def test_text_that_looks_like_our_markers_is_text() -> None:
    rows = noise(300)
    rows[5:8] = ["…[+3 lines / 40 chars]…", "[bash · log · 3 lines, 1 kept]", "[... and 2 more]"]
    shown = lines_of("\n".join(rows))
    assert shown[-1] == rows[-1]


def test_one_array_in_very_many_places_is_no_work_without_end() -> None:
    array = json.dumps([{"n": index, "pad": "p" * 40} for index in range(20)])
    inner = ", ".join(f'"k{index}": {array}' for index in range(2000))
    text = f'{{"wrap": {{{inner}}}, "rows": {array}}}'
    start = time.process_time()
    of(text)
    assert time.process_time() - start < 2


def test_an_array_of_wide_items_is_no_work_without_end() -> None:
    item = json.dumps({f"key_{index}": 1 for index in range(3000)})
    start = time.process_time()
    of("[" + ", ".join([item, *(item for _ in range(99))]) + "]")
    assert time.process_time() - start < 2


def test_items_that_look_wrong_are_kept_by_level_word_or_status() -> None:
    rows: list[dict[str, object]] = [{"id": i, "code": 0, "pad": "p" * 60} for i in range(300)]
    wrong: list[dict[str, object]] = [
        {"level": "FATAL"},
        {"code": 503},
        {"note": "connection timeout"},
        {"errors": 2},
        {"st\u00e9": "access denied"},
    ]
    for place, item in zip(range(50, 300, 50), wrong, strict=True):
        rows[place] = {"id": place, **item}
    rows[120] = {"id": 120, "errors": 0, "failed": None, "code": True}
    shown = "\n".join(lines_of(json.dumps(rows)))
    assert all(f'{{"id":{place},' in shown for place in range(50, 300, 50))
    assert '{"id":120,' not in shown
