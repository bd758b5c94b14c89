"""The native half. Its classes are wrapped by those of `ontick`, which are what programs use."""

import os
from typing import Iterator, Protocol, final

__all__ = [
    "compare_html",
    "compare_json",
    "compare_text",
    "decide",
    "Every",
    "Tick",
    "after_fork_in_child",
    "Histogram",
    "Edge",
    "Line",
    "prove",
    "pulse",
    "timer",
    "plan",
    "plan_svg",
    "validate",
    "Section",
    "Record",
    "plots",
    "Samples",
    "Taken",
    "remove_chip",
    "wire",
    "Listener",
    "Message",
    "Talker",
    "__version__",
]

__version__: str

class _Conditions(Protocol):
    @property
    def cpu(self) -> str: ...
    @property
    def policy(self) -> str: ...
    @property
    def stock(self) -> bool: ...
    @property
    def keep_awake(self) -> bool: ...
    @property
    def load(self) -> str: ...
    @property
    def duration(self) -> str | None: ...
    @property
    def count(self) -> int | None: ...
    @property
    def stop_over(self) -> str | None: ...
    @property
    def outlier_threshold(self) -> str: ...
    @property
    def explain(self) -> bool: ...

@final
class Tick:
    """One period's beginning, as the loop met it."""

    @property
    def index(self) -> int:
        """Number of the period since the first; missed ones count."""
    @property
    def deadline_ns(self) -> int:
        """When the loop should have been running (CLOCK_MONOTONIC, as `time.monotonic_ns`)."""
    @property
    def now_ns(self) -> int:
        """When it was."""
    @property
    def latency_ns(self) -> int:
        """How late that is; 0 if it was early."""
    @property
    def missed(self) -> int:
        """Periods that were skipped just before this one."""

@final
class Edge:
    """One change of a line."""

    @property
    def rising(self) -> bool:
        """Up, else down."""
    @property
    def time_ns(self) -> int:
        """When it happened (CLOCK_MONOTONIC), by the kernel's interrupt or the write to a simulated line."""
    @property
    def lost(self) -> int:
        """Edges that were not noticed since the one before."""

@final
class Histogram:
    @property
    def count(self) -> int: ...
    @property
    def min_ns(self) -> int | None: ...
    @property
    def max_ns(self) -> int | None: ...
    @property
    def mean_ns(self) -> float | None: ...
    @property
    def std_dev_ns(self) -> float | None: ...
    @property
    def overflow(self) -> int: ...
    def quantile_ns(self, share: float) -> int | None: ...
    def count_below(self, limit: str) -> int: ...
    def low_ns_bytes(self) -> bytes: ...
    def width_ns_bytes(self) -> bytes: ...
    def count_bytes(self) -> bytes: ...
    def __len__(self) -> int: ...

@final
class Record:
    @staticmethod
    def load(path: str | os.PathLike[str]) -> Record: ...
    @staticmethod
    def parse(text: str) -> Record: ...
    def save(self, path: str | os.PathLike[str]) -> None: ...
    def json(self) -> str: ...
    def latency(self, series: int) -> Histogram | None: ...
    def width(self, series: int) -> Histogram | None: ...
    def text(self, width: int) -> str: ...
    def html(self) -> str: ...
    def svg(self, plot: str | None) -> str: ...
    @staticmethod
    def png(svg: str, scale: float) -> bytes: ...
    def judged(self, requirements: list[str], series: list[int]) -> Record: ...

@final
class Section:
    @staticmethod
    def begin(
        cpu: str,
        policy: str | None,
        lock_memory: bool,
        power_latency: str | None,
        watchdog: str | None,
        strict: bool,
    ) -> Section: ...
    @property
    def refused(self) -> list[str]: ...
    @property
    def cpu(self) -> int | None: ...
    @property
    def policy(self) -> str | None: ...
    @property
    def memory_locked(self) -> bool: ...
    @property
    def demoted(self) -> bool: ...
    def end(self) -> None: ...

@final
class Every:
    def __new__(
        cls,
        interval: str,
        wait: str,
        phase: str,
        duty: float | None,
        catch_up: bool,
        count: int | None,
        duration: str | None,
        outlier_threshold: str,
    ) -> Every: ...
    def __iter__(self) -> Iterator[Tick]: ...
    def __next__(self) -> Tick: ...
    @property
    def interval_ns(self) -> int: ...
    @property
    def latency(self) -> Histogram: ...
    @property
    def missed(self) -> int: ...
    def record(self, name: str, section: Section | None) -> Record: ...

@final
class Line:
    def __new__(
        cls,
        name: str,
        direction: str,
        value: bool,
        edges: str,
        bias: str,
        active_low: bool,
        on_exit: str,
        debounce: str | None,
    ) -> Line: ...
    @property
    def name(self) -> str: ...
    @property
    def backend(self) -> str: ...
    def read(self) -> bool: ...
    def write(self, value: bool) -> None: ...
    def edge(self, timeout: str | None) -> Edge | None: ...
    def close(self) -> None: ...

@final
class Taken:
    def __len__(self) -> int: ...
    @property
    def dropped(self) -> int: ...
    def number_bytes(self) -> bytes: ...
    def time_ns_bytes(self) -> bytes: ...
    def latency_ns_bytes(self) -> bytes: ...
    def value_bytes(self) -> bytes: ...

@final
class Samples:
    @staticmethod
    def start(
        rate: str | None,
        trigger: str | None,
        sources: list[str],
        cpu: str,
        policy: str | None,
        lock_memory: bool,
    ) -> Samples: ...
    @property
    def channels(self) -> list[tuple[str, str]]: ...
    @property
    def refused(self) -> list[str]: ...
    def take(self, samples: int) -> Taken | None: ...
    def stop(self) -> None: ...
    def close(self) -> None: ...

@final
class Message:
    """A message of a stream that came whole."""

    @property
    def stream(self) -> str:
        """The stream's name."""
    @property
    def number(self) -> int:
        """Its number, from 0 when its talker began: one that is missing was lost."""
    @property
    def planned_ns(self) -> int:
        """When it was to be sent, in ns of TAI."""
    @property
    def arrived_ns(self) -> int:
        """When its last frame came, in ns of TAI, by the interface's stamp or the kernel's."""
    @property
    def payload(self) -> bytes:
        """What its talker had it carry."""

@final
class Talker:
    @staticmethod
    def start(
        network: str | os.PathLike[str],
        plan: str | os.PathLike[str],
        station: str,
        interfaces: list[str],
        udp: list[tuple[str, str]],
        base_time_ns: int | None,
        target: str | None,
        calibration: str | os.PathLike[str] | None,
        cpu: str,
        policy: str,
    ) -> Talker: ...
    @property
    def streams(self) -> list[tuple[str, int]]: ...
    @property
    def base_time_ns(self) -> int: ...
    @property
    def refused(self) -> list[str]: ...
    def send(self, stream: str, payload: bytes) -> None: ...
    def figures(self) -> tuple[list[tuple[str, int, int, int]], Histogram, int]: ...
    def end(self) -> None: ...

@final
class Listener:
    @staticmethod
    def open(
        network: str | os.PathLike[str],
        plan: str | os.PathLike[str],
        station: str,
        interfaces: list[str],
        udp: list[str],
        target: str | None,
        calibration: str | os.PathLike[str] | None,
    ) -> Listener: ...
    @property
    def streams(self) -> list[str]: ...
    @property
    def stamped_by_interface(self) -> bool: ...
    def next(self, timeout: str | None) -> Message | None: ...
    def figures(
        self,
    ) -> tuple[list[tuple[str, int, int, int, int, int, Histogram]], tuple[int, int, int, int, int]]: ...
    def close(self) -> None: ...

def plots() -> list[str]: ...
def compare_text(runs: list[tuple[str, Record]], width: int) -> str: ...
def compare_html(runs: list[tuple[str, Record]]) -> str: ...
def compare_json(before: Record, after: Record) -> str: ...
def decide(before: Record, after: Record, requirements: list[str]) -> str: ...
def timer(
    period: str, methods: list[str], phase: str, margin: str | None, conditions: _Conditions
) -> Record: ...
def prove(
    duration: str, period: str, cpu: str | None, margin: str | None, load: str, explain: bool
) -> Record: ...
def pulse(
    output: str,
    width: str,
    gap: str,
    method: str,
    input: str | None,
    on_exit: str,
    conditions: _Conditions,
) -> Record: ...
def plan(
    network: str,
    name: str,
    limit: str,
    paths: int,
    wait: bool,
    prefer: str,
    slot: str,
    seed: int,
    keep: str | None,
    target: str,
) -> str: ...
def plan_svg(network: str, plan: str, rows: str) -> str: ...
def validate(network: str, plan: str, target: str, network_name: str | None, plan_name: str | None) -> str: ...
def wire(output: str, input: str) -> None: ...
def remove_chip(chip: str) -> None: ...
def after_fork_in_child() -> None: ...
