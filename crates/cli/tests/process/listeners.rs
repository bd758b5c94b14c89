//! What `ontick sample` opens to others: to whom, with how much memory, with which permissions.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::MetadataExt;
use std::process::{ChildStderr, Command, Stdio};

use rustix::net;
use rustix::process::Signal;

use crate::{Running, ontick, send, wait_until};

/// Starts sampling to a sink; the first line says where it listens.
fn listening(sink: &str) -> (Running, String, BufReader<ChildStderr>) {
    listening_to(sink, &[])
}

fn listening_to(sink: &str, more: &[&str]) -> (Running, String, BufReader<ChildStderr>) {
    let mut child = ontick(&["sample", "--source", "wave:ramp", "--to", sink])
        .args(more)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    said.read_line(&mut line).unwrap();
    (Running(child), line.trim().to_string(), said)
}

fn end(mut child: Running) {
    send(child.0.id(), Signal::INT);
    let status = child.0.wait().unwrap();
    // 1: samples were missed or lost while hundreds of clients came and went.
    assert!(matches!(status.code(), Some(0 | 1)), "{status}");
}

/// A line of proc(5)'s status, in KiB: what is locked counts address space that holds nothing, what is resident does not.
fn kib(pid: u32, what: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(what)).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

fn threads(pid: u32) -> usize {
    fs::read_dir(format!("/proc/{pid}/task")).unwrap().count()
}

/// A client with an address of this machine's own (RFC 1122, 3.2.1.3): one host may not have all places.
fn connect_from(from: [u8; 4], to: &str) -> TcpStream {
    let socket = net::socket(net::AddressFamily::INET, net::SocketType::STREAM, None).unwrap();
    net::bind(&socket, &SocketAddr::from((from, 0))).unwrap();
    net::connect(&socket, &to.parse::<SocketAddr>().unwrap()).unwrap();
    socket.into()
}

#[test]
fn idle_clients_lock_little_memory() {
    if !rustix::process::geteuid().is_root() {
        ontick_skip::skipped!("only root may lock so much memory");
        return;
    }
    // At a low rate, so that the samples kept for all of them together, which are bounded elsewhere, are next to nothing.
    let (child, line, _said) = listening_to("tcp::0", &["--rate", "100Hz"]);
    let address = line.strip_prefix("listening on tcp ").expect("it says where it listens");
    let pid = child.0.id();
    // Who gets samples knows that all memory of the run's own is locked by now.
    let mut first = TcpStream::connect(address).unwrap();
    first.read_exact(&mut [0; 1000]).unwrap();
    assert!(kib(pid, "VmLck:") > 0);
    let (before, began) = (kib(pid, "VmRSS:"), threads(pid));
    let clients: Vec<TcpStream> = (0..250).map(|n| connect_from([127, 0, 0, 1 + n / 125], address)).collect();
    wait_until("a thread for each", || threads(pid) >= began + 250);
    let each = kib(pid, "VmRSS:").saturating_sub(before) / 250;
    assert!(each <= 256, "{each} KiB for each client");
    drop((first, clients));
    end(child);
}

#[test]
fn others_are_listened_to_only_where_that_was_asked_for() {
    for (sink, address, is_open) in
        [("tcp::0", "127.0.0.1:", false), ("tcp:127.0.0.1:0", "127.0.0.1:", false), ("tcp:0.0.0.0:0", "0.0.0.0:", true)]
    {
        let (mut child, line, mut said) = listening(sink);
        assert!(line.starts_with(&format!("listening on tcp {address}")), "{sink}: {line}");
        if is_open {
            let mut notice = String::new();
            said.read_line(&mut notice).unwrap();
            assert!(notice.starts_with("notice: everyone who reaches tcp 0.0.0.0:"), "{notice}");
        }
        wait_until("its handler for Ctrl-C", || crate::catches_interrupt(child.0.id()));
        wait_until("its first sample", || threads(child.0.id()) > 3);
        send(child.0.id(), Signal::INT);
        let rest: Vec<String> = said.lines().map(Result::unwrap).collect();
        assert!(!rest.iter().any(|line| line.starts_with("notice")), "{sink}: {rest:?}");
        child.0.wait().unwrap();
    }
}

#[test]
fn a_sockets_mode_does_not_depend_on_the_umask() {
    for (umask, option, mode) in [("000", "", 0o600), ("777", ",mode=660", 0o660), ("077", ",mode=666", 0o666)] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("samples");
        let script = format!(
            "umask {umask}; exec '{}' sample --source wave:ramp --to 'unix:{}{option}'",
            env!("CARGO_BIN_EXE_ontick"),
            path.display()
        );
        let mut child =
            Command::new("sh").args(["-c", &script]).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stderr.take().unwrap()).read_line(&mut line).unwrap();
        assert!(line.starts_with("listening on unix"), "{line}");
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, mode, "umask {umask}");
        wait_until("its handler for Ctrl-C", || crate::catches_interrupt(child.id()));
        send(child.id(), Signal::INT);
        child.wait().unwrap();
    }
}
