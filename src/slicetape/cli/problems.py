"""What a check of a session found."""

from dataclasses import dataclass, field

_MOST = 1000


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong; `seq` is None where no event is to blame."""

    seq: int | None
    rule: str
    text: str


@dataclass(slots=True)
class Report:
    """What a check of one session found. `notes` are facts that are no problem."""

    session: str
    events: int = 0
    requests: int = 0
    problems: list[Problem] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems

    def problem(self, seq: int | None, rule: str, text: str) -> None:
        """Note one problem."""
        if len(self.problems) < _MOST:
            self.problems.append(Problem(seq, rule, text))

    def shape(self) -> dict[str, object]:
        """The report as programs read it."""
        return {
            "session": self.session,
            "events": self.events,
            "ok": self.ok,
            "problems": [
                {"seq": found.seq, "rule": found.rule, "text": found.text}
                for found in self.problems
            ],
            "requests_checked": self.requests,
            "notes": self.notes,
        }
