"""Lines, on simulated chips."""

import os
import threading
from pathlib import Path
from typing import Literal

import ontick
import pytest


@pytest.fixture
def joined(chip: str) -> tuple[str, str]:
    """Two lines: when the first is driven, the second follows."""
    output, input = f"sim:{chip}/4", f"sim:{chip}/17"
    ontick.wire(output, input)
    return output, input


def test_a_driven_line_is_seen(joined: tuple[str, str]) -> None:
    with ontick.Line(joined[0], "output", value=True) as out, ontick.Line(joined[1]) as seen:
        assert seen.read() is True and seen.backend == "simulated"
        out.value = False
        assert seen.value is False
        out.write(True)
        assert seen.value is True
    with ontick.Line(joined[1], active_low=True) as seen:
        assert seen.value is False, "kept at its last value, and seen upside down"
    with ontick.Line(joined[0], "output", value=True, on_exit="low"):
        pass
    with ontick.Line(joined[1]) as seen:
        assert seen.value is False


@pytest.mark.parametrize("direction", ["input", "as-is"])
def test_only_an_output_is_driven(joined: tuple[str, str], direction: Literal["input", "as-is"]) -> None:
    with ontick.Line(joined[0], direction) as line, ontick.Line(joined[1]) as seen:
        with pytest.raises(ontick.ArgumentError, match=f'line {joined[0]}: it was not opened as "output"'):
            line.write(True)
        with pytest.raises(ontick.ArgumentError, match="not opened as"):
            line.value = True
        assert line.read() is False and seen.read() is False


def test_edges_come_in_order_with_their_times(joined: tuple[str, str]) -> None:
    with ontick.Line(joined[0], "output") as out, ontick.Line(joined[1], edges="both") as watched:
        assert watched.edge("0ms") is None

        def drive() -> None:
            for turn, _ in enumerate(ontick.every("2ms", count=20)):
                out.write(turn % 2 == 0)

        driver = threading.Thread(target=drive)
        driver.start()
        edges = list(watched.edges(count=20, timeout="20s"))
        driver.join()
        assert [edge.rising for edge in edges] == [True, False] * 10 and not any(edge.lost for edge in edges)
        times = [edge.time_ns for edge in edges]
        assert times == sorted(times)
        assert list(watched.edges(timeout="1ms")) == []


def test_a_debounced_line_sees_levels_that_last(joined: tuple[str, str]) -> None:
    with ontick.Line(joined[0], "output") as out, ontick.Line(joined[1], edges="both", debounce="2ms") as watched:
        for level in (True, False, True, False, True):
            out.write(level)
        edges = list(watched.edges(count=1, timeout="20s"))
        assert edges[0].rising and not edges[0].lost and watched.value is True
    for wrong in ("1500ns", "17s", "0ms"):
        with pytest.raises(ontick.ArgumentError, match="debounce.*1us to 16s"):
            ontick.Line(joined[1], debounce=wrong)
    with pytest.raises(ontick.ArgumentError, match="open it as an input"):
        ontick.Line(joined[0], "output", debounce="1ms")


def test_a_line_is_for_one_program(joined: tuple[str, str]) -> None:
    with ontick.Line(joined[0], "output"):
        with pytest.raises(ontick.LineInUseError, match=rf"line {joined[0]}: in use by .*{os.getpid()}") as refused:
            ontick.Line(joined[0], "output")
    assert isinstance(refused.value, OSError) and isinstance(refused.value, ontick.LineError)
    ontick.Line(joined[0], "output").close()


def test_a_line_that_is_not_there() -> None:
    with pytest.raises(FileNotFoundError) as missing:
        ontick.Line("gpiochip99:3")
    assert isinstance(missing.value, ontick.LineNotFoundError) and "gpiochip99" in str(missing.value)
    with pytest.raises(ontick.LineNotFoundError):
        ontick.Line("NO_SUCH_LINE")
    with pytest.raises(ontick.LineNotFoundError, match="nosuch"):
        ontick.remove_chip("nosuch")


def test_absurd_arguments_are_refused(chip: str) -> None:
    name = f"sim:{chip}/1"
    for arguments in ({"direction": "up"}, {"bias": "heavy"}, {"edges": "sharp"}, {"on_exit": "explode"}):
        with pytest.raises(ontick.ArgumentError):
            ontick.Line(name, **arguments)  # type: ignore[arg-type]
    for bad in ("", "sim:", f"sim:{chip}", "sim:../x/1"):
        with pytest.raises(ontick.ArgumentError, match="names no line"):
            ontick.Line(bad)
    for arguments in ({"edges": "both"}, {"bias": "pull-up"}):
        with pytest.raises(ontick.ArgumentError, match="open it as an input"):
            ontick.Line(name, "as-is", **arguments)  # type: ignore[arg-type]
    line = ontick.Line(name)
    with pytest.raises(ontick.ArgumentError, match="edges=\"both\""):
        line.edge()
    line.close()
    line.close()
    with pytest.raises(ontick.ArgumentError, match="closed"):
        line.read()


def test_a_chip_is_all_that_is_removed(tmp_path: Path) -> None:
    folder, victim = f"way-{os.getpid()}", tmp_path / "victim"
    victim.write_text("somebody's")
    way = Path(f"/dev/shm/ontick-sim-{os.geteuid()}-{folder}")
    way.mkdir()
    try:
        for bad in (f"{folder}/../../..{victim}", "", "..", "x" * 33):
            with pytest.raises(ontick.ArgumentError, match="1 to 32 letters"):
                ontick.remove_chip(bad)
    finally:
        way.rmdir()
    assert victim.read_text() == "somebody's"


def test_a_forked_child_leaves_its_parents_line_alone(joined: tuple[str, str]) -> None:
    with ontick.Line(joined[0], "output", value=True, on_exit="low") as out, ontick.Line(joined[1]) as seen:
        child = os.fork()
        if child == 0:
            try:
                out.write(False)
            except ontick.ForkedError:
                out.close()
                os._exit(0)
            os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert seen.value is True


def test_pulses_are_as_wide_as_the_line_says(joined: tuple[str, str]) -> None:
    run = ontick.pulse(joined[0], "200us", gap="1ms", count=30, cpu="any", policy="other", stock=True, input=joined[1])
    width = run.series[0].width
    assert width is not None and width.count == 30 and width.min_ns is not None and width.min_ns > 150_000
    assert run.simulated is not None and joined[0] in run.simulated and run.plot().svg.startswith("<svg")
    with pytest.raises(ontick.ArgumentError, match="hybrid"):
        ontick.pulse(joined[0], "200us", count=1, method="magic")  # type: ignore[arg-type]
    with pytest.raises(ontick.MeasurementError, match="width of a pulse"):
        ontick.pulse(joined[0], "2h", count=1)
