"""Samples taken on time."""

from __future__ import annotations

from collections import deque
from threading import Condition, Thread
from types import TracebackType
from typing import TYPE_CHECKING, Iterator, Literal, Sequence

from . import _arrays, _ontick
from ._numbers import MOST_OF_SIZE, cpu_text, optional_whole, whole
from ._times import Time, as_optional_text
from .errors import SamplesLostError

if TYPE_CHECKING:
    import numpy
    import numpy.typing
    import pyarrow


class Batch:
    """Samples that were taken one after the other."""

    __slots__ = ("_native", "channels")

    def __init__(self, native: _ontick.Taken, channels: Sequence[str]) -> None:
        self._native = native
        self.channels = channels
        """Names of the channels, in the order of the columns of `values`."""

    def __len__(self) -> int:
        return len(self._native)

    @property
    def number(self) -> numpy.typing.NDArray[numpy.uint64]:
        """Number of each sample since the first; those of missed periods are left out."""
        return _arrays.integers(self._native.number_bytes())

    @property
    def time_ns(self) -> numpy.typing.NDArray[numpy.uint64]:
        """When each was taken (CLOCK_MONOTONIC)."""
        return _arrays.integers(self._native.time_ns_bytes())

    @property
    def latency_ns(self) -> numpy.typing.NDArray[numpy.uint64]:
        """From its trigger until then."""
        return _arrays.integers(self._native.latency_ns_bytes())

    @property
    def values(self) -> numpy.typing.NDArray[numpy.float64]:
        """A row for each sample, a column for each channel, in the channel's unit."""
        return _arrays.numbers(self._native.value_bytes(), len(self.channels))

    def arrow(self) -> pyarrow.Table:
        """The same as a pyarrow table: number, time_ns, latency_ns and a column for each channel."""
        table = _arrays.table(
            {
                "number": ("uint64", self._native.number_bytes()),
                "time_ns": ("uint64", self._native.time_ns_bytes()),
                "latency_ns": ("uint64", self._native.latency_ns_bytes()),
            }
        )
        values = memoryview(self._native.value_bytes()).cast("d")
        for place, name in enumerate(self.channels):
            column = _arrays.table({name: ("float64", bytes(values[place :: len(self.channels)].tobytes()))})
            table = table.append_column(name, column.column(0))
        return table


class sample:
    """Samples at a rate or at edges of a line, in batches: `for batch in sample(rate="10kHz", source=[...])`.

    They are taken on a timed thread of their own, and put aside as they come, so that a slow loop loses none: what waits is
    bounded by memory alone. Where a sample is lost all the same, `SamplesLostError` says how many.
    """

    def __init__(
        self,
        *,
        source: str | Sequence[str],
        rate: Time | None = None,
        trigger: str | None = None,
        batch: int = 1000,
        count: int | None = None,
        cpu: int | Literal["auto", "keep"] = "auto",
        policy: str | None = "fifo:90",
        lock_memory: bool = True,
    ) -> None:
        """Sources and triggers are those of `ontick sample`: "wave:sine,50Hz", "lines:gpiochip0:0-7",
        "spi:/dev/spidev0.0,mcp3208", "iio:adc/voltage0". A batch has `batch` samples, the last one fewer. It ends after `count`
        samples, or when the loop is left. What the system refuses of `cpu`, `policy` and `lock_memory` is in `refused`."""
        place = cpu_text(cpu, '"auto" or "keep"')
        sources = [source] if isinstance(source, str) else list(source)
        self._batch = whole("batch", batch, 1, MOST_OF_SIZE)
        self._left = optional_whole("count", count, 1)
        self._native = _ontick.Samples.start(
            as_optional_text("rate", rate), trigger, sources, place, policy, lock_memory
        )
        self.channels: Sequence[str] = tuple(name for name, _ in self._native.channels)
        """Names of the channels."""
        self.units: Sequence[str] = tuple(unit for _, unit in self._native.channels)
        """Their units."""

    @property
    def refused(self) -> list[str]:
        """What of the timed thread's set-up was refused, with reason and remedy."""
        return self._native.refused

    def __iter__(self) -> Iterator[Batch]:
        aside = _Aside(self._native, self._batch, self._left)
        try:
            for taken in aside:
                if taken.dropped:
                    raise SamplesLostError(f"{taken.dropped} samples found the ring full: the machine is too busy for this rate")
                yield Batch(taken, self.channels)
        finally:
            self._native.stop()
            aside.join()
            self.close()

    def close(self) -> None:
        """Ends it. Once more does nothing."""
        self._native.close()

    def __enter__(self) -> sample:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


class _Aside:
    """Takes samples out of the ring as they come, and keeps them until the loop wants them."""

    def __init__(self, native: _ontick.Samples, batch: int, count: int | None) -> None:
        self._native = native
        self._batch = batch
        self._left = count
        self._waiting: deque[_ontick.Taken | BaseException | None] = deque()
        self._changed = Condition()
        self._thread = Thread(target=self._take, name="ontick-aside", daemon=True)
        self._thread.start()

    def _take(self) -> None:
        taken: _ontick.Taken | BaseException | None
        try:
            while (taken := self._next()) is not None:
                self._put(taken)
            self._put(None)
        except BaseException as error:  # the loop raises it
            self._put(error)

    def _next(self) -> _ontick.Taken | None:
        if self._left is None:
            return self._native.take(self._batch)
        if self._left == 0:
            return None
        taken = self._native.take(min(self._batch, self._left))
        self._left -= 0 if taken is None else len(taken)
        return taken

    def _put(self, taken: _ontick.Taken | BaseException | None) -> None:
        with self._changed:
            self._waiting.append(taken)
            self._changed.notify()

    def __iter__(self) -> Iterator[_ontick.Taken]:
        while True:
            with self._changed:
                while not self._waiting:
                    self._changed.wait()
                taken = self._waiting.popleft()
            if isinstance(taken, BaseException):
                raise taken
            if taken is None:
                return
            yield taken

    def join(self) -> None:
        """Once the native side is stopped."""
        self._thread.join()
