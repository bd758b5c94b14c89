"""Records: read, shown, judged, compared."""

import json
import struct
import subprocess
import sys
import xml.etree.ElementTree
from pathlib import Path

import ontick
import pytest

numpy = pytest.importorskip("numpy")
pyarrow = pytest.importorskip("pyarrow")


def test_a_run_is_saved_and_read_again(run: ontick.Run, tmp_path: Path) -> None:
    run.save(tmp_path / "run.json")
    again = ontick.Run.load(tmp_path / "run.json")
    assert again.json() == run.json()
    assert (again.measurement, len(again), again.interrupted) == ("timer", 1, False)
    assert again["hybrid"].settings["interval_ns"] == 1_000_000
    assert again.environment["kernel"]
    with pytest.raises(KeyError, match="'hybrid'"):
        again["timerfd"]


def test_arrays_have_what_the_record_says(run: ontick.Run) -> None:
    latency = run.series[0].latency
    document = run.document["series"][0]["latency"]
    arrays, table = latency.numpy(), latency.arrow()
    rows = list(zip(arrays.low_ns.tolist(), arrays.width_ns.tolist(), arrays.count.tolist()))
    assert rows == [tuple(bucket) for bucket in document["buckets"]]
    assert [(b.low_ns, b.width_ns, b.count) for b in latency] == rows
    assert (table.column_names, table.num_rows) == (["low_ns", "width_ns", "count"], len(latency))
    assert table["count"].to_pylist() == arrays.count.tolist() and sum(arrays.count) == latency.count == 300


def test_quantiles_agree_with_the_buckets(run: ontick.Run) -> None:
    latency = run.series[0].latency
    values = [bucket.low_ns + bucket.width_ns - 1 for bucket in latency for _ in range(bucket.count)]
    for share in (0.5, 0.9, 0.99):
        wanted = min(values[max(0, -(-len(values) * int(share * 100) // 100) - 1)], latency.max_ns or 0)
        assert latency.quantile_ns(share) == wanted
    assert latency.below("1h") == 1.0 and latency.below("0ns") == 0.0
    assert latency.quantile_ns(1) == latency.max_ns


@pytest.mark.parametrize("share", [float("nan"), float("inf"), -0.1, 1.1, 10**400, "0.5"])
def test_a_share_is_from_0_to_1(run: ontick.Run, share: float) -> None:
    with pytest.raises(ontick.ArgumentError, match="from 0 to 1"):
        run.series[0].latency.quantile_ns(share)
    with pytest.raises(ontick.ArgumentError, match="from 0 to 1"):
        run.series[0].latency.percentile_ns(share if isinstance(share, str) else share * 100)


def test_pictures_are_svg_and_png(run: ontick.Run, tmp_path: Path) -> None:
    for name in ("latency", "percentiles", "maxima"):
        picture = run.plot(name)
        root = xml.etree.ElementTree.fromstring(picture._repr_svg_())
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
    picture.save(tmp_path / "picture.svg")
    picture.save(tmp_path / "picture.png")
    data = (tmp_path / "picture.png").read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n" and struct.unpack(">I", data[16:20])[0] > 800
    assert run._repr_html_().count("<svg") == 1 and "<html" in run.html()
    with pytest.raises(ontick.ArgumentError, match="choose latency, percentiles"):
        run.plot("pie")
    with pytest.raises(ontick.ArgumentError, match="nothing to show"):
        run.plot("dips")
    with pytest.raises(ontick.ArgumentError, match=".svg or .png"):
        picture.save(tmp_path / "picture.gif")
    for scale in (float("nan"), 10**400, 9):
        with pytest.raises(ontick.ArgumentError, match="the scale is .*: it must be from 0.1 to 8"):
            picture.png(scale)


def test_a_picture_that_memory_does_not_hold_is_refused() -> None:
    program = """
import ontick, resource
def wide(side): return ontick.Picture(f'<svg xmlns="http://www.w3.org/2000/svg" width="{side}" height="{side}"/>')
assert len(wide(100).png()) > 8
with open("/proc/self/statm") as statm: used = int(statm.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 300_000_000,) * 2)
for side in (7_000, 8_000, 12_000, 100_000):
    try:
        wide(side).png(1.0)
    except ontick.ArgumentError as error:
        assert "too large" in str(error), error
    else:
        raise SystemExit(f"{side} was drawn")
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert ended.returncode == 0, ended.stderr


def test_requirements_are_judged(run: ontick.Run) -> None:
    judged = run.require("max < 1h", "p50 < 1ns")
    assert [requirement.met for requirement in judged.requirements] == [True, False]
    assert not judged.met and judged.require("max < 1h").met and not run.requirements
    assert "p50" in judged.requirements[1].text and judged.requirements[1].series == "hybrid"
    with pytest.raises(ontick.ArgumentError, match="requirement"):
        run.require("fast")


def test_runs_are_compared(run: ontick.Run, fixtures: Path) -> None:
    slow = json.loads(run.json())
    for series in slow["series"]:
        latency = series["latency"]
        latency["buckets"] = [[low + 5_000_000, width, count] for low, width, count in latency["buckets"]]
        for key in ("min_ns", "max_ns", "mean_ns"):
            latency[key] += 5_000_000
    slower = ontick.Run.parse(json.dumps(slow))
    (pair,) = ontick.compare(run, slower).pairs()
    assert pair.samples == (300, 300) and pair.p50.after_ns is not None and pair.p50.after_ns >= 5_000_000
    (decision,) = ontick.compare(base=run, new=slower).require("p50 <= 1.2x")
    assert decision.verdict == "broken"
    (decision,) = ontick.compare(run, run).require("p99 <= 1.01x")
    assert decision.verdict in ("cannot-tell", "met")
    comparison = ontick.compare(before=run, after=slower)
    assert "before" in str(comparison) and "<html" in comparison.html() and "<pre>" in comparison._repr_html_()
    with pytest.raises(ontick.ArgumentError, match="two runs"):
        ontick.compare(run)
    for place in (-1, 0, 2, 9, True, 2**64):
        with pytest.raises(ontick.ArgumentError, match="after is .* from 1 to 1"):
            comparison.pairs(place)
    for width in (-1, 2**64):
        for shown in (run, comparison):
            with pytest.raises(ontick.ArgumentError, match="width is"):
                shown.summary(width)
    with pytest.raises(ontick.ArgumentError, match="1.2x"):
        ontick.compare(run, run).require("p99 <= fast")


def test_other_tools_are_read(fixtures: Path) -> None:
    files = sorted(file for file in fixtures.iterdir() if "cyclictest" in file.name and file.suffix != ".md")
    assert files
    imported = ontick.Run.load(files[0])
    assert imported.series[0].latency.count > 0


def test_what_is_no_record_is_said(tmp_path: Path) -> None:
    file = tmp_path / "diary"
    file.write_text("Dear diary")
    with pytest.raises(ontick.RecordError, match="diary: .*ontick record"):
        ontick.Run.load(file)
    with pytest.raises(FileNotFoundError) as missing:
        ontick.Run.load(tmp_path / "none")
    assert missing.value.filename == str(tmp_path / "none")
    with pytest.raises(ontick.RecordError):
        ontick.Run.parse("{}")


def test_every_exception_is_an_ontick_error() -> None:
    for name in dir(ontick.errors):
        kind = getattr(ontick.errors, name)
        if isinstance(kind, type) and issubclass(kind, Exception):
            assert issubclass(kind, ontick.Error), name
            assert str(kind("why")) == "why"
