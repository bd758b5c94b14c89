"""Stands in for sigrok-cli: writes what `ontick gpio watch` sees of simulated lines as a value change dump, by a clock of
its own and with faults that are known. Arguments: ontick, and the faults as JSON; those of sigrok-cli are not looked at."""

import json
import os
import select
import signal
import subprocess
import sys

HEADER = "$version stand-in $end $comment Acquisition with 2/2 channels at 25 MHz $end $timescale 1 ns $end\n"
SAMPLE_NS = 40
# No edge comes for so long when the run is over, in s.
SILENCE = 0.5


class Watch:
    """The edges of lines, as they come."""

    def __init__(self, ontick, lines):
        words = [ontick, "gpio", "watch", *lines, "--json"]
        self.program = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        # It speaks when it is at work.
        self.program.stderr.readline()
        self.begun = b""

    def take(self):
        """The edges that there are."""
        text = self.begun + os.read(self.program.stdout.fileno(), 1 << 16)
        *whole, self.begun = text.split(b"\n")
        return [json.loads(line) for line in whole]

    def end(self):
        self.program.send_signal(signal.SIGINT)
        self.program.wait()


def main():
    ontick, faults = sys.argv[1], json.loads(sys.argv[2])
    if "pid" in faults:
        with open(faults["pid"], "w") as file:
            file.write(str(os.getpid()))
    lines = faults["lines"]
    watch = Watch(ontick, lines)
    names = "".join(f"$var wire 1 {code} D{n} $end\n" for n, code in enumerate("!%"[: len(lines)]))
    print(HEADER + names + "$enddefinitions $end\n#0 " + " ".join("0" + code for code in "!%"[: len(lines)]), flush=True)
    edges, output, key = [], watch.program.stdout, sys.stdin
    while True:
        ready, _, _ = select.select([output] + ([key] if key else []), [], [], None if key else SILENCE)
        if output in ready:
            edges += watch.take()
        elif key in ready:
            os.read(key.fileno(), 1)
            key = None
        else:
            break
        if len(edges) >= faults.get("vanishes_after", 1 << 62):
            break
    watch.end()
    edges.sort(key=lambda edge: edge["time_ns"])
    dump(edges, lines, faults)
    if "vanishes_after" in faults:
        sys.exit("the device is gone.\n")


def dump(edges, lines, faults):
    """Prints the edges, each at the sample after it."""
    zero_ns = edges[0]["time_ns"] if edges else 0

    def sample(own_ns):
        ns = faults["offset_ns"] + (own_ns - zero_ns) * (1 + faults["ppm"] / 1e6)
        return int(-(-ns // SAMPLE_NS)) * SAMPLE_NS

    changes, rises = [], 0
    for edge in edges:
        rising = edge["edge"] == "rising"
        rises += rising
        code = "!%"[lines.index(edge["line"])]
        if rises not in faults.get("lacks", []):
            changes.append((sample(edge["time_ns"]), f"{int(rising)}{code}"))
        if not rising and rises in faults.get("adds_after", []):
            for after_ns, level in ((300_000, 1), (305_000, 0)):
                changes.append((sample(edge["time_ns"] + after_ns), f"{level}{code}"))
    for ns, change in sorted(changes):
        print(f"#{ns} {change}")
    # It goes on a little longer, unless the device is gone.
    last_ns = max((ns for ns, _ in changes), default=0)
    print(f"#{last_ns + (0 if 'vanishes_after' in faults else 100_000_000)}", flush=True)


main()
