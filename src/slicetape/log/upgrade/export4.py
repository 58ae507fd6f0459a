"""Format 3 to 4: the inverse of `v4`, as the original migration writes it.

Seqs stay, unless a restart skipped the end of a turn: then the end is put in and the
references behind it are mapped.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from slicetape.errors import UnsupportedFormat
from slicetape.log.events import SNAPSHOT_PLUGIN
from slicetape.log.upgrade.header import read_header
from slicetape.log.upgrade.kinds import SHARED, V3, admit
from slicetape.log.upgrade.restart import Restarts
from slicetape.log.upgrade.rows import Json, Row, damaged, dump, parse, placed
from slicetape.log.upgrade.seqs import SeqMap, renumbered
from slicetape.log.upgrade.v4 import BLOCK_TAGS, ENVELOPE, FOREIGN, INNER, OUTER, WRAPPER
from slicetape.log.upgrade.walk import blocks, messages

_KINDS = {
    "compact": "compact-checkpoint",
    "tools-code-mode": "ptc-mode",
    "tools-ptc": "ptc-mode",
    "dsh-compaction-basic": "compact-basic",
}
_SAME_NAME = frozenset(
    [
        "agent-instructions",
        "session-reference",
        "team-message",
        "goal",
        "skill-invocation",
        "skill-catalog",
        "coordinator",
        "subagent-report",
        "subagent-settled",
        "webhook",
        "agent-message",
        "model-selection",
        "plan-mode",
        "time-context",
        "tmux-context",
        "user-approval",
        "repeat-tool-reminder",
        "tool-cordis",
        "cordis-host-runner",
        "tool-goal",
        "tool-jobs",
        "hooks-codex",
        "hooks-claude-code",
        "schedule",
        "dsh-session-title-llm",
    ]
)


def export_v4(lines: Iterable[bytes]) -> Iterator[bytes]:
    """The lines of a format 3 log, header first, as a format 4 log writes them.

    A line that both formats write alike comes out byte for byte. UnsupportedFormat for
    another version, an unknown kind that is not ignorable, and a second tool result in one
    message; DamagedLog names the line that is broken.
    """
    source = (line.removesuffix(b"\n") for line in lines)
    header = read_header(next(source, b""))
    if header["version"] != 3:
        raise UnsupportedFormat(
            f"a format {header['version']} log cannot be exported; upgrade it to format 3 first"
        )
    yield dump({**header, "version": 4})
    texts: list[bytes] = []

    def parsed() -> Iterator[Json]:
        for number, line in enumerate(source, 2):
            texts.append(line)
            yield parse(line, number)

    raising = _Raising()
    for row in placed(parsed()):
        line = texts.pop()
        for event in raising.raised(row):
            yield line if event is row.event else dump(event)


class _Raising:
    def __init__(self) -> None:
        self._restarts = Restarts()
        self._map = SeqMap()
        self._inserted = 0

    def raised(self, row: Row) -> Iterator[Json]:
        closing = self._restarts.closing(row.event)
        if closing is not None:
            yield {**closing, "seq": row.origin + self._inserted}
            self._inserted += 1
        self._map.add(row.origin, row.origin + self._inserted)
        event = row.event
        if self._inserted:
            event = renumbered(row, row.origin + self._inserted, self._map.get)
        yield _raised(row, event)


def _raised(row: Row, event: Json) -> Json:
    if row.kind in SHARED and event.get("ignorable") is not True:
        return event
    admit(row, 3)
    if row.kind not in V3:
        return _held(event) or {**event, "type": FOREIGN + row.kind}
    if row.kind == "tool/result":
        event = _lifted(row, event)
    return blocks(messages(event, _renamed), _foreign_tag)


def _held(event: Json) -> Json | None:
    """The event of format 4 that an `x/dsh4` event holds; None for anything else."""
    held = event["data"]
    kind, data = held.get("type"), held.get("data")
    if event["type"] != WRAPPER or not isinstance(data, dict):
        return None
    if not isinstance(kind, str) or kind in V3:
        return None
    out = {"type": kind, "seq": event["seq"], "time": event["time"], "data": data}
    return out | {key: held[key] for key in ENVELOPE if key in held}


def _lifted(row: Row, event: Json) -> Json:
    message = event["data"].get("message")
    content = message.get("content") if isinstance(message, dict) else None
    block = content[0] if isinstance(content, list) and len(content) == 1 else None
    if not isinstance(block, dict) or block.get("type") != "tool-result":
        raise damaged(row, "a tool result of format 3 needs exactly one tool-result block")
    if not isinstance(block.get("content"), list):
        raise damaged(row, "a tool result needs a list as content")
    out: Json = {"role": "tool", "source": message.get("source")}
    out |= {"toolCallId": block.get("toolCallId"), "content": block["content"]}
    if "isError" in block:
        out["isError"] = block["isError"]
    out["id"] = message.get("id")
    known = {"type", "toolCallId", "content", "isError"}
    out |= {INNER + key: value for key, value in block.items() if key not in known}
    outer = {"id", "role", "source", "content"}
    out |= {OUTER + key: value for key, value in message.items() if key not in outer}
    return {**event, "data": {**event["data"], "message": out}}


def _renamed(message: Json) -> Json:
    source = message.get("source")
    if not isinstance(source, dict) or source.get("kind") != "plugin":
        return message
    plugin = source.get("plugin")
    if not isinstance(plugin, str):
        return message
    if plugin == SNAPSHOT_PLUGIN:
        kind = "system-prompt" if message.get("role") == "system" else "runtime-context"
    elif plugin in _SAME_NAME:
        kind = plugin
    else:
        kind = _KINDS.get(plugin) or FOREIGN + plugin
    rest = {key: value for key, value in source.items() if key not in {"kind", "plugin"}}
    return {**message, "source": {"kind": kind, **rest}}


def _foreign_tag(block: Any) -> Any:
    tag = block.get("type") if isinstance(block, dict) else None
    if not isinstance(tag, str) or tag in BLOCK_TAGS:
        return block
    return {**block, "type": FOREIGN + tag}
