"""Histograms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Iterator

from . import _arrays, _ontick
from ._numbers import number
from ._times import Time, as_text

if TYPE_CHECKING:
    import numpy
    import numpy.typing
    import pyarrow


@dataclass(frozen=True, slots=True)
class Bucket:
    """So many samples from `low_ns` to below `low_ns + width_ns`."""

    low_ns: int
    width_ns: int
    count: int


@dataclass(frozen=True, slots=True)
class Buckets:
    """All buckets that hold samples, ascending, as numpy arrays."""

    low_ns: numpy.typing.NDArray[numpy.uint64]
    width_ns: numpy.typing.NDArray[numpy.uint64]
    count: numpy.typing.NDArray[numpy.uint64]


class Histogram:
    """How many samples were how late. Buckets are narrow enough for three digits."""

    __slots__ = ("_native",)

    def __init__(self, native: _ontick.Histogram) -> None:
        self._native = native

    @property
    def count(self) -> int:
        """All samples, those beyond the last bucket too."""
        return self._native.count

    @property
    def min_ns(self) -> int | None:
        """The smallest, exactly."""
        return self._native.min_ns

    @property
    def max_ns(self) -> int | None:
        """The largest, exactly."""
        return self._native.max_ns

    @property
    def mean_ns(self) -> float | None:
        """The mean."""
        return self._native.mean_ns

    @property
    def std_dev_ns(self) -> float | None:
        """The standard deviation."""
        return self._native.std_dev_ns

    @property
    def overflow(self) -> int:
        """Samples beyond the last bucket, of other tools' histograms."""
        return self._native.overflow

    def quantile_ns(self, share: float) -> int | None:
        """What a share of all (0.99) does not exceed: the upper end of its bucket, so never too good."""
        return self._native.quantile_ns(number("the share", share, "from 0 to 1"))

    def percentile_ns(self, percent: float) -> int | None:
        """The same in percent (99.9)."""
        return self.quantile_ns(number("the percentage", percent, "from 0 to 100") / 100)

    def below(self, limit: Time) -> float:
        """The share of samples that were certainly below this; 0 where there are none."""
        count = self._native.count_below(as_text("limit", limit))
        return count / self.count if self.count else 0.0

    def numpy(self) -> Buckets:
        """The buckets as numpy arrays."""
        native = self._native
        columns = (native.low_ns_bytes(), native.width_ns_bytes(), native.count_bytes())
        return Buckets(*map(_arrays.integers, columns))

    def arrow(self) -> pyarrow.Table:
        """The buckets as a pyarrow table: low_ns, width_ns, count."""
        native = self._native
        return _arrays.table(
            {
                "low_ns": ("uint64", native.low_ns_bytes()),
                "width_ns": ("uint64", native.width_ns_bytes()),
                "count": ("uint64", native.count_bytes()),
            }
        )

    def __len__(self) -> int:
        return len(self._native)

    def __iter__(self) -> Iterator[Bucket]:
        native = self._native
        columns = (native.low_ns_bytes(), native.width_ns_bytes(), native.count_bytes())
        return map(Bucket, *(memoryview(column).cast("Q") for column in columns))

    def __repr__(self) -> str:
        p99 = self.quantile_ns(0.99)
        return f"Histogram(count={self.count}, p99_ns={p99}, max_ns={self.max_ns})"
