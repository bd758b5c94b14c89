#!/usr/bin/env python3
"""Counts the pulses of a channel in what `sigrok-cli -O bits` prints, in samples, and nothing else.

Usage: sigrok-cli -i FILE.sr -O bits | widths.py CHANNEL

It shares no code with ontick: tests hold what ontick imports against it. A line for each length: what, samples, count.
"""

import collections
import itertools
import sys

channel = sys.argv[1]
bits = ""
for line in sys.stdin:
    name, _, rest = line.partition(":")
    if name == channel:
        bits += "".join(c for c in rest if c in "01")

# Runs of equal levels; the first and the last are cut off.
runs = [(level, len(list(run))) for level, run in itertools.groupby(bits)]
inner = runs[1:-1]
counts = collections.Counter(("high" if level == "1" else "low", length) for level, length in inner)
# From a rising edge to the next: a high run and the low one behind it.
for (level, length), (_, after) in zip(inner, inner[1:]):
    if level == "1":
        counts["period", length + after] += 1
for (what, length), count in sorted(counts.items()):
    print(what, length, count)
