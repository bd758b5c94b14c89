"""Sends numbered frames by one interface while a path is cut and joined again, and judges what others receive.

Usage: switch_redundancy.py SEND RECEIVE PATH

PATH is where the first path passes. It says "cut" and "join" on standard output, and waits for a line of standard input then.
"""

import sys
import time

from scapy.all import AsyncSniffer, Dot1Q, Ether, Raw, conf, raw

send, receive, path = sys.argv[1:4]
FROM, TO = "02:00:00:00:00:0a", "02:00:00:00:01:00"
FRAMES = 2400


def frame(number):
    return Ether(dst=TO, src=FROM) / Dot1Q(vlan=100, prio=5, type=0x88B5) / Raw(number.to_bytes(4, "big").ljust(46, b"\0"))


def sniff(interface, last):
    listening = []
    sniffer = AsyncSniffer(
        iface=interface,
        lfilter=lambda one: one.src == FROM,
        started_callback=lambda: listening.append(True),
        stop_filter=last,
        timeout=60,
    )
    sniffer.start()
    while not listening:
        time.sleep(0.01)
    return sniffer


def ask(what):
    print(what, flush=True)
    if not sys.stdin.readline():
        sys.exit("nobody answers")


end = raw(frame(FRAMES - 1))
listener = sniff(receive, lambda one: raw(one) == end)
between = sniff(path, lambda one: raw(one)[24:28] == end[18:22])
socket = conf.L2socket(iface=send)
for number in range(FRAMES):
    if number == FRAMES // 3:
        ask("cut")
    if number == 2 * FRAMES // 3:
        ask("join")
    socket.outs.send(raw(frame(number)))
    time.sleep(0.0005)
listener.join()
between.join()

came = [int.from_bytes(raw(one)[18:22], "big") for one in listener.results]
if sorted(came) != list(range(FRAMES)):
    missing = sorted(set(range(FRAMES)) - set(came))
    sys.exit(f"{len(came)} frames came; missing: {missing[:20]}, twice: {len(came) - len(set(came))}")
for one, number in zip(listener.results, came):
    if raw(one) != raw(frame(number)):
        sys.exit(f"frame {number} came otherwise than it was sent: {raw(one).hex()}")
# On the way each has its VLAN tag, then the redundancy tag: EtherType, two reserved octets, the number.
tags = [raw(one)[16:22] for one in between.results]
wrong = [tag.hex() for tag in tags if tag[:4] != bytes.fromhex("f1c10000")]
if wrong or not FRAMES // 3 <= len(tags) < FRAMES:
    sys.exit(f"{len(tags)} frames came by the first path, of {FRAMES}; without a redundancy tag: {wrong[:3]}")
numbers = [int.from_bytes(tag[4:], "big") for tag in tags]
if any(later <= earlier for earlier, later in zip(numbers, numbers[1:])):
    sys.exit(f"the numbers do not ascend: {numbers}")
print(f"{len(came)} frames came once each, {len(tags)} by the first path")
