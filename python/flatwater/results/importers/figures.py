"""Figures as programs write them in several languages: with decimal commas, and with thousands apart.

A figure that is damaged is no figure: its first digits are none, either.
"""

from __future__ import annotations

import re

#: As C and Python write floats: 16384, 0.1, 12.142857142857142, 1.6384e+06. Bounded, as a damaged file has any length.
_NUMBER = re.compile(r"-?[0-9]{1,20}(?:[.,][0-9]{1,30})?(?:[eE][+-]?[0-9]{1,3})?")
#: Thousands that are apart, where nothing else can be meant: 1,234.56 and 1,234,567, 1.234,56 and 1.234.567.
_COMMAS = re.compile(r"-?[0-9]{1,3}(?:(?:,[0-9]{3}){1,6}\.[0-9]{1,30}|(?:,[0-9]{3}){2,6})")
_POINTS = re.compile(r"-?[0-9]{1,3}(?:(?:\.[0-9]{3}){1,6},[0-9]{1,30}|(?:\.[0-9]{3}){2,6})")
#: A thousand with a comma, or a number with three decimals.
_EITHER = re.compile(r"-?[1-9][0-9]{0,2},[0-9]{3}")
#: Figures from here on are negative ones that a program took for numbers without a sign (18446744073709551615).
_VALUE_END = 2.0**63
#: A figure in a line of text, with what its points and commas mean left open.
_IN_TEXT = re.compile(r"(?<![\w.,])[0-9](?:[0-9.,]*[0-9])?")
#: What stands in a line of text like a figure, and whole ones with their units.
_LIKE_FIGURE = re.compile(r"(?<![^\s,()/:|])[0-9](?:[^\s,()/:|]|,(?=[0-9]))*")
_WHOLE = re.compile(r"[0-9]{1,15}(?:\.[0-9]{1,9})?(?:ms|s|%)?")
#: Two figures where one belongs.
_TORN = re.compile(r"[0-9],?\s+[0-9]")


def number_of(text: str) -> float | None:
    """A number with a decimal point, or the decimal comma of many languages; None for anything else."""
    plain = without_thousands(text)
    value = float(plain.replace(",", ".")) if _NUMBER.fullmatch(plain) else None
    return value if value is not None and abs(value) < _VALUE_END else None


def count_of(text: str) -> float | None:
    """A number of things: a comma before three digits is none of decimals."""
    return number_of(text.replace(",", "")) if _EITHER.fullmatch(text) else number_of(text)


def without_thousands(text: str) -> str:
    """A figure without what keeps its thousands apart, where that can be nothing else."""
    if _COMMAS.fullmatch(text):
        return text.replace(",", "")
    return text.replace(".", "").replace(",", ".") if _POINTS.fullmatch(text) else text


def has_thousands(text: str) -> bool:
    """Whether the thousands of a count are apart."""
    return bool(_EITHER.fullmatch(text)) or without_thousands(text) != text


def plain(text: str) -> tuple[str, bool, bool]:
    """A line of text with plain figures; whether it had thousands that were apart, and decimal commas.

    Where a comma may be both, the other figures of the line tell: with points in them, it is none of decimals.
    """
    figures = _IN_TEXT.findall(text)
    pointed = any("." in figure for figure in figures)
    thousands = commas = False

    def one(match: re.Match[str]) -> str:
        nonlocal thousands, commas
        figure = without_thousands(match[0])
        if pointed and _EITHER.fullmatch(figure):
            figure = figure.replace(",", "")
        thousands = thousands or figure != match[0]
        if figure.count(",") == 1 and "." not in figure:
            commas, figure = True, figure.replace(",", ".")
        return figure

    return _IN_TEXT.sub(one, text), thousands, commas


def damaged_figure(text: str) -> str:
    """The first figure of a plain line that is not whole; empty if all are."""
    wrong = next((figure for figure in _LIKE_FIGURE.findall(text) if not _WHOLE.fullmatch(figure)), "")
    torn = _TORN.search(text)
    return wrong or (text[max(0, torn.start() - 10) : torn.end() + 10] if torn is not None else "")
