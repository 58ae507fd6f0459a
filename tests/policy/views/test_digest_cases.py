"""The numbered cases of digests by content."""

import json
import math
from dataclasses import replace

import pytest

from slicetape.policy.settings import DigestSettings
from slicetape.policy.views import RULES, Condensed, condense

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


def of(text: str, tool: str = "bash", path: str | None = None, **policy: float) -> Condensed:
    settings = replace(SETTINGS, **policy)  # type: ignore[arg-type]
    return condense(text, tool, path, settings=settings, rules=RULES)


def view(text: str, tool: str = "bash", path: str | None = None, **policy: float) -> str:
    found = of(text, tool, path, **policy)
    assert found.view is not None
    return found.view


def rows(count: int, wrong: int | None = None) -> list[dict[str, object]]:
    return [
        {
            "id": index,
            "name": f"item {index} {'n' * 20}",
            "size": index * 7,
            "status": 500 if index == wrong else 200,
            "tags": ["a", f"b{index % 5}"],
        }
        for index in range(count)
    ]


def hits(files: int, matches: int) -> str:
    return "\n".join(
        f"src/mod{file}.ts:{line}: const value_{line} = call({file})"
        for file in range(files)
        for line in range(1, matches + 1)
    )


def diff(hunks: int, context: int = 12) -> str:
    lines = ["diff --git a/a.py b/a.py", "index 1..2 100644", "--- a/a.py", "+++ b/a.py"]
    for hunk in range(hunks):
        lines.append(f"@@ -{hunk * 60 + 1},25 +{hunk * 60 + 1},25 @@")
        lines += [f" far before {hunk} {index} of the context" for index in range(context)]
        lines += [f"-old {hunk}", f"+new {hunk}"]
        lines += [f" far after {hunk} {index} of the context" for index in range(context)]
    return "\n".join(lines)


def log(lines: int = 400) -> str:
    return "\n".join(
        f"2026-09-04 10:{index // 60:02}:{index % 60:02} "
        + (
            f"ERROR worker {index} failed: boom"
            if index % 25 == 7
            else f"WARN slow {index}"
            if index % 40 == 9
            else f"INFO step {index} ok"
        )
        for index in range(lines)
    )


def test_case_219_an_array_keeps_its_ends_and_the_item_that_looks_wrong() -> None:
    text = json.dumps(rows(200, wrong=90), indent=2)
    found = of(text)
    assert found.kind == "json"
    shown = view(text)
    for index in (0, 90, 199):
        assert f'{{"id":{index},' in shown
    assert " of 200 items omitted; fields: id, name, size, status, tags]…" in shown
    assert len(shown) < 0.3 * len(text)


def test_case_220_an_object_keeps_its_other_fields() -> None:
    text = json.dumps({"ok": True, "results": rows(200), "next": None})
    shown = view(text)
    assert shown.startswith('{"ok":true,"next":null}\n"results": [\n{"id":0,')
    assert shown.endswith("]")


def test_case_221_lines_of_json_are_condensed_and_four_items_are_not() -> None:
    text = "\n".join(map(json.dumps, rows(200, wrong=90)))
    shown = view(text).split("\n")
    assert shown[0] == text.split("\n")[0]
    assert text.split("\n")[90] in shown
    assert of(text).kind == "json"
    assert of(json.dumps([{"a": "x" * 3000}] * 4)).view is None


def test_case_222_a_search_keeps_first_and_last_matches_of_a_file() -> None:
    shown = view(hits(40, 12), "grep")
    assert "src/mod0.ts:1:" in shown
    assert "src/mod0.ts:12:" in shown
    assert "[... and 7 more matches in src/mod0.ts]" in shown
    assert sum(line.startswith("src/mod") for line in shown.split("\n")) <= 60


@pytest.mark.parametrize("files", [40, 400])
def test_case_223_files_beyond_the_cap_are_named_or_counted(files: int) -> None:
    shown = view(hits(files, 12), "grep")
    named = sum(f"src/mod{file}.ts" in shown for file in range(files))
    if files > named:
        assert f"[... and {files - named} more files, {12 * (files - named)} matches]" in shown
    assert named >= 40


def test_case_224_a_diff_keeps_headers_and_changes() -> None:
    text = diff(14)
    found = of(text)
    shown = view(text)
    assert found.kind == "diff"
    assert shown.startswith("diff --git a/a.py b/a.py\nindex 1..2 100644\n--- a/a.py\n+++ b/a.py\n")
    assert "+new 0\n" in shown
    assert "+new 13\n" in shown
    assert "far before 0 0 " not in shown
    assert shown.endswith("[... and 4 more hunks in file #1]")
    assert len(shown) < 0.5 * len(text)


def test_case_225_a_short_diff_stays_whole() -> None:
    assert of(diff(2, context=4)).view is None
    assert of(diff(2, context=4)).kind == "diff"


def test_case_226_a_log_ends_with_what_is_missing() -> None:
    found = of(log())
    assert found.kind == "log"
    last = view(log()).split("\n")[-1]
    assert last.startswith(f"[{400 - found.kept_lines} lines omitted: ")
    assert last.endswith(" more warning/summary lines]")


def test_case_227_a_fetched_page_keeps_tables_and_headings() -> None:
    prose = [f"Sentence {index} of a page without any structure at all." for index in range(120)]
    table = [
        "| name | value |",
        "|---|---|",
        *(f"| row {index} | {index} |" for index in range(11)),
    ]
    text = "\n".join([*prose, "# First", *table, "# Second", *prose])
    shown = view(text, "fetch_page")
    assert all(line in shown for line in (*table, "# First", "# Second"))
    assert len(shown) < 0.55 * len(text)


def test_case_228_long_lines_keep_head_and_tail() -> None:
    text = "\n".join("abcdefghij" * 300 for _ in range(3))
    found = of(text, "read", "blob.txt")
    assert (found.kind, found.total_lines) == ("data", 3)
    shown = view(text, "read", "blob.txt")
    assert shown.startswith("abcdefghij" * 70 + " …[+2000 chars]… " + "abcdefghij" * 30)
    assert len(shown) < 0.5 * len(text)


def test_case_229_ordinary_lines_are_never_cut() -> None:
    text = "\n".join("word " * 290 for _ in range(40))
    shown = view(text)
    assert {"word " * 290} == {line for line in shown.split("\n") if not line.startswith("…[")}


def test_case_230_source_with_a_long_line_stays_whole() -> None:
    assert of("const data = '" + "x" * 3000 + "'\n" * 3, "read", "a.ts").kind == "code"
    assert of("const data = '" + "x" * 3000 + "'\n" * 3, "read", "a.ts").view is None


def test_case_231_five_long_matches_stay_whole() -> None:
    text = "\n".join(f"src/a.ts:{line}: {'x' * 2000}" for line in range(5))
    assert of(text, "grep").view is None


def test_case_232_an_infinite_line_limit_cuts_nothing() -> None:
    text = "\n".join("abcdefghij" * 300 for _ in range(3))
    assert of(text, "read", "blob.txt", max_line_chars=math.inf).view is None


def test_case_233_rules_stay_whole_or_keep_their_keys() -> None:
    prose = "A sentence that explains the rule without a key and goes on for a while longer.\n" * 3
    names = ("path", "kind", "size", "time", "seq/continuity", "x", "y", "z", "journal")
    text = "".join(f"R{n} {name}: keep it\n{prose}" for n, name in enumerate(names, 1)) + prose * 5
    assert of(text).view is None
    shown = view(text, min_chars=1000, max_keep_ratio=0.99)
    for line in ("R1 path: keep it", "R5 seq/continuity: keep it", "R9 journal: keep it"):
        assert line in shown.split("\n")


def test_case_234_equal_keys_keep_the_ends_and_a_few() -> None:
    text = "\n".join(f"item: value number {index} of many" for index in range(300))
    assert of(text).kept_lines == 17
    assert "item: value number 150 " not in view(text)
    assert "…[+283 lines / " in view(text)


def test_case_235_a_run_of_new_keys_is_kept_to_its_cap() -> None:
    prose = [f"Prose sentence {index} with some words to fill the line." for index in range(50)]
    bullets = [f"- bullet number {index} says something else each time" for index in range(80)]
    text = "\n".join([*prose, *bullets, *prose[:20]])
    kept = [line for line in view(text).split("\n") if line.startswith("- ")]
    assert kept == bullets[:12]


@pytest.mark.parametrize(
    ("text", "chars", "kept"),
    [
        ("\n".join(f"item: value_{index % 7}" for index in range(900)), 266, 17),
        (
            "\n".join(
                [f"prose sentence number {index} with words" for index in range(200)]
                + [f"Setting_{index % 12}: {index}" for index in range(60)]
                + [f"prose sentence number {index} with words" for index in range(200)]
            ),
            713,
            26,
        ),
        ("\n".join(f"output line {index} " + "y" * 30 for index in range(1200)), 671, 14),
    ],
    ids=["keys", "settings", "lines"],
)
def test_case_236_the_measured_views(text: str, chars: int, kept: int) -> None:
    assert len(view(text)) == chars
    assert of(text).kept_lines == kept


@pytest.mark.parametrize("tool", ["expand_result", "recall_step", "recall_turn", "recall_search"])
def test_case_237_a_recalled_text_is_never_condensed(tool: str) -> None:
    assert of(log(), tool) == Condensed(None, "search", 400, 400)


def test_case_238_small_results_stay_whole() -> None:
    data = "\n".join(f"plain line {index}" for index in range(400))[:5999]
    assert of(data).view is None
    assert of(log(11)[:511]).view is None
    assert of(log(11)[:511]).kind == "log"


def test_case_239_a_view_at_the_ratio_stays_whole() -> None:
    text = "\n".join(f"output line {index} " + "y" * 30 for index in range(1200))
    share = len(view(text)) / len(text)
    assert of(text, max_keep_ratio=share).view is None
    assert of(text, max_keep_ratio=share * 1.001).view is not None


def test_case_240_line_numbers_are_not_looked_at_but_kept() -> None:
    plain = log(60).split("\n")
    text = "\n".join(f"{number}: {line}" for number, line in enumerate(plain, 1))
    assert of(text).kind == "log"
    assert view(text).startswith(f"1: {plain[0]}\n2: {plain[1]}\n")
