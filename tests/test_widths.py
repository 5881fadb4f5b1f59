"""`make lint` names lines of more than 120 columns."""

from widths import too_long

LONG = "word " * 25


def test_long_lines_of_code_are_named_except_rows_of_tables() -> None:
    text = f"short\n// {LONG}\n//! | {LONG}|\n    x({LONG})\n" + "x" * 120
    assert [number for number, _ in too_long(text, prose=False)] == [2, 4]


def test_links_blocks_of_code_and_generated_parts_of_pages_may_be_longer() -> None:
    made = f"<!-- made by `make docs`: x -->\n{LONG}\n<!-- end: x -->"
    page = f"{LONG}\n{made}\n```\n{LONG}\n```\n| {LONG} |\n[here](https://{'x' * 120}) https://{'y' * 120}\n{LONG}\n"
    assert [number for number, _ in too_long(page, prose=True)] == [1, 10]
