import dataclasses

from imported import expected, figures, imported, manifest, story, told, written
from slicetape.formats.aider import count_stream, open_sessions
from slicetape.formats.counts import count
from slicetape.formats.source import Transcript


def test_the_file_as_one_stream_has_the_figures_of_the_manifest():
    path, row = manifest("aider-01")
    wanted = expected(row)
    wanted["chars"] -= 2  # the reference counts two line ends more than the file has
    assert figures(count_stream(Transcript(path).lines())) == wanted


def test_a_session_of_each_chat_leaves_out_banners_and_chats_without_a_prompt():
    path, row = manifest("aider-01")
    found = imported(open_sessions, path)
    counts = [count(events, row["format"]) for _, events in found]
    assert [session.id for session, _ in found[:2]] == ["aider-01/0001", "aider-01/0002"]
    assert found[1][0].header.created_at == 1722886412000
    assert sum(one.turns for one in counts) == 912
    assert sum(one.steps for one in counts) == 1387
    assert sum(one.tool_calls for one in counts) == 1761


HISTORY = """lines before the first chat
> are left out

# aider chat started at 2024-08-05 19:33:02

> Aider v0.47.2-dev
> banner

# aider chat started at 2024-08-05 19:33:32

> banner

#### Use the spinner\x20\x20
#### instead\x20\x20

Certainly!

```python
# aider is no header here
>>> x
```

> Tokens: 12k sent, 1.1k received.
> Applied edit to a.py

Anything else?

#### /run ls

> a.py

#### Thanks
"""


def test_prompts_replies_and_printed_lines_are_told_by_their_marks(tmp_path):
    path = written(tmp_path, HISTORY, ".h.md")
    ((session, events),) = imported(open_sessions, path)
    assert session.id == "h/0001"
    assert session.header.created_at == 1722886412000
    assert told(events) == [
        "turn",
        "step",
        "user: Use the spinner  \ninstead  ",
        "Certainly!\n\n```python\n# aider is no header here\n>>> x\n```\n\n",
        "call aider-1 aider ",
        "\nAnything else?\n\n",
        "result aider-1: Tokens: 12k sent, 1.1k received.\nApplied edit to a.py\n",
        "end completed",
        "turn",
        "step",
        "aider-md:command: /run ls",
        "call aider-2 aider ",
        "result aider-2: a.py\n",
        "end completed",
        "turn",
        "user: Thanks",
        "end completed",
    ]


def test_as_one_stream_a_banner_belongs_to_the_turn_before_it(tmp_path):
    path = written(tmp_path, HISTORY * 2, "h.md")
    counts = count_stream(Transcript(path).lines())
    assert (counts.turns, counts.steps, counts.tool_calls) == (4, 7, 7)


def test_a_chat_before_any_header_and_line_ends_of_windows_are_read(tmp_path):
    text = "\ufeff#### Hi\r\n\r\nHello\r\n> done\r\n"
    assert story(open_sessions, written(tmp_path, text, "h.md")) == [
        "turn",
        "step",
        "user: Hi",
        "Hello\r\n",
        "call aider-1 aider ",
        "result aider-1: done\r\n",
        "end completed",
    ]


def test_a_byte_that_is_no_utf8_survives_as_a_lone_surrogate(tmp_path):
    lines = story(open_sessions, written(tmp_path, b"#### Hi\n\n\xff\x00\n", "h.md"))
    assert lines[3] == "\udcff\0\n"


def test_a_history_without_prompts_has_no_sessions(tmp_path):
    path = written(tmp_path, "# aider chat started at 2024-08-05 19:33:02\n\n> x\n", "h.md")
    assert imported(open_sessions, path) == []
    assert dataclasses.astuple(count_stream(Transcript(path).lines())) == (0,) * 7 + (None,)
