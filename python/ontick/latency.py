"""Measurements of latency."""

from __future__ import annotations

from typing import Sequence

from . import _ontick
from ._measure import Cpu, conditions
from ._run import Run
from ._times import Time, as_optional_text, as_text

__all__ = ["timer"]


def timer(
    interval: Time = "1ms",
    *,
    method: str | Sequence[str] = "hybrid",
    duration: Time | None = None,
    count: int | None = None,
    phase: Time = "auto",
    margin: Time | None = None,
    cpu: Cpu = "auto",
    policy: str = "fifo:99",
    stock: bool = False,
    keep_awake: bool = False,
    load: str = "none",
    stop_over: Time | None = None,
    outlier_threshold: Time = "10us",
    explain: bool = False,
) -> Run:
    """How late a periodic job acts, by the method that it waits with, or by several in turn; ten seconds each where neither
    `duration` nor `count` is named. Methods, loads and policies are those of `ontick latency timer`, and so is
    `keep_awake`.
    `margin` is that of the hybrid wait before the deadline, which learns one otherwise.

    Ctrl-C ends it with what was measured until then (`Run.interrupted`).
    """
    length: Time | None = "10s" if duration is None and count is None else duration
    given = conditions(cpu, policy, stock, load, length, count, stop_over, outlier_threshold, explain, keep_awake)
    methods = [method] if isinstance(method, str) else list(method)
    before = as_optional_text("margin", margin)
    return Run(_ontick.timer(as_text("interval", interval), methods, as_text("phase", phase), before, given))
