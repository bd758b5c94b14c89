"""Reads a DHT22 (temperature and humidity) by the edges of its data line.

The sensor answers a start signal with 40 bits, each a high level of 26 us (0) or 70 us (1) after a low one of 50 us. The
kernel stamps every edge in its interrupt, so a program that is late loses nothing: it reads the times afterwards.

    python dht22.py gpiochip0:4
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from typing import Iterable

import ontick

ONE_NS = 48_000
"""A high level that is longer is a 1."""
BITS = 40


@dataclass(frozen=True)
class Reading:
    celsius: float
    humidity: float


def levels(edges: Iterable[ontick.Edge]) -> list[int]:
    """How long the line was high each time, in ns."""
    high, rose = [], None
    for edge in edges:
        if edge.lost:
            raise OSError(f"{edge.lost} edges were lost: read again")
        if edge.rising:
            rose = edge.time_ns
        elif rose is not None:
            high.append(edge.time_ns - rose)
    return high


def decode(high: list[int]) -> Reading:
    """The last 40 high levels are the bits; what came before is the sensor's greeting."""
    if len(high) < BITS:
        raise OSError(f"{len(high)} of {BITS} bits came: look at the cable and its pull-up")
    bits = "".join("1" if ns > ONE_NS else "0" for ns in high[-BITS:])
    data = int(bits, 2).to_bytes(5, "big")
    if sum(data[:4]) & 0xFF != data[4]:
        raise OSError("the checksum is wrong: read again")
    tenths = int.from_bytes(data[2:4], "big")
    celsius = -(tenths & 0x7FFF) / 10 if tenths & 0x8000 else tenths / 10
    return Reading(celsius, int.from_bytes(data[:2], "big") / 10)


def read(line: str) -> Reading:
    """Asks the sensor on this line, and reads its answer."""
    with ontick.Line(line, "output", value=False, on_exit="input"):
        time.sleep(0.002)
    with ontick.Line(line, edges="both", bias="pull-up") as data:
        return decode(levels(data.edges(timeout="50ms")))


if __name__ == "__main__":
    print(read(sys.argv[1]))
