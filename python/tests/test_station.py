"""Programs as stations of a planned network: over datagrams of this machine, and over a cable between two namespaces."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any, Iterator

import ontick
import pytest
from conftest import TREE
from ontick.network import Listener, Message, Talker

NETWORK: dict[str, Any] = {
    "switch": [{"name": "s1"}],
    "station": [{"name": "a"}, {"name": "b"}],
    "link": [{"between": ["a", "s1"]}, {"between": ["s1", "b"]}],
    "stream": [{"name": "setpoint", "from": "a", "to": "b", "size": 296, "period": "1ms"}],
}
BYTES = bytes(range(256))
QUIETLY: dict[str, Any] = {"cpu": "keep", "policy": "other"}


def write(folder: Path, network: dict[str, Any]) -> tuple[str, str]:
    """A network's file and its plan's."""
    files = (folder / "network.json", folder / "plan.json")
    files[0].write_text(json.dumps(network))
    ontick.network.plan(network, target="user").save(files[1])
    return str(files[0]), str(files[1])


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    return write(tmp_path, NETWORK)


@pytest.fixture
def address() -> str:
    """Free now, and nobody else's a moment later but by chance."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
        free.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{free.getsockname()[1]}"


def talker(files: tuple[str, str], address: str, **more: Any) -> Talker:
    return Talker(*files, station="a", udp={"setpoint": address}, **{**QUIETLY, **more})


def test_bytes_come_as_they_were_sent(files: tuple[str, str], address: str) -> None:
    with Listener(*files, station="b", udp=address) as listener, talker(files, address) as talks:
        assert listener.streams == ("setpoint",) and talks.room == {"setpoint": 256} and not listener.stamped_by_interface
        assert listener.receive("0ms") is None
        talks.send("setpoint", BYTES)
        full: list[Message] = []
        for message in listener.messages(count=20_000, timeout="20s"):
            if not message.payload:
                break
            full.append(message)
            if len(full) == 20:
                talks.send("setpoint", b"")
        assert len(full) >= 20 and message.payload == b"", "the newest payload took the place of the one before"
        assert all(one.payload == BYTES and one.stream == "setpoint" for one in full)
        numbers = [one.number for one in full]
        assert numbers == sorted(set(numbers)) and message.number > numbers[-1]
        assert all(one.arrived_ns >= one.planned_ns >= talks.base_time_ns for one in full)
        assert (full[1].planned_ns - full[0].planned_ns) % 1_000_000 == 0
        talks.end()
        sent = talks.figures()
        last = [one.number for one in listener.messages(timeout="200ms")][-1:] or [message.number]
        came = listener.figures()
        setpoint = came.streams["setpoint"]
        assert setpoint.received == sent.streams["setpoint"].sent and setpoint.out_of_order == 0 == setpoint.duplicates
        assert setpoint.received + setpoint.lost == last[0] - numbers[0] + 1
        assert setpoint.latency.count == setpoint.received and sent.lateness.count == sent.streams["setpoint"].sent
        assert came.strays == ontick.network.Strays(0, 0, 0, 0, 0)
    assert repr(message).startswith("Message(stream=\"setpoint\", number=")
    assert list(listener) == [] and listener.receive() is None
    with pytest.raises(ontick.ArgumentError, match="this listener is closed"):
        listener.figures()
    assert talks.figures().streams == sent.streams


def test_a_plan_that_does_not_fit_is_refused(tmp_path: Path, files: tuple[str, str], address: str) -> None:
    changed = tmp_path / "changed.json"
    changed.write_text(json.dumps(NETWORK).replace("296", "297"))
    words = "no place for setpoint as the network has it now: plan again"
    with pytest.raises(ontick.ArgumentError, match=words):
        talker((str(changed), files[1]), address)
    with pytest.raises(ontick.ArgumentError, match=words):
        Listener(changed, files[1], station="b", udp=address)
    # A plan for gates that open exactly on time.
    ontick.network.plan(NETWORK).save(tmp_path / "any.json")
    with pytest.raises(ontick.ArgumentError, match="name the target that the plan is for"):
        talker((files[0], str(tmp_path / "any.json")), address)
    talker((files[0], str(tmp_path / "any.json")), address, target="any").end()


def test_absurd_arguments_are_refused(tmp_path: Path, files: tuple[str, str], address: str) -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({"station": "c"}, "no station c; its stations are a, b"),
        ({"station": "s1"}, "s1 is a switch"),
        ({"station": "b"}, "station b sends no stream"),
        ({"udp": {}}, "name the interface that frames leave by"),
        ({"udp": {}, "interface": ["one", "two"]}, "station a has 1 cable"),
        ({"udp": {"audio": address}}, "station a sends no stream audio"),
        ({"udp": {"setpoint": "nowhere"}}, "write STREAM=ADDRESS:PORT"),
        ({"target": "abacus"}, "there is no target abacus"),
        ({"policy": "fast"}, "fast"),
        ({"base_time_ns": 1_000_000_000}, "the same schedule begins anew at"),
        ({"base_time_ns": -1}, "whole number"),
        ({"cpu": 1.5}, "number of a CPU"),
    ]
    for arguments, words in cases:
        with pytest.raises(ontick.ArgumentError, match=words):
            Talker(*files, **{"station": "a", "udp": {"setpoint": address}, **QUIETLY, **arguments})
    with pytest.raises(ontick.NetworkError, match="there is no interface nowhere"):
        Listener(*files, station="b", interface="nowhere")
    with pytest.raises(ontick.ArgumentError, match="no address of datagrams"):
        Listener(*files, station="b", udp="nowhere")
    with pytest.raises(FileNotFoundError, match="none.json"):
        Listener(files[0], tmp_path / "none.json", station="b", udp=address)
    with Listener(*files, station="b", udp=address) as listener:
        with pytest.raises(ontick.NetworkError, match="no datagrams can be received"):
            Listener(*files, station="b", udp=address)
        with pytest.raises(ontick.ArgumentError, match="timeout"):
            listener.receive("soon")
    with talker(files, address) as talks:
        with pytest.raises(ontick.ArgumentError, match="257 octets are too many for stream setpoint"):
            talks.send("setpoint", bytes(257))
        with pytest.raises(ontick.ArgumentError, match="sends no stream video"):
            talks.send("video", b"")


def test_another_thread_runs_while_one_waits_and_closing_ends_the_wait(files: tuple[str, str], address: str) -> None:
    listener = Listener(*files, station="b", udp=address)
    ended: list[list[Message]] = []
    waits = threading.Thread(target=lambda: ended.append(list(listener)))
    waits.start()
    turns = 0
    end = time.monotonic() + 0.3
    while time.monotonic() < end:
        turns += 1
    assert turns > 1_000, "the interpreter is free"
    for _ in range(100):
        assert listener.figures().streams["setpoint"].received == 0, "others may look meanwhile"
    listener.close()
    waits.join(20)
    assert ended == [[]]


CTRL_C = """
import signal, sys, ontick
# What a shell starts in the background ignores it.
signal.signal(signal.SIGINT, signal.default_int_handler)
with ontick.network.Listener(sys.argv[1], sys.argv[2], station="b", udp=sys.argv[3]) as listener:
    print("listening", flush=True)
    for message in listener:
        pass
"""


def test_ctrl_c_ends_a_wait(files: tuple[str, str], address: str) -> None:
    command = [sys.executable, "-c", CTRL_C, *files, address]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None and child.stdout.readline() == "listening\n"
        child.send_signal(signal.SIGINT)
        _, said = child.communicate(timeout=60)
    assert said.strip().splitlines()[-1] == "KeyboardInterrupt" and child.returncode == -signal.SIGINT


def test_a_forked_child_leaves_its_parents_talker_alone(files: tuple[str, str], address: str) -> None:
    with Listener(*files, station="b", udp=address) as listener, talker(files, address) as talks:
        child = os.fork()
        if child == 0:
            try:
                talks.send("setpoint", b"child")
            except ontick.ForkedError:
                talks.end()
                os._exit(0)
            os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        talks.send("setpoint", b"parent")
        assert any(message.payload == b"parent" for message in listener.messages(count=2_000, timeout="20s"))


# Over a cable.


class Cable:
    """Two namespaces, a cable between them, and programs in them."""

    def __init__(self) -> None:
        mark = f"ontick-{os.getpid()}"
        self.talks, self.listens = f"{mark}-a", f"{mark}-b"

    def lay(self) -> None:
        self._ip("netns", "add", self.talks)
        self._ip("netns", "add", self.listens)
        self._ip("link", "add", "out", "netns", self.talks, "type", "veth", "peer", "name", "in", "netns", self.listens)
        for namespace, interface in ((self.talks, "out"), (self.listens, "in")):
            self._ip("-n", namespace, "link", "set", "dev", interface, "up")

    @staticmethod
    def _ip(*words: str) -> None:
        subprocess.run(["ip", *words], check=True, capture_output=True, text=True)

    def begin(self, namespace: str, *words: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            ["ip", "netns", "exec", namespace, "timeout", "--foreground", "60", *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )

    def end(self) -> None:
        for namespace in (self.talks, self.listens):
            subprocess.run(["ip", "netns", "del", namespace], capture_output=True)


@pytest.fixture
def cable() -> Iterator[Cable]:
    if os.geteuid() != 0 or shutil.which("ip") is None:
        pytest.skip("two namespaces with a cable need root and ip")
    cable = Cable()
    try:
        cable.lay()
        yield cable
    except subprocess.CalledProcessError as error:  # a container withholds them
        pytest.skip(f"no namespaces here: {error.stderr}")
    finally:
        cable.end()


@pytest.fixture
def program() -> str:
    """The command line of this tree, as it was built last."""
    built = [TREE / "target" / profile / "ontick" for profile in ("debug", "release")]
    there = [path for path in built if path.exists()]
    if not there:
        pytest.skip("the program ontick is not built in this tree")
    return str(max(there, key=lambda path: path.stat().st_mtime))


TALKS = """
import sys, time, ontick
with ontick.network.Talker(sys.argv[1], sys.argv[2], station="a", interface="out", cpu="keep", policy="other") as talker:
    talker.send("setpoint", bytes(range(256)))
    time.sleep(2.5)
figures = talker.figures()
print(figures.streams["setpoint"].sent)
"""
LISTENS = """
import sys, ontick
with ontick.network.Listener(sys.argv[1], sys.argv[2], station="b", interface="in") as listener:
    print("listening")
    messages = list(listener.messages(count=100, timeout="20s"))
    print(len(messages), all(message.payload == bytes(range(256)) for message in messages))
    print(listener.figures().streams["setpoint"].out_of_order)
"""


def test_a_talker_in_python_is_judged_by_the_command(cable: Cable, program: str, files: tuple[str, str]) -> None:
    listens = cable.begin(cable.listens, program, "network", "listen", *files, "--station", "b", "--interface", "in", "--json")
    assert listens.stderr is not None and "listening" in listens.stderr.readline()
    said, wrong = cable.begin(cable.talks, sys.executable, "-c", TALKS, *files).communicate(timeout=60)
    assert int(said) > 100, wrong
    listens.send_signal(signal.SIGINT)
    heard = json.loads(listens.communicate(timeout=60)[0])["network"]["streams"][0]
    assert (heard["received"], heard["out_of_order"], heard["duplicates"]) == (int(said), 0, 0)


def test_a_listener_in_python_gets_what_the_command_sends(
    cable: Cable, program: str, files: tuple[str, str], tmp_path: Path
) -> None:
    (tmp_path / "payload").write_bytes(BYTES)
    listens = cable.begin(cable.listens, sys.executable, "-c", LISTENS, *files)
    assert listens.stdout is not None and listens.stdout.readline() == "listening\n"
    words = ["--station", "a", "--interface", "out", "--payload", f"setpoint={tmp_path}/payload", "--count", "150"]
    talks = cable.begin(cable.talks, program, "network", "talk", *files, *words)
    assert talks.wait(timeout=60) == 0, talks.communicate()
    said, wrong = listens.communicate(timeout=60)
    assert said.split() == ["100", "True", "0"], wrong


def test_a_listener_in_c_gets_what_a_talker_in_python_sends(cable: Cable, files: tuple[str, str], tmp_path: Path) -> None:
    library = TREE / "target/debug/deps/libontick_c.so"
    if shutil.which("gcc") is None or not library.exists():
        pytest.skip("gcc, or the C library of this tree, is not there")
    for link in ("libontick.so", "libontick.so.0"):
        (tmp_path / link).symlink_to(library)
    include, source = TREE / "crates/c/include", TREE / "crates/c/examples/listen.c"
    gcc: list[str | Path] = ["gcc", "-I", include, source, "-o", tmp_path / "listen", "-L", tmp_path, "-lontick"]
    subprocess.run([*gcc, f"-Wl,-rpath,{tmp_path}"], check=True)
    listens = cable.begin(cable.listens, str(tmp_path / "listen"), *files, "b", "in", "100")
    assert listens.stderr is not None and listens.stderr.readline() == "listening\n"
    talks = TALKS.replace("bytes(range(256))", "b'from Python'")
    said, wrong = cable.begin(cable.talks, sys.executable, "-c", talks, *files).communicate(timeout=60)
    assert int(said) > 100, wrong
    lines = listens.communicate(timeout=60)[0].splitlines()
    # Until then messages were empty.
    payloads = [line.split("after its time: ")[1] for line in lines if " after its time: " in line]
    assert len(payloads) == 100 and set(payloads) == {"from Python"}


def test_without_rights_there_is_one_sentence(cable: Cable, files: tuple[str, str], tmp_path: Path) -> None:
    if shutil.which("setpriv") is None:
        pytest.skip("setpriv is not installed")
    without = ["setpriv", "--inh-caps=-all", "--bounding-set=-all", "--", sys.executable, "-c"]
    for namespace, code in ((cable.talks, TALKS), (cable.listens, LISTENS)):
        _, said = cable.begin(namespace, *without, code, *files).communicate(timeout=60)
        last = said.strip().splitlines()[-1]
        assert last.startswith("ontick.errors.RefusedError: ") and "raw frames need root or CAP_NET_RAW" in last, said
