"""What all measurements take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from . import _ontick
from ._numbers import MOST, cpu_text, optional_whole, shown
from ._run import Run
from ._times import Time, as_optional_text, as_text
from .errors import ArgumentError

Cpu = int | Literal["auto", "any"]


@dataclass(frozen=True)
class Conditions:
    """Where the timed thread runs, how long, beside what; as the native half takes it."""

    cpu: str
    policy: str
    stock: bool
    keep_awake: bool
    load: str
    duration: str | None
    count: int | None
    stop_over: str | None
    outlier_threshold: str
    explain: bool


def conditions(
    cpu: Cpu,
    policy: str,
    stock: bool,
    load: str,
    duration: Time | None,
    count: int | None,
    stop_over: Time | None,
    outlier_threshold: Time,
    explain: bool,
    keep_awake: bool = False,
) -> Conditions:
    """Arguments as the native half takes them."""
    return Conditions(
        cpu_text(cpu, '"auto" or "any"'),
        policy,
        stock,
        keep_awake,
        load,
        as_optional_text("duration", duration),
        optional_whole("count", count, 1),
        as_optional_text("stop_over", stop_over),
        as_text("outlier_threshold", outlier_threshold),
        explain,
    )


def prove(
    duration: Time = "60s",
    *,
    interval: Time = "1ms",
    cpu: int | Sequence[int] | str | None = None,
    margin: Time | None = None,
    load: str = "all",
    explain: bool = False,
) -> Run:
    """Runs one periodic job the stock way and ontick's way, idle and under load, in interleaved blocks.

    `cpu` is one CPU or several with a thread on each, on both sides: numbers, or as `ontick prove --cpu` has them ("2-3",
    "isolated", or "all" but the first). `margin` is that of ontick's hybrid wait, which learns one otherwise.

    Ctrl-C ends it with what was measured until then (`Run.interrupted`).
    """
    length, period, before = as_text("duration", duration), as_text("interval", interval), as_optional_text("margin", margin)
    return Run(_ontick.prove(length, period, _cpus(cpu), before, load, explain))


def _cpus(cpu: int | Sequence[int] | str | None) -> str | None:
    """CPUs as the native half takes them."""
    if cpu is None or isinstance(cpu, str):
        return cpu
    listed = [cpu] if isinstance(cpu, int) else cpu
    if not isinstance(listed, Sequence) or not listed or not all(_is_cpu(number) for number in listed):
        raise ArgumentError(
            f'cpu is {shown(cpu)}: it must be the number of a CPU, several of them, a list such as "2-3", "isolated" or "all"'
        )
    return ",".join(str(number) for number in listed)


def _is_cpu(number: object) -> bool:
    return isinstance(number, int) and not isinstance(number, bool) and 0 <= number <= MOST


def pulse(
    output: str,
    width: Time,
    *,
    gap: Time = "1ms",
    method: Literal["hybrid", "sleep", "spin"] = "hybrid",
    input: str | None = None,
    on_exit: Literal["keep", "low", "high", "input"] = "low",
    count: int | None = None,
    duration: Time | None = None,
    cpu: Cpu = "auto",
    policy: str = "fifo:99",
    stock: bool = False,
    load: str = "none",
) -> Run:
    """Makes a train of pulses on a line, and measures how wide each really was: `run.series[0].width`.

    `input` is another line, joined to the first, that is looked at instead.
    """
    given = conditions(cpu, policy, stock, load, duration, count, None, "10us", False)
    return Run(_ontick.pulse(output, as_text("width", width), as_text("gap", gap), method, input, on_exit, given))
