"""A program as a station of a planned network."""

from __future__ import annotations

import os
from dataclasses import dataclass
from types import TracebackType
from typing import Iterator, Literal, Mapping, Sequence

from . import _ontick
from ._histogram import Histogram
from ._numbers import cpu_text, optional_whole
from ._ontick import Message
from ._times import Time, as_optional_text

File = str | os.PathLike[str]


@dataclass(frozen=True)
class SentStream:
    """What became of the messages of a stream that is sent."""

    sent: int
    refused: int
    """Those that the kernel did not take: no link, no room."""
    left_out: int
    """Those that were not sent, as their period was over."""


@dataclass(frozen=True)
class TalkerFigures:
    """What a talker did so far."""

    streams: Mapping[str, SentStream]
    lateness: Histogram
    """How late messages were handed to the kernel, of all streams."""
    clock_steps: int
    """How often the machine's clock was set meanwhile: messages followed it."""


class Talker:
    """Sends the streams of a station of a planned network, each message at its time, on a timed thread of its own.

    Messages carry what `send` gave last, and nothing before that. It sends from the beginning until `end` or the end of a
    `with` block.
    """

    def __init__(
        self,
        network: File,
        plan: File,
        *,
        station: str,
        interface: str | Sequence[str] = (),
        udp: Mapping[str, str | Sequence[str]] | None = None,
        base_time_ns: int | None = None,
        target: str | None = None,
        calibration: File | None = None,
        cpu: int | Literal["auto", "keep"] = "auto",
        policy: str = "fifo:90",
    ) -> None:
        """`network` and `plan` are the files of `ontick network plan`; a plan that does not fit the network is refused.
        `interface` is that of the station's cable, or a list with one for each cable in the order of the file. `udp` has
        streams that leave as datagrams instead, with their addresses ("192.0.2.7:5000"). The first periods begin at `base_time_ns` of
        TAI, or with a whole second about a second from now. `target` and `calibration` are those that the plan was made with.
        What the system refuses of `cpu` and `policy` is in `refused`."""
        optional_whole("base_time_ns", base_time_ns, 0)
        place = cpu_text(cpu, '"auto" or "keep"')
        datagrams = [(stream, to) for stream, all in (udp or {}).items() for to in _texts(all)]
        self._native = _ontick.Talker.start(
            network, plan, station, _texts(interface), datagrams, base_time_ns, target, calibration, place, policy
        )
        self.room: Mapping[str, int] = dict(self._native.streams)
        """The streams, and how many bytes a message of each carries at most."""
        self.base_time_ns: int = self._native.base_time_ns
        """When the first periods begin, in ns of TAI."""

    @property
    def refused(self) -> list[str]:
        """What of the timed thread's set-up, and of the priority of datagrams, was refused, with reason and remedy."""
        return self._native.refused

    def send(self, stream: str, payload: bytes) -> None:
        """What the next message of a stream carries, and each one after it until something newer is sent. It is taken 50 us
        before the message leaves; this does not wait for that."""
        self._native.send(stream, bytes(payload))

    def figures(self) -> TalkerFigures:
        """What it did so far; after the end, what it did."""
        streams, lateness, clock_steps = self._native.figures()
        return TalkerFigures({name: SentStream(*counts) for name, *counts in streams}, Histogram(lateness), clock_steps)

    def end(self) -> None:
        """Sends nothing more. Once more does nothing."""
        self._native.end()

    def __enter__(self) -> Talker:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.end()


@dataclass(frozen=True)
class ReceivedStream:
    """What became of the messages of a stream that is received."""

    received: int
    lost: int
    """Messages between the first that came and the newest that did not come whole."""
    late: int
    """Messages that came after their deadline."""
    out_of_order: int
    """Frames that came behind one that was sent after them."""
    duplicates: int
    """Frames that came twice."""
    latency: Histogram
    """From the beginning of the period until the message was there."""


@dataclass(frozen=True)
class Strays:
    """Frames that came besides messages in good order."""

    other_plan: int
    """Of a talker with another plan or another network: give both the same files."""
    other_streams: int
    """Of streams that are for others."""
    retagged: int
    """With another VLAN tag or priority than is planned, or without one; they count as received."""
    overflowed: int
    """Those that found no room: this program took messages too slowly."""
    other_time: int
    """Planned more than an hour from when they came, which is not received: both machines need one time."""


@dataclass(frozen=True)
class ListenerFigures:
    """What came to a listener so far, of what it took."""

    streams: Mapping[str, ReceivedStream]
    strays: Strays


class Listener:
    """Receives the streams of a station of a planned network: `for message in Listener(...)`.

    What comes is kept from the opening on, some 30 000 frames for each interface, until it is taken.
    """

    def __init__(
        self,
        network: File,
        plan: File,
        *,
        station: str,
        interface: str | Sequence[str] = (),
        udp: str | Sequence[str] = (),
        target: str | None = None,
        calibration: File | None = None,
    ) -> None:
        """The arguments are those of `Talker`; `udp` has addresses at which datagrams are received ("0.0.0.0:5000")."""
        self._native = _ontick.Listener.open(
            network, plan, station, _texts(interface), _texts(udp), target, calibration
        )
        self.streams: Sequence[str] = tuple(self._native.streams)
        """The streams that come to the station."""
        self.stamped_by_interface: bool = self._native.stamped_by_interface
        """Whether the interface stamps arrivals; the kernel does otherwise."""

    def receive(self, timeout: Time | None = None) -> Message | None:
        """Waits for the next message of any stream; `None` where none comes within the time."""
        return self._native.next(as_optional_text("timeout", timeout))

    def messages(self, *, count: int | None = None, timeout: Time | None = None) -> Iterator[Message]:
        """Messages as they come. Ends after `count` of them, when none came for `timeout`, or when the listener is closed."""
        text = as_optional_text("timeout", timeout)
        left = -1 if count is None else count
        while left != 0:
            message = self._native.next(text)
            if message is None:
                return
            yield message
            left -= 1

    def __iter__(self) -> Iterator[Message]:
        return self.messages()

    def figures(self) -> ListenerFigures:
        """What became of each stream so far, by the messages that were taken, and what else came."""
        streams, strays = self._native.figures()
        came = {
            name: ReceivedStream(received, lost, late, out_of_order, duplicates, Histogram(latency))
            for name, received, lost, late, out_of_order, duplicates, latency in streams
        }
        return ListenerFigures(came, Strays(*strays))

    def close(self) -> None:
        """Closes what messages come by. Once more does nothing."""
        self._native.close()

    def __enter__(self) -> Listener:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def _texts(given: str | Sequence[str]) -> list[str]:
    """One, or several."""
    return [given] if isinstance(given, str) else list(given)
