"""Which event kinds each format knows, fixed when the format was released.

A kind may be skipped only if its event says so (`ignorable`). An ignorable event never
gains a meaning by being migrated.
"""

from slicetape.log.upgrade.rows import Row, unsupported

V3 = frozenset(
    [
        "agent-preset/selected",
        "agent/inbox/spliced",
        "approval/asked",
        "approval/decided",
        "approval/policy",
        "assistant/attempt",
        "assistant/message",
        "command/done",
        "command/run",
        "compaction/end",
        "compaction/prune",
        "compaction/start",
        "compaction/summary",
        "deliverables/presented",
        "feedback/message-delete",
        "feedback/message-put",
        "feedback/record",
        "goal/change",
        "hook/invoked",
        "hook/result",
        "image/offload",
        "llm/retry",
        "llm/retry-started",
        "model/selection",
        "permission/preset",
        "plan/mode",
        "request/context",
        "request/header",
        "sandbox/mode",
        "schedule/change",
        "session-log-deepseek/delivery-accepted",
        "session/end-seed",
        "session/title",
        "session/title-llm-request",
        "step/end",
        "step/start",
        "subagent/catalog",
        "subagent/descriptor",
        "subagent/model-selection-policy",
        "system/message",
        "team/member",
        "team/message/delivered",
        "team/message/queued",
        "team/task",
        "todo/write",
        "tool-workflow/agent-end",
        "tool-workflow/agent-start",
        "tool-workflow/run-end",
        "tool-workflow/run-start",
        "tool/call",
        "tool/ptc-dispatch",
        "tool/ptc-dispatch-start",
        "tool/result",
        "turn/end",
        "turn/start",
        "user/message",
        "web/deepseek-search-llm-request",
        "workspace/changes",
    ]
)

V4_ONLY = frozenset(
    {"developer/message", "job/registered", "job/settled", "working-directory/change"}
)

SHARED = V4_ONLY - {"developer/message"}
"""Kinds of format 4 that hosts of format 3 carry too, without knowing them."""

_CODE = frozenset({"tool/code-dispatch", "tool/code-dispatch-start"})
_CHUNKS = frozenset({"assistant/chunk", "text-chunks", "reasoning-chunks", "tool-call-chunks"})
_V2 = V3 - {"system/message", "tool/ptc-dispatch", "tool/ptc-dispatch-start"} | _CODE
_V1 = _V2 - {"assistant/attempt"} | _CHUNKS

KNOWN = {0: _V1, 1: _V1, 2: _V2, 3: V3, 4: V3 | V4_ONLY}
"""Kinds by format; the retired names of format 0 are gone by the time this is asked."""


def admit(row: Row, version: int) -> None:
    """Refuse a kind that format `version` may not skip, or that a later format would adopt."""
    kind = row.kind
    if kind in KNOWN[version]:
        return
    if row.event.get("ignorable") is not True:
        raise unsupported(row, f"format {version} has no such kind, and it is not ignorable")
    if version < 3 and kind in V3:
        raise unsupported(row, f"an ignorable event of format {version} may not become this kind")
