"""What happens after a tool ran, before its result is logged: large outputs leave the log.

Synchronous, like the pre-step. The text is kept whole among the session's blobs, the log gets a
view of it, and the metadata of the result says so: nothing is ever read because a text names it.
"""

from dataclasses import dataclass

import msgspec
from msgspec import Raw

from slicetape.errors import LogError
from slicetape.log.locator import is_recall_tool, plain_name
from slicetape.log.messages import Block, Text
from slicetape.log.spill import Blobs, SpillRow, stored_head
from slicetape.loop.prestep import Prestep
from slicetape.policy.fold_head import Stored, ordinal_call, spill_view_head
from slicetape.policy.fold_view import Asked, Folding, digested
from slicetape.policy.kind import READ_TOOLS
from slicetape.policy.views import Condensed

HINT = "read or grep it there"
_READS = READ_TOOLS & {"read", "read_file"}
_ANY_NAME = "0" * 64
_members = msgspec.json.Decoder(dict[str, Raw])


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """A tool call that ran, and what its result block would hold.

    `call` is its place among the results of its step, from 1, when results are logged in call
    order. `nested` calls were made by running code; `settled` results were already replaced by
    somebody else.
    """

    turn: int
    step: int
    call_id: str
    tool: str
    arguments: str
    content: tuple[Block, ...]
    is_error: bool = False
    meta: Raw | None = None
    call: int | None = None
    nested: bool = False
    settled: bool = False

    @property
    def text(self) -> str:
        """The text parts, each on lines of its own."""
        return "\n".join(part.text for part in self.content if isinstance(part, Text))


@dataclass(frozen=True, slots=True)
class ToLog:
    """What is logged as the result; `keep` forbids any later stage to shorten it."""

    content: tuple[Block, ...]
    meta: Raw | None = None
    keep: bool = False


def after_tool(ran: Ran, prestep: Prestep, *, recalls: bool = True) -> ToLog:
    """The result to log: a view of it when the whole text was spilled, else what the tool returned.

    Recalled text, and what hands it on, is kept whole. `recalls` says whether requests offer the
    recall tools; without them nothing is spilled.
    """
    unchanged = ToLog(ran.content, ran.meta)
    if ran.is_error:
        return unchanged
    if is_recall_tool(ran.tool) or _forwards(ran, prestep):
        return ToLog(ran.content, ran.meta, keep=True)
    folding = prestep.folding
    if folding is None or not recalls or not _may_spill(ran, folding):
        return unchanged
    asked = Asked(ran.tool, ran.arguments)
    if asked.key in prestep.fold_state.backoff.off:
        return unchanged
    return _spilled(ran, asked, folding, prestep.session.log.blobs) or unchanged


def _may_spill(ran: Ran, folding: Folding) -> bool:
    settings = folding.fold
    if ran.nested or ran.settled or plain_name(ran.tool) in _READS or not settings.enabled:
        return False
    text = ran.text
    chars = len(text)
    if ran.step <= settings.pin_steps and chars < settings.pin_max_chars:
        return False
    least = settings.spill_preview_min_bytes
    if least <= 0 or 4 * chars < least:
        return False
    return chars >= least or len(text.encode("utf-8", "surrogatepass")) >= least


def _forwards(ran: Ran, prestep: Prestep) -> bool:
    call = prestep.session.view.calls.newest(ran.call_id)
    if call is None or ran.nested:
        return False
    forwarded = prestep.fold_state.forwarded
    forwarded.advance(prestep.session.view)
    parts = (part.text for part in ran.content if isinstance(part, Text))
    return any(forwarded.holds(call.seq, text) for text in parts)


def _spilled(ran: Ran, asked: Asked, folding: Folding, blobs: Blobs) -> ToLog | None:
    """The view of a text that the store took; None when it stays in the log."""
    text = ran.text
    size = len(text.encode("utf-8", "surrogatepass"))
    lines = text.count("\n") + 1
    longest = Condensed(None, "search", lines, lines)
    at_most = spill_view_head(asked.tool, asked.path, longest, _stored(ran, size, blobs, _ANY_NAME))
    made = digested(text, asked, folding, head_chars=len(at_most) + 1)
    members = _open_members(ran.meta)
    if made.view is None or members is None:
        return None
    try:
        row = blobs.put(text, block=1, part=1)
    except LogError:
        return None
    stored = _stored(ran, row.bytes, blobs, row.sha256)
    view = f"{spill_view_head(asked.tool, asked.path, made, stored)}\n{made.view}"
    read_back = stored_head(view)
    if read_back is None or (read_back.where, read_back.bytes) != (stored.where, stored.bytes):
        return None
    others = tuple(part for part in ran.content if not isinstance(part, Text))
    return ToLog((*others, Text(view)), _with_row(members, row))


def _stored(ran: Ran, size: int, blobs: Blobs, sha256: str) -> Stored:
    locator = ordinal_call(ran.turn, ran.step, ran.call) if ran.call is not None else None
    return Stored(bytes=size, where=blobs.where(sha256), hint=HINT, locator=locator)


def _open_members(meta: Raw | None) -> dict[str, Raw] | None:
    """The members of a result's metadata; None when a row for a spill cannot join them."""
    if not meta:
        return {}
    try:
        members = _members.decode(meta)
    except msgspec.DecodeError:
        return None
    return None if "spill" in members else members


def _with_row(members: dict[str, Raw], row: SpillRow) -> Raw:
    return Raw(msgspec.json.encode({**members, "spill": Raw(msgspec.json.encode((row,)))}))
