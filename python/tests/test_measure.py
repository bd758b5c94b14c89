"""Measurements and sampling."""

import os

import ontick
import pytest

numpy = pytest.importorskip("numpy")

MODEST = {"cpu": "keep", "policy": None, "lock_memory": False}


def test_several_methods_in_turn() -> None:
    methods = ["clock_nanosleep", "timerfd"]
    run = ontick.latency.timer("1ms", method=methods, count=50, stock=True, cpu="any", policy="other", phase="chance")
    assert [series.name for series in run] == methods
    assert all(series.latency.count == 50 for series in run)


def test_prove_has_both_sides() -> None:
    run = ontick.prove("1500ms", load="none")
    assert [series.name for series in run] == ["stock, idle", "ontick, idle"]
    judged = run.require("max < 1ns")
    assert not judged.met and judged.requirements[0].series == "ontick, idle"


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two CPUs")
def test_prove_takes_several_cpus_as_the_program_does() -> None:
    two = sorted(os.sched_getaffinity(0))[:2]
    names = [f"CPU {cpu}, {side}, idle" for side in ("stock", "ontick") for cpu in two]
    for cpu in (two, ",".join(map(str, two))):
        run = ontick.prove("1500ms", load="none", cpu=cpu)
        assert [series.name for series in run] == names
        assert [series.settings["cpu"] for series in run] == two * 2


@pytest.mark.parametrize("cpu", [True, -1, [], [0, True], "fast", {"a": 1}])
def test_absurd_cpus_of_prove_are_refused(cpu: object) -> None:
    with pytest.raises(ontick.ArgumentError, match="cpu"):
        ontick.prove("1500ms", load="none", cpu=cpu)  # type: ignore[arg-type]


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="on one CPU no wait spins")
def test_a_margin_is_in_the_record() -> None:
    run = ontick.latency.timer(count=50, margin="60us", cpu="any", policy="other", stock=True, phase="chance")
    assert run.series[0].settings["margin_ns"] == 60_000 and run.series[0].settings["margin_fixed"]
    with pytest.raises(ontick.ArgumentError, match="hybrid"):
        ontick.latency.timer(count=50, margin="60us", method="futex")
    with pytest.raises(ontick.MeasurementError, match="at most 900us"):
        ontick.prove("1500ms", margin="2ms", load="none")


@pytest.mark.parametrize(
    "arguments",
    [
        {"count": 0},
        {"count": 2**64},
        {"count": 1, "duration": "1s"},
        {"duration": "forever"},
        {"method": "hope", "count": 1},
        {"method": [], "count": 1},
        {"policy": "best", "count": 1},
        {"load": "heavy", "count": 1},
        {"cpu": "fast", "count": 1},
        {"cpu": 10**5000, "count": 1},
        {"interval": "1xs", "count": 1},
        {"duration": "0s"},
        {"interval": "10ms", "duration": "9ms"},
    ],
)
def test_absurd_arguments_are_refused(arguments: dict[str, object]) -> None:
    with pytest.raises(ontick.ArgumentError):
        ontick.latency.timer(**arguments)  # type: ignore[arg-type]


def test_what_cannot_be_measured_is_said() -> None:
    with pytest.raises(ontick.MeasurementError, match="at most 1h"):
        ontick.latency.timer("2h", count=1)
    with pytest.raises(ontick.MeasurementError, match="CPU 4095 is not online"):
        ontick.latency.timer(count=1, cpu=4095)
    with pytest.raises(ontick.MeasurementError, match="too short"):
        ontick.prove("1ms")


def test_samples_are_numbered_and_none_is_lost() -> None:
    samples = ontick.sample(rate="2kHz", source=["wave:ramp,10Hz", "wave:sine,10Hz"], batch=100, count=1050, **MODEST)  # type: ignore[arg-type]
    assert samples.channels == ("ramp", "sine")
    batches = list(samples)
    assert [len(batch) for batch in batches] == [100] * 10 + [50]
    numbers = numpy.concatenate([batch.number for batch in batches]).astype("int64")
    times = numpy.concatenate([batch.time_ns for batch in batches]).astype("int64")
    assert (numpy.diff(numbers) >= 1).all() and numbers[0] == 0 and (numpy.diff(times) > 0).all()
    values = numpy.concatenate([batch.values for batch in batches])
    assert values.shape == (1050, 2) and values.min() >= -1.001 and values.max() <= 1.001
    # The sine is that of its own time: both channels are computed from the clock.
    assert abs(values[:, 1]).max() > 0.9
    table = batches[0].arrow()
    assert table.column_names == ["number", "time_ns", "latency_ns", "ramp", "sine"]
    assert numpy.allclose(table["sine"].to_numpy(), batches[0].values[:, 1])


def test_a_slow_loop_loses_nothing() -> None:
    taken = 0
    # The ring itself holds 4096 samples: this loop is later than that.
    for batch in ontick.sample(rate="4kHz", source="wave:sine", batch=500, count=6000, **MODEST):  # type: ignore[arg-type]
        if taken == 0:
            for _ in ontick.every("100ms", count=13):
                pass
        taken += len(batch)
    assert taken == 6000


def test_a_loop_that_is_left_ends_the_sampling() -> None:
    before = set(os.listdir("/proc/self/task"))
    for _ in ontick.sample(rate="1kHz", source="wave:sine", batch=5, **MODEST):  # type: ignore[arg-type]
        break
    import gc

    gc.collect()
    assert set(os.listdir("/proc/self/task")) <= before


def test_edges_trigger_samples(chip: str) -> None:
    ontick.wire(f"sim:{chip}/1", f"sim:{chip}/2")
    with ontick.Line(f"sim:{chip}/1", "output") as out:
        samples = ontick.sample(trigger=f"sim:{chip}/2:both", source=f"lines:sim:{chip}/2-3", batch=4, count=4, **MODEST)  # type: ignore[arg-type]
        for level in (True, False, True, False):
            out.write(level)
        (batch,) = samples
        assert len(batch) == 4 and batch.values.shape == (4, len(samples.channels))


@pytest.mark.parametrize(
    "arguments",
    [
        {"source": "wave:sine"},
        {"source": [], "rate": "1kHz"},
        {"source": "wave:square wheel", "rate": "1kHz"},
        {"source": "wave:sine", "rate": "0"},
        {"source": "wave:sine", "rate": 1000},
        {"source": "wave:sine", "rate": "nanHz"},
        {"source": "wave:sine", "rate": "1kHz", "trigger": "sim:a/1"},
        {"source": "wave:sine", "rate": "1kHz", "batch": 0},
        {"source": "wave:sine", "rate": "1kHz", "batch": 2**63},
        {"source": "wave:sine", "rate": "1kHz", "count": 2**64},
        {"source": "wave:sine", "rate": "1kHz", "count": 2.5},
        {"source": "wave:sine", "rate": "1kHz", "cpu": 4095},
        {"source": "wave:sine", "rate": "1kHz", "cpu": 10**5000},
    ],
)
def test_absurd_sampling_is_refused(arguments: dict[str, object]) -> None:
    with pytest.raises(ontick.ArgumentError):
        ontick.sample(**arguments)  # type: ignore[arg-type]


def test_a_rate_without_a_unit_is_told_how_rates_are_written() -> None:
    with pytest.raises(ontick.ArgumentError, match="rate is 1000: write a rate or a time with its unit"):
        ontick.sample(rate=1000, source="wave:sine")  # type: ignore[arg-type]
    with pytest.raises(ontick.ArgumentError, match='interval is 1: write a time with its unit \\("1ms"\\)'):
        ontick.latency.timer(1)  # type: ignore[arg-type]
