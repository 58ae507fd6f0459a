"""Told sessions as recordings, and runs of them."""

from collections.abc import Callable
from dataclasses import replace

from slicetape.replay.arms import arm
from slicetape.replay.counting import Counts
from slicetape.replay.nodes import Nodes
from slicetape.replay.recording import Recording, record
from slicetape.replay.run import Run, Setting, run
from slicetape.wire.anthropic import MessagesWire
from slicetape.wire.lint import CHAT, MESSAGES
from slicetape.wire.openai_chat import ChatWire
from story import Story

LONG = "a line of output that nobody reads twice\n" * 200
SETTING = Setting(rules=CHAT)
SIGNED = Setting(rules=MESSAGES)


def recorded(story: Story) -> Recording:
    """The told session as a recording."""
    return record("story", "test", story.session.log.header, story.events)


def fresh(count: Callable[[str], int] = len) -> Nodes:
    """Nodes on the chat wire, nothing measured yet."""
    return Nodes(Counts(count), ChatWire())


def signed() -> Nodes:
    """Nodes on the Messages wire, nothing measured yet."""
    return Nodes(Counts(len), MessagesWire())


def under(name: str, story: Story, **setting: int) -> Run:
    """A run of the told session under an arm; one code point is one token."""
    return run(recorded(story), arm(name), fresh(), replace(SETTING, **setting))
