"""Data that a command printed: its first errors are shown, and hidden ones are counted."""

from dataclasses import replace

from slicetape.policy.settings import DigestSettings
from slicetape.policy.views import RULES, condense

SETTINGS = DigestSettings(min_chars=2000)
COMPILER = "\n".join(
    [
        "> build",
        *(f"checked src/module{n}.ts in {n} ms and kept it" for n in range(200)),
        "src/order.ts(4,2): error TS2322: Type 'string' is not assignable to type 'number'.",
        *(f"checked lib/module{n}.ts in {n} ms and kept it" for n in range(200)),
        "src/lexer.ts(9,1): error TS2304: Cannot find name 'x'.",
        *(f"checked app/module{n}.ts in {n} ms and kept it" for n in range(200)),
    ]
)


def test_errors_of_a_compiler_are_shown_wherever_they_stand() -> None:
    made = condense(COMPILER, "bash", None, settings=SETTINGS)
    assert made.kind == "data"
    assert made.view is not None
    assert "error TS2322" in made.view
    assert "error TS2304" in made.view
    assert len(made.view) < 2500


def test_hidden_errors_are_counted_in_the_last_line() -> None:
    many = COMPILER.replace(
        "src/lexer.ts(9,1): error",
        "\n".join(f"{chr(97 + n % 26)}{chr(97 + n // 26)}: error here" for n in range(60))
        + "\nsrc/lexer.ts(9,1): error",
    )
    made = condense(many, "bash", None, settings=SETTINGS)
    assert made.view is not None
    shown = sum("error" in line for line in made.view.split("\n")[:-1])
    last = made.view.split("\n")[-1]
    assert last.startswith("[")
    assert f"{62 - shown} more error lines" in last


def test_a_file_that_was_read_is_prose_that_may_speak_of_errors() -> None:
    made = condense(COMPILER, "read", "notes.txt", settings=SETTINGS)
    assert made.view is not None
    assert "TS2322" not in made.view


def test_with_the_rule_off_errors_hide_as_in_the_reference() -> None:
    rules = replace(RULES, show_errors=False)
    made = condense(COMPILER, "bash", None, settings=SETTINGS, rules=rules)
    assert made.view is not None
    assert "TS2322" not in made.view


def test_numbers_with_an_arrow_do_not_hide_the_structure_of_a_file() -> None:
    lines = [
        f"{n:>6}→{'## part' if n % 40 == 0 else 'plain prose without end'} {n}" for n in range(300)
    ]
    made = condense("\n".join(lines), "Read", None, settings=SETTINGS)
    assert made.view is not None
    assert "80→## part 80" in made.view
    code = "\n".join(f"{n:>6}→    return value_{n}" for n in range(300))
    assert condense(code, "Read", None, settings=SETTINGS).kind == "code"
