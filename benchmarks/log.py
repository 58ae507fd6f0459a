"""Open a log of 100,000 events and 100 MB, and append to one; prints JSON.

Memory is the peak of the whole process above what it used before, divided by the file's size.
"""

import json
import resource
import statistics
import sys
import tempfile
import time
from pathlib import Path

from slicetape.log.codec import decode_event, encode_event
from slicetape.log.events import (
    AssistantMessage,
    Header,
    StepData,
    StepEnd,
    StepStart,
    ToolCalled,
    ToolResult,
    TurnEnd,
    TurnStart,
    UserMessage,
)
from slicetape.log.log import SessionLog
from slicetape.log.messages import Message, Reasoning, Source, Text, ToolCall, ToolResultBlock
from slicetape.log.payloads import (
    AssistantData,
    EndReason,
    ToolCallData,
    ToolResultData,
    TurnData,
    TurnEndData,
)

EVENTS = 100_000
SIZE = 100_000_000
WORDS = "the log keeps what was said and what came back, line by line, and nothing is lost "


def filler(size: int) -> str:
    """Text of `size` characters."""
    return (WORDS * (size // len(WORDS) + 1))[:size]


def step_events(turn: int, step: int, size: int) -> list:
    """One step with a call; `size` is the length of its result."""
    call = f"call_{turn}_{step}"
    model = Source(kind="model", provider="p", model="m")
    said = (
        Reasoning(text=filler(size // 4)),
        ToolCall(id=call, name="read", arguments='{"file_path":"a.py"}'),
    )
    result = ToolResultBlock(tool_call_id=call, is_error=False, content=(Text(filler(size)),))
    return [
        StepStart(data=StepData(turn, step), time=1),
        AssistantMessage(
            data=AssistantData(turn, step, Message(f"m{call}", "assistant", said, model)),
            surface_op="append",
            time=1,
        ),
        ToolCalled(data=ToolCallData(turn, step, call, "read", '{"file_path":"a.py"}'), time=1),
        ToolResult(
            data=ToolResultData(
                turn,
                step,
                Message(f"r{call}", "user", (result,), Source(kind="tool", call_id=call)),
            ),
            surface_op="append",
            time=1,
        ),
        StepEnd(data=StepData(turn, step), time=1),
    ]


def turn_events(turn: int, size: int) -> list:
    """A turn of nine steps."""
    human = Message(f"h{turn}", "user", (Text("go on"),), Source(kind="user"))
    return [
        TurnStart(data=TurnData(turn), time=1),
        UserMessage(data=human, surface_op="append", time=1),
        *(event for step in range(1, 10) for event in step_events(turn, step, size)),
        TurnEnd(data=TurnEndData(turn, EndReason("completed")), time=1),
    ]


def write(path: Path) -> None:
    """A log of about EVENTS events and SIZE bytes."""
    with SessionLog.create(path, Header("session", 3, "bench", 1, False, 0)) as log:
        turns = EVENTS // 48 + 1
        for turn in range(1, turns + 1):
            log.extend(turn_events(turn, 3300))


def peak_bytes() -> int:
    """The largest memory of this process so far."""
    status = Path("/proc/self/status")
    if status.exists():  # the other figure is inherited from the parent process
        lines = status.read_text().splitlines()
        return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (
        1 if sys.platform == "darwin" else 1024
    )


def measure_open(path: Path) -> dict:
    """Seconds and memory to read the log, in this process and for the first time."""
    size = path.stat().st_size
    before = peak_bytes()
    start = time.perf_counter()
    log = SessionLog.read(path)
    seconds = time.perf_counter() - start
    return {
        "events": len(log.events),
        "bytes": size,
        "open_s": round(seconds, 3),
        "peak_ratio": round((peak_bytes() - before) / size, 3),
    }


def measure_append(folder: Path) -> dict:
    """Median microseconds of an append of 2 KB, without sync."""
    result = step_events(1, 1, 1650)[3]
    size = len(encode_event(result))
    times = {}
    for name in ("plain.jsonl", "framed.jsonl.zstd"):
        taken = []
        with SessionLog.create(folder / name, Header("session", 3, "b", 1, False, 0)) as log:
            for _ in range(5000):
                start = time.perf_counter()
                log.append(result)
                taken.append(time.perf_counter() - start)
        times[name.split(".")[0]] = round(statistics.median(taken) * 1e6, 2)
    start = time.perf_counter()
    for _ in range(5000):
        decode_event(encode_event(result))
    coder = round((time.perf_counter() - start) / 5000 * 1e6, 2)
    return {"event_bytes": size, "append_us": times, "encode_and_decode_us": coder}


def main() -> None:
    """Write the log in one process, read it in another."""
    if len(sys.argv) > 1:
        print(json.dumps(measure_open(Path(sys.argv[1]))))
        return
    import subprocess

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "big.jsonl"
        write(path)
        opened = subprocess.run(
            [sys.executable, __file__, str(path)], capture_output=True, check=True, text=True
        )
        append = measure_append(Path(folder))
        print(json.dumps({"open": json.loads(opened.stdout), "append": append}))


if __name__ == "__main__":
    main()
