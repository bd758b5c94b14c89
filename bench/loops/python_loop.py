"""The loop that stands beside rust_loop.rs: python_loop.py CPU PRIORITY INTERVAL_NS CYCLES RECORD"""

import sys

import ontick

cpu, priority, interval_ns, cycles = map(int, sys.argv[1:5])
with ontick.realtime(cpu, priority, watchdog="10s") as section:
    loop = ontick.every(f"{interval_ns}ns", phase="auto", count=cycles)
    for tick in loop:
        pass
    run = loop.run("Python", section)
run.save(sys.argv[5])
