"""Loops that keep time, and threads that run on time."""

import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from decimal import Decimal
from fractions import Fraction

import ontick
import pytest


def scheduling() -> tuple[int, int, frozenset[int]]:
    policy = os.sched_getscheduler(0) & ~os.SCHED_RESET_ON_FORK
    return policy, os.sched_getparam(0).sched_priority, frozenset(os.sched_getaffinity(0))


def test_ticks_lie_on_a_grid() -> None:
    loop = ontick.every("2ms", count=20)
    ticks = list(loop)
    assert len(ticks) == 20 and ticks[0].index == 0
    first = ticks[0]
    for before, tick in zip(ticks, ticks[1:]):
        assert tick.index == before.index + 1 + tick.missed
        assert tick.deadline_ns - first.deadline_ns == tick.index * 2_000_000
        assert tick.latency_ns == max(0, tick.now_ns - tick.deadline_ns)
    assert loop.latency.count == 20 and loop.missed == sum(tick.missed for tick in ticks)
    assert abs(time.monotonic_ns() - ticks[-1].now_ns) < 60_000_000_000, "the clock is Python's"


def test_missed_periods_are_counted_or_caught_up() -> None:
    skipping, ticks = ontick.every("1ms", count=2), []
    for tick in skipping:
        ticks.append(tick)
        time.sleep(0.02)
    assert ticks[1].missed >= 18 and skipping.missed >= 18
    catching = ontick.every("1ms", count=10, catch_up=True)
    for tick in catching:
        if tick.index == 0:
            time.sleep(0.02)
        assert tick.missed == 0
    assert tick.index == 9


def test_a_loop_makes_a_record() -> None:
    loop = ontick.every("1kHz", wait="clock_nanosleep", count=50)
    for _ in loop:
        pass
    run = loop.run("control")
    assert run["control"].latency.count == 50
    assert run["control"].settings["method"] == "clock_nanosleep" and run.environment["cpus_online"] >= 1
    assert list(loop) == [], "it has ended"


def test_a_duration_ends_it() -> None:
    loop = ontick.every("5ms", duration=timedelta(milliseconds=60), catch_up=True)
    ticks = list(loop)
    assert len(ticks) == loop.latency.count <= 12 and list(loop) == []


@pytest.mark.parametrize("interval", ["1s", "1h"])
def test_a_duration_ends_it_before_the_first_deadline(interval: str) -> None:
    began = time.monotonic()
    assert list(ontick.every(interval, duration="300ms", wait="clock_nanosleep")) == []
    assert time.monotonic() - began < 0.9, "it does not wait for the deadline"


@pytest.mark.parametrize(
    "arguments",
    [
        {"interval": "0"},
        {"interval": "1"},
        {"interval": "10ns"},
        {"interval": "2000h"},
        {"interval": "-1ms"},
        {"interval": "nan"},
        {"interval": "NaNms"},
        {"interval": 0.001},
        {"interval": None},
        {"interval": timedelta(days=-1)},
        {"interval": "1ms", "duty": float("nan")},
        {"interval": "1ms", "duty": 0.0},
        {"interval": "1ms", "duty": 1.5},
        {"interval": "1ms", "duty": float("inf")},
        {"interval": "1ms", "duty": 10**400},
        {"interval": "1ms", "duty": Fraction(10**5000, 3)},
        {"interval": "1ms", "duty": "0.5"},
        {"interval": "1ms", "duty": True},
        {"interval": "1ms", "duty": 0.5 + 0j},
        {"interval": 10**5000},
        {"interval": "1ms", "wait": "hope"},
        {"interval": "1ms", "phase": "full moon"},
        {"interval": "1ms", "count": -1},
        {"interval": "1ms", "count": 1.5},
        {"interval": "1ms", "count": True},
        {"interval": "1ms", "count": 2**64},
        {"interval": "1ms", "count": 10**5000},
    ],
)
def test_absurd_arguments_are_refused(arguments: dict[str, object]) -> None:
    with pytest.raises(ontick.ArgumentError) as refused:
        ontick.every(**arguments)  # type: ignore[arg-type]
    assert isinstance(refused.value, ValueError) and len(str(refused.value)) > 10


@pytest.mark.parametrize(
    "arguments",
    [
        {"priority": 0},
        {"priority": 100},
        {"priority": 90.5},
        {"priority": 10**5000},
        {"cpu": 1.0},
        {"cpu": "best"},
        {"cpu": 4095},
        {"cpu": 10**5000},
        {"watchdog": "1ns"},
    ],
)
def test_an_absurd_section_changes_nothing(arguments: dict[str, object]) -> None:
    before = scheduling()
    with pytest.raises(ontick.ArgumentError):
        with ontick.realtime(**arguments):  # type: ignore[arg-type]
            pytest.fail("it was entered")
    assert scheduling() == before


def test_a_share_may_be_a_number_of_another_kind() -> None:
    for duty in (1, Fraction(1, 2), Decimal("0.25"), None):
        loop = ontick.every("1ms", duty=duty, count=2)  # type: ignore[arg-type]
        assert sum(1 for _ in loop) == 2


def test_priority_is_given_back_whatever_ends_the_block(rights: None) -> None:
    before = scheduling()
    for error in (None, ValueError("in the body"), KeyboardInterrupt(), SystemExit(3)):
        try:
            with ontick.realtime(priority=40) as section:
                assert scheduling()[:2] == (os.SCHED_FIFO, 40)
                assert section.policy == "fifo:40" and section.memory_locked
                assert os.sched_getaffinity(0) == {section.cpu}
                for _ in ontick.every("1ms", count=3):
                    if error is not None:
                        raise error
        except BaseException as raised:
            assert raised is error
        assert scheduling() == before


def test_a_generator_that_is_dropped_gives_it_back(rights: None) -> None:
    def on_time() -> object:
        with ontick.realtime(priority=5):
            yield scheduling()

    before, loop = scheduling(), on_time()
    assert next(loop)[1] == 5  # type: ignore[call-overload]
    del loop
    assert scheduling() == before


def test_a_forked_child_is_no_real_time_process(rights: None) -> None:
    before = scheduling()
    loop = ontick.every("1ms")
    with ontick.realtime(priority=30):
        child = os.fork()
        if child == 0:
            forked = "none"
            try:
                next(iter(loop))
            except ontick.ForkedError:
                forked = "refused"
            os._exit(0 if scheduling() == before and forked == "refused" else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert scheduling()[1] == 30, "the parent keeps it"
    assert scheduling() == before


def test_a_forked_child_has_what_was_there_before_the_outermost_block() -> None:
    before = scheduling()

    def child_is_as_before() -> bool:
        child = os.fork()
        if child == 0:
            os._exit(0 if scheduling() == before else 1)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0

    with ontick.realtime(cpu=min(before[2]), policy="other", lock_memory=False, strict=False):
        with ontick.realtime(cpu="keep", policy="other", lock_memory=False, strict=False):
            assert child_is_as_before(), "within both"
        assert child_is_as_before(), "after the inner one"
    assert scheduling() == before


def test_what_is_started_within_has_no_priority(rights: None) -> None:
    program = "import os, sys; sys.exit(os.sched_getscheduler(0) * 100 + os.sched_getparam(0).sched_priority)"
    words, started = [sys.executable, "-c", program], []
    with ontick.realtime(priority=30):
        other = threading.Thread(target=lambda: started.append(scheduling()[:2]))
        other.start()
        other.join()
        with ThreadPoolExecutor(1) as pool:
            started.append(pool.submit(scheduling).result()[:2])
        assert started == [(os.SCHED_OTHER, 0)] * 2
        assert subprocess.run(words).returncode == 0
        assert subprocess.run(words, close_fds=False).returncode == 0, "by vfork or posix_spawn"
        assert os.waitstatus_to_exitcode(os.waitpid(os.posix_spawn(words[0], words, os.environ), 0)[1]) == 0
        assert os.waitstatus_to_exitcode(os.system(f"{sys.executable} -c '{program}'")) == 0
        assert scheduling()[:2] == (os.SCHED_FIFO, 30), "the thread itself keeps it"


def test_a_forked_child_may_end_as_it_likes(rights: None) -> None:
    program = """
import ontick, os, sys
with ontick.realtime("keep", 2) as section, ontick.Line("sim:py-fork/1") as line:
    samples = ontick.sample(rate="1kHz", source="wave:sine", cpu="keep")
    loop = ontick.every("1ms")
    if os.fork() == 0:
        sys.exit(0)
    assert os.waitstatus_to_exitcode(os.wait()[1]) == 0
samples.close()
ontick.remove_chip("py-fork")
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert ended.returncode == 0, ended.stderr


def test_each_thread_of_a_pool_has_its_own(rights: None) -> None:
    before = scheduling()

    def work(priority: int) -> tuple[int, int]:
        with ontick.realtime("keep", priority):
            ticks = sum(1 for _ in ontick.every("1ms", count=20))
            return scheduling()[1], ticks

    with ThreadPoolExecutor(3) as pool:
        assert list(pool.map(work, (11, 12, 13))) == [(11, 20), (12, 20), (13, 20)]
        assert set(pool.map(lambda _: scheduling(), range(6))) == {before}


def test_another_thread_cannot_end_it(rights: None) -> None:
    section, errors = ontick.realtime("keep", 3), []
    section.__enter__()

    def leave() -> None:
        try:
            section.__exit__(None, None, None)
        except ontick.WrongThreadError as error:
            errors.append(str(error))

    other = threading.Thread(target=leave)
    other.start()
    other.join()
    assert len(errors) == 1 and scheduling()[1] == 3
    section.__exit__(None, None, None)
    assert scheduling()[1] == 0


def test_other_threads_run_while_a_loop_waits() -> None:
    turns = 0
    stop = threading.Event()

    def count() -> None:
        nonlocal turns
        while not stop.is_set():
            turns += 1

    other = threading.Thread(target=count)
    other.start()
    for _ in ontick.every("50ms", count=3, wait="clock_nanosleep"):
        pass
    stop.set()
    other.join()
    assert turns > 100, "the interpreter was free"


def test_two_threads_cannot_wait_in_one_loop() -> None:
    loop = ontick.every("2s", wait="clock_nanosleep")
    entered = threading.Event()

    def wait() -> None:
        entered.set()
        next(iter(loop))

    other = threading.Thread(target=wait)
    other.start()
    entered.wait()
    # It is in the wait at once or a little later.
    for _ in ontick.every("1ms", count=5000):
        try:
            loop.run()
        except ontick.InUseError as error:
            assert "another thread" in str(error)
            break
    else:
        pytest.fail("the other thread never waited")
    other.join()


INTERRUPTED = """
import glob, ontick, signal, threading, time, os
# A shell's background job ignores it.
signal.signal(signal.SIGINT, signal.default_int_handler)
go = threading.Event()
def interrupt():
    go.wait()
    time.sleep({after})
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=interrupt, daemon=True).start()
{body}
"""


def interrupted(body: str, after: float = 0.1) -> str:
    """What a program prints that gets SIGINT so many seconds after it sets `go`."""
    program = INTERRUPTED.format(body=body, after=after)
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.strip()


@pytest.mark.parametrize("interval", ["1ms", "1h"])
def test_ctrl_c_ends_a_loop_of_any_interval(interval: str) -> None:
    body = f"""
loop = ontick.every("{interval}", wait="clock_nanosleep")
go.set()
try:
    for tick in loop: pass
except KeyboardInterrupt:
    print("interrupted", loop.latency.count > 0)
"""
    assert interrupted(body) == f"interrupted {interval == '1ms'}"


def test_ctrl_c_ends_a_measurement_with_what_was_measured() -> None:
    # A warm-up takes a quarter of a second at most.
    body = """
def measuring():
    names = lambda: [open(name).read() for name in glob.glob("/proc/self/task/*/comm")]
    while "ontick-timed\\n" not in names():
        time.sleep(0.01)
    go.set()
threading.Thread(target=measuring, daemon=True).start()
run = ontick.latency.timer(duration="1h", stock=True, cpu="any", policy="other", phase="chance", method="clock_nanosleep")
print(run.interrupted, run.series[0].latency.count > 0)
"""
    assert interrupted(body, after=1.5) == "True True"


def test_ctrl_c_ends_sampling_and_edges(chip: str) -> None:
    body = """
batches = 0
try:
    for batch in ontick.sample(rate="1kHz", source="wave:sine", batch=10, policy=None, cpu="keep", lock_memory=False):
        batches += 1
        go.set()
except KeyboardInterrupt:
    print("sampling", batches > 0)
"""
    assert interrupted(body) == "sampling True"
    body = f"""
with ontick.Line("sim:{chip}/1", edges="both") as line:
    go.set()
    try:
        for edge in line.edges(): pass
    except KeyboardInterrupt:
        print("edges")
"""
    assert interrupted(body) == "edges"


def test_without_the_right_the_error_says_what_to_do() -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can become a user without the right to real-time priority")
    program = """
import ontick, os, resource
resource.setrlimit(resource.RLIMIT_RTPRIO, (0, 0))
os.setgroups([]); os.setgid(65534); os.setuid(65534)
try:
    with ontick.realtime(lock_memory=False): raise SystemExit("it was entered")
except PermissionError as error:
    assert isinstance(error, ontick.RefusedError)
    print(error)
with ontick.realtime(lock_memory=False, strict=False) as section:
    print(len(section.refused), sum(1 for _ in ontick.every("1ms", count=5)))
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert ended.returncode == 0, ended.stderr
    error, rest = ended.stdout.splitlines()
    assert error.startswith("policy fifo:90") and "limits" in error, error
    assert rest == "1 5"


def test_the_watchdog_takes_the_priority_of_a_loop_that_never_rests(rights: None) -> None:
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("this process may use one CPU")
    with ontick.realtime(priority=2, watchdog="400ms") as section:
        end = time.monotonic() + 60
        while not section.demoted and time.monotonic() < end:
            sum(range(100_000))
        assert section.demoted
    assert os.sched_getscheduler(0) == os.SCHED_OTHER


