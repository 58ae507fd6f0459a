"""How fast tokens are counted and requests are charged. Prints one JSON object.

    python benchmarks/prices.py [FILE ...]

Without files a mixed text is made up. `counters` gives MB of UTF-8 a second, on texts of about
4 KB and on one long text, and the tokens counted; `charge_us` the median microseconds of one
`charge` at requests of so many pieces, when a session is appended to and when every fourth request
rewrites the last 20 pieces.
"""

import json
import os
import platform
import statistics
import sys
import time
from pathlib import Path

from slicetape.prices.cache import PrefixCache, Request
from slicetape.prices.prefix import Prefix
from slicetape.prices.rules import cache_rules
from slicetape.prices.tokens import counter, counters

RULES = ("deepseek", "deepseek-boundary", "anthropic-5m-1024", "openai-5.6", "flat")


def mixed_text() -> str:
    """Source, log lines and Chinese, a third each, without two equal paragraphs."""
    out = []
    for n in range(4000):
        out.append(
            f"def area_{n}(width: float) -> float:\n    return width * {n * 7919 % 9973}\n\n"
        )
        out.append(f"2026-03-04T05:06:{n % 60:02}Z WARN retry {n} of job 0x{n * 2654435761:x}\n")
        out.append(f"第{n}个回合结束后，旧的消息会被封存为一条记录。\n")
    return "".join(out)


def counting(name: str, text: str) -> dict[str, float]:
    """MB a second of many short texts and of one long text, and its tokens."""
    tokens = counter(name)
    tokens.count("warm")
    size = len(text.encode()) / 1e6
    short = [text[at : at + 4096] for at in range(0, len(text), 4096)]
    start = time.perf_counter()
    tokens.count_many(short)
    middle = time.perf_counter()
    found = tokens.count(text)
    end = time.perf_counter()
    return {
        "short_mb_s": round(size / (middle - start), 2),
        "long_mb_s": round(size / (end - middle), 2),
        "tokens": found,
    }


def charging(rules: str, size: int, *, rewrite: bool) -> float:
    """Median microseconds of a charge in a session that begins with `size` pieces."""
    cache = PrefixCache(cache_rules(rules), expiry=True)
    end = Prefix().then("tools", 3000, section="tools").then("system", 1000, section="system")
    for place in range(size):
        end = end.then(("old", place), 120)
    spent = []
    for turn in range(400):
        if rewrite and turn % 4 == 3:
            end = end.at(end.depth - 20)
            for place in range(18):
                end = end.then(("again", turn, place), 110)
        end = end.then(("said", turn), 90)
        answer = end.then(("result", turn), 700)
        request = Request(prefix=end, answer=answer, time_ms=turn * 1000)
        start = time.perf_counter()
        cache.charge(request)
        spent.append(time.perf_counter() - start)
        end = answer
    return round(statistics.median(spent[1:]) * 1e6, 2)


def main(paths: list[str]) -> None:
    """Measure and print."""
    text = "".join(Path(p).read_text("utf-8", "replace") for p in paths) or mixed_text()
    report = {
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "mb": round(len(text.encode()) / 1e6, 2),
        "counters": {name: counting(name, text) for name in counters()},
        "charge_us": {
            rules: {
                f"{kind}_{size}": charging(rules, size, rewrite=kind == "rewritten")
                for kind in ("appended", "rewritten")
                for size in (100, 1000, 5000)
            }
            for rules in RULES
        },
    }
    json.dump(report, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main(sys.argv[1:])
