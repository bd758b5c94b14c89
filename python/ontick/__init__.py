"""Run on time, act on GPIO lines, sample, measure latency, plan networks, and read the records.

Times are text with a unit ("1ms", "10kHz") or a `datetime.timedelta`; what comes back is in nanoseconds and ends with `_ns`.
"""

import os as _os

try:
    from . import _ontick
except ImportError as _error:
    # What is missing is not found by looking elsewhere: the file is there, and is for another machine.
    raise ImportError(
        f"ontick's native half cannot be loaded on this machine: {_error}. Its wheel was built for another processor or for a "
        "later C library: install one that was built here (make wheel)"
    ) from _error
from . import errors, latency, network
from ._compare import Comparison, Decision, Pair, Ratio, compare
from ._histogram import Bucket, Buckets, Histogram
from ._line import Line, remove_chip, wire
from ._measure import prove, pulse
from ._ontick import Edge, Tick, __version__
from ._realtime import every, realtime
from ._run import Picture, Requirement, Run, Series
from ._sample import Batch, sample
from .errors import (
    ArgumentError,
    Error,
    ForkedError,
    InUseError,
    LineError,
    LineInUseError,
    LineNotFoundError,
    LinePermissionError,
    MeasurementError,
    NetworkError,
    PlanError,
    RecordError,
    RefusedError,
    SamplesLostError,
    WrongThreadError,
)

PLOTS: tuple[str, ...] = tuple(_ontick.plots())
"""Names of the pictures that `Run.plot` draws."""

# A child has what its parent's thread had before it was set up, and none of its parent's loops.
_os.register_at_fork(after_in_child=_ontick.after_fork_in_child)

__all__ = [
    "PLOTS",
    "ArgumentError",
    "Batch",
    "Bucket",
    "Buckets",
    "Comparison",
    "Decision",
    "Edge",
    "Error",
    "ForkedError",
    "Histogram",
    "InUseError",
    "Line",
    "LineError",
    "LineInUseError",
    "LineNotFoundError",
    "LinePermissionError",
    "MeasurementError",
    "NetworkError",
    "Pair",
    "Picture",
    "PlanError",
    "Ratio",
    "RecordError",
    "RefusedError",
    "Requirement",
    "Run",
    "SamplesLostError",
    "Series",
    "Tick",
    "WrongThreadError",
    "__version__",
    "compare",
    "errors",
    "every",
    "latency",
    "network",
    "prove",
    "pulse",
    "realtime",
    "remove_chip",
    "sample",
    "wire",
]
