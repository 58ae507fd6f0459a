"""Which turn an event belongs to: the one attribution that sealing and recall share."""

from slicetape.log.events import (
    AssistantMessage,
    Event,
    ToolCalled,
    ToolResult,
    TurnEnd,
    TurnStart,
    UserMessage,
)


class Turns:
    """Turn numbers, advanced event by event.

    A user-role message belongs to the turn that is open when it is appended, else to the turn
    that ended last, else to none (0). `turn/end` closes only its own turn.
    """

    __slots__ = ("_owner", "completed_through", "ended", "last_turn", "members", "open", "status")

    def __init__(self) -> None:
        self.open = 0
        """The turn that is open now; 0 between turns."""
        self.ended = 0
        """The turn of the latest turn/end."""
        self.last_turn = 0
        """The largest turn that ended; never the latest, numbers may be interleaved."""
        self.completed_through = -1
        """Seq of the last turn/end; -1 before any."""
        self.status: dict[int, str] = {}
        """Recorded turns: `open`, or the reason of their last turn/end."""
        self.members: dict[int, list[int]] = {}
        """Original user, assistant, call, result and dispatch events of a turn, in log order."""
        self._owner: dict[int, int] = {}

    def advance(self, event: Event) -> None:
        """Take in the next event of the log."""
        if isinstance(event, TurnStart):
            self.open = event.data.turn
            self.status.setdefault(self.open, "open")
        elif isinstance(event, TurnEnd):
            self._close(event)
        elif isinstance(event, UserMessage):
            owner = self.open or self.ended
            self._owner[event.seq] = owner
            if event.is_original:
                self.add(owner, event.seq)
        elif isinstance(event, AssistantMessage | ToolCalled | ToolResult) and event.is_original:
            self.add(event.data.turn, event.seq)

    def add(self, turn: int, seq: int) -> None:
        """Count an event among the members of a turn."""
        self.members.setdefault(turn, []).append(seq)

    def owner(self, event: Event) -> int:
        """The turn that an event of this log belongs to; 0 when no turn can serve it."""
        if isinstance(event, UserMessage):
            return self._owner[event.seq]
        if isinstance(event, AssistantMessage | ToolCalled | ToolResult):
            return event.data.turn
        return 0

    def is_recorded(self, turn: int) -> bool:
        """Whether a recall page can be made of this turn."""
        return turn >= 1 and (turn in self.status or turn in self.members)

    def ended_turns(self) -> list[int]:
        """The turns that ended, ascending."""
        return sorted(turn for turn, status in self.status.items() if status != "open")

    def _close(self, event: TurnEnd) -> None:
        turn = event.data.turn
        if turn == self.open:
            self.open = 0
        self.ended = turn
        self.last_turn = max(self.last_turn, turn)
        self.completed_through = event.seq
        self.status[turn] = event.data.reason.kind
