//! GPIO as it is used every day, on simulated lines: several processes at once, some of which die.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Stdio};

use rustix::process::Signal;
use serde_json::Value;

use crate::errors::fails;
use crate::{Running, has, ontick, run, send, stderr, stdout, wait_until};

/// A chip of a test's own, gone afterwards.
pub struct Chip(String);

impl Chip {
    pub fn new(test: &str) -> Self {
        Self(format!("sim:test-{test}-{}", std::process::id()))
    }

    pub fn line(&self, line: u32) -> String {
        format!("{}/{line}", self.0)
    }

    /// With lines 4 and 17 joined, and 5 and 18.
    pub fn wired(test: &str) -> Self {
        let chip = Self::new(test);
        for (from, to) in [(4, 17), (5, 18)] {
            well(&["gpio", "wire", &chip.line(from), &chip.line(to)]);
        }
        chip
    }
}

impl Drop for Chip {
    fn drop(&mut self) {
        run(&["gpio", "remove", &self.0]);
    }
}

/// Runs a command that must go well; its standard output.
fn well(arguments: &[&str]) -> String {
    let output = run(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", stderr(&output));
    stdout(&output)
}

pub fn json(arguments: &[&str]) -> Value {
    serde_json::from_str(&well(&[arguments, &["--json"]].concat())).expect("JSON")
}

/// A process that is killed if the test fails half-way.
struct Process {
    child: Child,
    /// What it says first, read when it is at work.
    said: String,
    errors: BufReader<std::process::ChildStderr>,
}

impl Process {
    fn start(arguments: &[&str]) -> (Child, BufReader<std::process::ChildStderr>) {
        let mut child =
            ontick(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts");
        let errors = BufReader::new(child.stderr.take().expect("a pipe"));
        (child, errors)
    }

    /// A watch, which has begun.
    fn watch(line: &str, arguments: &[&str]) -> Self {
        let (child, mut errors) = Self::start(&[&["gpio", "watch", line, "--json"], arguments].concat());
        let mut said = String::new();
        errors.read_line(&mut said).unwrap();
        assert!(said.starts_with("Watching "), "{said}");
        Self { child, said, errors }
    }

    /// A writer, which has its lines.
    fn writer(arguments: &[&str]) -> Self {
        let (mut child, errors) = Self::start(&[&["gpio", "set"], arguments].concat());
        let mut said = String::new();
        BufReader::new(child.stdout.as_mut().expect("a pipe")).read_line(&mut said).unwrap();
        Self { child, said, errors }
    }

    fn send(&self, signal: Signal) {
        send(self.child.id(), signal);
    }

    /// Waits for its end, which must be a good one; what it printed and said.
    fn end(mut self) -> (String, String) {
        let mut printed = String::new();
        self.child.stdout.take().expect("a pipe").read_to_string(&mut printed).unwrap();
        let mut said = String::new();
        self.errors.read_to_string(&mut said).unwrap();
        let status = self.child.wait().unwrap();
        assert!(status.success(), "{status}: {said}");
        (printed, said)
    }

    /// What a watch saw.
    fn seen(self) -> Vec<Value> {
        let (printed, _) = self.end();
        printed.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    }

    /// How many edges a watch of both directions saw and missed; every one checked for what any edge must be.
    fn edges(self) -> (usize, u64) {
        let edges = self.seen();
        for pair in edges.windows(2) {
            assert!(pair[0]["time_ns"].as_u64() <= pair[1]["time_ns"].as_u64(), "{pair:?}");
            let lost = pair[1]["lost"].as_u64().unwrap();
            // Levels alternate: a number of lost edges that is even leaves the next one different.
            assert_eq!(pair[0]["edge"] != pair[1]["edge"], lost % 2 == 0, "{pair:?}");
        }
        assert!(edges.iter().all(|edge| edge["backend"] == "simulated"));
        (edges.len(), edges.iter().map(|edge| edge["lost"].as_u64().unwrap()).sum())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn lines_are_wired_set_read_and_listed() {
    let chip = Chip::new("everyday");
    let (four, seventeen) = (chip.line(4), chip.line(17));
    let said = well(&["gpio", "wire", &four, &seventeen, "--delay", "1us", "--jitter", "500ns", "--dead-time", "20us"]);
    assert_eq!(said, format!("{four} to {seventeen}, delay 1us, jitter 500ns, dead time 20us  (simulated)\n"));
    assert_eq!(well(&["gpio", "set", &format!("{four}=1"), "--for", "0s"]), format!("{four}=1  (simulated)\n"));
    assert_eq!(
        well(&["gpio", "get", &seventeen, &four]),
        format!("{seventeen}=1  (simulated)\n{four}=1  (simulated)\n")
    );
    let read = json(&["gpio", "get", &seventeen, "--active-low"]);
    assert_eq!((&read[0]["value"], &read[0]["backend"]), (&0.into(), &"simulated".into()));

    let listed = json(&["gpio", "list", &chip.0]);
    let line = &listed[0]["lines"][17];
    assert_eq!((&line["direction"], &line["level"], &line["in_use"]), (&"input".into(), &1.into(), &false.into()));
    assert_eq!((&line["wire"]["to"], &line["wire"]["delay_ns"]), (&four.clone().into(), &1000.into()));
    assert_eq!(json(&["gpio", "list", &four])[0]["lines"].as_array().unwrap().len(), 1);
    assert_eq!(well(&["gpio", "list", &four]).lines().count(), 2);
    let all = well(&["gpio", "list"]);
    assert!(all.contains(&format!("{}  54 lines  (simulated)\n", chip.0)), "{all}");
    assert!(all.contains(&format!("wired to {four}, delay 1us, jitter 500ns, dead time 20us\n")), "{all}");

    let said = well(&["gpio", "wire", &four, &seventeen, "--loss", "0.5%"]);
    assert_eq!(said, format!("{four} to {seventeen}, loss 0.5 %  (simulated)\n"));
    assert_eq!(json(&["gpio", "list", &seventeen])[0]["lines"][0]["wire"]["loss_ppm"], 5_000);
    let refused = run(&["gpio", "wire", &four, &seventeen, "--loss", "101"]);
    assert!(refused.status.code() == Some(2) && stderr(&refused).contains("0 to 100 percent"), "{}", stderr(&refused));

    well(&["gpio", "unwire", &seventeen]);
    assert_eq!(json(&["gpio", "get", &seventeen])[0]["value"], 0);
    assert_eq!(json(&["gpio", "get", &seventeen, "--bias", "pull-up"])[0]["value"], 1);
    well(&["gpio", "remove", &chip.0]);
    assert_eq!(run(&["gpio", "list", &chip.0]).status.code(), Some(2));
}

#[test]
fn a_line_is_held_until_ctrl_c_and_left_as_was_asked() {
    let chip = Chip::wired("held");
    let four = chip.line(4);
    let writer = Process::writer(&[&format!("{four}=1"), "--on-exit", "low"]);
    assert_eq!(writer.said, format!("{four}=1  (simulated)\n"));
    let line = &json(&["gpio", "list", &four])[0]["lines"][0];
    let owner = format!("(process {})", writer.child.id());
    assert!(line["in_use"] == true && line["consumer"].as_str().unwrap().ends_with(&owner), "{line}");
    let refused = run(&["gpio", "set", &format!("{four}=0"), "--for", "0s"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(stderr(&refused).contains(&owner), "{}", stderr(&refused));
    assert_eq!(json(&["gpio", "get", &chip.line(17)])[0]["value"], 1, "the refused one changed nothing");
    writer.send(Signal::INT);
    writer.end();
    let line = &json(&["gpio", "list", &four])[0]["lines"][0];
    assert_eq!((&line["level"], &line["in_use"], &line["direction"]), (&0.into(), &false.into(), &"output".into()));
}

#[test]
fn no_line_is_driven_where_another_one_is_in_use() {
    let chip = Chip::new("refused");
    let (four, five) = (chip.line(4), chip.line(5));
    let writer = Process::writer(&[&format!("{five}=1")]);
    let refused = run(&["gpio", "set", &format!("{four}=1"), &format!("{five}=0"), "--for", "0s"]);
    let owner = format!("line {five}: in use by");
    assert!(refused.status.code() == Some(2) && stderr(&refused).contains(&owner), "{}", stderr(&refused));
    let read = json(&["gpio", "list", &four]);
    let line = &read[0]["lines"][0];
    assert_eq!((&line["level"], &line["direction"]), (&0.into(), &"input".into()), "{line}");
    writer.send(Signal::INT);
    writer.end();
}

/// As a service manager may end it (systemd.kill(5), `SendSIGHUP=`): both signals are one request.
#[test]
fn a_hang_up_behind_the_request_to_end_leaves_the_line_as_was_asked() {
    let chip = Chip::new("hung-up");
    let four = chip.line(4);
    let writer = Process::writer(&[&format!("{four}=1"), "--on-exit", "low"]);
    for signal in [Signal::STOP, Signal::TERM, Signal::HUP, Signal::CONT] {
        writer.send(signal);
    }
    writer.end();
    assert_eq!(json(&["gpio", "get", &four])[0]["value"], 0);
}

#[test]
fn a_watch_sees_exactly_the_edges_that_another_process_makes() {
    let chip = Chip::wired("exact");
    let seventeen = chip.line(17);
    let (both, rising) =
        (Process::watch(&seventeen, &["--count", "500"]), Process::watch(&seventeen, &["--edges", "rising"]));
    well(&["gpio", "set", &format!("{}=0", chip.line(4)), "--toggle", "100us", "--count", "500"]);
    assert_eq!(both.edges(), (500, 0));
    rising.send(Signal::INT);
    let rising = rising.seen();
    assert_eq!(rising.len(), 250);
    assert!(rising.iter().all(|edge| edge["edge"] == "rising" && edge["lost"] == 0));
}

#[test]
fn edges_that_a_watch_could_not_take_are_counted() {
    let chip = Chip::wired("lost");
    let watch = Process::watch(&chip.line(17), &[]);
    watch.send(Signal::STOP);
    let stat = format!("/proc/{}/stat", watch.child.id());
    wait_until("the watch to stand still", || std::fs::read_to_string(&stat).unwrap().contains(") T "));
    well(&["gpio", "set", &format!("{}=0", chip.line(4)), "--toggle", "1us", "--count", "9001"]);
    // It goes on, and finds that it was asked to end: what is there is taken first.
    watch.send(Signal::INT);
    watch.send(Signal::CONT);
    let (taken, lost) = watch.edges();
    assert_eq!((taken as u64 + lost, lost > 0), (9001, true), "{taken} taken, {lost} lost");
}

#[test]
fn a_writer_that_is_killed_leaves_the_chip_usable() {
    let chip = Chip::wired("killed");
    let (four, seventeen) = (chip.line(4), chip.line(17));
    let watch = Process::watch(&seventeen, &[]);
    for _ in 0..5 {
        let mut writer = Process::writer(&[&format!("{four}=0"), "--toggle", "1us"]);
        writer.send(Signal::KILL);
        writer.child.wait().unwrap();
        let line = &json(&["gpio", "list", &four])[0]["lines"][0];
        assert_eq!((&line["in_use"], &line["direction"]), (&false.into(), &"output".into()), "driven by nobody");
        for value in [1, 0] {
            well(&["gpio", "set", &format!("{four}={value}"), "--for", "0s"]);
            assert_eq!(json(&["gpio", "get", &seventeen])[0]["value"], value);
        }
    }
    watch.send(Signal::INT);
    // That every edge follows from the one before is checked there.
    let (taken, lost) = watch.edges();
    assert!(taken as u64 + lost >= 9, "{taken} taken, {lost} lost: those of the five pairs are certain");
}

#[test]
fn writers_at_the_same_time_lose_and_invent_nothing() {
    let chip = Chip::wired("two");
    let watches = [17, 18].map(|line| Process::watch(&chip.line(line), &[]));
    let writers =
        [4, 5].map(|line| Process::writer(&[&format!("{}=0", chip.line(line)), "--toggle", "20us", "--count", "1001"]));
    for writer in writers {
        writer.end();
    }
    for watch in watches {
        watch.send(Signal::INT);
        assert_eq!(watch.edges(), (1001, 0));
    }
}

/// Many processes want one line: each gets it or learns who has it, and the edges are those that were made.
#[test]
fn a_line_that_many_want_has_one_owner_at_a_time() {
    let chip = Chip::wired("many");
    let watch = Process::watch(&chip.line(17), &[]);
    let mut writers: Vec<_> = (0..12)
        .map(|n| {
            let assignment = format!("{}={}", chip.line(4), n % 2);
            Process::start(&["gpio", "set", &assignment, "--toggle", "100us", "--count", "20"])
        })
        .collect();
    let mut made = 0;
    for (writer, errors) in &mut writers {
        let status = writer.wait().unwrap();
        let mut said = String::new();
        errors.read_to_string(&mut said).unwrap();
        assert!(status.success() || said.contains("in use by"), "{status}: {said}");
        made += u32::from(status.success());
    }
    watch.send(Signal::INT);
    let (taken, lost) = watch.edges();
    assert!(made > 0 && lost == 0, "{made} made edges, {lost} lost");
    // Twenty each, and one more where the first value was another than the line had.
    let (least, most) = (20 * made as usize, 21 * made as usize);
    assert!((least..=most).contains(&taken), "{taken} edges of {made} writers");
}

#[test]
fn a_watch_ends_when_its_reader_goes_away() {
    let chip = Chip::wired("reader");
    let mut watch = Process::watch(&chip.line(17), &[]);
    drop(watch.child.stdout.take());
    well(&["gpio", "set", &format!("{}=0", chip.line(4)), "--toggle", "1ms", "--count", "2"]);
    assert!(watch.child.wait().unwrap().success());
}

#[test]
fn a_switch_that_bounces_is_seen_once() {
    let chip = Chip::wired("bounces");
    let seventeen = chip.line(17);
    let watch = Process::watch(&seventeen, &["--debounce", "500ms"]);
    well(&["gpio", "set", &format!("{}=0", chip.line(4)), "--toggle", "1us", "--count", "9"]);
    assert_eq!(well(&["gpio", "get", &seventeen, "--debounce", "1ms"]), format!("{seventeen}=1  (simulated)\n"));
    let mut seen = String::new();
    let mut watch = watch;
    BufReader::new(watch.child.stdout.as_mut().expect("a pipe")).read_line(&mut seen).unwrap();
    watch.send(Signal::INT);
    let (more, said) = watch.end();
    let edge: Value = serde_json::from_str(&seen).expect("JSON");
    assert_eq!((&edge["edge"], &edge["lost"], more.as_str()), (&"rising".into(), &0.into(), ""), "{said}");
    let refused = run(&["gpio", "watch", &seventeen, "--debounce", "1500ns"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(
        stderr(&refused).contains("\"1500ns\" is not from 1us to 16s in whole microseconds"),
        "{}",
        stderr(&refused)
    );
}

/// The widths of pulses that a watch shows, in ns, as it shows them.
fn next_width_ns(watch: &mut impl BufRead) -> u64 {
    let mut next = |direction: &str| loop {
        let mut line = String::new();
        assert!(watch.read_line(&mut line).unwrap() > 0, "the watch ended");
        let edge: Value = serde_json::from_str(&line).expect("JSON");
        if edge["edge"] == direction {
            return edge["time_ns"].as_u64().unwrap();
        }
    };
    let rose_ns = next("rising");
    next("falling") - rose_ns
}

#[test]
fn a_train_of_pulses_is_changed_by_lines_and_left_low() {
    let chip = Chip::wired("pwm");
    let four = chip.line(4);
    let mut watch = Process::watch(&chip.line(17), &[]);
    let mut seen = BufReader::new(watch.child.stdout.take().expect("a pipe"));
    let placed = ["--policy", "other", "--cpu", "any", "--stock", "--json"];
    let arguments = [&["gpio", "pwm", &four, "--period", "4ms", "--width", "1ms"], &placed[..]].concat();
    let mut command = ontick(&arguments);
    let pipes = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut pwm = Running(pipes.spawn().unwrap());
    let mut errors = BufReader::new(pwm.0.stderr.take().expect("a pipe"));
    let mut said = || {
        let mut said = String::new();
        errors.read_line(&mut said).unwrap();
        said
    };
    assert_eq!(said(), format!("Line {four}: 1ms high in each 4ms (25 %); Ctrl-C ends.\n"));
    let mut input = pwm.0.stdin.take().expect("a pipe");
    assert!((900_000..).contains(&next_width_ns(&mut seen)));
    input.write_all(b"width 40ms\nwidth 3ms\n").unwrap();
    assert_eq!(said(), "a width of 40ms does not fit into a period of 4ms\n");
    drop(input);
    // The end of the input ends nothing; several, as a pulse may be long for another reason.
    let mut wide = 0;
    while wide < 3 {
        wide = if next_width_ns(&mut seen) >= 2_999_000 { wide + 1 } else { 0 };
    }
    send(pwm.0.id(), Signal::INT);
    let mut printed = String::new();
    pwm.0.stdout.take().expect("a pipe").read_to_string(&mut printed).unwrap();
    assert!(pwm.0.wait().unwrap().success());
    let made: Value = serde_json::from_str(&printed).expect("JSON");
    assert_eq!((&made["period_ns"], &made["width_ns"]), (&4_000_000.into(), &3_000_000.into()));
    assert_eq!(
        (made["edges"].as_u64(), &made["backend"]),
        (made["periods"].as_u64().map(|n| 2 * n), &"simulated".into())
    );
    let line = &json(&["gpio", "list", &four])[0]["lines"][0];
    assert_eq!((&line["level"], &line["in_use"]), (&0.into(), &false.into()));
    watch.send(Signal::INT);
}

#[test]
fn a_train_of_pulses_ends_by_itself_and_says_how_exact_it_was() {
    let chip = Chip::new("pwm-ends");
    let four = chip.line(4);
    let placed = ["--policy", "other", "--cpu", "any", "--stock"];
    let begin = ["gpio", "pwm", four.as_str()];
    let with = |arguments: &[&'static str]| [&begin, arguments, &placed].concat();
    let printed = well(&with(&["--period", "100Hz", "--duty", "20%", "--duration", "50ms", "--on-exit", "high"]));
    assert!(printed.contains(" periods, ") && printed.contains(" more than 10us late, the latest by "), "{printed}");
    assert!(printed.ends_with("  (simulated)\n"), "{printed}");
    assert_eq!(json(&["gpio", "get", &four])[0]["value"], 1);
    let still = well(&with(&["--duty", "0%", "--duration", "30ms"]));
    assert!(still.contains(" missed  (simulated)\n"), "{still}");
    fails(&with(&[]), &["--width"]);
    fails(&with(&["--width", "1ms", "--duty", "3%"]), &["--width", "--duty"]);
    fails(&with(&["--width", "30ms"]), &["a width of 30ms does not fit into a period of 20ms"]);
    fails(&with(&["--period", "5us", "--width", "1us"]), &["a period of 5us is not from 10us to 1s"]);
}

#[test]
fn a_dump_has_the_edges_of_all_lines_and_is_read_by_others() {
    let chip = Chip::wired("dump");
    let (seventeen, eighteen) = (chip.line(17), chip.line(18));
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("edges.vcd");
    let file = file.to_str().unwrap();
    well(&["gpio", "set", &format!("{}=1", chip.line(5)), "--for", "0s"]);
    let watch = Process::watch(&seventeen, &[&eighteen, "--vcd", file]);
    let (four, five) = (format!("{}=0", chip.line(4)), format!("{}=1", chip.line(5)));
    well(&["gpio", "set", &four, &five, "--toggle", "1ms", "--count", "20"]);
    watch.send(Signal::INT);
    let edges = watch.seen();
    assert_eq!(edges.len(), 40);
    let text = std::fs::read_to_string(file).unwrap();
    let (_, changes) =
        text.split_once("$enddefinitions $end\n#0\n$dumpvars\n0!\n1\"\n$end\n").expect("the levels at first");
    // Each edge at its time, in the order of the times; then the end.
    let begun_ns: u64 = text.split_once("#0 is ").unwrap().1.split(' ').next().unwrap().parse().unwrap();
    let (mut at_ns, mut dumped) = (0, Vec::new());
    for word in changes.split_whitespace() {
        match word.strip_prefix('#') {
            Some(time) => at_ns = time.parse().unwrap(),
            None => dumped.push((begun_ns + at_ns, word.to_owned())),
        }
    }
    let shown = |edge: &Value| {
        let level = if edge["edge"] == "rising" { "1" } else { "0" };
        let code = if edge["line"] == seventeen.as_str() { "!" } else { "\"" };
        (edge["time_ns"].as_u64().unwrap(), format!("{level}{code}"))
    };
    let mut expected: Vec<_> = edges.iter().map(shown).collect();
    assert!(dumped.is_sorted_by_key(|(time_ns, _)| *time_ns));
    dumped.sort();
    expected.sort();
    assert_eq!(dumped, expected);
    for line in [&seventeen, &eighteen] {
        let imported = run(&["import", file, "--channel", line, "--json"]);
        assert!(imported.status.success(), "{}", stderr(&imported));
        let record: Value = serde_json::from_str(&stdout(&imported)).expect("JSON");
        // The last level of all is cut off, as is the first.
        assert_eq!(crate::samples(&record["series"][0]) + crate::samples(&record["series"][1]), 19);
    }
    if has("sigrok-cli") {
        let output =
            std::process::Command::new("sigrok-cli").args(["-I", "vcd", "-i", file, "--show"]).output().unwrap();
        let said = stdout(&output);
        assert!(
            output.status.success() && said.contains(&seventeen) && said.contains(&eighteen),
            "{said}{}",
            stderr(&output)
        );
    }
    fails(&["gpio", "watch", &seventeen, "--vcd", file], &[file, "exists already"]);
    assert_eq!(std::fs::read_to_string(file).unwrap(), text);
    fails(&["gpio", "watch", &seventeen, "--edges", "rising", "--vcd", "/nowhere/x"], &["--edges"]);
}

/// Edges after it are not looked for any more, so nothing is said of the level then.
#[test]
fn a_dump_of_so_many_edges_ends_at_the_last_of_them() {
    let chip = Chip::wired("count");
    let seventeen = chip.line(17);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("edges.vcd");
    let watch = Process::watch(&seventeen, &["--count", "5", "--vcd", file.to_str().unwrap()]);
    well(&["gpio", "set", &format!("{}=0", chip.line(4)), "--toggle", "1ms", "--count", "40"]);
    let edges = watch.seen();
    assert_eq!(edges.len(), 5);
    let text = std::fs::read_to_string(file).unwrap();
    let begun_ns: u64 = text.split_once("#0 is ").unwrap().1.split(' ').next().unwrap().parse().unwrap();
    let last = text.lines().filter_map(|line| line.strip_prefix('#')).next_back().unwrap();
    assert_eq!(begun_ns + last.parse::<u64>().unwrap(), edges[4]["time_ns"].as_u64().unwrap(), "{text}");
}
