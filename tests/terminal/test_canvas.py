"""Lines of characters."""

from __future__ import annotations

from flatwater.terminal.canvas import Canvas, Stroke

LINE = Stroke("cyan")


def drawn(canvas: Canvas) -> list[str]:
    return [line.plain for line in canvas.lines()]


def test_eight_dots_in_a_character() -> None:
    canvas = Canvas(3, 1, braille=True)
    assert canvas.columns == 6
    canvas.draw([(0.0, 0.0), (0.0, 0.0), None, (1.0, 1.0), (1.0, 1.0), (0.0, 1.0)], 1.0, LINE)
    # The lowest dots, then nothing and the highest, then a line from the highest to all of a column.
    assert drawn(canvas) == ["⣀⠈⢹"]


def test_plain_characters_where_there_is_no_braille() -> None:
    canvas = Canvas(4, 3, braille=False)
    canvas.draw([(2.0, 2.0)] * 4, 2.0, Stroke("red", "-", dashed=True))
    canvas.draw([(0.0, 0.0), (0.0, 0.0), (1.0, 1.0), None], 2.0, LINE)
    assert drawn(canvas) == ["--  ", "  * ", "*** "]  # the line goes up in the column of the higher value


def test_a_jump_is_one_line() -> None:
    canvas = Canvas(2, 4, braille=False)
    canvas.draw([(0.0, 0.0), (3.0, 3.0)], 3.0, LINE)
    assert drawn(canvas) == [" *", " *", " *", "**"]


def test_a_gap_is_none() -> None:
    canvas = Canvas(3, 3, braille=False)
    canvas.draw([(0.0, 0.0), None, (2.0, 2.0)], 2.0, LINE)
    assert drawn(canvas) == ["  *", "   ", "*  "]


def test_what_is_beyond_the_scale_is_at_its_end() -> None:
    canvas = Canvas(2, 2, braille=False)
    canvas.draw([(-5.0, -5.0), None], 1.0, LINE)
    canvas.draw([None, (7.0, 7.0)], 1.0, LINE)
    assert drawn(canvas) == [" *", "* "]
    flat = Canvas(1, 2, braille=False)
    flat.draw([(0.0, 0.0)], 0.0, LINE)
    assert drawn(flat) == [" ", "*"]


def test_the_stroke_that_was_drawn_last_has_the_colour() -> None:
    canvas = Canvas(1, 1, braille=True)
    canvas.draw([(1.0, 1.0), (1.0, 1.0)], 1.0, Stroke("red"))
    canvas.draw([(0.0, 0.0), (0.0, 0.0)], 1.0, LINE)
    (line,) = canvas.lines()
    assert line.plain == "⣉" and [span.style for span in line.spans] == ["cyan"]
