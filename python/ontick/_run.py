"""Records: read, shown, judged."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import Any, Callable, Iterable, Iterator, Mapping, Sequence

from . import _ontick
from ._histogram import Histogram
from ._numbers import WIDEST, number, whole

Path = str | os.PathLike[str]


class Picture:
    """A picture, which a notebook shows."""

    __slots__ = ("svg",)

    def __init__(self, svg: str) -> None:
        self.svg = svg
        """The picture as SVG."""

    def png(self, scale: float = 2.0) -> bytes:
        """The picture as PNG, so many dots for one of the SVG's."""
        return _ontick.Record.png(self.svg, number("the scale", scale, "from 0.1 to 8"))

    def save(self, path: Path) -> None:
        """Writes it to a file, whose name ends with .svg or .png."""
        from .errors import ArgumentError

        match os.path.splitext(path)[1]:
            case ".svg":
                data = self.svg.encode()
            case ".png":
                data = self.png()
            case _:
                raise ArgumentError(f"{os.fspath(path)}: end the name with .svg or .png")
        with open(path, "wb") as file:
            file.write(data)

    def _repr_svg_(self) -> str:
        return self.svg


@dataclass(frozen=True)
class Requirement:
    """A requirement and how it was met."""

    text: str
    met: bool
    observed: str
    """What was observed, in words."""
    series: str
    """The series that decided."""

    def __bool__(self) -> bool:
        return self.met


class Series:
    """The samples of one way of doing it."""

    def __init__(self, record: _ontick.Record, place: int, document: Mapping[str, Any]) -> None:
        latency = record.latency(place)
        assert latency is not None
        width = record.width(place)
        self.document: Mapping[str, Any] = document
        """All that the record says of it (`ontick schema` describes it)."""
        self.latency = Histogram(latency)
        """By how much its samples were late."""
        self.width = None if width is None else Histogram(width)
        """How wide its pulses were, if it is of pulses."""

    @property
    def name(self) -> str:
        """As tables show it."""
        return str(self.document["name"])

    @property
    def case(self) -> Mapping[str, Any]:
        """What tells it from others of the same run: side, load, method."""
        case: Mapping[str, Any] = self.document.get("case", {})
        return case

    @property
    def settings(self) -> Mapping[str, Any]:
        """How it was run: method, interval, CPU, policy, and what the system refused."""
        settings: Mapping[str, Any] = self.document["settings"]
        return settings

    @property
    def missed(self) -> int:
        """Periods that were missed altogether."""
        return int(self.document["missed"])

    def __repr__(self) -> str:
        return f"Series({self.name!r}, {self.latency!r}, missed={self.missed})"


class Run:
    """What a measurement found, where and how. It does not change."""

    def __init__(self, record: _ontick.Record) -> None:
        self._native = record
        self.document: Mapping[str, Any] = json.loads(record.json())
        """The whole record (`ontick schema` describes it)."""
        series = self.document.get("series", [])
        self.series: Sequence[Series] = tuple(Series(record, place, one) for place, one in enumerate(series))
        """In the order in which they were measured."""

    @classmethod
    def load(cls, path: Path) -> Run:
        """Reads a record, the journal of a killed run, or the output of another tool that is known."""
        return cls(_ontick.Record.load(path))

    @classmethod
    def parse(cls, text: str) -> Run:
        """Reads the text of a record."""
        return cls(_ontick.Record.parse(text))

    def save(self, path: Path) -> None:
        """Writes the record, as a whole or not at all."""
        self._native.save(path)

    def json(self) -> str:
        """The record's text."""
        return self._native.json()

    @property
    def measurement(self) -> str:
        """What was measured: "timer", "prove"."""
        return str(self.document["measurement"])

    @property
    def started(self) -> str:
        """When, in UTC (RFC 3339)."""
        return str(self.document["started"])

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended it before its time."""
        return bool(self.document.get("interrupted", False))

    @property
    def simulated(self) -> str | None:
        """What of it was simulated, if anything was."""
        simulated: str | None = self.document.get("simulated")
        return simulated

    @property
    def environment(self) -> Mapping[str, Any]:
        """The machine: processor, kernel, settings. Empty for other tools' output."""
        environment: Mapping[str, Any] = self.document.get("environment") or {}
        return environment

    @property
    def notes(self) -> Sequence[str]:
        """What a reader must see beside the figures."""
        return tuple(self.document.get("notes", ()))

    @property
    def requirements(self) -> Sequence[Requirement]:
        """Those that it was held against."""
        return tuple(
            Requirement(one["requirement"], one["met"], one["observed"], one["series"])
            for one in self.document.get("requirements", ())
        )

    def __getitem__(self, name: str) -> Series:
        """The series of this name."""
        for series in self.series:
            if series.name == name:
                return series
        names = ", ".join(repr(series.name) for series in self.series)
        raise KeyError(f"there is no series {name!r}; there are {names}")

    def __iter__(self) -> Iterator[Series]:
        return iter(self.series)

    def __len__(self) -> int:
        return len(self.series)

    def require(self, *requirements: str, on: Callable[[Series], bool] | None = None) -> Run:
        """The same run, held against requirements ("99% < 3us", "missed = 0"), on the series that `on` picks: all, or of
        `prove` those of ontick's side. `met` says whether all hold."""
        if on is None:
            on = _ontick_side if self.measurement == "prove" else _any
        places = [place for place, series in enumerate(self.series) if on(series)]
        return Run(self._native.judged(list(requirements), places))

    @property
    def met(self) -> bool:
        """Whether all requirements hold."""
        return all(requirement.met for requirement in self.requirements)

    def plot(self, plot: str | None = None) -> Picture:
        """A picture, as the command line draws it; without a name the one that says most. `ontick.PLOTS` has the names."""
        return Picture(self._native.svg(plot))

    def html(self) -> str:
        """The whole report, one page that needs nothing else."""
        return self._native.html()

    def summary(self, width: int = 80) -> str:
        """Table, verdict and warnings as on a terminal."""
        return self._native.text(whole("width", width, 0, WIDEST))

    def __str__(self) -> str:
        return self.summary()

    def __repr__(self) -> str:
        return f"Run({self.measurement!r}, {list(self.series)!r})"

    def _repr_html_(self) -> str:
        """For a notebook: what a terminal shows, and the picture."""
        text = self.summary().replace("&", "&amp;").replace("<", "&lt;")
        return f"<pre>{text}</pre>{self._native.svg(None)}" if self.series else f"<pre>{text}</pre>"


def _any(series: Series) -> bool:
    return True


def _ontick_side(series: Series) -> bool:
    return series.case.get("side") == "ontick"


def natives(runs: Mapping[str, Run] | Iterable[Run]) -> list[tuple[str, _ontick.Record]]:
    """Runs with their names; those without one are numbered."""
    named = runs.items() if isinstance(runs, Mapping) else ((f"run {n}", run) for n, run in enumerate(runs, 1))
    return [(name, run._native) for name, run in named]
