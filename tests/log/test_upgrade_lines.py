"""What the migrations make of broken, hostile and odd lines.

Long because each kind of damage is a case and the properties bring their own generators.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from data import shared
from slicetape.errors import DamagedLog, UnsupportedFormat
from slicetape.log.seqs import pack
from slicetape.log.upgrade import export_v4, seq_now, upgrade
from slicetape.log.upgrade.order import Order
from slicetape.log.upgrade.seqs import SeqMap

HEAD = {"type": "session", "id": "s", "createdAt": 1, "isSeeded": False, "delegationDepth": 0}
Step = Callable[[Iterable[bytes]], Iterator[bytes]]


def head(version: Any) -> bytes:
    return json.dumps(HEAD | {"version": version}).encode()


@pytest.mark.parametrize(
    "line",
    [b"", b"{", b"\xff\xfe", b"[1]", b'{"a":NaN}', b'{"a":1e999}', b"[" * 100_000, b"\x00" * 30],
    ids=["empty", "cut", "not utf-8", "a list", "NaN", "too large", "deep", "NUL"],
)
@pytest.mark.parametrize("version", [0, 2, 4])
def test_a_line_that_is_no_object_is_damage_and_is_named(line: bytes, version: int) -> None:
    good = b'{"type":"todo/write","seq":0,"time":1,"data":{}}'
    with pytest.raises(DamagedLog, match=r"line 3 ") as caught:
        list(upgrade([head(version), good, line]))
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize(
    "event",
    [
        {"seq": 0, "time": 1, "data": {}},
        {"type": "todo/write", "time": 1, "data": {}},
        {"type": "todo/write", "seq": 1, "time": 1, "data": {}},
        {"type": "todo/write", "seq": 0.0, "time": 1, "data": {}},
        {"type": "todo/write", "seq": False, "time": 1, "data": {}},
        {"type": "todo/write", "seq": 0, "time": 1.5, "data": {}},
        {"type": "todo/write", "seq": 0, "time": 1},
        {"type": "todo/write", "seq": 0, "time": 1, "data": []},
        {"type": "x" * 10_000, "seq": 0, "data": {}},
    ],
)
@pytest.mark.parametrize("version", [0, 2, 4])
def test_a_broken_envelope_is_damage(event: Any, version: int) -> None:
    with pytest.raises(DamagedLog, match=r"line 2 ") as caught:
        list(upgrade([head(version), json.dumps(event).encode()]))
    assert len(str(caught.value)) < 200


GOOD = {"turn": 1, "step": 1, "index": 0, "dt": [1], "texts": ["a", "b"]}


@pytest.mark.parametrize(
    "change",
    [
        {"texts": []},
        {"texts": "ab"},
        {"texts": ["a", 1]},
        {"dt": []},
        {"dt": 1},
        {"dt": [0.5]},
        {"index": -1},
        {"turn": None},
    ],
)
def test_a_broken_packed_row_is_damage(change: Any) -> None:
    row = {"type": "text-chunks", "seq0": 0, "time0": 1, "data": GOOD | change}
    with pytest.raises(DamagedLog, match=r"line 2 .'text-chunks'"):
        list(upgrade([head(0), json.dumps(row).encode()]))


def test_packed_tool_call_deltas_need_an_id() -> None:
    data = {"turn": 1, "step": 1, "index": 0, "dt": [], "args": ["a"]}
    row = {"type": "tool-call-chunks", "seq0": 0, "time0": 1, "data": data}
    with pytest.raises(DamagedLog, match="need an id"):
        list(upgrade([head(0), json.dumps(row).encode()]))


def test_a_packed_row_counts_for_all_its_members() -> None:
    row = {"type": "text-chunks", "seq0": 0, "time0": 1, "data": GOOD}
    after = {"type": "todo/write", "seq": 1, "time": 1, "data": {}}
    with pytest.raises(DamagedLog, match=r"line 3 .*expected seq 2, found 1"):
        list(upgrade([head(0), json.dumps(row).encode(), json.dumps(after).encode()]))


@pytest.mark.parametrize("step", [upgrade, export_v4])
@pytest.mark.parametrize(
    "line",
    [
        b"{}",
        b'{"type":"session"}',
        b'{"type":"session","version":"3"}',
        b'{"type":"session","version":3}',
        b'{"type":"session","version":3,"id":"s"}',
        b'{"type":"turn/start","version":3,"id":"s","createdAt":1}',
        b"\x28\xb5\x2f\xfd",
    ],
)
def test_something_that_is_no_header_is_damage(line: bytes, step: Step) -> None:
    with pytest.raises(DamagedLog, match=r"line 1"):
        list(step([line]))


@pytest.mark.parametrize("step", [upgrade, export_v4])
def test_an_empty_log_is_damage(step: Step) -> None:
    with pytest.raises(DamagedLog):
        list(step([]))


@pytest.mark.parametrize("step", [upgrade, export_v4])
def test_a_newer_format_is_refused_from_the_header_alone(step: Step) -> None:
    with pytest.raises(UnsupportedFormat, match="format 5 is newer"):
        list(step([head(5), b"broken"]))


def test_newlines_at_the_ends_of_lines_do_not_matter() -> None:
    event = b'{"type":"todo/write","seq":0,"time":1,"data":{}}'
    for version in (2, 3, 4):
        plain = [head(version), event]
        assert list(upgrade(line + b"\n" for line in plain)) == list(upgrade(plain))


def test_lines_are_read_one_at_a_time() -> None:
    read = 0

    def source() -> Iterator[bytes]:
        nonlocal read
        yield head(4)
        for seq in range(100):
            read += 1
            yield b'{"type":"todo/write","seq":%d,"time":1,"data":{}}' % seq

    made = upgrade(source())
    next(made)
    next(made)
    assert read == 1


@pytest.mark.parametrize("version", [0, 2, 4])
def test_lone_surrogates_and_odd_text_survive(version: int) -> None:
    text = "\\ud83d \\udc00 \u2028 \\u0000 \\ud83d\\ude00 \x7f"
    line = f'{{"type":"command/run","seq":0,"time":1,"data":{{"t":"{text}","n":0.1}}}}'.encode()
    made = list(upgrade([head(version), line]))
    assert json.loads(made[1]) == json.loads(line)
    assert b"\\ud83d" in made[1]


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
tags = st.sampled_from(
    ["text", "reasoning", "image", "chart", "plugin:chart", "plugin:", "plugin:text"]
)
content = st.lists(
    st.builds(
        lambda tag, more: more | {"type": tag},
        tags,
        st.dictionaries(st.text(), json_values, max_size=3),
    ),
    max_size=3,
)
plugins = st.sampled_from(
    ["compact", "tools-ptc", "slice:history", "acme", "plugin:acme", "", "system-prompt"]
)
extra = st.dictionaries(
    st.text(min_size=1).filter(lambda key: key not in {"kind", "plugin"}), json_values, max_size=2
)
sources = st.builds(
    lambda plugin, more: more | {"kind": "plugin", "plugin": plugin}, plugins, extra
) | st.just({"kind": "user"})
more_keys = st.dictionaries(
    st.sampled_from(["a", "plugin:message:a", "plugin:result:a", "constructor", "__proto__"]),
    json_values,
    max_size=3,
)


@st.composite
def results(draw: st.DrawFn) -> dict[str, Any]:
    block = draw(more_keys) | {"type": "tool-result", "toolCallId": "c", "content": draw(content)}
    if draw(st.booleans()):
        block["isError"] = draw(st.booleans())
    source = {"kind": "tool", "callId": "c"}
    return draw(more_keys) | {"id": "m", "role": "user", "source": source, "content": [block]}


@st.composite
def three_events(draw: st.DrawFn) -> dict[str, Any]:
    kind = draw(st.sampled_from(["user", "result", "inbox", "note", "opaque"]))
    message = {"id": "m", "role": "user", "content": draw(content), "source": draw(sources)}
    match kind:
        case "user":
            return {"type": "user/message", "data": message, "surfaceOp": "append"}
        case "result":
            data = {"turn": 1, "step": 1, "message": draw(results()), "meta": draw(json_values)}
            return {"type": "tool/result", "data": data, "surfaceOp": "append"}
        case "inbox":
            return {"type": "agent/inbox/spliced", "data": {"inserted": [message]}}
        case "note":
            name = draw(
                st.sampled_from(["x/seal", "plugin:x", "plugin:plugin:x", "job/settled", "x/dsh4"])
            )
            return {"type": name, "data": {"v": draw(json_values)}, "ignorable": True}
    return {"type": "todo/write", "data": {"v": draw(json_values)}}


@given(st.lists(three_events(), max_size=6))
def test_any_log_that_goes_to_format_4_and_back_has_equal_values(
    events: list[dict[str, Any]],
) -> None:
    rows = [{"seq": seq, "time": seq, **event} for seq, event in enumerate(events)]
    log = [head(3), *(json.dumps(row).encode() for row in rows)]
    back = list(upgrade(export_v4(log)))
    assert [json.loads(line) for line in back] == [json.loads(line) for line in log]


@given(st.lists(st.tuples(st.integers(1, 4), st.integers(0, 3)), max_size=20))
def test_the_seq_map_holds_what_was_added(steps: list[tuple[int, int]]) -> None:
    seqs, pairs, old, new = SeqMap(), {}, -1, -1
    for ahead, inserted in steps:
        old, new = old + ahead, new + 1 + inserted
        seqs.add(old, new)
        pairs[old] = new
    for number in range(-2, old + 3):
        assert seqs.get(number) == pairs.get(number) == seq_now(seqs.runs(), number)
    assert sum(last - first + 1 for first, last, _ in seqs.runs()) == len(pairs)


@given(st.lists(st.integers(0, 300), unique=True, max_size=40), st.integers(1, 40))
def test_references_into_a_renumbered_log_keep_naming_the_same_events(
    cited: list[int], gap: int
) -> None:
    cited = sorted(seq for seq in cited if seq % gap != gap - 1 or gap == 1)
    events: list[dict[str, Any]] = []
    for seq in range(301):
        kind = "assistant/chunk" if gap > 1 and seq % gap == gap - 1 else "todo/write"
        chunk = {"turn": 1, "step": seq, "chunk": {"type": "usage"}}
        events.append({"type": kind, "data": chunk if kind == "assistant/chunk" else {"was": seq}})
    last: dict[str, Any] = {"type": "session/title", "data": {"messageSeqs": cited, "was": 301}}
    rows = [{"seq": seq, "time": seq, **event} for seq, event in enumerate([*events, last])]
    if cited:
        rows[-1]["sourceEventSeqs"] = pack(cited)
    made = [
        json.loads(line) for line in upgrade([head(1), *(json.dumps(row).encode() for row in rows)])
    ]
    by_seq = {event["seq"]: event for event in made[1:]}
    title = next(event for event in made if event["type"] == "session/title")
    assert [by_seq[seq]["data"]["was"] for seq in title["data"]["messageSeqs"]] == cited


@given(st.data())
def test_the_order_of_nodes_equals_its_plain_definition(data: st.DataObject) -> None:
    order, nodes, hidden = Order(), [], set()
    for seq in range(data.draw(st.integers(1, 25))):
        hide = data.draw(st.booleans())
        if nodes and data.draw(st.booleans()):
            start = data.draw(st.integers(0, len(nodes) - 1))
            end = data.draw(st.integers(start, len(nodes) - 1))
            shown = [node for node in nodes[start : end + 1] if node not in hidden]
            ends = order.replace(nodes[start], nodes[end], seq, hidden=hide)
            assert ends == ((shown[0], shown[-1]) if shown else None)
            nodes[start : end + 1] = [seq]
        else:
            order.append(seq, hidden=hide)
            nodes.append(seq)
        if hide:
            hidden.add(seq)


def test_nesting_that_can_be_read_but_not_written_is_damage() -> None:
    def nested(depth: int) -> bytes:
        deep = "[" * depth + "]" * depth
        return f'{{"type":"todo/write","seq":0,"time":1,"data":{{"v":{deep}}}}}'.encode()

    for depth in (10, 100, 300, 400, 480, 900, 950, 980, 990, 20_000):
        try:
            made = list(upgrade([head(2), nested(depth)]))
        except DamagedLog:
            continue
        assert len(made) == 3


def paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    if isinstance(value, dict | list):
        keys = value if isinstance(value, dict) else range(len(value))
        for key in keys:
            yield from paths(value[key], (*path, key))


def changed(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = changed(value[path[0]], path[1:], new)
    return copy


odd_values = st.sampled_from(
    [
        None,
        True,
        0,
        -1,
        3,
        10**9,
        1.5,
        "",
        "x",
        [],
        [0],
        [[0, 1]],
        {},
        {"kind": "error"},
        {"op": "replace"},
    ]
)


@pytest.mark.parametrize("name", ["v0-tools.jsonl", "v3-codemode.jsonl", "v4-crash.jsonl"])
def test_hostile_shapes_raise_nothing_but_log_errors(name: str) -> None:
    raw = shared(f"dsh-logs/{name}").read_bytes().splitlines()
    log = [json.loads(line) for line in raw[:60]]
    for row in log:
        if row["type"] == "request/header":
            row["data"]["header"].pop("tools", None)
    step = export_v4 if log[0]["version"] == 3 else upgrade

    @settings(max_examples=150, deadline=None, derandomize=True)
    @given(st.data())
    def shapes(data: st.DataObject) -> None:
        at = data.draw(st.integers(0, len(log) - 1))
        path = data.draw(st.sampled_from([path for path in paths(log[at]) if path]))
        rows = changed(log, (at, *path), data.draw(odd_values))
        try:
            list(step(json.dumps(row).encode() for row in rows))
        except (DamagedLog, UnsupportedFormat):
            return

    shapes()
