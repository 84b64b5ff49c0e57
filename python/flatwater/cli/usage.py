"""Explains wrong arguments of a call as an error of one line, with a hint.

Typer prints a box of several lines, in the terms of click and pydantic.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from flatwater.errors import UserError

if TYPE_CHECKING:
    from typer.exceptions import TyperException

#: Typer's messages about an unknown option, verb or surplus argument.
_UNKNOWN = re.compile(
    r"No such (option: |command ')(?P<word>.*?)('\.( Did you mean .*)?| \(Possible options: .*\))?", re.DOTALL
)
_SURPLUS = re.compile(r"Got unexpected extra argument(?:\(s\)|s)? \((?P<word>.*)\)", re.DOTALL)
_VALUELESS = re.compile(r"Option '(?P<word>[^']+)' (?P<what>(requires|does not take) .*?)\.?", re.DOTALL)
#: Pydantic's names of wrong types -> the words of a user.
_PARSING = {
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "int_parsing_size": "a smaller whole number",
    "float_parsing": "a number",
    "bool_parsing": "true or false",
}


def explain_usage(error: TyperException) -> UserError:
    """Typer's error as a UserError: the place in the call, the problem, a hint."""
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "flatwater"
    help_ = f"`{command} --help` tells more"
    text = error.format_message()
    parameter = getattr(error, "param", None)
    if type(error).__name__ == "MissingParameter" and parameter is not None:
        return UserError("is missing", where=name_of(parameter), hint=help_)
    if parameter is not None:
        return UserError(_wrong_value(error, parameter), where=name_of(parameter), hint=help_)
    for pattern, explain in _EXPLAINED:
        if match := pattern.fullmatch(text):
            return explain(match, context, help_)
    return UserError(text.rstrip("."), where=command, hint=help_)


def _unknown(match: re.Match[str], context: Any, help_: str) -> UserError:
    from flatwater.spelling import nearest

    word = match["word"]
    kind = "verb" if match[1] == "command '" else "option"
    choices: Sequence[str] = ()
    if context is not None and kind == "verb":
        choices = context.command.list_commands(context)
    elif context is not None:
        choices = [name for one in context.command.get_params(context) for name in one.opts if name.startswith("--")]
        word = word.partition("=")[0]
    close = nearest(word, choices) or next((choice for choice in choices if choice.startswith(word)), None)
    return UserError(f"there is no such {kind}", where=word, hint=f"did you mean {close}? {help_}" if close else help_)


def _surplus(match: re.Match[str], context: Any, help_: str) -> UserError:
    word = match["word"]
    # The usual mistake is `key=value` without its option.
    options = [] if context is None else [name for one in context.command.get_params(context) for name in one.opts]
    hint = f"did you mean --set {word}?" if "=" in word and "--set" in options else help_
    return UserError("is one argument too many", where=word, hint=hint)


def _valueless(match: re.Match[str], context: Any, help_: str) -> UserError:
    return UserError(match["what"], where=match["word"], hint=help_)


_EXPLAINED: list[tuple[re.Pattern[str], Callable[[re.Match[str], Any, str], UserError]]] = [
    (_UNKNOWN, _unknown),
    (_SURPLUS, _surplus),
    (_VALUELESS, _valueless),
]


def _wrong_value(error: TyperException, parameter: Any) -> str:
    from pydantic import ValidationError

    from flatwater.experiment.problem import explain_error, quote

    cause = error.__cause__
    if isinstance(cause, ValidationError):
        details = cause.errors(include_url=False)[0]
        if wanted := _PARSING.get(details["type"]):
            return f"must be {wanted}, not {quote(details['input'])}"
        return explain_error(details)[0]
    return error.message.rstrip(".")


def name_of(parameter: Any) -> str:
    """`--jobs` for an option, `FILE` for an argument."""
    longest = max(parameter.opts, key=len)
    return str(longest if longest.startswith("-") else parameter.metavar or parameter.name.upper())
