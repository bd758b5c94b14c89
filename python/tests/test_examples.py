"""The worked examples, and every program of docs/python.md."""

import importlib.util
import json
import re
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import ModuleType
from typing import Iterator, NamedTuple

import ontick
import pytest
from conftest import TREE

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


def example(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def answer(celsius: float, humidity: float) -> list[int]:
    """The lengths of a DHT22's levels, in us, low first."""
    tenths = round(abs(celsius) * 10) | (0x8000 if celsius < 0 else 0)
    data = round(humidity * 10).to_bytes(2, "big") + tenths.to_bytes(2, "big")
    bits = "".join(f"{byte:08b}" for byte in data + bytes([sum(data) & 0xFF]))
    return [80, 80, *(us for bit in bits for us in (50, 70 if bit == "1" else 26)), 50]


class Edge(NamedTuple):
    rising: bool
    time_ns: int
    lost: int = 0


def edges_of(lengths_us: list[int]) -> Iterator[Edge]:
    """Edges with the times that a sensor means."""
    time_ns, rising = 1_000_000, False
    for us in [*lengths_us, 0]:
        yield Edge(rising, time_ns)
        time_ns, rising = time_ns + us * 1_000, not rising


@pytest.mark.parametrize(("celsius", "humidity"), [(21.3, 45.6), (-10.1, 99.9), (0.0, 0.0)])
def test_a_dht22_is_decoded(celsius: float, humidity: float) -> None:
    dht22 = example("dht22")
    high = dht22.levels(edges_of(answer(celsius, humidity)))
    assert dht22.decode(high) == dht22.Reading(celsius, humidity)
    with pytest.raises(OSError, match="checksum"):
        dht22.decode([*high[:-1], 100_000 - high[-1]])
    with pytest.raises(OSError, match="cable"):
        dht22.decode(high[:39])
    with pytest.raises(OSError, match="lost"):
        dht22.levels([Edge(True, 5, 1)])


def test_a_sensor_on_a_simulated_chip_is_read(chip: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hundred times slower than the sensor, and read again where a busy machine was too late, as one would there."""
    dht22, slower = example("dht22"), 100
    monkeypatch.setattr(dht22, "ONE_NS", dht22.ONE_NS * slower)
    ontick.wire(f"sim:{chip}/1", f"sim:{chip}/4")
    lengths = answer(21.3, 45.6)

    def send(sensor: ontick.Line) -> None:
        with ontick.realtime("keep", 2, lock_memory=False, watchdog=None, strict=False):
            next_ns, level = time.monotonic_ns(), False
            for us in lengths:
                sensor.write(level)
                level, next_ns = not level, next_ns + us * slower * 1_000
                while time.monotonic_ns() < next_ns:
                    pass
            sensor.write(level)

    with ontick.Line(f"sim:{chip}/4", edges="both") as data, ontick.Line(f"sim:{chip}/1", "output", value=True) as sensor:
        for _ in range(20):
            thread = threading.Thread(target=send, args=(sensor,))
            thread.start()
            edges = list(data.edges(count=len(lengths) + 1, timeout="20s"))
            thread.join()
            try:
                reading = dht22.decode(dht22.levels(edges))
            except OSError:
                continue
            assert reading == dht22.Reading(21.3, 45.6)
            return
    pytest.fail("no answer of twenty was read")


def test_the_notebook_compares_ten_machines(run: ontick.Run, tmp_path: Path) -> None:
    """Runs the cells of the notebook in order, as a notebook does, on ten records."""
    base = json.loads(run.json())
    for number in range(10):
        base["environment"]["machine"] = f"board {number}"
        shifted = json.loads(json.dumps(base))
        for series in shifted["series"]:
            latency = series["latency"]
            latency["buckets"] = [[low + number * 3_000, width, count] for low, width, count in latency["buckets"]]
            for key in ("min_ns", "max_ns", "mean_ns"):
                latency[key] += number * 3_000
        (tmp_path / f"board{number}.json").write_text(json.dumps(shifted))
    notebook = json.loads((EXAMPLES / "ten_machines.ipynb").read_text())
    cells = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert len(cells) >= 4
    names: dict[str, object] = {"FOLDER": str(tmp_path)}
    for cell in cells:
        exec(compile(cell, "cell", "exec"), names)
    ranking = names["ranking"]
    assert isinstance(ranking, list) and [name for name, _ in ranking] == [f"board {n}" for n in range(10)]


def test_a_wheel_of_another_processor_says_so(tmp_path: Path) -> None:
    package = Path(ontick.__file__).parent
    shutil.copytree(package, tmp_path / "ontick")
    (native,) = (tmp_path / "ontick").glob("_ontick*.so")
    header = bytearray(native.read_bytes()[:4096])
    header[18:20] = (0x1234).to_bytes(2, "little")  # a processor that nobody has
    native.write_bytes(header)
    ended = subprocess.run([sys.executable, "-c", "import ontick"], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    last = ended.stderr.strip().splitlines()[-1]
    assert ended.returncode == 1 and last.startswith("ImportError: ontick's native half cannot be loaded"), ended.stderr
    assert "make wheel" in last


PROGRAMS = re.findall(r"```python\n(.*?)```", (TREE / "docs/python.md").read_text(), re.DOTALL)


@pytest.mark.parametrize("number", range(len(PROGRAMS)))
def test_a_program_of_the_page_runs(number: int, run: ontick.Run, tmp_path: Path, rights: None) -> None:
    run.save(tmp_path / "run.json")
    run.save(tmp_path / "before.json")
    run.save(tmp_path / "after.json")
    (tmp_path / "network.toml").write_text((EXAMPLES / "network.toml").read_text())
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAMS[number]], cwd=tmp_path, capture_output=True, text=True, timeout=120
    )
    assert ended.returncode == 0, ended.stderr


def test_the_page_has_programs_and_names_all() -> None:
    assert len(PROGRAMS) >= 8
    page = (TREE / "docs/python.md").read_text()
    missing = [name for name in ontick.__all__ if f"{name}" not in page and not name.startswith("__")]
    assert missing == []
