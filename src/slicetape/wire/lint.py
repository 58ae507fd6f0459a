"""Whether a provider takes a request: every problem with its rule, its position and a sentence.

    empty-call-id       a call or result without an id
    duplicate-call      an id that an earlier call of the message (or, where `unique_calls` is
                        set, of the request) has
    unanswered-call     a call whose result does not stand directly behind its message
    early-result        a result before its call
    late-result         a result behind its call, but not directly
    repeated-result     a second result for a call
    orphan-result       a result whose call is not in the request
    empty-content       a system, user or tool message that says nothing
    empty-assistant     an assistant message without text, reasoning or calls
    lone-surrogate      text that is no Unicode
    missing-reasoning   calls without the reasoning that came with them
    consecutive-roles   two messages of one role, where roles must alternate
    first-role          a history that does not begin with the user
    moved-thinking      signed reasoning that was sent before and stands behind changed bytes

The linter reads `Facts`, which a wire takes from each message when it encodes it
(`Fragment.facts`) and `lint_wire` takes from a request body. `moved-thinking` needs the requests
before, so only `IncrementalLint` finds it; `lint` repeats what it is told.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from slicetape.wire.fragment import Fragment, Role
from slicetape.wire.json_text import shown


@dataclass(frozen=True, slots=True)
class Problem:
    """What a provider would refuse. `position` counts the nodes or messages that were given."""

    rule: str
    position: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What a provider refuses beyond what all refuse.

    `reasoning`: "if-any" asks for reasoning on every message with calls once some assistant
    message has it, "required" asks for it in any case. `alternate`: two messages of one role may
    not follow each other (chat templates; results are exempt).
    """

    unique_calls: bool = False
    reasoning: Literal["free", "if-any", "required"] = "free"
    alternate: bool = False
    user_first: bool = False
    signed: bool = False


CHAT = Rules()
DEEPSEEK = Rules(reasoning="if-any")
MESSAGES = Rules(unique_calls=True, user_first=True, signed=True)
TEMPLATE = Rules(alternate=True)
"""Chat templates of many open models."""

MISPLACED = "misplaced-result"
"""What `local_problems` calls a result that `lint` sorts into early, late and orphan."""

_MOVED = "signed reasoning stands behind bytes that changed since it was first sent"
_NO_REASONING = "calls without reasoning_content, which this provider wants back"


def lint(
    fragments: Iterable[Fragment], rules: Rules = CHAT, *, moved: Collection[int] = ()
) -> list[Problem]:
    """Every problem of one request, by position.

    `moved` are the positions of signed reasoning behind changed bytes, where that is known.
    """
    nodes = list(fragments)
    first = _first_calls(nodes)
    found = [_placed(problem, first) for problem in local_problems(nodes, rules)]
    if rules.unique_calls:
        found.extend(_repeated_calls(nodes, first))
    if wants_reasoning(rules, any(node.facts.reasoned for node in nodes)):
        found.extend(
            Problem("missing-reasoning", at, _NO_REASONING)
            for at, node in enumerate(nodes)
            if lacks_reasoning(node)
        )
    if rules.user_first and (head := not_first(nodes)) is not None:
        text = f"the first message must be the user's; it is the {nodes[head].role}'s"
        found.append(Problem("first-role", head, text))
    found.extend(Problem("moved-thinking", at, _MOVED) for at in moved)
    return sorted(found, key=lambda problem: (problem.position, problem.rule))


def lacks_reasoning(node: Fragment) -> bool:
    """Whether a node has calls and no reasoning."""
    return bool(node.facts.calls) and not node.facts.reasoned


def wants_reasoning(rules: Rules, some: bool) -> bool:
    """Whether calls need reasoning, when `some` message of the request has it."""
    return rules.reasoning == "required" or (rules.reasoning == "if-any" and some)


def not_first(nodes: Iterable[Fragment]) -> int | None:
    """The position of a first message that is not the user's."""
    for at, node in enumerate(nodes):
        if node.role and node.role != "system":
            return at if node.role in ("assistant", "tool") else None
    return None


def local_problems(
    nodes: Iterable[Fragment], rules: Rules, before: Role = "", start: int = 0
) -> Iterator[Problem]:
    """The problems that a run of nodes has by itself, as if nothing stood around it.

    `before` is the role of the message before the run; `start` the position of its first node.
    A run that begins at a message without results and ends before another is judged as it is
    in the whole request.
    """
    group = _Group()
    for at, node in enumerate(nodes, start):
        if not node.role:
            continue
        if node.role == before and node.role != "tool" and rules.alternate:
            text = f"two {node.role} messages follow each other"
            yield Problem("consecutive-roles", at, text)
        before = node.role
        yield from _own(node, at)
        for call_id in filter(None, node.facts.results):
            if problem := group.answer(call_id, at):
                yield problem
        if node.role != "tool":
            yield from group.close()
            group = _Group(at, node.facts.calls)
    yield from group.close()


class _Group:
    """An assistant message and the results directly behind it."""

    def __init__(self, at: int = -1, calls: Sequence[str] = ()) -> None:
        self._at = at
        self._open = dict.fromkeys(filter(None, calls), False)

    def answer(self, call_id: str, at: int) -> Problem | None:
        answered = self._open.get(call_id)
        if answered is None:
            return Problem(MISPLACED, at, call_id)
        self._open[call_id] = True
        if answered:
            return Problem("repeated-result", at, f"call {shown(call_id)} is answered twice")
        return None

    def close(self) -> Iterator[Problem]:
        for call_id, answered in self._open.items():
            if not answered:
                text = f"call {shown(call_id)} has no result directly behind its message"
                yield Problem("unanswered-call", self._at, text)


def _own(node: Fragment, at: int) -> Iterator[Problem]:
    """The problems of one node."""
    facts = node.facts
    if facts.empty and node.role == "assistant":
        yield Problem("empty-assistant", at, "an assistant message without text or calls")
    elif facts.empty:
        yield Problem("empty-content", at, f"a {node.role} message that says nothing")
    if facts.broken:
        yield Problem("lone-surrogate", at, "text with half of a surrogate pair")
    for call_id in (*facts.calls, *facts.results):
        if not call_id:
            yield Problem("empty-call-id", at, "a call or result without an id")
    for call_id in extra(facts.calls):
        text = f"call id {shown(call_id)} stands twice in one message"
        yield Problem("duplicate-call", at, text)


def extra(ids: Iterable[str]) -> Iterator[str]:
    """Each id that is not empty and stood before."""
    seen = set()
    for call_id in filter(None, ids):
        if call_id in seen:
            yield call_id
        seen.add(call_id)


def _repeated_calls(nodes: Sequence[Fragment], first: Mapping[str, int]) -> Iterator[Problem]:
    """Calls whose id an earlier message used."""
    for at, node in enumerate(nodes):
        for call_id in dict.fromkeys(filter(None, node.facts.calls)):
            if first[call_id] < at:
                text = f"call id {shown(call_id)} was used at position {first[call_id]}"
                yield Problem("duplicate-call", at, text)


def _placed(problem: Problem, first: Mapping[str, int]) -> Problem:
    """A misplaced result, sorted by where its call first stands."""
    if problem.rule != MISPLACED:
        return problem
    name, at = shown(problem.text), problem.position
    call_at = first.get(problem.text)
    if call_at is None:
        return Problem("orphan-result", at, f"no call with id {name}")
    if call_at > at:
        return Problem("early-result", at, f"the call {name} comes later, at {call_at}")
    text = f"does not stand directly behind its call {name} at position {call_at}"
    return Problem("late-result", at, text)


def _first_calls(nodes: Iterable[Fragment]) -> dict[str, int]:
    """Where each call id first stands."""
    first: dict[str, int] = {}
    for at, node in enumerate(nodes):
        for call_id in node.facts.calls:
            first.setdefault(call_id, at)
    return first
