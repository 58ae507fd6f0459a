"""The system prompt of the agent that ships: a few constant sections.

Nothing in them changes while a session runs, so the prefix that a provider caches begins with
the same bytes for all its requests.
"""

from collections.abc import Iterator

from slicetape.loop.prompt import Section
from slicetape.policy.teaching import (
    FOLD_ORDER,
    FOLD_SECTION,
    KERNEL,
    KERNEL_ORDER,
    KERNEL_SECTION,
    fold_text,
)

PLAIN = """\
You are an interactive engineering agent for code, terminals and systems.
"""

WORK = """\
You work in {cwd}. Look before you change: read a file ahead of editing it, and check what you did \
by running it. Prefer the file and search tools to shell commands that do the same. Change what \
was asked and nothing else. When you are done, say in a few sentences what you did and what is \
left; when something stands in the way, say what, and ask.
"""


def agent_sections(cwd: str, *, recalls: bool, folds: bool) -> tuple[Section, ...]:
    """The sections for an agent that works in `cwd`.

    `recalls` says whether the recall tools are offered, `folds` whether results are folded; what
    is not offered is not mentioned.
    """
    return tuple(_sections(cwd, recalls, folds))


def _sections(cwd: str, recalls: bool, folds: bool) -> Iterator[Section]:
    yield Section(KERNEL_SECTION, KERNEL_ORDER, KERNEL if recalls else PLAIN)
    if recalls and folds:
        yield Section(FOLD_SECTION, FOLD_ORDER, fold_text(recall_step=True))
    yield Section("agent:work", 0, WORK.format(cwd=cwd))
