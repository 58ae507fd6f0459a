"""What an entry gives up under `history.entryMaxChars`: a ladder, first rung that fits.

A locator is never cut. The cap bounds one new entry; old entries and human messages stay.
"""

from slicetape.policy import header
from slicetape.policy.entry import COMPLETE, Part, Reply, Run, Shape, render, snapshot_locator, wrap

LEAST_CAP = 256
LARGEST_CAP = 2**53 - 1


def fit(run: Run, cap: int | None) -> str:
    """The most complete rendering of `run` within `cap` code points; no cap, no loss.

    ValueError for a cap below 256: the shortest entry must still carry a whole locator.
    """
    if cap is None:
        return render(run)
    check_cap(cap)
    for shape in _ladder(cap):
        text = render(run, shape)
        if len(text) <= cap:
            return text
    return header.marker(run.turns)


def check_cap(cap: object) -> None:
    """Raise ValueError for anything but an integer of at least 256 that JSON carries exactly."""
    if type(cap) is not int or not LEAST_CAP <= cap <= LARGEST_CAP:
        raise ValueError("history.entryMaxChars must be a safe integer >= 256")


def shorten(part: Part, reply: Reply, caps: tuple[int, int, int]) -> str:
    """A reply cut to head and tail when its trimmed text exceeds the cap (cap, head, tail)."""
    cap, head, tail = caps
    body = reply.text.strip()
    if not body:
        return ""
    if len(body) > cap:
        lost = len(body) - head - tail
        end = body[len(body) - tail :]
        body = f"{body[:head]} …[+{lost} chars in sealed turn]… {end}"
    return wrap(part, reply, body)


def _ladder(cap: int) -> tuple[Shape, ...]:
    return (
        COMPLETE,
        Shape(tool_lines=False),
        _cut(min(2_000, cap), (2_000, 1_400, 500)),
        _cut(1_000, (1_000, 700, 250)),
        _cut(500, (500, 350, 125)),
        _cut(250, (250, 175, 62)),
        _cut(125, (125, 87, 31)),
        _compact(128),
        _compact(None),
    )


def _cut(budget: int, caps: tuple[int, int, int]) -> Shape:
    return Shape(
        tool_lines=False,
        read_budget=budget,
        reply=lambda part, reply: shorten(part, reply, caps),
    )


def _compact(budget: int | None) -> Shape:
    return Shape(
        tool_lines=False,
        read_budget=budget,
        heading=header.compact,
        note=_compact_note,
        reply=_compact_reply,
    )


def _compact_note(part: Part) -> str:
    return f"[{part.snapshots} runtime-context snapshot(s) superseded; {snapshot_locator(part)}]"


def _compact_reply(_: Part, reply: Reply) -> str:
    text = reply.text
    if len(text) > 48:
        text = f"{text[:32]}…[+{len(text) - 48} chars, recall_turn]…{text[-16:]}"
    return f"[reply step {reply.step} seq {reply.seq}] {text}"
