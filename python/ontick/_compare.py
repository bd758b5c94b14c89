"""Runs side by side."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Iterable, Literal, Mapping, Sequence

from . import _ontick
from ._numbers import WIDEST, whole
from ._run import Run, natives
from .errors import ArgumentError


@dataclass(frozen=True)
class Ratio:
    """A figure of two series, and the second over the first."""

    before_ns: int | None
    after_ns: int | None
    ratio: float | None


@dataclass(frozen=True)
class Pair:
    """Two series of the same name."""

    before: str
    after: str
    samples: tuple[int, int]
    p50: Ratio
    p99: Ratio
    p99_9: Ratio
    max: Ratio


@dataclass(frozen=True)
class Decision:
    """Two series held against a relative requirement, at 95 % confidence."""

    requirement: str
    series: tuple[str, str]
    verdict: Literal["met", "broken", "cannot-tell"]
    document: Mapping[str, Any]
    """All that is known, with the bounds of both percentiles."""


class Comparison:
    """Runs side by side; ratios are to the first. A notebook shows it."""

    def __init__(self, runs: Mapping[str, Run] | Iterable[Run]) -> None:
        self._natives = natives(runs)
        if len(self._natives) < 2:
            raise ArgumentError("a comparison needs two runs at least")

    def pairs(self, after: int = 1) -> Sequence[Pair]:
        """The series of the first run and of another that have the same name; `after` is that one's place, from 1."""
        whole("after", after, 1, len(self._natives) - 1)
        document = json.loads(_ontick.compare_json(self._natives[0][1], self._natives[after][1]))
        return tuple(_pair(one) for one in document["pairs"])

    def require(self, *requirements: str) -> Sequence[Decision]:
        """Each series of the second of two runs held against the first's ("p99 <= 1.2x"), where chance is taken into
        account: met, broken, or it cannot be told, as the samples are too few or a record does not hold the percentile."""
        if len(self._natives) != 2:
            raise ArgumentError("relative requirements are for two runs: the second is held against the first")
        decided = json.loads(_ontick.decide(self._natives[0][1], self._natives[1][1], list(requirements)))
        return tuple(Decision(one["requirement"], tuple(one["series"]), one["verdict"], one) for one in decided)

    def html(self) -> str:
        """The whole comparison, one page that needs nothing else."""
        return _ontick.compare_html(self._natives)

    def summary(self, width: int = 80) -> str:
        """The table as on a terminal."""
        return _ontick.compare_text(self._natives, whole("width", width, 0, WIDEST))

    def __str__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        text = self.summary(120).replace("&", "&amp;").replace("<", "&lt;")
        return f"<pre>{text}</pre>"


def compare(*runs: Run, **named: Run) -> Comparison:
    """Compares runs: `compare(before, after)`, or with names `compare(pi4=run, pi5=other)`."""
    if runs and named:
        raise ArgumentError("name all runs, or none")
    return Comparison(named or runs)


def _pair(document: Mapping[str, Any]) -> Pair:
    ratios = {name: Ratio(**document[name]) for name in ("p50", "p99", "p99_9", "max")}
    return Pair(document["before"], document["after"], tuple(document["samples"]), **ratios)
