"""Sends tagged frames by one interface and compares what another receives, byte by byte and as scapy reads the tags.

Usage: switch_tags.py SEND RECEIVE
"""

import sys
import time

from scapy.all import AsyncSniffer, Dot1AD, Dot1Q, Ether, Raw, conf, raw

send, receive = sys.argv[1:3]
FROM = "02:00:00:00:00:0a"
ether = Ether(dst="02:00:00:00:00:0b", src=FROM)
heads = {
    "untagged": ether,
    "PCP 5, VID 100": ether / Dot1Q(prio=5, vlan=100),
    "PCP 7, VID 4094, drop eligible": ether / Dot1Q(prio=7, id=1, vlan=4094),
    "priority tag": ether / Dot1Q(prio=6, vlan=0),
    "service tag": ether / Dot1AD(prio=3, vlan=200),
    "service tag and customer tag": ether / Dot1AD(prio=3, vlan=200) / Dot1Q(prio=5, vlan=100),
    "service tag and priority tag": ether / Dot1AD(prio=1, vlan=7) / Dot1Q(prio=6, vlan=0),
}


def tags(frame):
    """The tags of a frame: (type, PCP, drop eligible, VID), the outermost first."""
    found, layer = [], frame
    while layer.payload and layer.payload.__class__ in (Dot1Q, Dot1AD):
        kind, layer = layer.type, layer.payload
        found.append((hex(kind), layer.prio, layer.id, layer.vlan))
    return found


frames = []
for number in range(4):
    for length in (60, 300, 1400):
        for head in heads.values():
            frame = head.copy()
            frame.lastlayer().type = 0x88B5
            frames.append(Ether(raw(frame / Raw(len(frames).to_bytes(2, "big").ljust(length, bytes([number]))))))

listening = []
sniffer = AsyncSniffer(
    iface=receive,
    lfilter=lambda frame: frame.src == FROM,
    started_callback=lambda: listening.append(True),
    stop_filter=lambda frame: raw(frame) == raw(frames[-1]),
    timeout=60,
)
sniffer.start()
while not listening:
    time.sleep(0.01)
socket = conf.L2socket(iface=send)
for frame in frames:
    socket.send(frame)
sniffer.join()
received = list(sniffer.results)

if len(received) != len(frames):
    sys.exit(f"{len(received)} of {len(frames)} frames came")
for place, (frame, came) in enumerate(zip(frames, received)):
    if tags(frame) != tags(came):
        sys.exit(f"frame {place} was sent with {tags(frame)}, and came with {tags(came)}")
    if raw(frame) != raw(came):
        sys.exit(f"frame {place} has other bytes, or another place: {raw(frame).hex()}, {raw(came).hex()}")
print(f"{len(received)} frames of {len(heads)} kinds came as they were sent")
print(*sorted({str(tags(frame)) for frame in received}), sep="\n")
