"""Threads that run on time, and loops that keep time."""

from __future__ import annotations

from types import TracebackType
from typing import Iterator, Literal

from . import _ontick
from ._histogram import Histogram
from ._numbers import cpu_text, optional_number, optional_whole, whole
from ._ontick import Tick
from ._run import Run
from ._times import Time, as_optional_text, as_text
from .errors import ArgumentError


class realtime:
    """The thread runs on time within the `with` block, and as before after it, whatever ends the block.

    Refused by the system, it raises `RefusedError`, whose message says what would help; with `strict=False` the thread is set
    up as far as the system allows, and `refused` has the rest.
    """

    def __init__(
        self,
        cpu: int | Literal["auto", "keep"] = "auto",
        priority: int = 90,
        *,
        policy: str | None = None,
        lock_memory: bool = True,
        power_latency: Time | None = None,
        watchdog: Time | None = "2s",
        strict: bool = True,
    ) -> None:
        """`cpu` is a number, "auto" (the quietest that no other program of ontick has) or "keep" (where the thread may run
        now). `policy` ("rr:50", "deadline:100us/1ms/1ms", "other") is instead of `priority`, which is SCHED_FIFO's.
        `watchdog` is how long the thread may keep its CPU without a rest before it loses its priority."""
        whole("priority", priority, 1, 99)
        self._cpu = cpu_text(cpu, '"auto" or "keep"')
        self._policy = policy if policy is not None else f"fifo:{priority}"
        self._lock_memory = lock_memory
        self._power_latency = as_optional_text("power_latency", power_latency)
        self._watchdog = as_optional_text("watchdog", watchdog)
        self._strict = strict
        self._section: _ontick.Section | None = None

    def __enter__(self) -> realtime:
        if self._section is not None:
            raise ArgumentError("this real-time section is entered already: make one for each thread")
        self._section = _ontick.Section.begin(
            self._cpu, self._policy, self._lock_memory, self._power_latency, self._watchdog, self._strict
        )
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._section is not None:
            self._section.end()
            self._section = None

    @property
    def refused(self) -> list[str]:
        """What was asked for and not obtained, with reason and remedy."""
        return [] if self._section is None else self._section.refused

    @property
    def cpu(self) -> int | None:
        """The CPU that the thread is pinned to."""
        return None if self._section is None else self._section.cpu

    @property
    def policy(self) -> str | None:
        """The policy that was obtained."""
        return None if self._section is None else self._section.policy

    @property
    def memory_locked(self) -> bool:
        """Whether memory is locked."""
        return self._section is not None and self._section.memory_locked

    @property
    def demoted(self) -> bool:
        """Whether the watchdog took the priority away."""
        return self._section is not None and self._section.demoted


class every:
    """Deadlines at an interval, which never drift: `for tick in every("1ms")`.

    Each turn waits, without the interpreter's lock, and yields a `Tick`, which says how late it is and how many periods were
    missed before it. The loop counts its own latencies meanwhile: `latency`, `run()`.
    """

    def __init__(
        self,
        interval: Time,
        *,
        wait: Literal["hybrid", "clock_nanosleep", "spin"] = "hybrid",
        phase: Time = "chance",
        duty: float | None = None,
        catch_up: bool = False,
        count: int | None = None,
        duration: Time | None = None,
        outlier_threshold: Time = "10us",
    ) -> None:
        """`interval` is a time or a rate ("1ms", "1kHz"). `wait` is how: sleep to a learned margin and then read the clock,
        sleep to the deadline, or read the clock throughout. `phase` is where in the interval deadlines lie: a time, "chance",
        or "auto", which looks for the quietest place for half a second. `duty` is the largest share of the time that a hybrid
        wait may spin. With `catch_up`, deadlines that have passed are acted on at once instead of being skipped. The loop ends
        after `count` turns or a `duration`, or not at all."""
        self._native = _ontick.Every(
            as_text("interval", interval),
            wait,
            as_text("phase", phase),
            optional_number("duty", duty, "above 0 and at most 1"),
            catch_up,
            optional_whole("count", count, 0),
            as_optional_text("duration", duration),
            as_text("outlier_threshold", outlier_threshold),
        )

    def __iter__(self) -> Iterator[Tick]:
        return iter(self._native)

    @property
    def latency(self) -> Histogram:
        """How late the turns were so far."""
        return Histogram(self._native.latency)

    @property
    def missed(self) -> int:
        """Periods that were missed so far."""
        return self._native.missed

    def run(self, name: str = "loop", section: realtime | None = None) -> Run:
        """What was counted so far as a record of this machine, to save, compare, plot. `section` is the `realtime` block that
        the loop is in."""
        native = None if section is None else section._section
        return Run(self._native.record(name, native))
