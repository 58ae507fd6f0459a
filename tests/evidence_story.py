"""Random sessions in which the model goes on to use what it saw, and runs of them."""

from collections.abc import Callable, Sequence
from random import Random

from evidence_brute import Found
from replay_run import fresh, recorded
from slicetape.log.events import Event
from slicetape.replay.arms import arm
from slicetape.replay.evidence.references import References
from slicetape.replay.evidence.visible import Visibility
from slicetape.replay.recording import Recording
from slicetape.replay.run import Run, Setting, run
from slicetape.surface import Session
from slicetape.wire.lint import CHAT
from story import Story, header

NAMES = [
    "alpha_one",
    "src/app/main.py",
    "src/app",
    "src/app/main",
    "port_7443",
    "7443",
    "74431",
    "1.2.345",
    "v1.2.345",
    "config.toml:12",
    "a-b-c-d-e",
    "retry_count",
    "x1234567",
    "服务器端口",
    "服务器端口号",
    "ひらがなです",
    "short_",
    "PATH_TO",
    "it's_here",
    "foo.bar.",
    "foo.bar_baz",
]
JOINTS = ("\n", " ", "\n", ": ", ", ", " = ", "\r\n", ".", "/", "")


def text(random: Random, size: int) -> str:
    """Words and what stands between them, several lines."""
    parts = []
    for _ in range(random.randrange(size)):
        parts += [random.choice(NAMES), str(random.randrange(40)) if random.random() < 0.3 else ""]
        parts.append(random.choice(JOINTS))
    return "".join(parts)


def told(seed: int, turns: int = 5) -> Story:
    """A session of some turns; what is said and returned shares few words."""
    random = Random(seed)
    story = Story()
    story.system(text(random, 3))
    for _ in range(random.randrange(2, turns + 1)):
        story.start()
        story.human(text(random, 4) or "go on")
        for _ in range(random.randrange(5)):
            _step(story, random)
        if random.random() < 0.8:
            story.says(text(random, 6))
        if random.random() < 0.9:
            story.end()
    return story


def _step(story: Story, random: Random) -> None:
    act = random.randrange(10)
    if act == 0:
        story.notice(text(random, 4))
    elif act == 1:
        story.human(text(random, 3) or "and")
    elif act == 2:
        story.says(text(random, 5), thinks=text(random, 5))
    else:
        id = f"c{random.randrange(4)}"
        arguments = {"path": random.choice(NAMES), "deep": [{"n": 7443, "s": text(random, 3)}]}
        given = arguments if act < 8 else text(random, 4)
        story.says(text(random, 4), calls={id: (random.choice(("read", "bash")), given)})
        story.result(id, text(random, 30), *([text(random, 9)] if act == 9 else []))


def measured(recording: Recording, name: str, window: int = 200_000) -> Run:
    """A run under an arm that looks for the references."""
    setting = Setting(rules=CHAT, window=window, references=References(recording))
    return run(recording, arm(name), fresh(), setting)


def fates(recording: Recording, run: Run) -> Found:
    """What the measure says of each reference, in the form of the brute one."""
    assert run.visibility
    return fates_of(recording, run.visibility)


def fates_of(recording: Recording, visibility: Visibility) -> Found:
    places = {event.seq: at for at, event in enumerate(recording.events)}
    found: Found = {}
    for one in visibility.seen:
        hidden = {row.reference.token: row.how for row in one.hidden}
        for reference in one.step.references:
            key = places[one.step.seq], reference.token
            found[key] = hidden.get(reference.token, "visible")
    return found


class Watched:
    """A recording that is sent by hand: `act` may change the surface before an event comes."""

    def __init__(self, story: Story, *, recalls: bool = True) -> None:
        self.recording = recorded(story)
        self.story = Story()
        self.session: Session = self.story.session
        self._repeated: Event | None = None
        self.references = References(self.recording)
        self.visibility = Visibility(
            self.session, self.references, lambda: self._repeated, recalls=recalls
        )
        self.requests = 0

    def send(self, act: Callable[["Watched", int], None] = lambda _watched, _at: None) -> None:
        for at, event in enumerate(self.recording.events):
            act(self, at)
            if event.seq in self.references.steps:
                self.visibility.request(event, self.requests)
                self.requests += 1
            self._repeat(event)

    def result(self, number: int = -1) -> Event:
        """The original result of this number among those that have come."""
        shown = [e for e in self.log if type(e).__name__ == "ToolResult" and e.is_original]
        return shown[number]

    @property
    def log(self) -> Sequence[Event]:
        return self.session.log.events

    def _repeat(self, event: Event) -> None:
        import msgspec

        from slicetape.log.events import Replace, SystemMessage

        assert not isinstance(event.surface_op, Replace) or isinstance(event, SystemMessage)
        self._repeated = event
        self.session.append(msgspec.structs.replace(event, seq=-1))
        self._repeated = None


__all__ = ["Watched", "fates", "fates_of", "header", "measured", "told"]
