"""Times of the digests on large and hostile results; prints JSON, exits 1 when a limit is missed.

All times are those of the processor, so that other work on the machine does not count.
A growth figure is the time of a line of 2 MB over that of 1 MB: linear work gives 2.
"""

import json
import random
import sys
import time
from collections.abc import Callable

from slicetape.policy import kind
from slicetape.policy.settings import DigestSettings
from slicetape.policy.views import condense, lines, logs, severity

SETTINGS = DigestSettings()
WORDS = ("request", "worker", "queue", "replica", "shard", "cursor", "budget", "field", "header")
MEGABYTE = 1_000_000
MOST_GROWTH = 2.5
PROBE = 10_000
NOTICEABLE = 0.002


def log_text(count: int, seed: int = 1) -> str:
    """A log of `count` lines of about 100 characters, a few of them errors and warnings."""
    pick = random.Random(seed)
    rows = []
    for i in range(count):
        chance = pick.random()
        level = "ERROR" if chance < 0.002 else "WARN" if chance < 0.02 else "INFO"
        words = " ".join(pick.choices(WORDS, k=8))
        clock = f"{i // 3600 % 24:02}:{i // 60 % 60:02}:{i % 60:02}"
        rows.append(
            f"2026-09-01T{clock}.{i % 1000:03}Z {level:5} [{pick.choice(WORDS)}] {words} id={i}"
        )
    return "\n".join(rows)


def json_text(count: int) -> str:
    """An array of `count` rows of about 140 characters."""
    rows = [
        {
            "id": i,
            "name": f"item-{i}",
            "status": "active",
            "region": "eu-west-1",
            "score": i / 7,
            "path": f"/srv/data/{i % 97}/part-{i}.bin",
            "tags": ["a", "b"],
        }
        for i in range(count)
    ]
    return json.dumps(rows)


def best(run: Callable[[], object], times: int = 5) -> float:
    """The least of several times that `run` works, in milliseconds."""
    return min(seconds(lambda _: run(), "") for _ in range(times)) * 1e3


def view(text: str, tool: str = "bash") -> Callable[[], object]:
    """A run of the whole digest."""
    return lambda: condense(text, tool, None, settings=SETTINGS)


def speeds() -> dict[str, tuple[float, float]]:
    """Milliseconds and their limit, by what is condensed."""
    errors = log_text(20_000).replace("INFO ", "ERROR")
    json_rows = json_text(5000)
    hits = "\n".join(
        f"src/pkg{i % 900}/mod{i % 50}.py:{i}: value = call({i})" for i in range(45_000)
    )
    prose = "\n".join(" ".join(random.Random(i).choices(WORDS, k=14)) for i in range(20_000))
    cases: dict[str, tuple[str, float]] = {
        "log of 2 MB": (log_text(20_000), 100),
        "log of 2 MB, every line an error": (errors, 200),
        "prose of 2 MB": (prose, 100),
        "search of 2 MB": (hits, 100),
        "JSON of 5,000 rows": (json_rows, 50),
        "JSON of 5,000 rows, indented": (json.dumps(json.loads(json_rows), indent=2), 50),
        "JSON lines of 5,000 rows": ("\n".join(map(json.dumps, json.loads(json_rows))), 50),
        "log of 13 MB": (log_text(135_000), 1000),
        "JSON of 13 MB": (json_text(90_000), 1000),
        "one line of 1 MB": ("word " * 200_000, 100),
        "one line of 1 MB without blanks": ("x" * MEGABYTE, 100),
        "progress bar of 1 MB": ("".join(f"{i % 100}% done\r" for i in range(110_000)), 100),
    }
    return {name: (best(view(text)), limit) for name, (text, limit) in cases.items()}


HOSTILE = (
    "a", "1", "/", "a/", "a/b ", ":", ": ", ":1", "=", "-", "=x", "==== ", "|", "| ", "[", "{",
    "if :", "if : ", "passed", "failed in ", " ", "\t", "\u00a0", "a ", "0x", "f", "f ", "0xg",
    "at (", "(", ".", "a.", "#", "\x1b[", "\x1b[1", "error", "npm ", "npm ERR", "E", "ERROR_",
    "warning", "- ", "--- ", "1:", "1: ", "ok ", "from x ", "\"", "\\", "{\"a\":", "✗", "表",
)  # fmt: skip
STARTS = ("", "  ", "if ", "from ", "    at ", "| ", "===", "---", "1:", "[", "key ")
TESTS: dict[str, Callable[[str], object]] = {
    "bare": lines.bare,
    "colours": lambda line: lines.bare_lines([line]),
    "blank": lines.blank,
    "code": lambda line: kind.is_source_text([line] * 8),
    "search": lambda line: kind.is_search_like([line]),
    "log": kind.is_log_line,
    "mark": kind.is_marked_line,
    "diff": kind.is_diff,
    "error": severity.is_error,
    "warning": severity.is_warning,
    "test failure": severity.is_test_failure,
    "summary": severity.is_summary,
    "frame": severity.is_frame,
    "likeness": lambda line: logs.likenesses([line]),
    "condense": lambda line: condense(line, "bash", None, settings=SETTINGS),
}


def line_of(start: str, part: str, size: int) -> str:
    """One line of about `size` characters."""
    return start + part * (size // len(part))


def seconds(test: Callable[[str], object], line: str) -> float:
    """The time that one run of `test` works, whatever else the machine does."""
    start = time.process_time()
    test(line)
    return time.process_time() - start


def hardest(test: Callable[[str], object], most: int = 3) -> list[tuple[str, str]]:
    """The lines that take `test` longest, found at a size where even square growth is bearable."""
    shapes = [(start, part) for start in STARTS for part in HOSTILE]
    shapes.sort(key=lambda shape: -seconds(test, line_of(*shape, PROBE)))
    return shapes[:most]


def growth() -> tuple[float, str, float, str]:
    """The worst growth of any test, and the slowest test of a line of 1 MB, in milliseconds."""
    worst, where, slowest, what = 0.0, "", 0.0, ""
    for name, test in TESTS.items():
        for shape in hardest(test):
            short, long = (line_of(*shape, size) for size in (MEGABYTE, 2 * MEGABYTE))
            once = min(seconds(test, short) for _ in range(3))
            twice = min(seconds(test, long) for _ in range(3))
            label = f"{name}: {shape[0]!r}, {shape[1]!r}"
            slowest, what = max((slowest, what), (once * 1e3, label))
            if once > NOTICEABLE:
                worst, where = max((worst, where), (twice / once, label))
    return worst, where, slowest, what


def main() -> None:
    """Print every figure; fail when one is above its limit."""
    taken = speeds()
    worst, where, slowest, what = growth()
    missed = [name for name, (took, limit) in taken.items() if took > limit]
    missed += [f"growth of {where}"] if worst > MOST_GROWTH else []
    print(
        json.dumps(
            {
                "ms": {name: round(took, 1) for name, (took, _) in taken.items()},
                "limits_ms": {name: limit for name, (_, limit) in taken.items()},
                "worst_growth": {"times": round(worst, 2), "limit": MOST_GROWTH, "line": where},
                "slowest_line_of_1_MB": {"ms": round(slowest, 1), "line": what},
                "missed": missed,
            },
            indent=1,
            ensure_ascii=False,
        )
    )
    sys.exit(bool(missed))


if __name__ == "__main__":
    main()
