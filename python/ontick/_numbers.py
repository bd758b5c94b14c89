"""Whole numbers as programs write them, of any size, and as the native half can hold them."""

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
        raise ArgumentError(f"{what} is {_shown(value)}: it must be a whole number {_range(least, most)}")
    return value


def optional_whole(what: str, value: int | None, least: int, most: int = MOST) -> int | None:
    """The same, where nothing may be said."""
    return None if value is None else whole(what, value, least, most)


def _range(least: int, most: int) -> str:
    return f"from {least} on, below 2**64" if most == MOST else f"from {least} to {most}"


def _shown(value: object) -> str:
    # Python itself refuses to write a number of thousands of digits.
    return "too large" if isinstance(value, int) and value.bit_length() > 256 else repr(value)
