//! `ontick network time status --watch`: a node whose grandmaster goes and comes back, and then its own ptp4l.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::errors::fails;
use crate::network_time::{Cable, NETWORK, Node, cable};
use crate::terminal::Terminal;
use crate::{Running, ontick, send, wait_until};

/// What must come comes within seconds, also on a machine with other work.
const PATIENCE: Duration = Duration::from_secs(60);

fn status(cable: &Cable, more: &[&str]) -> Command {
    let words = ["network", "time", "status", "network.toml", "--sockets", "sockets", "--node", "b"];
    let mut command = ontick(&[&words, more].concat());
    command.current_dir(&cable.folder);
    command
}

/// One that watches node b, whose output is read as it comes.
struct Watcher {
    child: Running,
    lines: Receiver<String>,
}

impl Watcher {
    fn start(cable: &Cable, more: &[&str]) -> Self {
        let mut command = status(cable, &[&["--watch", "--interval", "100ms"], more].concat());
        command.stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = cable.b.within(|| command.spawn()).unwrap().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = channel();
        std::thread::spawn(move || output.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
        Self { child: Running(child), lines }
    }

    /// The next line of which this holds.
    fn line(&self, what: &str, holds: impl Fn(&str) -> bool) -> String {
        let (until, mut seen) = (Instant::now() + PATIENCE, Vec::new());
        while let Ok(line) = self.lines.recv_timeout(until.saturating_duration_since(Instant::now())) {
            if holds(&line) {
                return line;
            }
            seen.push(line);
        }
        panic!("waited in vain for {what}:\n{}", seen.join("\n"));
    }

    /// The next document of which this holds.
    fn document(&self, what: &str, holds: impl Fn(&Value) -> bool) -> Value {
        let of = |line: &str| serde_json::from_str::<Value>(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        of(&self.line(what, |line| holds(&of(line))))
    }

    /// What is said of this when it happens, and the document that it is in.
    fn event(&self, name: &str) -> (String, Value) {
        let of = |document: &Value| {
            let events = document["events"].as_array().unwrap();
            events.iter().find(|event| event["event"] == name).map(|event| event["text"].as_str().unwrap().to_owned())
        };
        let document = self.document(name, |document| of(document).is_some());
        (of(&document).unwrap(), document)
    }

    /// The exit status after Ctrl-C.
    fn end(mut self) -> Option<i32> {
        send(self.child.0.id(), Signal::INT);
        self.child.0.wait().unwrap().code()
    }
}

/// A node that follows another one, both free-running.
fn pair() -> Option<(Cable, Node, Node)> {
    let cable = cable(NETWORK)?;
    let mut a = cable.start("a", "network.toml");
    a.event("grandmaster");
    let b = cable.start("b", "network.toml");
    let is_good = || cable.b.within(|| status(&cable, &[]).output()).unwrap().unwrap().status.code() == Some(0);
    wait_until("the time to be good", is_good);
    Some((cable, a, b))
}

/// Ends one with its ptp4l.
fn kill(cable: &Cable, mut node: Node) {
    let before = cable.programs().len();
    node.child.0.kill().unwrap();
    node.child.0.wait().unwrap();
    wait_until("its program to end", || cable.programs().len() < before);
}

fn is_good(line: &str) -> bool {
    line.contains("s  follows a  offset ") && line.contains("  path delay ") && line.contains("  good for ")
}

#[test]
fn what_becomes_of_a_node_is_said_as_it_happens() {
    let Some((cable, a, b)) = pair() else { return };
    let (lines, documents) = (Watcher::start(&cable, &[]), Watcher::start(&cable, &["--json"]));
    let first = documents.document("a document", |_| true);
    assert_eq!((&first["schema"], &first["events"]), (&json!("ontick-network-time/1"), &json!([])), "{first}");
    documents.document("good time", |document| document["role"] == "follower" && document["good"] == true);
    assert!(lines.line("a line", |_| true).starts_with("     0."));
    lines.line("good time", is_good);

    kill(&cable, a);
    let (text, lost) = documents.event("lost");
    assert!(text.starts_with("the grandmaster ") && text.ends_with(" is lost"), "{text}");
    // Its port may listen for a while before it is the grandmaster itself.
    assert!(lost["good"] == false && lost["role"] != "follower", "{lost}");
    lines.line("the loss", |line| line.ends_with(&format!("s  {text}")));
    lines.line("time that is not good", |line| line.contains("s  grandmaster  not good"));

    let _a = cable.start("a", "network.toml");
    documents.document("the other one again", |document| document["role"] == "follower" && document["good"] == true);
    lines.line("the other one again", is_good);

    // Its own ptp4l is waited for.
    kill(&cable, b);
    let (text, silent) = documents.event("silent");
    assert!(text.starts_with("nothing keeps node b in time here: ") || text.contains(" has ended"), "{text}");
    let said = [&silent["good"], &silent["role"], &silent["reason"], &silent["ports"], &silent["offset_ns"]];
    assert_eq!(
        said,
        [&json!(false), &json!("unsynchronized"), &json!("ptp4l does not answer"), &json!([]), &Value::Null]
    );
    lines.line("the silence", |line| line.contains(" has ended") || line.contains("s  nothing keeps "));
    lines.line("no answer", |line| line.ends_with("s  unsynchronized  not good: ptp4l does not answer"));
    assert_eq!(lines.end(), Some(1), "nobody answered at the last look");

    let _b = cable.start("b", "network.toml");
    let (text, _) = documents.event("answers");
    assert!(text.starts_with("ptp4l answers again, after "), "{text}");
    documents.document("good time", |document| document["role"] == "follower" && document["good"] == true);
    assert_eq!(documents.end(), Some(0));
}

#[test]
fn a_watched_time_fills_the_screen_and_leaves_it() {
    let Some((cable, a, _b)) = pair() else { return };
    let terminal = Terminal::open();
    let mut command = status(&cable, &["--watch", "--interval", "100ms"]);
    command.env("TERM", "xterm").stdout(terminal.side()).stderr(terminal.side());
    let mut child = Running(cable.b.within(|| command.spawn()).unwrap().unwrap());
    let picture = terminal.wait_for_picture("the time", |picture| picture.contains("\ntime         good for "));
    assert_eq!(picture[0], "b  gPTP, domain 0 · follows a");
    kill(&cable, a);
    let lost = |picture: &str| picture.contains(" is lost\n") && picture.contains("\ntime         not good");
    terminal.wait_for_picture("the loss", lost);
    send(child.0.id(), Signal::INT);
    assert_eq!(child.0.wait().unwrap().code(), Some(1), "the time was not good at the last look");
    wait_until("the terminal to be as it was", || terminal.shown().contains("\u{1b}[?1049l"));
}

#[test]
fn what_cannot_be_watched_is_said_in_a_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let [file, sockets] = ["network.toml", "sockets"].map(|name| folder.path().join(name).to_str().unwrap().to_owned());
    fs::write(&file, NETWORK).unwrap();
    let words = ["network", "time", "status", &file, "--node", "b", "--sockets", &sockets];
    fails(&[&words[..], &["--interval", "1s"]].concat(), &["--watch"]);
    fails(&[&words[..], &["--watch", "--interval", "99ms"]].concat(), &["99ms", "each 100ms at most"]);
    fails(&[&words[..], &["--watch"]].concat(), &["nothing keeps node b in time here"]);
}
