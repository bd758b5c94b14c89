"""Schedules of networks."""

import copy
import json
from pathlib import Path
from typing import Any, Callable
from xml.etree import ElementTree

import ontick
import pytest

NETWORK: dict[str, Any] = {
    "switch": [{"name": "s1"}],
    "station": [{"name": "controller"}, {"name": "camera"}, {"name": "drive"}],
    "link": [{"between": ["controller", "s1"]}, {"between": ["camera", "s1"]}, {"between": ["s1", "drive"]}],
    "stream": [
        {"name": "setpoint", "from": "controller", "to": "drive", "size": 100, "period": "250us", "deadline": "50us"},
        {"name": "image", "from": "camera", "to": "drive", "size": 6000, "period": "1ms"},
    ],
}


def test_a_plan_holds(tmp_path: Path) -> None:
    plan = ontick.network.plan(NETWORK, limit="20s")
    assert {stream["name"]: stream["latency_ns"] <= 1_000_000 for stream in plan.streams} == {"setpoint": True, "image": True}
    validation = plan.validate()
    assert validation and validation.complete and validation.messages > 4
    assert {delay.stream for delay in validation.delays} == {"setpoint", "image"}
    plan.save(tmp_path / "plan.json")
    (tmp_path / "network.json").write_text(json.dumps(NETWORK))
    assert ontick.network.validate(tmp_path / "network.json", tmp_path / "plan.json") == validation
    assert ontick.network.plan(tmp_path / "network.json", keep=plan).document == plan.document


def test_a_plan_is_for_a_target() -> None:
    ideal, user = ontick.network.plan(NETWORK), ontick.network.plan(NETWORK, target="user")
    assert user.streams[0]["latency_ns"] > ideal.streams[0]["latency_ns"], "its windows have room for what it may be late"
    assert user.validate("user") and ontick.network.plan(NETWORK, target="user", keep=user).document == user.document
    assert "setpoint" in user.picture().svg
    with pytest.raises(ontick.ArgumentError, match="there is no target \"abacus\""):
        ontick.network.plan(NETWORK, target="abacus")


def test_a_plan_is_drawn(tmp_path: Path) -> None:
    plan = ontick.network.plan(NETWORK, limit="20s")
    drawn = {rows: plan.picture(rows).svg for rows in ("links", "streams", "nodes")}
    titles = {"links": "When each link is taken", "streams": "Each stream on its way", "nodes": "The gates of each port"}
    for rows, title in titles.items():
        assert ElementTree.fromstring(drawn[rows]).tag.endswith("svg") and title in drawn[rows]
    assert "setpoint" in drawn["links"] and "controller" in drawn["nodes"] and plan._repr_svg_() == drawn["links"]
    plan.picture("nodes").save(tmp_path / "plan.png")
    assert (tmp_path / "plan.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(ontick.ArgumentError, match="links, streams or nodes"):
        plan.picture("rows")  # type: ignore[arg-type]


def test_a_plan_that_was_spoilt_is_found_out() -> None:
    plan = ontick.network.plan(NETWORK)
    gates = copy.deepcopy(plan.document)
    for link in gates["gates"]:
        link["windows"] = [[queue, begin + 60_000, end + 60_000] for queue, begin, end in link["windows"]]
    spoilt = ontick.network.Plan(json.dumps(NETWORK), gates)
    assert not spoilt.validate() and spoilt.validate().faults[0]


def test_no_schedule_is_proved() -> None:
    impossible = copy.deepcopy(NETWORK)
    impossible["stream"][0]["deadline"] = "1us"
    with pytest.raises(ontick.network.NoPlanError, match="setpoint") as none:
        ontick.network.plan(impossible)
    assert none.value.because and isinstance(none.value, ontick.PlanError)


def test_what_is_wrong_is_said_with_the_file(tmp_path: Path) -> None:
    plan = ontick.network.plan(NETWORK)
    right, wrong, planned = tmp_path / "network.json", tmp_path / "wrong.json", tmp_path / "plan.json"
    plan.save(planned)
    right.write_text(json.dumps(NETWORK))
    wrong.write_text(json.dumps(NETWORK, indent=2).replace("1ms", "0ms"))

    def said(call: Callable[[], object]) -> str:
        with pytest.raises(ontick.ArgumentError) as raised:
            call()
        return str(raised.value)

    assert said(lambda: ontick.network.plan(wrong)).startswith(f"{wrong}:52:17: `period`: ")
    assert said(lambda: ontick.network.plan(str(planned))).startswith(f"{planned}:1:1: this is a plan")
    assert said(lambda: ontick.network.validate(wrong, planned)).startswith(f"{wrong}:52:17: ")
    assert said(lambda: ontick.network.validate(right, right)).startswith(f"{right}: not a plan")
    assert said(lambda: ontick.network.plan(json.loads(wrong.read_text()))).startswith("the network as JSON:1:")
    assert said(lambda: ontick.network.Plan("{}", plan.document).picture()).startswith("the network:1:1: ")


def test_absurd_networks_are_refused() -> None:
    for absurd in ({}, {"switch": 3}, {"switch": [{"name": float("nan")}]}, {"station": [object()]}):
        with pytest.raises(ontick.ArgumentError):
            ontick.network.plan(absurd)
    for arguments in ({"paths": 0}, {"paths": 65}, {"prefer": "late"}, {"seed": -1}, {"limit": "soon"}, {"paths": True}):
        with pytest.raises(ontick.ArgumentError):
            ontick.network.plan(NETWORK, **arguments)
    with pytest.raises(FileNotFoundError):
        ontick.network.plan("/no/such/network.toml")
