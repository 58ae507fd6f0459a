# mypy: ignore-errors
"""Runs one peer: JSON lines of requests come in, JSON lines of what the peer would send go out.

`serve.py DRIVER BYTES PACKAGE…` is started by the interpreter of the peer's environment. A line
with `open` begins a session with those settings; one with `keep` and `add` is the next request. An
answer names messages that stand as they came by their number, and repeats no message that stands
where it stood in the answer before.
"""

import importlib.util
import json
import os
import sys
import time

LONGEST_ERROR = 300


def main():
    """Serve until standard input ends."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8", errors="replace")
    os.dup2(2, 1)  # what a peer prints is no answer
    driver, limit, packages = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
    bound_memory(limit)
    module = None
    session = None
    for line in sys.stdin.buffer:
        asked = json.loads(line)
        if "open" in asked:
            try:
                module = module or loaded(driver)
                session = Answers(module.Session(asked["open"]))
                said = {"ready": True, "versions": versions(packages)}
            except BaseException as error:  # noqa: BLE001
                said = {"failed": told(error)}
        else:
            said = session.answer(asked["keep"], asked["add"])
        json.dump(said, out, ensure_ascii=False, separators=(",", ":"))
        out.write("\n")
        out.flush()


def bound_memory(limit):
    """Hold this process to `limit` bytes of data, where the system can."""
    if not limit:
        return
    try:
        import resource
    except ImportError:
        return
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))


def loaded(path):
    """The driver at `path`."""
    spec = importlib.util.spec_from_file_location("driver", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def versions(packages):
    """What is installed of `packages`."""
    from importlib.metadata import PackageNotFoundError, version

    found = {}
    for name in packages:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def told(error):
    """One bounded line about an error."""
    text = " ".join(f"{type(error).__name__}: {error}".split())
    return text[:LONGEST_ERROR]


class Answers:
    """The requests of one session, and what was answered to the last one."""

    def __init__(self, session):
        self.session = session
        self.messages = []
        self.last = []

    def answer(self, keep, add):
        """What the peer makes of the next request."""
        kept = min(keep, len(self.messages))
        self.messages = self.messages[:kept] + add
        start = time.perf_counter()
        try:
            self.session.take(self.messages, kept)
            start = time.perf_counter()
            result = self.session.rewrite()
            spent = time.perf_counter() - start
            entries = self.entries(self.session.given(result))
        except Exception as error:  # noqa: BLE001
            self.last = list(range(len(self.messages)))  # it is sent as it came
            return {"error": told(error), "ms": (time.perf_counter() - start) * 1000}
        same = 0
        for new, old in zip(entries, self.last, strict=False):
            if new != old or (isinstance(new, int) and new >= kept):
                break
            same += 1
        self.last = entries
        return {"ms": spent * 1000, "keep": same, "add": entries[same:]}

    def entries(self, given):
        """Numbers of messages that stand as they came; whole messages where they do not."""
        places = {id(message): at for at, message in enumerate(self.messages)}
        entries = []
        for at, message in enumerate(given):
            place = places.get(id(message))
            if place is None and at < len(self.messages) and message == self.messages[at]:
                place = at
            entries.append(message if place is None else place)
        return entries


if __name__ == "__main__":
    main()
