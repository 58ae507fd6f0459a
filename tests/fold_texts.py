"""Texts for digests: of every kind, odd, broken, or made to look like something else."""

import json
import random
from collections.abc import Callable

WORDS = [
    "request",
    "worker",
    "queue",
    "replica",
    "shard",
    "cursor",
    "budget",
    "field",
    "timeout",
    "error",
    "failed",
    "warning",
]
ODD = (
    "", " ", "\t", "\ufeff", "\ufffd", "\u0000", "\ud83d", "😀", "召回 磁带 错误", "é" * 40, "\x1b[31mERROR\x1b[0m x",
    "10%\r20%\r30%\r", "\x85", "\u2028", "a" * 3000, "x" * 100_000, "…[+3 lines / 40 chars]…",
    "[bash · log · 9 lines, 3 kept · expand_result({\"seq\": 1}) returns the full text]",
    "[bash · log · 9 lines, 3 kept · full text (9 bytes) stored at /etc/passwd — x]\nbody",
    "[... and 7 more matches in src/a.ts]", "…[×9 like the line above · first line 1, last line 9]…",
    "[9 lines omitted: 1 more error lines, 0 more warning/summary lines]", "diff --git a/x b/x", "@@ -1 +1 @@",
    "--- a", "+++ b", "[1, 2", "{\"a\": [1,2,", "]", "}", "```", "| a | b |", "12: x", "0:0:0", ":::::", "====",
)  # fmt: skip
TOOLS = ("bash", "read", "grep", "glob", "read_file", "fetch_page", "mcp_query", "recall_turn", "")
PATHS = (None, None, None, "a.py", "notes.md", "data.json", "", ".", "x.PY")


def words(pick: random.Random, least: int = 3, most: int = 14) -> str:
    return " ".join(pick.choices(WORDS, k=pick.randint(least, most)))


def log(pick: random.Random) -> str:
    levels = ("INFO", "INFO", "INFO", "INFO", "WARN", "ERROR", "DEBUG")
    rows = []
    for index in range(pick.randint(4, 200)):
        rows.append(f"2026-09-01 10:{index % 60:02}:00 {pick.choice(levels)} {words(pick)} {index}")
        if pick.random() < 0.1:
            rows += ["    at run (src/w.js:10:3)", '  File "a.py", line 3', ""]
    return "\n".join(rows)


def search(pick: random.Random) -> str:
    rows = []
    for file in range(pick.randint(1, 90)):
        rows += [f"src/mod{file}/f.ts:{line}: {words(pick)}" for line in range(pick.randint(1, 15))]
        rows += ["--"] * pick.randint(0, 1)
    return "\n".join(rows)


def data(pick: random.Random) -> str:
    makers: tuple[Callable[[int], str], ...] = (
        lambda i: words(pick),
        lambda i: f"key_{i % 9}: {i}",
        lambda i: f"- item {i}",
        lambda i: f"| {i} | b |",
        lambda i: f"## Part {i}",
        lambda i: "",
        lambda i: words(pick, 200, 300),
    )
    rows: list[str] = []
    while len(rows) < 260:
        make = pick.choice(makers)
        rows += [make(index) for index in range(pick.randint(1, 30))]
    return "\n".join(rows)


def row(pick: random.Random, index: int) -> dict[str, object]:
    return {
        "id": index,
        "name": words(pick, 1, 3),
        "status": pick.choice([200, 200, 200, 404, "ok", None]),
        "big": 12345678901234567890 + index,
        "same": "x",
        "nested": {"same": pick.choice([1, 2.5, [], {}])},
    }


def items(pick: random.Random) -> str:
    rows = [row(pick, pick.randint(0, 150)) for _ in range(pick.randint(1, 150))]
    form = pick.randint(0, 3)
    if form == 0:
        return json.dumps(rows, indent=pick.choice([None, 1, 4]))
    if form == 1:
        return json.dumps({"ok": True, "rows": rows, "small": [1, 2]})
    if form == 2:
        return "\n".join(map(json.dumps, rows))
    return json.dumps(rows)[: pick.randint(1, 4000)]


def diff(pick: random.Random) -> str:
    rows = []
    for file in range(pick.randint(1, 4)):
        rows += [f"diff --git a/f{file} b/f{file}", f"--- a/f{file}", f"+++ b/f{file}"]
        for hunk in range(pick.randint(1, 16)):
            rows.append(f"@@ -{hunk * 50},9 +{hunk * 50},9 @@")
            rows += [
                pick.choice([" ", " ", " ", " ", "+", "-"]) + words(pick)
                for _ in range(pick.randint(1, 25))
            ]
    return "\n".join(rows)


def code(pick: random.Random) -> str:
    return "\n".join(
        pick.choice(["def f():", "    x = 1", "import os", "    return x", "if a:", ""])
        for _ in range(pick.randint(1, 400))
    )


KINDS = (log, search, data, items, diff, code)


def spoiled(pick: random.Random, text: str) -> str:
    """`text` with odd pieces put in, lines mixed, or an end cut off."""
    rows = text.split("\n")
    for _ in range(pick.randint(0, 6)):
        rows.insert(pick.randint(0, len(rows)), pick.choice(ODD))
    if pick.random() < 0.2:
        pick.shuffle(rows)
    if pick.random() < 0.2:
        rows = [f"{index}: {line}" for index, line in enumerate(rows, 1)]
    text = pick.choice(["\n", "\n", "\n", "\r\n", "\r"]).join(rows)
    return text[: pick.randint(0, len(text))] if pick.random() < 0.2 else text


def any_text(pick: random.Random) -> str:
    """A text of any kind, one of five of them made of two."""
    text = pick.choice(KINDS)(pick)
    if pick.random() < 0.2:
        text += "\n" + pick.choice(KINDS)(pick)
    return spoiled(pick, text) if pick.random() < 0.8 else text
