"""Time search and its index: prints one JSON object. Texts are made up, the same on every run.

`recall_search` runs on one session with 2.3 MB of text; the catalog holds 100 sessions with 1 MB
each; times are the fastest of nine runs, for each of several queries.
"""

import argparse
import json
import os
import platform
import random
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import msgspec

from slicetape.log.catalog import Catalog
from slicetape.log.catalogrows import DocumentRow, SessionRow
from slicetape.log.events import (
    AssistantMessage,
    Event,
    ToolResult,
    TurnEnd,
    TurnStart,
    UserMessage,
)
from slicetape.log.messages import Message, Source, Text, ToolCall, ToolResultBlock
from slicetape.log.payloads import AssistantData, EndReason, ToolResultData, TurnData, TurnEndData
from slicetape.recall.index import Index
from slicetape.recall.tools import Recall, dispatch
from slicetape.surface.view import View

LETTERS = "anbecodefigrholinjukelomoneorplquresttuunvewexylzo"
SYLLABLES = tuple(LETTERS[at : at + 2] for at in range(0, len(LETTERS), 2))
HAN = "数据库连接修复折叠磁带索引超时会话搜索结果日志部署"
QUERIES = (
    "timeout upstream error",
    "anbeco pylon",
    "数据库连接超时",
    "deploy",
    "an be co de fi gr",
)


class Writer:
    """Words with the frequencies of prose: few common, many rare, some paths, numbers and Han."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.words = [self.word() for _ in range(5000)]
        self.words[:4] = ["timeout", "upstream", "error", "deploy"]
        self.weights = [1 / (rank + 2) for rank in range(len(self.words))]

    def word(self) -> str:
        """One to three syllables."""
        return "".join(self.random.choices(SYLLABLES, k=self.random.choice((1, 2, 2, 3))))

    def text(self, size: int) -> str:
        """About `size` characters."""
        words = self.random.choices(self.words, self.weights, k=max(size // 7, 1))
        for at in range(0, len(words), 40):
            words[at] = f"src/{words[at]}.py:{self.random.randrange(900)}"
            if at % 200 == 0:
                words[at] += " " + "".join(self.random.choices(HAN, k=6))
        return " ".join(words)


def session_events(writer: Writer, size: int) -> Iterator[Event]:
    """Turns with a request, a call, a result of 200 to 20,000 characters and an answer."""
    seq = turn = written = 0

    def placed(event: Event) -> Event:
        nonlocal seq
        seq += 1
        return msgspec.structs.replace(event, seq=seq - 1)

    def message(role: str, *content: object, source: str) -> Message:
        return Message(f"m{seq}", role, content, Source(kind=source))  # type: ignore[arg-type]

    while written < size:
        turn += 1
        ask, answer = writer.text(200), writer.text(900)
        output = writer.text(writer.random.choice((200, 1000, 4000, 20_000)))
        written += len(ask) + len(answer) + len(output)
        yield placed(TurnStart(data=TurnData(turn)))
        asked = message("user", Text(ask), source="user")
        yield placed(UserMessage(data=asked, surface_op="append"))
        call = ToolCall(f"c{turn}", "bash", '{"command":"make"}')
        said = message("assistant", Text(answer), call, source="model")
        yield placed(AssistantMessage(data=AssistantData(turn, 1, said), surface_op="append"))
        block = ToolResultBlock(f"c{turn}", False, (Text(output),))
        returned = message("user", block, source="tool")
        yield placed(ToolResult(data=ToolResultData(turn, 1, returned), surface_op="append"))
        yield placed(TurnEnd(data=TurnEndData(turn, EndReason("completed"))))


def milliseconds(work: Callable[[], object]) -> float:
    """The fastest of nine runs."""
    times = []
    for _ in range(9):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return round(min(times) * 1000, 2)


def session_figures(size: int) -> dict[str, object]:
    """Index and search of one session."""
    view = View.of(list(session_events(Writer(1), size)))
    start = time.perf_counter()
    index = Index.of(view)
    seconds = time.perf_counter() - start
    text = sum(document.length for shelf in index.shelves.values() for document in shelf.documents)
    recall = Recall(view, index)
    searches = {
        query: milliseconds(partial(dispatch, "recall_search", {"query": query}, recall))
        for query in QUERIES
    }
    return {
        "text_mb": round(text / 1e6, 2),
        "documents": sum(len(shelf.documents) for shelf in index.shelves.values()),
        "index_mb_per_s": round(text / 1e6 / seconds, 1),
        "search_ms": searches,
        "slowest_ms": max(searches.values()),
    }


def document(seq: int, text: str) -> DocumentRow:
    """A row of tool output."""
    return DocumentRow(seq=seq, turn=1, step=1, kind="tool_output", block=0, text=text)


def catalog_figures(sessions: int, size: int) -> dict[str, object]:
    """Filling and searching the catalog."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "index.sqlite"
        catalog = Catalog(path)
        text, seconds = 0, 0.0
        writer = Writer(2)
        for number in range(sessions):
            rows, written = [], 0
            while written < size:
                said = writer.text(writer.random.choice((200, 1000, 4000, 20_000)))
                rows.append(document(len(rows), said))
                written += len(said)
            text += written
            start = time.perf_counter()
            catalog.put(SessionRow(id=f"s{number}", path=f"/s{number}", events=len(rows)), rows)
            seconds += time.perf_counter() - start
        searches = {query: milliseconds(partial(catalog.search, query)) for query in QUERIES}
        catalog.close()
        return {
            "sessions": sessions,
            "text_mb": round(text / 1e6, 1),
            "file_mb": round(path.stat().st_size / 1e6, 1),
            "put_mb_per_s": round(text / 1e6 / seconds, 1),
            "search_ms": searches,
            "slowest_ms": max(searches.values()),
        }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sessions", type=int, default=100, help="sessions in the catalog")
    options = parser.parse_args()
    figures = {
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "session": session_figures(2_300_000),
        "catalog": catalog_figures(options.sessions, 1_000_000),
    }
    print(json.dumps(figures, ensure_ascii=False, indent=1))


if __name__ == "__main__":
    main()
