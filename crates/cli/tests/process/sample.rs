//! `ontick sample`: what its readers get.

use std::io::{BufRead, BufReader, Read};
use std::net::TcpStream;
use std::process::Stdio;

use rustix::process::Signal;
use serde_json::Value;

use crate::errors::fails;
use crate::{ontick, run, stderr, stdout};

/// The lines of a stream of samples after the first: numbers, and what the gaps between them say. A gap at the end tells of
/// samples that came after the last.
pub fn numbers(lines: impl Iterator<Item = String>) -> (Vec<u64>, u64) {
    let (mut numbers, mut missed, mut gap) = (Vec::new(), 0, 0);
    for line in lines {
        let value: Value = serde_json::from_str(&line).expect("every line is JSON");
        match value["number"].as_u64() {
            Some(number) => {
                numbers.push(number);
                missed += std::mem::take(&mut gap);
            }
            None => gap += value["missed"].as_u64().expect("a gap"),
        }
    }
    (numbers, missed)
}

#[test]
fn as_many_samples_as_were_asked_for_and_every_gap_is_reported() {
    let output = run(&["sample", "--source", "wave:sine,50Hz", "--source", "wave:sine", "--count", "200"]);
    assert_eq!(output.status.code(), Some(0));
    let text = stdout(&output);
    let mut lines = text.lines().map(String::from);
    let first: Value = serde_json::from_str(&lines.next().unwrap()).unwrap();
    assert_eq!(first["channels"][1]["name"], "sine.2");
    let (numbers, missed) = numbers(lines);
    assert_eq!(numbers.len(), 200);
    assert_eq!(numbers.first(), Some(&0));
    assert_eq!(numbers.last().unwrap() + 1, 200 + missed, "numbers left out are gaps that were reported");
}

#[test]
fn a_recording_is_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("samples.ontick");
    let sink = format!("file:{}", path.display());
    let output = run(&["sample", "--source", "wave:ramp", "--rate", "5kHz", "--to", &sink, "--count", "500", "--json"]);
    assert_eq!(output.status.code(), Some(0));
    let record: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(record["simulated"].as_str().unwrap().contains("computed"));
    let signal = &record["signal"];
    assert_eq!((&signal["channel"], &signal["step_ns"]), (&"ramp".into(), &200_000.into()));
    let kept = signal["values"].as_array().unwrap().iter().filter(|value| value.is_number()).count();
    assert!(kept > 32 && signal["missed_late"].is_u64(), "{signal}");
    let text = stdout(&run(&["sample", "--read", path.to_str().unwrap()]));
    let samples = text.lines().filter(|line| !line.starts_with(['#', 'n'])).count();
    assert_eq!(samples, 500);
    assert_eq!(text.lines().next(), Some("number,monotonic_ns,tai_ns,latency_ns,ramp"));
    fails(&["sample", "--source", "wave:ramp", "--to", &sink, "--count", "1"], &["exists"]);
}

#[test]
fn a_client_gets_samples_and_ctrl_c_ends_the_run() {
    let mut child = ontick(&["sample", "--source", "wave:sine", "--to", "tcp:127.0.0.1:0"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    said.read_line(&mut line).unwrap();
    let address = line.trim().strip_prefix("listening on tcp ").expect("it says where it listens");
    let mut lines = BufReader::new(TcpStream::connect(address).unwrap()).lines().map(Result::unwrap);
    assert!(lines.next().unwrap().contains("ontick-sample/1"));
    let some: Vec<String> = lines.by_ref().take(20).collect();
    crate::send(child.id(), Signal::INT);
    let rest: Vec<String> = lines.collect();
    assert!(child.wait().unwrap().success());
    let (numbers, missed) = numbers(some.into_iter().chain(rest));
    let (first, last) = (numbers.first().unwrap(), numbers.last().unwrap());
    assert_eq!(last - first + 1, numbers.len() as u64 + missed);
    said.read_to_string(&mut line).unwrap();
}

/// Reads the lines of a stream: the numbers of its samples, and how many are reported missing, by reason.
fn accounted(lines: impl Iterator<Item = String>) -> (Vec<u64>, [u64; 3]) {
    let (mut numbers, mut reported) = (Vec::new(), [0; 3]);
    for line in lines.filter(|line| !line.starts_with("number,")) {
        match line.strip_prefix("# missed ").map(|gap| gap.split_once(": ").expect("a reason")) {
            Some((missed, why)) => {
                let why = ["late", "ring full", "slow client"].iter().position(|name| *name == why);
                reported[why.expect("a reason that there is")] += missed.parse::<u64>().unwrap();
            }
            None => numbers.push(line.split(',').next().unwrap().parse().expect("a number")),
        }
    }
    (numbers, reported)
}

/// All that was asked for is no run that was cut short, and samples that went where they should are no warning.
#[test]
fn a_count_that_was_reached_is_no_interruption() {
    let folder = tempfile::tempdir().unwrap();
    let (path, kept) = (folder.path().join("samples.csv"), folder.path().join("run.json"));
    let to = format!("file:{}", path.display());
    let wave = ["sample", "--source", "wave:ramp", "--rate", "1kHz", "--count", "50", "--to", to.as_str()];
    let output = run(&[&wave[..], &["--record", kept.to_str().unwrap()]].concat());
    assert!(output.status.success(), "{}", stderr(&output));
    let text = stdout(&output);
    assert!(!text.contains("interrupted") && !text.contains("cut short"), "{text}");
    let sink = format!("{}: 50 samples", path.display());
    let run_: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&kept).unwrap()).unwrap();
    assert!(!run_.get("interrupted").and_then(serde_json::Value::as_bool).unwrap_or(false));
    assert!(run_["facts"].as_array().unwrap().iter().any(|fact| *fact == *sink), "{}", run_["facts"]);

    let output = run(&wave);
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(2));
    assert!(said.contains("exists already: name another file"), "{said}");
}

#[test]
fn at_ten_thousand_a_second_every_sample_is_accounted_for() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("samples.ontick");
    let (tcp, file) = ("tcp:127.0.0.1:0,format=csv", format!("file:{}", path.display()));
    let mut child = ontick(&["sample", "--rate", "10kHz", "--source", "wave:sine,50Hz", "--to", tcp, "--to", tcp])
        .args(["--to", &file, "--duration", "1s", "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap());
    let clients = [0, 1].map(|_| {
        let mut line = String::new();
        said.read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("listening on tcp ").expect("it says where it listens");
        let socket = BufReader::new(TcpStream::connect(address).unwrap());
        std::thread::spawn(move || accounted(socket.lines().map(Result::unwrap)))
    });
    std::thread::spawn(move || said.read_to_string(&mut String::new()));
    let output = child.wait_with_output().unwrap();
    let clients = clients.map(|client| client.join().unwrap());
    let produced = crate::samples(&crate::record(&output)["series"][0]);
    let text = stdout(&run(&["sample", "--read", path.to_str().unwrap()]));
    let (all, reported) = accounted(text.lines().map(String::from));
    let [late, full, slow] = reported;
    // Slots that were missed have numbers, too: a second has ten thousand, whatever the machine made of them.
    let slots = all.last().unwrap() + 1;
    assert!((9_000..=10_010).contains(&slots), "{slots} slots in a second");
    // A machine that others keep busy with real-time threads misses many; one that sampled at another rate would miss more.
    if rustix::process::geteuid().is_root() {
        assert!(produced > slots / 10, "{produced} samples in {slots} slots");
    }
    assert_eq!(all.len() as u64 + full + slow, produced);
    assert_eq!(all.last().unwrap() + 1, all.len() as u64 + late + full + slow);
    for (numbers, [late, full, slow]) in clients {
        // A client gets what is produced from when it came.
        let from = numbers.first().expect("samples for a client");
        assert_eq!(numbers.last(), all.last());
        assert_eq!(numbers.last().unwrap() - from + 1, numbers.len() as u64 + late + full + slow);
        assert!(numbers.is_sorted_by(|a, b| a < b));
        if slow == 0 && reported[2] == 0 {
            assert!(numbers.iter().eq(all.iter().skip_while(|number| *number < from)), "what the file has");
        }
    }
}

/// The README's two terminals, word by word but for the port, which somebody may have, and the chip.
#[test]
fn two_terminals_work_as_the_readme_has_them() {
    if !crate::has("bash") {
        return;
    }
    let readme = include_str!("../../../../README.md");
    let line = |word: &str| {
        let found = readme.lines().filter_map(|line| line.strip_prefix("$ ")).find(|line| line.contains(word));
        found.unwrap_or_else(|| panic!("the README has a command with {word}"))
    };
    let chip = crate::gpio::Chip::new("two-terminals");
    let server = line("tcp:127.0.0.1:5000").replace(":5000", ":0").replace("sim:bench/0", &chip.line(0));
    let words = shlex::split(&server).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let arguments: Vec<&str> = words[1..].iter().map(String::as_str).collect();
    let mut child =
        ontick(&arguments).current_dir(folder.path()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap());
    let mut first = String::new();
    said.read_line(&mut first).unwrap();
    let address = first.trim().strip_prefix("listening on tcp 127.0.0.1:").expect("it says where it listens");
    std::thread::spawn(move || said.read_to_string(&mut String::new()));
    let client = line("/dev/tcp/").replace("/5000", &format!("/{address}"));
    let output = std::process::Command::new("bash").args(["-c", &client]).output().unwrap();
    let text = stdout(&output);
    let (head, samples) = text.split_once('\n').unwrap();
    assert!(head.contains("ontick-sample/1"));
    assert_eq!(samples.lines().count(), 2);
    assert!(samples.lines().all(|sample| serde_json::from_str::<Value>(sample).unwrap()["values"]["sine"].is_f64()));
    crate::send(child.id(), Signal::INT);
    assert!(child.wait().unwrap().success());
    let read = run(&["sample", "--read", folder.path().join("samples.arrow").to_str().unwrap()]);
    assert!(stdout(&read).lines().count() > 2);
}

#[test]
fn standard_output_takes_a_format() {
    let output = run(&["sample", "--source", "wave:ramp", "--to", "-,format=csv", "--count", "5"]);
    assert_eq!(stdout(&output).lines().next(), Some("number,monotonic_ns,tai_ns,latency_ns,ramp"));
}

#[cfg(feature = "arrow")]
#[test]
fn an_arrow_file_is_read_also_after_kill_9() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("samples.arrow");
    let mut child = ontick(&["sample", "--rate", "2kHz", "--source", "wave:sine", "--source", "wave:ramp"])
        .args(["--to", &format!("file:{}", path.display())])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    crate::wait_until("a batch", || std::fs::metadata(&path).is_ok_and(|meta| meta.len() > 40_000));
    child.kill().unwrap();
    child.wait().unwrap();
    let (numbers, reported) =
        accounted(stdout(&run(&["sample", "--read", path.to_str().unwrap()])).lines().map(String::from));
    // Numbers of samples that a busy machine missed are between them.
    assert_eq!(numbers.last().unwrap() + 1, numbers.len() as u64 + reported.iter().sum::<u64>());
    fails(&["sample", "--source", "wave:ramp", "--to", "udp:127.0.0.1:9,format=arrow"], &["longer than datagrams"]);
}

#[test]
fn every_edge_is_a_sample() {
    let chip = format!("test-sample-{}", std::process::id());
    let (from, to) = (format!("sim:{chip}/1"), format!("sim:{chip}/2"));
    assert!(run(&["gpio", "wire", &from, &to]).status.success());
    let trigger = format!("{to}:both");
    let mut child = ontick(&["sample", "--trigger", &trigger, "--source", "wave:ramp", "--to", "-", "--count", "40"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    lines.next().unwrap();
    // The line is listened to soon after the first line is out; edges before that are nobody's.
    let mut toggle = ontick(&["gpio", "set", &format!("{from}=0"), "--toggle", "2ms"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let (numbers, missed) = numbers(lines);
    crate::send(toggle.id(), Signal::INT);
    toggle.wait().unwrap();
    assert!(child.wait().unwrap().success());
    assert_eq!((numbers, missed), ((0..40).collect(), 0));
    run(&["gpio", "remove", &format!("sim:{chip}")]);
}

#[test]
fn what_cannot_be_sampled_is_one_sentence() {
    fails(&["sample", "--source", "wave:sinus"], &["is no shape"]);
    fails(&["sample", "--source", "adc"], &["there is no such kind of source"]);
    fails(&["sample", "--source", "wave:sine", "--to", "ftp:x"], &["there is no such sink"]);
    fails(&["sample", "--source", "wave:sine", "--json", "--count", "1"], &["standard output"]);
    fails(&["sample", "--trigger", "sim:x", "--source", "wave:sine"], &["names no line"]);
    fails(&["sample", "--read", "/dev/null"], &["no recording"]);
}
