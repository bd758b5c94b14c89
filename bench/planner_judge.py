#!/usr/bin/env python3
"""Decides by CP-SAT (OR-tools) whether a network's streams can be scheduled, and draws networks to ask about.

Usage: planner_judge.py draw small|large|margins|load-PERCENT COUNT SEED FOLDER
           writes FOLDER/NAME.json, a network as `network plan` reads it; with margins also FOLDER/NAME.calibration; with
           load-80 large networks whose fullest link is at 80 % of its time on shortest paths
       planner_judge.py decide FOLDER SECONDS
           prints `NAME feasible|infeasible|unknown SECONDS`
       planner_judge.py quality FOLDER
           of each FOLDER/NAME.json with a plan FOLDER/NAME.plan (`network plan NAME.json --out NAME.plan`): entries of gate
           control lists, time that is left to best effort, and delays over the shortest that are possible

The model is stated here on its own, and shares nothing with the planner. Each message of a stream is one frame, or
several of 1500 octets and a rest. A frame takes 8 octets of preamble, 18 of header and VLAN tag, at least 60 with its
data, 4 of check sequence, and the link is free 12 octets later. A node has a frame when its last bit is there (the 12
octets are no part of it), and can send it on `processing` later, or at any time after that. Each frame passes each
link at the same time of every period of its stream, on a tree of links from the talker; stations forward nothing. No
two frames are on a link at once. Every listener has every frame by the deadline, from the period's beginning.
With a calibration, of a data plane that is as slow as it says: a frame's first bit is on the link hand-over and spread
after the node could send it, or later; first bits on one link are a spacing apart at least; and a node can send a frame on
after `processing` or the forwarding time, whichever is longer. (Guards and clocks make plans harder yet: what cannot be
scheduled here cannot with them, and a proof must hold here.)
Times are whole tenths of a nanosecond; the rates drawn here divide them.
"""

import json
import math
import pathlib
import random
import re
import statistics
import sys
import time

TENTH = 10_000_000_000  # of a second
UNITS = {"ns": 10, "us": 10_000, "ms": 10_000_000, "s": TENTH}
RATES = {"Mbit": 10**6, "Gbit": 10**9}


def duration(text):
    """`2.5us`, in tenths of a nanosecond."""
    number = text.rstrip("nums")
    return round(float(number) * UNITS[text[len(number):]])


def rate(text):
    number = text.rstrip("MGbit")
    return round(float(number) * RATES[text[len(number):]])


class Network:
    def __init__(self, document, timing=None):
        timing = {name: 10 * ns for name, ns in (timing or {}).items()}
        self.latest = timing.get("hand_over_ns", 0) + timing.get("spread_ns", 0)
        self.spacing = timing.get("spacing_ns", 0)
        forwarding = timing.get("forwarding_ns", 0)
        common = document.get("network", {})
        self.stations = {one["name"] for one in document["station"]}
        self.links = []
        for cable in document["link"]:
            of = {**common, **cable}
            a, b = cable["between"]
            for ends in ((a, b), (b, a)):
                self.links.append((*ends, rate(of.get("rate", "1Gbit")), duration(of.get("propagation", "0ns")),
                                   max(forwarding, duration(of.get("processing", "0ns")))))
        self.streams = []
        for one in document["stream"]:
            listeners = one["to"] if isinstance(one["to"], list) else [one["to"]]
            period = duration(one["period"])
            deadline = duration(one.get("deadline", one["period"]))
            frames = [1500] * ((one["size"] - 1) // 1500)
            frames.append(one["size"] - sum(frames))
            self.streams.append((one["from"], listeners, frames, period, deadline))

    def taken(self, data, bits_per_second):
        """From a frame's first bit until the next one's on that link, at least."""
        return max(self.spacing, lengths(data, bits_per_second)[1])


def lengths(data, bits_per_second):
    """Of a frame on the wire, and until the link is free behind it, in tenths of a nanosecond."""
    octets = max(60, data + 18) + 12
    exact = [(8 * n * TENTH) / bits_per_second for n in (octets, octets + 12)]
    assert all(one == int(one) for one in exact)
    return [int(one) for one in exact]


def decide(network, seconds):
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    used, begins = {}, {}
    for s, (talker, listeners, frames, period, deadline) in enumerate(network.streams):
        into, out = {}, {}
        for l, (a, b, bits, propagation, processing) in enumerate(network.links):
            if b == talker or (a in network.stations and a != talker):
                continue
            if b in network.stations and b not in listeners:
                continue
            used[s, l] = model.new_bool_var(f"used {s} {l}")
            into.setdefault(b, []).append(l)
            out.setdefault(a, []).append(l)
            for k, data in enumerate(frames):
                begins[s, k, l] = model.new_int_var(min(network.latest, deadline), deadline, f"begin {s} {k} {l}")
                if b in listeners:
                    there = begins[s, k, l] + lengths(data, bits)[0] + propagation
                    model.add(there <= deadline).only_enforce_if(used[s, l])
        for node, links in into.items():
            arrivals = sum(used[s, l] for l in links)
            model.add(arrivals == 1 if node in listeners else arrivals <= 1)
        for node, links in out.items():
            for l in links:
                if node != talker:
                    model.add(sum(used[s, before] for before in into.get(node, [])) >= used[s, l])
                for before in into.get(node, []):
                    _, _, bits, propagation, processing = network.links[before]
                    for k, data in enumerate(frames):
                        there = begins[s, k, before] + lengths(data, bits)[0] + propagation + processing
                        model.add(begins[s, k, l] >= there + network.latest).only_enforce_if([used[s, l], used[s, before]])
        if any(listener not in into for listener in listeners):
            return "infeasible", None
    for l, (_, _, bits, _, _) in enumerate(network.links):
        on = [(s, k, data, network.streams[s][3]) for s in range(len(network.streams)) if (s, l) in used
              for k, data in enumerate(network.streams[s][2])]
        for n, (s, k, data, period) in enumerate(on):
            length = network.taken(data, bits)
            if length > period:
                model.add(used[s, l] == 0)
            for t, m, other, other_period in on[:n]:
                both = [used[s, l]] if s == t else [used[s, l], used[t, l]]
                common, other_length = math.gcd(period, other_period), network.taken(other, bits)
                if length + other_length > common:
                    model.add_bool_or([one.negated() for one in both])
                    continue
                turns = max(network.streams[s][4], network.streams[t][4]) // common + 1
                turn = model.new_int_var(-turns, turns, f"turn {s} {k} {t} {m} {l}")
                distance = begins[s, k, l] - begins[t, m, l] - common * turn
                model.add(distance >= other_length).only_enforce_if(both)
                model.add(distance <= common - length).only_enforce_if(both)
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = seconds
    solver.parameters.num_workers = 8
    solver.parameters.random_seed = 1
    status = solver.solve(model)
    if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        places = {key: solver.value(begin) for key, begin in begins.items() if solver.value(used[key[0], key[2]])}
        check(network, places)
        return "feasible", places
    return ("infeasible" if status == cp_model.INFEASIBLE else "unknown"), None


def check(network, places):
    """The solver's answer, looked at message by message over the common period."""
    common = math.lcm(*(stream[3] for stream in network.streams))
    on = {}
    for (s, k, l), begin in places.items():
        length = network.taken(network.streams[s][2][k], network.links[l][2])
        period = network.streams[s][3]
        for n in range(min(common // period, 10_000)):
            on.setdefault(l, []).append(((begin + n * period) % common, length))
    for link in on.values():
        link.sort()
        link.append((link[0][0] + common, 0))
        assert all(a + length <= b for (a, length), (b, _) in zip(link, link[1:]))


def calibration(chance):
    """Of the user data plane, a port's hardware, the kernel, or such as was never seen."""
    plane, *times = chance.choice([
        ("user", 700, 2_300, 2_000, 500, 100, 5_000),
        ("user", chance.randint(0, 4_000), chance.randint(0, 9_000), chance.randint(0, 20_000), chance.randint(0, 2_000),
         chance.randint(0, 500), chance.randint(0, 9_000)),
        ("hardware", 0, 40, 0, 0, 0, 0),
        ("hardware", chance.randint(0, 500), chance.randint(0, 500), chance.randint(0, 3_000), chance.randint(0, 500), 0,
         chance.randint(0, 3_000)),
        ("kernel", 10_000, 40_000, 2_000, 5_000, 500, 20_000)])
    names = ["hand_over_ns", "spread_ns", "spacing_ns", "guard_ns", "clock_error_ns", "forwarding_ns"]
    return {"ontick_calibration": 1, "plane": plane, "timing": dict(zip(names, times))}


def drawn(kind, chance, timing=None):
    small = kind in ("small", "margins")
    switches = [f"s{n}" for n in range(chance.randint(1, 4) if small else chance.randint(3, 6))]
    shape = chance.choice(["line", "ring", "star", "mesh"])
    pairs = set()
    for n in range(1, len(switches)):
        pairs.add((0 if shape == "star" else n - 1, n))
    if shape in ("ring", "mesh") and len(switches) > 2:
        pairs.add((0, len(switches) - 1))
    if shape == "mesh" and len(switches) > 3:
        pairs.add((0, 2))
    stations = [(f"h{n}", n % len(switches)) for n in range(max(chance.randint(2, 4), len(switches)) if small
                                                            else len(switches) * chance.randint(1, 2))]
    rates = chance.choice([["100Mbit"], ["1Gbit"], ["100Mbit", "1Gbit"], ["1Gbit", "2.5Gbit", "10Gbit"]] if small
                          else [["100Mbit"], ["100Mbit", "100Mbit", "1Gbit"]])
    cables = [(switches[a], switches[b]) for a, b in sorted(pairs)] + [(name, switches[at]) for name, at in stations]
    document = {
        "network": {"processing": chance.choice(["0ns", "1us", "2us"]), "propagation": chance.choice(["0ns", "50ns", "500ns"])},
        "switch": [{"name": name} for name in switches],
        "station": [{"name": name} for name, _ in stations],
        "link": [{"between": list(ends), "rate": chance.choice(rates)} for ends in cables],
    }
    slow = min(rate(one) for one in rates)
    # Periods in microseconds, of links of 100 Mbit/s.
    periods = chance.choice([[400, 600], [500, 1000, 2000], [300, 450, 900], [600, 800, 1000, 1200], [1000, 1250, 2500]]
                            if small else
                            [[500, 1000, 2000, 4000], [1000, 2000, 4000], [800, 1200, 2400], [1000, 1500, 3000],
                             [600, 1200, 1800, 3600], [1000, 2000, 2500, 5000]])
    periods = [period * 10**8 // slow for period in periods]
    if timing:
        # Long enough for a data plane to send and forward some times.
        slowest = timing["hand_over_ns"] + timing["spread_ns"] + timing["spacing_ns"] + timing["forwarding_ns"]
        periods = [period * -(-chance.randint(4, 12) * slowest // (1000 * periods[0])) for period in periods]
    streams = []
    for n in range(chance.randint(2, 7) if small else chance.randint(22, 34)):
        talker, *others = chance.sample([name for name, _ in stations], 2 if not small or chance.random() < 0.8 or len(stations) < 3 else 3)
        streams.append({"name": f"f{n}", "from": talker, "to": others if len(others) > 1 else others[0],
                        "size": 1, "period": f"{chance.choice(periods)}us"})
    document["stream"] = streams
    weights = [chance.uniform(0.2, 1) for _ in streams]
    # Sizes so that the fullest link of shortest paths carries what was drawn.
    target = chance.uniform(0.2, 1.1) if small else chance.uniform(0.5, 0.9)
    if kind.startswith("load-"):
        target = int(kind.removeprefix("load-")) / 100
    largest = 4500 if small and chance.random() < 0.3 else 1500
    low, high = 0.0, 20_000.0
    for _ in range(40):
        middle = (low + high) / 2
        for stream, weight in zip(streams, weights):
            stream["size"] = max(1, min(largest, int(weight * middle)))
        low, high = (middle, high) if fullest(Network(document, timing)) < target else (low, middle)
    network = Network(document, timing)
    tight = chance.choice([0.1, 0.5, 1])
    for stream, of in zip(streams, network.streams):
        least = quickest(network, of)
        if small:
            # Just long enough, more than that, and now and then a nanosecond too short.
            part = chance.choice([0.0] + [chance.uniform(0, tight) for _ in range(5 if timing else 2)])
            deadline = least + part * max(0, of[3] - least) - (10 if chance.random() < 0.03 else 0)
        else:
            deadline = least + chance.choice([chance.uniform(0.1, 0.5), chance.uniform(0.3, 1)]) * max(0, of[3] - least)
        deadline = min(of[3], max(10, math.ceil(deadline / 10) * 10))
        stream["deadline"] = f"{deadline // 10}ns"
    return document


def paths(network, talker):
    """Distances in links, and the links of shortest paths."""
    best, waiting = {talker: []}, [talker]
    for node in waiting:
        for l, (a, b, *_) in enumerate(network.links):
            if a == node and b not in best and (a == talker or a not in network.stations):
                best[b] = best[a] + [l]
                waiting.append(b)
    return best


def fullest(network):
    load = {}
    for talker, listeners, frames, period, _ in network.streams:
        tree = {l for listener in listeners for l in paths(network, talker)[listener]}
        for l in tree:
            load[l] = load.get(l, 0) + sum(network.taken(data, network.links[l][2]) for data in frames) / period
    return max(load.values())


def quickest(network, stream):
    """Along shortest paths, alone."""
    talker, listeners, frames, *_ = stream
    worst = 0
    for listener in listeners:
        there = [0] * len(frames)
        for l in paths(network, talker)[listener]:
            _, _, bits, propagation, processing = network.links[l]
            free, left = 0, []
            for data, at in zip(frames, there):
                begin = max(free, at + network.latest)
                frame, _ = lengths(data, bits)
                free = begin + network.taken(data, bits)
                left.append(begin + frame + propagation + processing)
            there = left
        worst = max(worst, there[-1] - processing)
    return worst


def entries(gates):
    """How many entries the list of a port has: windows that touch are one, and best effort has what is between them."""
    spans, cycle = sorted((begin, end, queue) for queue, begin, end in gates["windows"]), gates["cycle_ns"]
    number, at, last = 0, 0, None
    for begin, end, queue in spans:
        number += (begin > at) + (begin > at or queue != last)
        at, last = end, queue
    return number + (at < cycle)


def quality(plans):
    """In words, of networks and their plans."""
    lists, left, over, waits = [], [], [], []
    for document, plan in plans:
        network = Network(document)
        quickest_of = {one["name"]: quickest(network, of) for one, of in zip(document["stream"], network.streams)}
        for gates in plan["gates"]:
            lists.append(entries(gates))
            left.append(1 - sum(end - begin for _, begin, end in gates["windows"]) / gates["cycle_ns"])
        for stream in plan["streams"]:
            over.append(10 * (stream["latency_ns"] - stream["offset_ns"]) / quickest_of[stream["name"]])
            waits.append(stream["waits"])
    share = lambda most: f"{sum(n <= most for n in lists) / len(lists):.1%} of the ports <= {most}"
    return "\n".join([
        f"{len(plans)} plans, {len(waits)} streams, {len(lists)} ports with gates",
        f"gate entries: {share(8)}, {share(16)}, median {statistics.median(lists):.0f}, most {max(lists)}",
        f"best effort: {statistics.mean(left):.1%} of a port's time on average, {min(left):.1%} at the fullest port",
        f"delay over the shortest possible: x{statistics.mean(over):.3f} on average, x{max(over):.2f} at most; "
        f"{sum(waits) / len(waits):.1%} of the streams wait in switches",
    ])


def main():
    match sys.argv[1:]:
        case ["draw", kind, count, seed, folder] if re.fullmatch(r"small|large|margins|load-[1-9][0-9]", kind):
            pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
            for n in range(int(count)):
                chance = random.Random(f"{kind} {seed} {n}")
                measured = calibration(chance) if kind == "margins" else None
                document = drawn(kind, chance, measured and measured["timing"])
                file = pathlib.Path(folder, f"{kind}-{seed}-{n:04}.json")
                file.write_text(json.dumps(document) + "\n")
                if measured:
                    file.with_suffix(".calibration").write_text(json.dumps(measured) + "\n")
        case ["decide", folder, seconds]:
            for file in sorted(pathlib.Path(folder).glob("*.json")):
                begun, measured = time.monotonic(), file.with_suffix(".calibration")
                timing = json.loads(measured.read_text())["timing"] if measured.exists() else None
                verdict, _ = decide(Network(json.loads(file.read_text()), timing), float(seconds))
                print(file.stem, verdict, f"{time.monotonic() - begun:.2f}", flush=True)
        case ["quality", folder]:
            plans = sorted(pathlib.Path(folder).glob("*.plan"))
            if not plans:
                sys.exit(f"{folder} has no NAME.plan; `ontick network plan NAME.json --out NAME.plan` writes one")
            print(quality([(json.loads(file.with_suffix(".json").read_text()), json.loads(file.read_text()))
                           for file in plans]))
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()
