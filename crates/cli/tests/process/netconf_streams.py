"""Sends untagged frames that carry so many octets, and prints which of these sizes came out at the other side.

Usage: netconf_streams.py OUT IN DESTINATION SIZE... [--until-asked]

With --until-asked frames are sent until standard input ends, each millisecond; how many goes to standard error.
"""

import select
import socket
import sys

# The second one for experiments: the switch looks for loops with frames of the first.
ETHER_TYPE = 0x88B6
out_of, into, destination, *sizes = sys.argv[1:]
until_asked = "--until-asked" in sizes
sizes = [int(size) for size in sizes if not size.startswith("--")]


def opened(name):
    port = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETHER_TYPE))
    port.bind((name, ETHER_TYPE))
    return port


def frame(size):
    return bytes.fromhex(destination + "020000000007") + ETHER_TYPE.to_bytes(2, "big") + bytes(size)


sender, listener = opened(out_of), opened(into)
sent = 0
while True:
    for size in sizes:
        sender.send(frame(size))
        sent += 1
    if not until_asked or select.select([sys.stdin], [], [], 0.001)[0]:
        break
came = set()
listener.settimeout(1)
try:
    while len(came) < len(sizes):
        came.add(len(listener.recv(2048)) - 14)
except TimeoutError:
    pass
print(*sorted(came))
if until_asked:
    print(sent, file=sys.stderr)
