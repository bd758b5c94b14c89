"""What the tests share: chips of their own, records, and the right to real-time priority where it is there."""

import os
import resource
from contextlib import suppress
from pathlib import Path
from typing import Iterator

import ontick
import pytest

TREE = Path(os.environ.get("ONTICK_TREE", Path(__file__).resolve().parents[2]))


@pytest.fixture
def chip() -> Iterator[str]:
    """The name of a simulated chip of the test's own."""
    name = f"py-{os.getpid()}-{next(_numbers)}"
    yield name
    with suppress(ontick.LineError):  # a test that used no line made none
        ontick.remove_chip(name)


def _count() -> Iterator[int]:
    number = 0
    while True:
        yield number
        number += 1


_numbers = _count()


@pytest.fixture(scope="session")
def run() -> ontick.Run:
    """A short measurement as any program makes it."""
    return ontick.latency.timer("1ms", count=300, stock=True, cpu="any", policy="other")


@pytest.fixture
def rights() -> None:
    """Skips where the system refuses real-time priority."""
    soft, _ = resource.getrlimit(resource.RLIMIT_RTPRIO)
    if os.geteuid() != 0 and soft == 0:
        pytest.skip("real-time priority is refused to this user")


@pytest.fixture
def fixtures() -> Path:
    """Outputs of other tools."""
    return TREE / "crates/record/tests/fixtures"
