"""What both readers of wires share: ids, sources and checked access to parsed JSON.

A wire does not say who wrote a user message, so every text in the user role is read as human
input; a caller that knows better changes the source.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count

from msgspec import Raw

from slicetape.errors import WireError
from slicetape.log.events import SNAPSHOT_PLUGIN
from slicetape.log.messages import NO_JSON, Block, Image, Message, OtherBlock, Source, Text
from slicetape.wire.json_text import json_value, shown
from slicetape.wire.pictures import Keep, data_of, unkept

Json = Mapping[str, object]

Part = Text | Image | OtherBlock
"""What the content of a user message or a result is read as."""

HUMAN = Source(kind="user")
SYSTEM = Source(kind="plugin", plugin=SNAPSHOT_PLUGIN)


def counted(prefix: str = "wire-") -> Callable[[], str]:
    """Ids `wire-1`, `wire-2`, …: equal input gives equal ids."""
    numbers = count(1)
    return lambda: f"{prefix}{next(numbers)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What a wire does not say: ids for the messages, the route, where pictures go."""

    ids: Callable[[], str] = field(default_factory=counted)
    provider: str | None = None
    model: str | None = None
    keep: Keep = unkept

    def system(self, blocks: Sequence[Block]) -> Message:
        """A system prompt."""
        return Message(self.ids(), "system", tuple(blocks), SYSTEM)

    def human(self, blocks: Sequence[Block]) -> Message:
        """What stands in the user role."""
        return Message(self.ids(), "user", tuple(blocks), HUMAN)

    def result(self, block: Block, call_id: str) -> Message:
        """The answer to a call."""
        return Message(self.ids(), "user", (block,), Source(kind="tool", call_id=call_id))

    def model_source(self, replay_state: Raw = NO_JSON) -> Source:
        """The source of an assistant message."""
        return Source(
            kind="model", provider=self.provider, model=self.model, replay_state=replay_state
        )

    def picture(self, media_type: str, base64_text: str) -> Image | None:
        """A picture from base64 text, or None when it would not be written back the same."""
        data = data_of(base64_text)
        return None if data is None else Image(self.keep(data, media_type))


def other(value: object) -> OtherBlock:
    """A block of a kind we do not know, kept as JSON text."""
    return OtherBlock(json_value(value))


def objects(value: object, where: str) -> Iterator[Json]:
    """The members of a list of objects; a WireError names `where` when it is none."""
    if not isinstance(value, list):
        raise WireError(f"{where} must be a list; got {shown(json_value(value))}")
    for at, item in enumerate(value):
        if not isinstance(item, dict):
            raise WireError(f"{where}[{at}] must be an object; got {shown(json_value(item))}")
        yield item


def text_at(value: Json, key: str, where: str) -> str:
    """A string member; a WireError names it when it is none."""
    text = value.get(key)
    if not isinstance(text, str):
        raise WireError(f"{where}.{key} must be a string; got {shown(json_value(text))}")
    return text


def parts(value: object, where: str, read: Callable[[Json], Part] = other) -> list[Part]:
    """String content, null or a list of parts as blocks; `read` takes parts that are not text."""
    if value is None or value == "":
        return []
    if isinstance(value, str):
        return [Text(value)]
    return [
        Text(text_at(part, "text", where)) if part.get("type") == "text" else read(part)
        for part in objects(value, where)
    ]
