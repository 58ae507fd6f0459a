"""The worked example of the tape, byte for byte."""

from sealed_story import SealedStory
from slicetape.log.events import Replace

WORKED_EXAMPLE = """\
[slice tape v1 · turns 1-1 · 1 turn(s) sealed · recall_turn({"turn":"<n>","view":"dialogue"}) \
returns a turn's dialogue; expand_result({"seq":<q>,"formatVersion":3}) returns a tool result]
[turn 1]
[reply slice-turn-1-step-1-seq-5 @sha256:7a6df0d85781]
Reading the config first.
[end reply @sha256:7a6df0d85781]
[reply slice-turn-1-step-2-seq-9 @sha256:31040d5ad3c4]
The service listens on 7443.

Nothing else uses that port.
[end reply @sha256:31040d5ad3c4]
[files read this turn: app.toml (3 lines, 546c4194, step 1, seq 7 block 1, read window default, \
logged result)]
[tool turn 1 step 1 seq 7 · read · 29 chars · expand_result({"seq":7,"formatVersion":3})]"""


def test_the_worked_example_of_the_tape_has_these_bytes() -> None:
    story = SealedStory()
    story.system("You are an agent.")
    story.start()
    story.human("Which port does the service use?")
    story.step_start()
    story.aside("x/header", {})
    story.says("Reading the config first.", calls={"c1": ("read", '{"path":"app.toml"}')}, step=1)
    story.result("c1", 'port = 7443\nhost = "0.0.0.0"\n')
    story.step_start()
    story.says("The service listens on 7443.\n\nNothing else uses that port.", step=2)
    story.end()
    story.start()
    (entry,) = story.entries
    assert (entry.seq, entry.sources, entry.surface_op) == (12, (5, 7, 9), Replace(5, 9))
    assert story.tape == [WORKED_EXAMPLE]
    assert len(WORKED_EXAMPLE.split("\n", maxsplit=1)[0]) == 188
    assert story.view.surface.nodes == [0, 2, 12]
