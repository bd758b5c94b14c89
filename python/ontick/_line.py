"""GPIO lines."""

from __future__ import annotations

from types import TracebackType
from typing import Iterator, Literal

from . import _ontick
from ._ontick import Edge
from ._times import Time, as_optional_text
from .errors import ArgumentError

Edges = Literal["none", "rising", "falling", "both"]


class Line:
    """A GPIO line by the name that it has on the command line: "GPIO17", "gpiochip0:17", "reg:17", "sim:bench/4".

    It is released by `close`, at the end of a `with` block, or when nothing refers to it any more.
    """

    def __init__(
        self,
        name: str,
        direction: Literal["input", "output", "as-is"] = "input",
        *,
        value: bool = False,
        edges: Edges = "none",
        bias: Literal["as-is", "disabled", "pull-up", "pull-down"] = "as-is",
        active_low: bool = False,
        on_exit: Literal["keep", "low", "high", "input"] = "keep",
        debounce: Time | None = None,
    ) -> None:
        """`value` is what an output is driven to first, and `on_exit` what it is left at. `edges` are those that `edge` and
        `edges` wait for. A line that is taken "as-is" is only looked at: it has neither edges nor a bias. With `debounce` a level of
        an input counts once it has lasted that long, 1us to 16s in whole microseconds."""
        text = as_optional_text("debounce", debounce)
        self._native = _ontick.Line(name, direction, value, edges, bias, active_low, on_exit, text)
        self._edges = edges

    @property
    def name(self) -> str:
        """As it was opened."""
        return self._native.name

    @property
    def backend(self) -> str:
        """What is behind it: "character device", "simulated", the board whose registers are used."""
        return self._native.backend

    @property
    def value(self) -> bool:
        """Its level, as the user of the line sees it (after active-low)."""
        return self._native.read()

    @value.setter
    def value(self, value: bool) -> None:
        self._native.write(bool(value))

    def read(self) -> bool:
        """Its level."""
        return self._native.read()

    def write(self, value: bool) -> None:
        """Drives an output, and returns when the chip has it."""
        self._native.write(bool(value))

    def edge(self, timeout: Time | None = None) -> Edge | None:
        """Waits for the next edge; `None` where there is none within the time."""
        self._must_notify()
        return self._native.edge(as_optional_text("timeout", timeout))

    def edges(self, *, count: int | None = None, timeout: Time | None = None) -> Iterator[Edge]:
        """Edges as they come, in order and with their times. Ends after `count` of them, or when none came for `timeout`."""
        self._must_notify()
        text = as_optional_text("timeout", timeout)
        left = -1 if count is None else count
        while left != 0:
            edge = self._native.edge(text)
            if edge is None:
                return
            yield edge
            left -= 1

    def _must_notify(self) -> None:
        if self._edges == "none":
            raise ArgumentError(f"line {self.name}: open it with edges=\"both\" (or rising, falling) to wait for edges")

    def close(self) -> None:
        """Releases it. Once more does nothing."""
        self._native.close()

    def __enter__(self) -> Line:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Line({self.name!r}, backend={self.backend!r})"


def wire(output: str, input: str) -> None:
    """Joins two lines of a simulated chip ("sim:bench/4", "sim:bench/17"): when the one is driven, the other follows."""
    _ontick.wire(output, input)


def remove_chip(chip: str) -> None:
    """Removes a simulated chip ("bench")."""
    _ontick.remove_chip(chip)
