import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slicetape.formats.decoding import Damaged, Unexpected, decoder
from slicetape.formats.outline import outline
from slicetape.formats.values import arguments, epoch_ms, other, raw, text

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(JSON)
def test_opaque_json_comes_back_equal(value):
    assert json.loads(bytes(raw(value))) == value


def test_opaque_json_holds_only_what_a_log_takes():
    assert (
        bytes(raw({"a": -0.0, "b": [float("nan"), -0.5], "c": "-0"}))
        == b'{"a":0,"b":[null,-0.5],"c":"-0"}'
    )
    assert bytes(raw({"a": "\ud800é"})) == b'{"a":"\\ud800\xc3\xa9"}'


@pytest.mark.parametrize(
    ("value", "ms"),
    [
        ("2026-02-01T10:00:00.123Z", 1769940000123),
        ("2026-02-01T10:00:00", 1769940000000),
        ("2026-02-01T12:00:00+02:00", 1769940000000),
        (1769940000123, 1769940000123),
        (1769940000.5, 1769940000500),
        ("yesterday", None),
        ("", None),
        (None, None),
    ],
)
def test_times_are_epoch_milliseconds(value, ms):
    assert epoch_ms(value) == ms


def test_arguments_are_the_string_or_plain_json():
    assert arguments('{"a":1}') == '{"a":1}'
    assert arguments({"a": "é", "b": [1, 2.0]}) == '{"a": "é", "b": [1, 2.0]}'
    assert text(None) == text("") == ()


def test_a_block_of_an_unknown_kind_never_passes_for_one_of_ours():
    assert json.loads(other({"type": "hit", "a": 1}).raw) == {"type": "hit", "a": 1}
    for block in ({"type": "image"}, {"type": 1}, {}, "text", None):
        assert json.loads(other(block).raw) == {"type": "foreign", "block": block}


def test_what_no_strict_parser_takes_is_read_as_well():
    decode = decoder(dict[str, float | str])
    any_of = decoder(object)
    assert decode(b'{"a":"x\\ud800y"}') == {"a": "x\ud800y"}
    assert decode(b'{"a":NaN}')["a"] != 1
    with pytest.raises(Unexpected):
        decode(b'{"a":[]}')
    with pytest.raises(Unexpected):
        decode(b'{"a":[NaN]}')
    for broken in (b"", b'{"a":', b"\xff", b'{"a":"\xff"}', b'{"a":' * 100_000):
        with pytest.raises(Damaged):
            any_of(broken)


@given(JSON, st.integers(min_value=0, max_value=200))
def test_an_outline_of_a_cut_document_is_a_part_of_the_whole_one(value, size):
    data = json.dumps(value).encode()
    assert outline(data[:size]) <= outline(data)


def test_an_outline_names_keys_near_the_top():
    document = {
        "a": {"b": 1},
        "m": [{"r": {"x": {"y": {"z": {"deep": 1}}}}}],
        "s": 'a "quoted": key',
    }
    assert outline(json.dumps(document).encode()) == {
        "a",
        "a.b",
        "m",
        "m[].r",
        "m[].r.x",
        "m[].r.x.y",
        "s",
    }
    assert outline(b'[{"role":"u"}]') == {"[].role"}
    many = json.dumps({str(n): n for n in range(5000)}).encode()
    assert len(outline(many)) <= 2001
