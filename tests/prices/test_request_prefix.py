import pytest
from hypothesis import given
from hypothesis import strategies as st

from slicetape.errors import PriceError
from slicetape.prices.prefix import Prefix


def test_equal_prefixes_are_the_same_object():
    root = Prefix()
    assert root.then("a", 3).then("b", 4) is root.then("a", 3).then("b", 4)
    assert root.then("a", 3) is not Prefix().then("a", 3)


def test_a_key_keeps_its_token_count():
    root = Prefix()
    root.then("a", 3)
    with pytest.raises(PriceError, match="piece 1 has 4 tokens and had 3 before"):
        root.then("a", 4)


def test_counts_cannot_be_negative():
    with pytest.raises(PriceError, match="fewer than 0"):
        Prefix().then("a", -1)
    with pytest.raises(PriceError, match="fewer than 0"):
        Prefix().then("a", 1, blocks=-1)


def test_a_prefix_shows_its_size_and_not_its_keys():
    assert repr(Prefix().then("secret", 7)) == "Prefix(depth=1, tokens=7)"


@given(st.lists(st.lists(st.integers(0, 2), max_size=40), min_size=2, max_size=6))
def test_ancestors_and_common_prefixes_equal_those_of_lists(chains):
    root = Prefix()
    ends = []
    for chain in chains:
        end = root
        for key in chain:
            end = end.then(key, key + 1, blocks=key)
        assert (end.depth, end.tokens, end.blocks) == (
            len(chain),
            sum(chain) + len(chain),
            sum(chain),
        )
        for depth in range(len(chain) + 1):
            walked = end
            while walked.depth > depth:
                walked = walked.parent
            assert end.at(depth) is walked
        ends.append(end)
    for one, left in zip(chains, ends, strict=True):
        for two, right in zip(chains, ends, strict=True):
            same = 0
            while same < min(len(one), len(two)) and one[same] == two[same]:
                same += 1
            assert left.shared_with(right) is left.at(same)
