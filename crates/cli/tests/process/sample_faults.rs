//! `ontick sample` where something goes wrong: disks, clients, paths, sources, and sudden ends.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::process::{Child, ChildStderr, Stdio};
use std::time::Duration;

use ontick_units::count;
use rustix::net::sockopt::{set_socket_linger, set_socket_recv_buffer_size};
use rustix::net::{AddressFamily, SocketType};
use rustix::process::Signal;

use crate::bad_disks::with_mounts;
use crate::errors::fails;
use crate::sample::numbers;
use crate::{has, ontick, run, send, stderr, stdout, wait_until};

/// Starts sampling to a TCP port, and says where.
fn listening() -> (Child, String, BufReader<ChildStderr>) {
    listening_at("1kHz")
}

fn listening_at(rate: &str) -> (Child, String, BufReader<ChildStderr>) {
    let arguments = ["sample", "--rate", rate, "--source", "wave:ramp", "--to", "tcp:127.0.0.1:0"];
    let mut child = ontick(&arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    said.read_line(&mut line).unwrap();
    let address = line.trim().strip_prefix("listening on tcp ").expect("it says where it listens").to_string();
    (child, address, said)
}

/// What it says at the end, as one line.
fn summary(child: Child) -> String {
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    stdout(&output).split_whitespace().collect::<Vec<_>>().join(" ")
}

fn lines(address: &str) -> impl Iterator<Item = String> + use<> {
    let mut lines = BufReader::new(TcpStream::connect(address).unwrap()).lines().map(Result::unwrap);
    assert!(lines.next().unwrap().contains("ontick-sample/1"));
    lines
}

/// A client for which the system keeps little: how far a receive buffer grows by itself differs from kernel to kernel, up to
/// more than a test sends.
fn connect_with_little_room(address: &str) -> TcpStream {
    let socket = rustix::net::socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    set_socket_recv_buffer_size(&socket, 4096).unwrap();
    rustix::net::connect(&socket, &address.parse::<SocketAddr>().unwrap()).unwrap();
    socket.into()
}

/// Between its first and its last sample a client has all, or learned what is missing.
fn assert_complete(lines: impl Iterator<Item = String>) {
    let (numbers, missed) = numbers(lines);
    let (first, last) = (numbers.first().unwrap(), numbers.last().unwrap());
    assert_eq!(last - first + 1, numbers.len() as u64 + missed);
}

/// How many samples a recording in the binary format has, and gaps too if they are to be counted.
fn recorded(path: &Path, gaps: bool) -> usize {
    let output = run(&["sample", "--read", path.to_str().unwrap()]);
    assert!(output.status.success(), "{}", stderr(&output));
    let counts = |line: &&str| line.starts_with(|c: char| c.is_ascii_digit()) || (gaps && line.starts_with("# missed"));
    stdout(&output).lines().filter(counts).count()
}

#[test]
fn a_full_disk_ends_the_run_or_only_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().display();
    let script = format!(
        "cd {place}; mkdir small; mount -t tmpfs -o size=64k none small; \
         ontick sample --source wave:ramp --rate 5kHz --to file:small/a.ontick || echo alone $?; \
         cp small/a.ontick .; rm small/a.ontick; \
         ontick sample --source wave:ramp --rate 5kHz --to file:small/b.ontick --to file:b.ontick --count 20000 \
             || echo beside $?"
    );
    let Some(output) = with_mounts(&script) else { return };
    let (text, said) = (stdout(&output), stderr(&output));
    // Nobody was left to sample for, so that the first ended by itself.
    assert!(text.contains("alone 2") && text.contains("beside 2"), "{text}{said}");
    for file in ["small/a.ontick", "small/b.ontick"] {
        assert!(said.contains(&format!("not all samples were kept: {file}: ")), "{said}");
    }
    assert!(said.contains("small/b.ontick: No space left on device (os error 28) (after "), "reported at once: {said}");
    // 64 KiB hold 1600 records of 40 bytes, less the beginning.
    let cut = recorded(&folder.path().join("a.ontick"), true);
    assert!((1000..=1638).contains(&cut), "{cut}");
    // The other file has all but what it is reported to lack: a disk may be slow.
    let beside: Vec<&str> = text.split_once("alone 2").unwrap().1.split_whitespace().collect();
    let line = beside.join(" ");
    let number = |before: &str| -> usize {
        let grouped = |rest: &str| rest.chars().take_while(|c| c.is_ascii_digit() || *c == ' ').collect::<String>();
        let digits = line.split_once(before).map(|(_, rest)| grouped(rest).replace(' ', ""));
        digits.and_then(|digits| digits.parse().ok()).unwrap_or(0)
    };
    let kept = recorded(&folder.path().join("b.ontick"), false);
    assert_eq!(kept, number(" b.ontick: "), "{text}");
    let too_slow_for = number(&format!(" b.ontick: {} samples, was too slow for ", count(kept as u64)));
    let found_it_full = number(" missed; ");
    assert_eq!(kept + too_slow_for + found_it_full, 20_000, "{text}");
}

#[test]
fn a_run_that_does_not_begin_leaves_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (file, record) = (format!("file:{}", path("samples")), path("none/run.json"));
    let sample = ["sample", "--count", "3", "--to", &file];
    fails(&[&sample[..], &["--source", "wave:sine", "--to", "unix:/no/such/folder/socket"]].concat(), &["/no/such"]);
    fails(&[&sample[..], &["--source", "lines:gpiochip4000:3"]].concat(), &["gpiochip4000"]);
    fails(&[&sample[..], &["--source", "wave:sine", "--record", &record]].concat(), &[&record]);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    // What was there before stays.
    fs::write(path("samples"), "kept").unwrap();
    fails(&[&sample[..], &["--source", "wave:sine"]].concat(), &["exists already"]);
    assert_eq!(fs::read_to_string(path("samples")).unwrap(), "kept");
}

#[test]
fn what_standard_output_did_not_take_is_said_once() {
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let words = ["sample", "--source", "wave:ramp", "--rate", "1kHz", "--count", "20"];
    let output = ontick(&words).stdout(full).output().unwrap();
    let said = stderr(&output).split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert_eq!(said.matches("No space left on device").count(), 1, "{said}");
    assert!(said.ends_with("ontick: not all samples were kept (the warnings above say why)"), "{said}");
}

#[test]
fn a_reader_of_standard_output_that_has_enough_ends_the_run() {
    let mut child =
        ontick(&["sample", "--source", "wave:ramp"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    out.read_line(&mut String::new()).unwrap();
    drop(out);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
}

#[test]
fn a_client_that_resets_troubles_nobody() {
    let (child, address, _said) = listening();
    let mut steady = lines(&address);
    let some: Vec<String> = steady.by_ref().take(20).collect();
    let rude = TcpStream::connect(&address).unwrap();
    rude.peek(&mut [0]).unwrap();
    set_socket_linger(&rude, Some(Duration::ZERO)).unwrap();
    drop(rude);
    let more: Vec<String> = steady.by_ref().take(300).collect();
    // And there is room for another.
    assert_eq!(lines(&address).take(5).count(), 5);
    send(child.id(), Signal::INT);
    // First all are taken: who takes nothing for 2 s is given up.
    let rest: Vec<String> = steady.collect();
    assert_complete(some.into_iter().chain(more).chain(rest));
    let rest = summary(child);
    assert!(rest.contains("samples handed on") && !rest.contains("lacks"), "a client may go: {rest}");
}

#[test]
fn a_client_that_is_killed_troubles_nobody() {
    if !has("cat") || !has("bash") {
        return;
    }
    let (mut child, address, _said) = listening();
    let mut steady = lines(&address);
    let (host, port) = address.rsplit_once(':').unwrap();
    let mut other = std::process::Command::new("bash")
        .args(["-c", &format!("exec cat < /dev/tcp/{host}/{port}")])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut got = BufReader::new(other.stdout.take().unwrap());
    assert_eq!(got.by_ref().lines().take(20).count(), 20);
    send(other.id(), Signal::KILL);
    other.wait().unwrap();
    let some: Vec<String> = steady.by_ref().take(300).collect();
    send(child.id(), Signal::INT);
    assert_complete(some.into_iter().chain(steady));
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_client_that_takes_nothing_holds_nobody_up_and_is_reported() {
    let (child, address, _said) = listening_at("50kHz");
    let mut steady = lines(&address);
    let some: Vec<String> = steady.by_ref().take(10).collect();
    let idle = connect_with_little_room(&address);
    // More than the system keeps for such a connection: the rest waits for one who does not come.
    let more: Vec<String> = steady.by_ref().take(150_000).collect();
    send(child.id(), Signal::INT);
    // First all are taken: who takes nothing for 2 s is given up.
    let rest: Vec<String> = steady.collect();
    assert_complete(some.into_iter().chain(more).chain(rest));
    let rest = summary(child);
    drop(idle);
    // Whichever comes first: 10 s without taking any, or 2 s after the end of the run.
    let given_up =
        ["it took nothing for 10 s", "had not taken all of it 2 s after the end"].iter().any(|why| rest.contains(why));
    assert!(rest.contains("samples, lacks the last ") && given_up, "{rest}");
}

#[test]
fn what_is_at_a_unix_sockets_path_stays_unless_nobody_listens() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("samples");
    let sink = format!("unix:{}", path.display());
    let arguments = ["sample", "--source", "wave:ramp", "--to", &sink, "--count", "20"];

    let listener = UnixListener::bind(&path).unwrap();
    fails(&arguments, &["somebody listens there already"]);
    UnixStream::connect(&path).expect("it still listens");

    // Its socket stays behind, as that of a killed program does.
    drop(listener);
    let output = run(&arguments);
    assert!(output.status.success() && stderr(&output).contains("listening on unix"), "{}", stderr(&output));
    assert!(!path.exists(), "the socket goes with its listener");

    fs::write(&path, "somebody's").unwrap();
    fails(&arguments, &["a file that is not a socket is there"]);
    assert_eq!(fs::read_to_string(&path).unwrap(), "somebody's");

    let sink = format!("unix:{}/none/samples", folder.path().display());
    fails(&["sample", "--source", "wave:ramp", "--to", &sink, "--count", "20"], &["No such file or directory"]);
}

#[test]
fn an_end_asked_for_before_the_first_sample_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (file, socket) = (folder.path().join("samples.ontick"), folder.path().join("socket"));
    let (to_file, to_socket) = (format!("file:{}", file.display()), format!("unix:{}", socket.display()));
    let arguments = ["sample", "--source", "wave:ramp", "--to", &to_file, "--to", &to_socket];
    let seldom = [&arguments[..], &["--rate", "0.1Hz"]].concat();
    let mut child = ontick(&seldom).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    said.read_line(&mut line).unwrap();
    send(child.id(), Signal::INT);
    assert!(line.starts_with("listening on unix"), "{line}");
    let rest: Vec<String> = said.lines().map(Result::unwrap).collect();
    assert_eq!(child.wait().unwrap().code(), Some(2), "{rest:?}");
    assert!(rest.iter().any(|line| line.contains("ended before anything was measured")), "{rest:?}");
    assert!(!file.exists() && !socket.exists());
    let output = run(&[&arguments[..], &["--count", "20"]].concat());
    assert!(output.status.success() && file.exists(), "{}", stderr(&output));
}

#[test]
fn a_killed_run_leaves_its_samples_and_its_path_to_the_next() {
    let folder = tempfile::tempdir().unwrap();
    let (file, socket) = (folder.path().join("samples.ontick"), folder.path().join("socket"));
    let (to_file, to_socket) = (format!("file:{}", file.display()), format!("unix:{}", socket.display()));
    let arguments = ["sample", "--source", "wave:ramp", "--rate", "2kHz", "--to", &to_file, "--to", &to_socket];
    let mut child = ontick(&arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    wait_until("its socket", || UnixStream::connect(&socket).is_ok());
    let mut client = BufReader::new(UnixStream::connect(&socket).unwrap());
    let mut got = String::new();
    wait_until("samples in the file", || {
        got.clear();
        client.read_line(&mut got).unwrap();
        fs::metadata(&file).unwrap().len() > 20_000
    });
    send(child.id(), Signal::KILL);
    child.wait().unwrap();
    // The client sees the end of the stream, after whole samples.
    let mut rest = String::new();
    client.read_to_string(&mut rest).unwrap();

    // Every whole record is read.
    let bytes = fs::read(&file).unwrap();
    let description = u32::from_le_bytes(bytes[12..16].try_into().unwrap()) as usize;
    let records = (bytes.len() - 16 - description) / 40;
    let text = stdout(&run(&["sample", "--read", file.to_str().unwrap()]));
    let entries = text.lines().skip(1).filter(|line| !line.starts_with("# ") || line.contains("missed"));
    assert_eq!(entries.count(), records);

    let output = run(&["sample", "--source", "wave:ramp", "--to", &to_socket, "--count", "5"]);
    assert!(output.status.success(), "the stale socket is replaced: {}", stderr(&output));
}

#[test]
fn a_converter_that_vanishes_ends_the_run_and_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().display();
    // A device in a model of /sys/bus/iio; its driver answers no more when it is unplugged.
    let script = format!(
        "mount -t tmpfs none /sys/bus; d=/sys/bus/iio/devices/iio:device0; mkdir -p $d; echo adc > $d/name; \
         echo 1000 > $d/in_voltage0_raw; echo 0.5 > $d/in_voltage0_scale; \
         ontick sample --source wave:ramp --source iio:adc/voltage0 --to file:{place}/a.csv --record {place}/a.json & \
         until [ \"$(grep -c ',0.5$' {place}/a.csv 2>/dev/null)\" -ge 200 ] 2>/dev/null; do sleep 0.02; done; \
         : > $d/in_voltage0_raw; wait $! || echo status $?"
    );
    let Some(output) = with_mounts(&script) else { return };
    let (text, said) = (stdout(&output), stderr(&output));
    assert!(text.contains("status 2"), "{text}{said}");
    assert!(said.contains("sampling ended before its time: source iio:adc/voltage0: "), "{said}");
    // What was sampled until then is kept, and nothing after it.
    let samples = fs::read_to_string(folder.path().join("a.csv")).unwrap();
    assert!(samples.lines().filter(|line| line.ends_with(",0.5")).count() >= 200, "{samples}");
    let record = fs::read_to_string(folder.path().join("a.json")).unwrap();
    assert!(record.contains("iio:adc/voltage0"), "the record says it too");
}
