"""Numbers as programs write them, of any size, and as the native half can hold them."""

import math
import sys

from .errors import ArgumentError

MOST = 2**64 - 1
"""What 64 bits hold."""
MOST_OF_SIZE = sys.maxsize
"""What the length of a list can be."""
WIDEST = 65_535
"""No terminal has more columns."""


def whole(what: str, value: int, least: int, most: int = MOST) -> int:
    """The number. What is none, or none of these, is refused."""
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise ArgumentError(f"{what} is {shown(value)}: it must be a whole number {_range(least, most)}")
    return value


def optional_whole(what: str, value: int | None, least: int, most: int = MOST) -> int | None:
    """The same, where nothing may be said."""
    return None if value is None else whole(what, value, least, most)


def number(what: str, value: float, words: str) -> float:
    """The number, which may be one of another library. What is none, is too large to be held, is infinite or NaN, is refused;
    `words` say what it must be."""
    try:
        # Text is no number, even where it reads as one.
        held = math.nan if isinstance(value, (bool, str, bytes, bytearray)) else float(value)
    except (TypeError, ValueError, OverflowError):
        held = math.nan
    if not math.isfinite(held):
        raise ArgumentError(f"{what} is {shown(value)}: it must be {words}")
    return held


def optional_number(what: str, value: float | None, words: str) -> float | None:
    """The same, where nothing may be said."""
    return None if value is None else number(what, value, words)


def cpu_text(cpu: object, words: str) -> str:
    """A CPU as the native half takes it: its number, or a word; `words` say which."""
    if isinstance(cpu, str):
        return cpu
    if isinstance(cpu, bool) or not isinstance(cpu, int) or not -MOST <= cpu <= MOST:
        raise ArgumentError(f"cpu is {shown(cpu)}: it must be the number of a CPU, {words}")
    return str(cpu)


def _range(least: int, most: int) -> str:
    return f"from {least} on, below 2**64" if most == MOST else f"from {least} to {most}"


def shown(value: object) -> str:
    """The value in a sentence."""
    if isinstance(value, int) and value.bit_length() > 256:
        return "too large"
    try:
        return repr(value)
    except ValueError:
        # Python itself refuses to write a number of thousands of digits.
        return "too large"
