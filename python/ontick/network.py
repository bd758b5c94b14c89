"""Schedules for networks of switches (IEEE 802.1Q, gate control lists), and programs as stations of such a network."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import Any, Literal, Mapping, Sequence

from . import _ontick
from ._numbers import whole
from ._ontick import Message
from ._run import Picture
from ._station import Listener, ListenerFigures, ReceivedStream, SentStream, Strays, Talker, TalkerFigures
from ._times import Time, as_text
from .errors import ArgumentError, PlanError

__all__ = [
    "Delay",
    "Listener",
    "ListenerFigures",
    "Message",
    "NoPlanError",
    "Plan",
    "ReceivedStream",
    "SentStream",
    "Strays",
    "Talker",
    "TalkerFigures",
    "Validation",
    "plan",
    "validate",
]

Network = Mapping[str, Any] | str | os.PathLike[str]


class NoPlanError(PlanError):
    """There is no schedule (`because` proves it), or none was found in time (`without_place` has the streams)."""

    def __init__(self, message: str, because: Sequence[str] = (), without_place: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.because = because
        self.without_place = without_place


@dataclass(frozen=True)
class Delay:
    """How long messages of a stream take to a listener."""

    stream: str
    listener: str
    least_ns: int
    most_ns: int


@dataclass(frozen=True)
class Validation:
    """What became of every message that was followed through the gates."""

    faults: Sequence[str]
    """What is wrong, one sentence each; nothing where the plan holds."""
    delays: Sequence[Delay]
    messages: int
    complete: bool
    """Whether all messages of a cycle were followed."""

    def __bool__(self) -> bool:
        return not self.faults


class Plan:
    """When each message is on which link, and the gates that follow."""

    def __init__(self, network: str, document: Mapping[str, Any]) -> None:
        self._network = network
        self.document = document
        """The whole plan (`ontick schema plan` describes it)."""

    @property
    def streams(self) -> Sequence[Mapping[str, Any]]:
        """The streams, each with its offset, latency, queue and hops."""
        streams: Sequence[Mapping[str, Any]] = self.document["streams"]
        return streams

    @property
    def gates(self) -> Sequence[Mapping[str, Any]]:
        """The windows of each link: queue, begin and end in a cycle."""
        gates: Sequence[Mapping[str, Any]] = self.document["gates"]
        return gates

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes it as JSON, as `ontick network plan --out` does."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(json.dumps(self.document, indent=2) + "\n")

    def picture(self, rows: Literal["links", "streams", "nodes"] = "links") -> Picture:
        """Who has which link when, as the command line draws it: a row for each link with the messages on it, or for each
        stream with its way from link to link; or a card for each node, with the gates of its ports."""
        return Picture(_ontick.plan_svg(self._network, json.dumps(self.document), rows))

    def _repr_svg_(self) -> str:
        return self.picture().svg

    def validate(self, target: str = "any") -> Validation:
        """Follows every message through these gates, by a program that shares nothing with the planner."""
        return _validate(self._network, json.dumps(self.document), target)


def plan(
    network: Network,
    *,
    limit: Time = "60s",
    paths: int = 4,
    wait: bool = True,
    prefer: Literal["early", "spread", "few-entries"] = "early",
    slot: Time = "1ns",
    seed: int = 1,
    keep: Plan | None = None,
    target: str = "any",
) -> Plan:
    """Computes when each message of a network's streams is sent, so that all arrive before their deadlines. The network is a
    dict or a file (TOML or JSON) as `ontick network plan` takes them. With `keep`, the unchanged streams of an earlier plan stay
    as they are. `target` is what executes it ("user", "kernel"; "any": exactly on time), as `ontick network plan --target`. Raises
    `NoPlanError` where there is no schedule, or none is found within `limit`."""
    whole("paths", paths, 0, 64)
    whole("seed", seed, 0)
    text, name = _text(network), _name(network)
    kept = None if keep is None else json.dumps(keep.document)
    limit_text, slot_text = as_text("limit", limit), as_text("slot", slot)
    result = json.loads(_ontick.plan(text, name, limit_text, paths, wait, prefer, slot_text, seed, kept, target))
    match result["outcome"]:
        case "planned":
            return Plan(text, result["plan"])
        case "impossible":
            because = tuple(result["because"])
            raise NoPlanError("there is no such schedule: " + "; ".join(because), because=because)
        case _:
            missing = tuple(result["without_place"])
            raise NoPlanError(
                f"no schedule was found in time: {len(missing)} streams have no place ({', '.join(missing[:12])})",
                without_place=missing,
            )


def validate(network: Network, plan: str | os.PathLike[str], *, target: str = "any") -> Validation:
    """Follows every message through the gates of a plan's file."""
    with open(plan, encoding="utf-8") as file:
        return _validate(_text(network), file.read(), target, _name(network), os.fsdecode(plan))


def _validate(
    network: str, plan: str, target: str, network_name: str | None = None, plan_name: str | None = None
) -> Validation:
    result = json.loads(_ontick.validate(network, plan, target, network_name, plan_name))
    delays = tuple(Delay(**delay) for delay in result["delays"])
    return Validation(tuple(result["faults"]), delays, result["messages"], result["complete"])


def _text(network: Network) -> str:
    if isinstance(network, Mapping):
        try:
            return json.dumps(network, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise ArgumentError(f"the network: {error}") from error
    with open(network, encoding="utf-8") as file:
        return file.read()


def _name(network: Network) -> str:
    """What errors call it, before the line and the column."""
    return "the network as JSON" if isinstance(network, Mapping) else os.fsdecode(network)
