//! Ports of the user data plane on virtual Ethernet as other programs leave it: offloads on, MTUs that differ, settings
//! that change, interfaces that are made anew.

use std::process::{Child, Stdio};
use std::time::Duration;

use ontick_switch::user::packet::PacketPort;
use ontick_switch::user::port::{Port, Received, Sent};
use ontick_switch::verify::namespace::Namespace;
use rustix::process::Signal;
use serde_json::Value;

use super::switch_user::{Bench, bench};
use super::{has, ontick, send, stderr, stdout, wait_until};

const PORTS: [&str; 2] = ["port0", "port1"];

/// The bench with a kind of socket, all gates open.
fn bench_with(socket: &str) -> Option<Bench> {
    let bench = bench()?;
    let file = std::fs::read_to_string(bench.file()).unwrap();
    let ungated = file.split("[port.gates]").next().unwrap();
    let text = ungated.replace("plane = \"user\"", &format!("plane = \"user\"\nsocket = \"{socket}\""));
    std::fs::write(bench.file(), text).unwrap();
    Some(bench)
}

/// Whether it was set up; not where this kernel has no such socket.
fn applied(bench: &Bench) -> bool {
    let applied = bench.switch(&["apply", &bench.file()]);
    let said = stderr(&applied);
    if said.contains("AF_XDP socket") || said.contains("would not see VLAN tags") {
        ontick_skip::skipped!("{said}");
        return false;
    }
    assert!(applied.status.success(), "{said}");
    true
}

fn reverted(bench: &Bench) {
    let reverted = bench.switch(&["revert"]);
    assert!(stdout(&reverted).contains("everything else is as before"), "{}{}", stdout(&reverted), stderr(&reverted));
}

/// A number that the switch reports of a port.
fn counted(status: &Value, port: usize, what: &str) -> u64 {
    status["report"]["counters"]["ports"][port][what].as_u64().unwrap()
}

fn frame(number: u8, octets: usize) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 0xb, 2, 0, 0, 0, 0, 0xa, 0x88, 0xb5, number];
    frame.resize(octets, number);
    frame
}

fn a_far_end_with_a_smaller_mtu(socket: &str) {
    let Some(bench) = bench_with(socket) else { return };
    if !applied(&bench) {
        return;
    }
    bench.far.ip(&["link", "set", "dev", "far1", "mtu", "1000"]).unwrap();
    let open = |name: &str| bench.far.within(|| PacketPort::open(name, 1024)).unwrap().unwrap();
    let (mut from, mut to) = (open("far0"), open("far1"));
    for number in 0..20 {
        assert_eq!(from.send(&frame(100 + number, 1514)), Sent::Done);
        assert_eq!(from.send(&frame(number, 200)), Sent::Done);
    }
    let mut slot = [0; 2048];
    for number in 0..20 {
        wait_until("the shorter frames to come", || to.receive(&mut slot) == Received::Frame(200));
        assert_eq!(slot[..200], frame(number, 200));
    }
    let refused = |status: &Value| status["report"]["counters"]["ports"][1]["queues"][0]["refused"].as_u64();
    wait_until("every longer one to be counted", || refused(&bench.status()) == Some(20));
    assert_eq!(counted(&bench.status(), 1, "refused_octets"), 1514);
    let status = stdout(&bench.switch(&["status"]));
    assert!(status.contains("20 refused by the interface"), "{status}");
    // Once it takes them, they come.
    bench.far.ip(&["link", "set", "dev", "far1", "mtu", "1500"]).unwrap();
    assert_eq!(from.send(&frame(50, 1514)), Sent::Done);
    wait_until("a longer one to come", || to.receive(&mut slot) == Received::Frame(1514));
    reverted(&bench);
}

#[test]
fn a_far_end_with_a_smaller_mtu_does_not_stop_a_packet_port() {
    a_far_end_with_a_smaller_mtu("packet");
}

#[test]
fn a_far_end_with_a_smaller_mtu_does_not_stop_an_xdp_port() {
    a_far_end_with_a_smaller_mtu("xdp");
}

/// A program that a test started.
struct Started(Child);

impl Drop for Started {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Both hosts in namespaces of their own, with all offloads that the kernel gives a pair by itself.
fn tcp_with_default_offloads(socket: &str) {
    if !has("iperf3") || !has("ethtool") {
        return;
    }
    let Some(bench) = bench_with(socket) else { return };
    let other = Namespace::new().unwrap();
    bench.far.ip(&["link", "set", "dev", "far1", "netns", &other.path().display().to_string()]).unwrap();
    for (host, name, address) in [(&bench.far, "far0", "192.0.2.1/24"), (&other, "far1", "192.0.2.2/24")] {
        host.ip(&["link", "set", "dev", name, "up"]).unwrap();
        host.ip(&["addr", "add", address, "dev", name]).unwrap();
    }
    let far_end = |host: &Namespace, name: &str| host.run("ethtool", &["-k", name]).unwrap();
    let before = [far_end(&bench.far, "far0"), far_end(&other, "far1")];
    assert!(before[0].contains("tcp-segmentation-offload: on"), "{}", before[0]);
    assert!(before[0].contains("tx-checksumming: on"), "{}", before[0]);
    if !applied(&bench) {
        return;
    }
    let iperf = |words: &[&str]| {
        let mut command = std::process::Command::new("iperf3");
        command.args(words).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    };
    let serve = || iperf(&["-s", "-1", "-p", "5202"]).spawn();
    let _server = Started(other.within(serve).unwrap().unwrap());
    wait_until("the server to listen", || other.run("ss", &["-ltn"]).unwrap_or_default().contains(":5202"));
    let words = ["-c", "192.0.2.2", "-p", "5202", "-n", "16M", "--json", "--connect-timeout", "20000"];
    let mut client = Started(bench.far.within(|| iperf(&words).spawn()).unwrap().unwrap());
    wait_until("16 MiB to be sent by TCP", || client.0.try_wait().unwrap().is_some());
    let mut said = String::new();
    std::io::Read::read_to_string(&mut client.0.stdout.take().unwrap(), &mut said).unwrap();
    let reported: Value = serde_json::from_str(&said).unwrap();
    let end = &reported["end"]["sum_received"];
    // What was on its way when the client ended does not count there.
    let octets = end["bytes"].as_u64().unwrap_or(0);
    assert!(octets > 8 << 20, "{said}");
    println!("{socket}: {:.0} Mbit/s", end["bits_per_second"].as_f64().unwrap_or(0.0) / 1e6);
    wait_until("the counters to be written", || counted(&bench.status(), 0, "octets") >= octets);
    // What is not lost needs no retransmission, which is what made it slow.
    for port in 0..2 {
        assert_eq!(counted(&bench.status(), port, "oversized"), 0, "joined frames came in");
    }
    reverted(&bench);
    assert_eq!([far_end(&bench.far, "far0"), far_end(&other, "far1")], before);
}

#[test]
fn tcp_between_default_far_ends_goes_through_packet_ports() {
    tcp_with_default_offloads("packet");
}

#[test]
fn tcp_between_default_far_ends_goes_through_xdp_ports() {
    tcp_with_default_offloads("xdp");
}

#[test]
fn frames_larger_than_any_slot_are_an_error_of_check_and_apply() {
    for (socket, limit) in [("packet", "1964"), ("xdp", "1770")] {
        let Some(bench) = bench_with(socket) else { return };
        let before = bench.settings();
        for port in PORTS {
            bench.here.ip(&["link", "set", "dev", port, "mtu", "9000"]).unwrap();
        }
        let text = std::fs::read_to_string(bench.file()).unwrap();
        let with =
            |sdu: &str| text.replace("rate = \"1Gbit\"", &format!("rate = \"1Gbit\"\nmax-sdu = {{ red = {sdu} }}"));
        std::fs::write(bench.file(), with("9000")).unwrap();
        for command in ["check", "apply", "run"] {
            let output = match command {
                "check" => bench.here.within(|| ontick(&["switch", "check", &bench.file()]).output()).unwrap().unwrap(),
                command => bench.switch(&[command, &bench.file()]),
            };
            let said = stdout(&output) + &stderr(&output);
            assert!(!output.status.success(), "{command}: {said}");
            let words = said.split_whitespace().collect::<Vec<_>>().join(" ");
            let says = format!("max-sdu = {{ red = 9000 }} is more than the {limit} octets");
            assert!(words.contains(&says), "{command}: {said}");
        }
        std::fs::write(bench.file(), with(limit)).unwrap();
        let check = || ontick(&["switch", "check", &bench.file()]).output();
        let checked = bench.here.within(check).unwrap().unwrap();
        assert!(!stdout(&checked).contains("is more than the"), "{}", stdout(&checked));
        for port in PORTS {
            bench.here.ip(&["link", "set", "dev", port, "mtu", "1500"]).unwrap();
        }
        assert_eq!(bench.settings(), before);
    }
}

/// What `switch run` prints until these words are in it, or until it ends.
fn said_by_run(bench: &Bench, words: &str) -> (String, std::process::ExitStatus) {
    let path = bench.folder.path().join("said");
    let file = std::fs::File::create(&path).unwrap();
    let run = || bench.command(&["run", &bench.file()]).stdin(Stdio::null()).stderr(file).spawn();
    let mut child = bench.here.within(run).unwrap().unwrap();
    let said = || std::fs::read_to_string(&path).unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
    wait_until(words, || said().contains(words) || child.try_wait().unwrap().is_some());
    if child.try_wait().unwrap().is_none() {
        send(child.id(), Signal::INT);
    }
    let status = child.wait().unwrap();
    (said(), status)
}

/// The kernel then says "No space left on device", which nobody would take for queues.
#[test]
fn a_far_end_with_more_queues_than_the_port_is_named() {
    if !has("ethtool") {
        return;
    }
    for (socket, status, words) in [
        ("packet", 0, "it sends by more queues than port1 receives by, so that no program stops it"),
        (
            "xdp",
            2,
            "port1: AF_XDP is not to be had, as the other end of this virtual Ethernet pair sends by more queues",
        ),
    ] {
        let Some(bench) = bench_with(socket) else { return };
        let queues = |namespace: &Namespace, words: &str| {
            let words: Vec<&str> = words.split(' ').collect();
            namespace.run("ethtool", &[&["-L"], &words[..]].concat())
        };
        if queues(&bench.here, "port1 rx 1").and_then(|_| queues(&bench.far, "far1 tx 2")).is_err() {
            ontick_skip::skipped!("virtual Ethernet has one queue here");
            return;
        }
        let (said, ended) = said_by_run(&bench, words);
        if said.contains("AF_XDP socket") {
            ontick_skip::skipped!("{said}");
            return;
        }
        assert!(said.contains(words) && !said.contains("No space left"), "{said}");
        assert_eq!(ended.code(), Some(status), "{said}");
        // What is named as the remedy is one.
        queues(&bench.far, "far1 tx 1").unwrap();
        let (said, ended) = said_by_run(&bench, "(Ctrl-C ends it)");
        assert!(ended.success() && !said.contains("more queues"), "{said}");
    }
}

/// Offloads of an interface as ethtool shows them.
fn offloads(bench: &Bench, port: &str) -> String {
    bench.here.run("ethtool", &["-k", port]).unwrap()
}

#[test]
fn offloads_that_another_program_switches_on_are_switched_off_again() {
    if !has("ethtool") {
        return;
    }
    let Some(bench) = bench_with("packet") else { return };
    let before = bench.settings();
    assert!(applied(&bench));
    let working = offloads(&bench, "port0");
    for (feature, shown) in [("gro", "generic-receive-offload"), ("tx", "tx-checksumming")] {
        bench.here.run("ethtool", &["-K", "port0", feature, "on"]).unwrap();
        assert_ne!(offloads(&bench, "port0"), working, "{shown}");
        wait_until("it to be off again", || offloads(&bench, "port0") == working);
    }
    wait_until("it to be reported", || bench.status()["report"]["ports"][0]["put_back"] == 2);
    assert_eq!(bench.status()["report"]["ports"][1]["put_back"], 0);
    let status = stdout(&bench.switch(&["status"]));
    assert!(status.contains("settings  put back 2 times"), "{status}");
    reverted(&bench);
    assert_eq!(bench.settings(), before);
}

#[test]
fn an_interface_made_anew_gets_its_settings_and_gives_them_back() {
    if !has("ethtool") {
        return;
    }
    let Some(bench) = bench_with("packet") else { return };
    assert!(applied(&bench));
    let working = offloads(&bench, "port0");
    bench.here.ip(&["link", "delete", "dev", "port1"]).unwrap();
    wait_until("it to be gone", || bench.status()["report"]["ports"][1]["open"] == false);
    // Nobody uses that name, so the switch leaves it alone meanwhile.
    bench.here.join("spare", &bench.far, "far1").unwrap();
    for command in [&["link", "set", "dev", "spare", "down"][..], &["link", "set", "dev", "spare", "name", "port1"]] {
        bench.here.ip(command).unwrap();
    }
    wait_until("it to be open again", || bench.status()["report"]["ports"][1]["open"] == true);
    assert_eq!(offloads(&bench, "port1"), working.replace("port0", "port1"));
    wait_until("its link to be there", || bench.status()["report"]["ports"][1]["link"] == true);
    let open = |name: &str| bench.far.within(|| PacketPort::open(name, 1024)).unwrap().unwrap();
    let (mut from, mut to) = (open("far0"), open("far1"));
    wait_until("a frame to come through", || {
        assert_eq!(from.send(&frame(1, 300)), Sent::Done);
        std::thread::sleep(Duration::from_millis(5));
        to.receive(&mut [0; 2048]) == Received::Frame(300)
    });
    reverted(&bench);
    // As an interface is that nobody touched.
    bench.here.join("spare", &bench.far, "far2").unwrap();
    assert_eq!(offloads(&bench, "port1"), offloads(&bench, "spare").replace("spare", "port1"));
    assert!(!bench.here.run("ip", &["link", "show", "dev", "port1"]).unwrap().contains(",UP"), "it was down");
}
