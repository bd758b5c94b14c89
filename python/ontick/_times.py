"""Times as programs write them: text with its unit ("1ms", "10kHz"), or a timedelta."""

from datetime import timedelta
from typing import Union

from ._numbers import shown
from .errors import ArgumentError

Time = Union[str, timedelta]


def as_text(what: str, value: Time) -> str:
    """As the native half reads it. A bare number has no unit, and is refused."""
    if isinstance(value, str):
        return value
    if isinstance(value, timedelta):
        ns = (value.days * 86_400 + value.seconds) * 1_000_000_000 + value.microseconds * 1_000
        if ns < 0:
            raise ArgumentError(f"{what}: it must not be negative")
        return f"{ns}ns"
    wanted = 'a rate or a time with its unit ("1kHz", "1ms")' if what == "rate" else 'a time with its unit ("1ms")'
    raise ArgumentError(f"{what} is {shown(value)}: write {wanted}, or a datetime.timedelta")


def as_optional_text(what: str, value: Time | None) -> str | None:
    """The same, where nothing may be said."""
    return None if value is None else as_text(what, value)
