"""Where text from outside (a server's words, names of files, labels, arguments) becomes fit for a terminal.

`main` puts `Guarded` in the place of standard output and standard error, so that whatever is printed passes through
here, and so that a full disk, a closed output and a reader that went away are told in one way. What draws with rich
takes its console from `make_console`: rich writes escape sequences of its own, and what it draws is cleaned before it
adds them.
"""

from __future__ import annotations

import io
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, TextIO, cast

from flatwater.errors import OutputError, ReaderGoneError

if TYPE_CHECKING:
    from rich.console import Console

#: What a terminal would act upon, or what has no glyph: control characters of ASCII and of Latin 1 (but not tabs and
#: ends of lines), separators of lines that are no end of line for programs, halves of characters, which is how Python
#: reads names that are not UTF-8, and what Unicode calls format characters (category Cf): they turn the direction of
#: writing (CVE-2021-42574), or take no place at all. Those that have a glyph are kept (Prepended_Concatenation_Mark).
#: So are joiners inside of what they join, such as letters of Persian and parts of an emoji, but not in ASCII text.
_UNPRINTABLE = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff"
    "\ufeff\ufff9-\ufffb\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0001\U000e0020-\U000e007f]"
    "|(?<![^\x00-\x7f\u200c\u200d])[\u200c\u200d]|[\u200c\u200d](?![^\x00-\x7f\u200c\u200d])|\r(?!\n)"
)


def printable(text: str) -> str:
    r"""The text with every character that a terminal would act upon, or that acts unseen, as JSON writes it (`\u001b`).

    So JSON stays the same JSON, and what a hostile server says can be read instead of obeyed.
    """
    return _UNPRINTABLE.sub(lambda found: _as_in_json(found[0]), text)


def one_line(text: str) -> str:
    r"""The same for what must not take a second line, such as the name of a file: with ends of lines as `\u000a`."""
    return re.sub(r"[\t\r\n]", lambda found: _as_in_json(found[0]), printable(text))


def _as_in_json(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))


def print_data(text: str) -> None:
    """Prints text for programs to standard output: as it is, and for a terminal as `printable` has it.

    Errors: OutputError when it cannot be written to.
    """
    if isinstance(sys.stdout, Guarded) and not sys.stdout.isatty():
        sys.stdout.rich_proxied_file.write(text)
    else:
        sys.stdout.write(text)


def make_console(file: TextIO | None = None, *, stderr: bool = False) -> Console:
    """A console for tables and live views. Text is shown as it is: no markup, no emoji, no highlighting.

    `file`: where it writes; None for standard output, or standard error with `stderr`.
    """
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.segment import Segment
    from rich.text import Text

    class Printable(Console):
        """A console that cleans what it draws, but not the sequences that it draws with."""

        def render_str(self, text: str, **options: Any) -> Text:
            # Before it is measured, so that columns are as wide as what is shown.
            return super().render_str(printable(text), **options)

        def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
            for text, style, control in super().render(renderable, options):
                yield Segment(text if control else printable(text), style, control)

    return Printable(file=file, stderr=stderr, markup=False, emoji=False, highlight=False)


class _Checked:
    """A stream whose failures are told as what they are."""

    def __init__(self, stream: TextIO, name: str | None) -> None:
        self._stream = stream
        #: What people call it; None for one whose failures cannot be told anywhere.
        self._name = name
        #: A failure that a library swallowed is told again at the next chance.
        self._failure: OutputError | None = None

    def write(self, text: str) -> int:
        if text:
            self._try(lambda: self._stream.write(text))
        return len(text)

    def flush(self) -> None:
        self._try(self._stream.flush)

    def _try(self, step: Callable[[], object]) -> None:
        try:
            step()
        except (OSError, ValueError) as error:  # ValueError: closed under us
            # What is still in its buffer must not fail once more when Python ends.
            _discard(self._stream)
            self._failure = self._failure or _failure(error, self._name or "standard error")
        if self._failure is not None and self._name is not None:
            raise self._failure

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def _failure(error: OSError | ValueError, name: str) -> OutputError:
    if isinstance(error, BrokenPipeError):
        return ReaderGoneError(f"whoever read {name} went away")
    why = (error.strerror if isinstance(error, OSError) else None) or str(error)
    return OutputError(f"cannot write to {name}: {why}", hint="what was printed is incomplete")


class Guarded:
    """A stream that everything may be printed to."""

    def __init__(self, stream: TextIO, name: str | None) -> None:
        #: Where rich writes instead: it asks for this name (`Console.file`), as its own `FileProxy` has it.
        self.rich_proxied_file = _Checked(stream, name)

    def write(self, text: str) -> int:
        """Prints text with its control characters made visible. Returns how many characters of the caller's were taken.

        Errors: OutputError when the stream cannot be written to.
        """
        self.rich_proxied_file.write(printable(text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Prints each line as `write` does; line ends are the caller's. Errors: OutputError."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.rich_proxied_file, name)


@contextmanager
def guarded_output() -> Iterator[None]:
    """Guards standard output and standard error, for as long as it lasts.

    Output that was closed by whoever started us is not wanted: it goes nowhere, and what we open does not take its
    place (a file that becomes descriptor 1 would get what a child process prints).
    """
    _open_missing()
    before = sys.stdout, sys.stderr
    for stream in before:
        if isinstance(stream, io.TextIOWrapper):
            # A terminal that is not UTF-8 gets what it can show.
            stream.reconfigure(errors="backslashreplace")
    sys.stdout = cast(TextIO, Guarded(before[0], "standard output"))
    # That errors cannot be told has no place to be told; and a run does not end for its progress.
    sys.stderr = cast(TextIO, Guarded(before[1], None))
    try:
        yield
    finally:
        with suppress(OutputError):  # then it was told already
            sys.stdout.flush()
        sys.stderr.flush()
        sys.stdout, sys.stderr = before


def _open_missing() -> None:
    for descriptor, flags in ((0, os.O_RDONLY), (1, os.O_WRONLY), (2, os.O_WRONLY)):
        try:
            os.fstat(descriptor)
        except OSError:
            # The lowest free descriptor: this one, as those before it are open by now.
            os.set_inheritable(os.open(os.devnull, flags), True)
    if sys.stdout is None:
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115 - as long as the program
    if sys.stderr is None:
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115


def _discard(stream: TextIO) -> None:
    """From now on, what the stream is given goes nowhere."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def counted(number: int, noun: str) -> str:
    """A number of things: 1 sample, 2,000 samples."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def figure(value: float | None) -> str:
    """A figure of a table: whole from 100 on, three digits below; `-` for one that is unknown."""
    if value is None:
        return "-"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
