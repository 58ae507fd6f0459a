"""The calls that the log's texts print."""

from slicetape.log.locator import ordinal_locator, result_locator, turn_locator


def test_a_result_is_named_by_seq_and_format() -> None:
    assert result_locator(7) == 'expand_result({"seq":7,"formatVersion":3})'
    assert result_locator(7, block=2) == 'expand_result({"seq":7,"formatVersion":3,"block":2})'
    assert (
        result_locator(7, block=2, session='a"b')
        == 'expand_result({"seq":7,"formatVersion":3,"block":2,"session":"a\\"b"})'
    )


def test_a_result_is_named_by_its_place_in_a_step() -> None:
    assert ordinal_locator(1, 2, 3) == 'expand_result({"turn":1,"step":2,"call":3})'
    assert (
        ordinal_locator(1, 2, 3, session="s")
        == 'expand_result({"turn":1,"step":2,"call":3,"session":"s"})'
    )


def test_a_turn_is_named_with_its_view() -> None:
    assert turn_locator(4) == 'recall_turn({"turn":"4","view":"dialogue"})'
    assert turn_locator(4, "full", session="s") == (
        'recall_turn({"turn":"4","view":"full","session":"s"})'
    )
