"""What a model streams: deltas of blocks, usage, and one finish; the shapes that the log keeps.

Each struct encodes to the `chunk` that log format 3 stores verbatim.
"""

from typing import Literal

import msgspec
from msgspec import Raw

from slicetape.log.messages import NO_JSON, OtherBlock, Reasoning, Text, ToolCall
from slicetape.log.payloads import Failure, Usage

BlockType = Literal["text", "reasoning", "tool-call", "other"]
FinishKind = Literal["stop", "tool-calls", "max-tokens", "error", "aborted"]


class BlockStart(msgspec.Struct, frozen=True, tag="block-start", tag_field="type", rename="camel"):
    """A block begins; `index` counts the blocks of one answer from 0."""

    index: int
    block_type: BlockType


class TextDelta(msgspec.Struct, frozen=True, tag="text-delta", tag_field="type"):
    """More visible text of a block."""

    index: int
    text: str


class ReasoningDelta(msgspec.Struct, frozen=True, tag="reasoning-delta", tag_field="type"):
    """More reasoning of a block."""

    index: int
    text: str


class ToolCallDelta(
    msgspec.Struct, frozen=True, tag="tool-call-delta", tag_field="type", omit_defaults=True
):
    """More of a call: `args` is the next part of the raw arguments."""

    index: int
    id: str
    args: str
    name: str | None = None


class BlockEnd(msgspec.Struct, frozen=True, tag="block-end", tag_field="type"):
    """A block as the provider closed it."""

    index: int
    block: Text | Reasoning | ToolCall | OtherBlock


class UsageSeen(msgspec.Struct, frozen=True, tag="usage", tag_field="type"):
    """Tokens of the call, as the provider counted them."""

    usage: Usage


class FinishReason(msgspec.Struct, frozen=True, omit_defaults=True):
    """Why a stream ended; `failure` is there for `error` and `aborted`."""

    kind: FinishKind
    failure: Failure | None = None


class Finish(
    msgspec.Struct,
    frozen=True,
    tag="finish",
    tag_field="type",
    rename="camel",
    omit_defaults=True,
):
    """The end of a stream. `replay_state` is what the provider wants back: `{response, blocks}`."""

    reason: FinishReason
    replay_state: Raw = NO_JSON


Delta = BlockStart | TextDelta | ReasoningDelta | ToolCallDelta | BlockEnd | UsageSeen | Finish


def failed(code: str, message: str, **facts: object) -> Finish:
    """The finish of a call that failed; `facts` are the other fields of a failure."""
    failure = msgspec.convert({"code": code, "message": message, **facts}, Failure)
    return Finish(FinishReason("error", failure))
