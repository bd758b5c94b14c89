"""Sends frames of streams by one interface, and judges which of them another receives.

Usage: switch_streams.py SEND RECEIVE

The switch between both limits the size of one stream (300 octets of data), meters the second (100 frames of 64 octets at once,
one more each 64 ms) and gates the third (open in the first half of each 100 ms of this machine's clock).
"""

import json
import sys
import time

from scapy.all import AsyncSniffer, Dot1Q, Ether, Raw, conf, raw

send, receive = sys.argv[1:3]
FROM = "02:00:00:00:00:0a"
SIZED, METERED, GATED, OTHERS = (f"02:00:00:00:01:0{n}" for n in range(4))
HALF_NS = 50_000_000
# What the clocks that stamp frames and read the time here may differ by.
CLEARANCE_NS = 200_000


def frame(to, number, octets):
    """A frame of VLAN 100 with so many octets of data, padded like any."""
    data = number.to_bytes(4, "big").ljust(octets, b"\0")
    return Ether(dst=to, src=FROM) / Dot1Q(vlan=100, type=0x88B5) / Raw(data)


def number(received):
    return int.from_bytes(raw(received)[18:22], "big")


listening = []
sniffer = AsyncSniffer(
    iface=receive,
    lfilter=lambda received: received.src == FROM,
    started_callback=lambda: listening.append(True),
    stop_filter=lambda received: received.dst == OTHERS and number(received) == 1,
    timeout=60,
)
sniffer.start()
while not listening:
    time.sleep(0.01)
socket = conf.L2socket(iface=send)

sizes = [42, 299, 300, 301, 1400]
for size in sizes:
    socket.send(frame(SIZED, size, size))

metered = [raw(frame(METERED, number, 42)) for number in range(1000)]
begun = time.monotonic()
for one in metered:
    socket.outs.send(one)
lasted = time.monotonic() - begun

gated = [raw(frame(GATED, number, 42)) for number in range(600)]
moments = []
for one in gated:
    before = time.time_ns()
    socket.outs.send(one)
    moments.append((before, time.time_ns()))
    time.sleep(0.00151)

socket.send(frame(OTHERS, 0, 1400))
socket.send(frame(OTHERS, 1, 42))
sniffer.join()
came = {to: [] for to in (SIZED, METERED, GATED, OTHERS)}
for one in sniffer.results:
    came[one.dst].append(number(one))

if came[OTHERS] != [0, 1]:
    sys.exit(f"of the frames of no stream came {came[OTHERS]}")
if came[SIZED] != [size for size in sizes if size <= 300]:
    sys.exit(f"of the sizes {sizes} came {came[SIZED]}")
most = 100 + int(lasted / 0.064) + 1
if not 100 <= len(came[METERED]) <= most or came[METERED][:100] != list(range(100)):
    sys.exit(f"{len(came[METERED])} metered frames came, from 100 to {most} may")
certain = {True: 0, False: 0}
for place, (before, after) in enumerate(moments):
    first, last = ((at + by) % (2 * HALF_NS) < HALF_NS for at, by in ((before, -CLEARANCE_NS), (after, CLEARANCE_NS)))
    if first != last or after - before > HALF_NS / 2:
        continue
    certain[first] += 1
    if (place in came[GATED]) != first:
        sys.exit(f"frame {place} was sent while the gate was {'open' if first else 'closed'}")
if min(certain.values()) < 100:
    sys.exit(f"too few frames were sent away from the edges: {certain}")
print(json.dumps({"sized": len(came[SIZED]), "metered": len(came[METERED]), "gated": len(came[GATED])}))
