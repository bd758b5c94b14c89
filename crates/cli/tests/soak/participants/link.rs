//! `link send` and `link recv` on a simulated chip, with a way back: numbered messages.

use std::io::{Read, Write};
use std::process::{ChildStdin, Stdio};
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::{Count, PATIENCE, Participant};
use crate::oracle::messages::{Messages, message};
use crate::site::{Killed, Site};

/// So that the sender, which spins for a part of each pulse, takes little of a CPU.
const EVERY: Duration = Duration::from_millis(1500);
/// The least priority that lets pulses keep their widths on a loaded machine.
const ENDS: [&str; 12] =
    ["--policy", "fifo:1", "--cpu", "any", "--short", "200us", "--payload", "8", "--code", "2x1", "--timeout", "60s"];

pub struct Link {
    site: Rc<Site>,
    chip: String,
    life: Option<Life>,
    count: Count,
    /// Whether the next kill is the sender's.
    kills_sender: bool,
}

struct Life {
    sender: Killed,
    receiver: Killed,
    messages: Arc<Mutex<Messages>>,
    reader: JoinHandle<()>,
    input: Option<ChildStdin>,
    sent_last: Instant,
}

impl Link {
    pub fn new(site: &Rc<Site>) -> Self {
        let chip = format!("sim:soak-{}", std::process::id());
        let link = Self {
            site: site.clone(),
            chip,
            life: None,
            count: Count { of: "messages", ..Count::default() },
            kills_sender: true,
        };
        link.wire(true);
        link.gpio(&["wire", &link.line(5), &link.line(18)]);
        link
    }

    /// The name of its chip, without its kind.
    pub fn chip(&self) -> &str {
        self.chip.trim_start_matches("sim:")
    }

    /// Joins the two ends, or parts them.
    pub fn wire(&self, joined: bool) {
        match joined {
            true => self.gpio(&["wire", &self.line(4), &self.line(17)]),
            false => self.gpio(&["unwire", &self.line(17)]),
        }
    }

    fn gpio(&self, words: &[&str]) {
        let output = self.site.run(&[&["gpio"], words].concat());
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    }

    fn line(&self, line: u32) -> String {
        format!("{}/{line}", self.chip)
    }

    /// Counts a life that is over.
    fn judge(&mut self, life: Life, ended_well: bool) -> Vec<String> {
        drop((life.sender, life.receiver));
        let _ = life.reader.join();
        let messages = life.messages.lock().expect("the reader does not panic");
        self.count.delivered += messages.received.min(messages.sent);
        let mut findings: Vec<String> = messages.wrong.iter().map(|why| format!("link: {why}")).collect();
        match messages.lost(ended_well) {
            Ok(lost) => self.count.killed += lost,
            Err(why) => findings.push(format!("link: {why}")),
        }
        findings
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.site.run(&["gpio", "remove", &self.chip]);
    }
}

impl Participant for Link {
    fn name(&self) -> &'static str {
        "link"
    }

    fn start(&mut self) {
        let (to, back, from, answer) = (self.line(17), self.line(5), self.line(4), self.line(18));
        let receives = [&["link", "recv", "--input", &to, "--return-output", &back], &ENDS[..]].concat();
        let sends = [&["link", "send", "--output", &from, "--return-input", &answer], &ENDS[..]].concat();
        let mut receiver =
            self.site.start("link-recv", self.site.command(false, &[], &receives).stdout(Stdio::piped()));
        crate::wait_until("link recv listens", || self.site.last_words("link-recv").contains("Listening on "));
        let mut sender = self.site.start("link-send", self.site.command(false, &[], &sends).stdin(Stdio::piped()));
        let messages: Arc<Mutex<Messages>> = Arc::default();
        let (to, mut output) = (messages.clone(), receiver.0.stdout.take().expect("a pipe"));
        let reader = std::thread::spawn(move || {
            let mut some = [0; 256];
            while let Ok(octets @ 1..) = output.read(&mut some) {
                to.lock().expect("nobody panics").take(&some[..octets]);
            }
        });
        let input = sender.0.stdin.take();
        self.life = Some(Life { sender, receiver, messages, reader, input, sent_last: Instant::now() });
        self.count.lives += 1;
    }

    fn processes(&self) -> Vec<(&'static str, u32)> {
        let life = self.life.iter();
        life.flat_map(|life| [("link send", life.sender.0.id()), ("link recv", life.receiver.0.id())]).collect()
    }

    /// Sends, too, as long as the other end is not far behind.
    fn check(&mut self) -> Vec<String> {
        let Some(life) = &mut self.life else { return Vec::new() };
        let mut messages = life.messages.lock().expect("the reader does not panic");
        if life.sent_last.elapsed() > EVERY && messages.sent < messages.received + 20 {
            let text = message(messages.sent);
            let written = life.input.as_mut().is_some_and(|input| input.write_all(text.as_bytes()).is_ok());
            messages.sent += u64::from(written);
            life.sent_last = Instant::now();
        }
        let wrong = messages.wrong.take().map(|why| format!("link: {why}"));
        let ended = |name: &str, process: &mut Killed| {
            let status = process.0.try_wait().expect("a child");
            status.map(|status| format!("link: {name} ended by itself, {status}: {}", self.site.last_words(name)))
        };
        let ended = [ended("link-send", &mut life.sender), ended("link-recv", &mut life.receiver)];
        wrong.into_iter().chain(ended.into_iter().flatten()).collect()
    }

    /// One end by turns: the other is ended as its user does who is tired of waiting, and says that something is missing.
    fn kill(&mut self) -> Vec<String> {
        let Some(mut life) = self.life.take() else { return Vec::new() };
        self.kills_sender = !self.kills_sender;
        let (killed, other, name) = match self.kills_sender {
            true => (&mut life.sender, &mut life.receiver, "link-recv"),
            false => (&mut life.receiver, &mut life.sender, "link-send"),
        };
        let _ = killed.0.kill();
        let _ = killed.0.wait();
        other.signal(Signal::INT);
        let status = other.status_within(PATIENCE);
        let mut findings = self.judge(life, false);
        if status != Some(1) {
            findings.push(format!(
                "{name}: status {status:?} after the other end was killed: {}",
                self.site.last_words(name)
            ));
        }
        findings
    }

    fn end(&mut self) -> Vec<String> {
        let Some(mut life) = self.life.take() else { return Vec::new() };
        drop(life.input.take());
        let status = [life.sender.status_within(PATIENCE), life.receiver.status_within(PATIENCE)];
        let mut findings = self.judge(life, status == [Some(0); 2]);
        if status != [Some(0); 2] {
            let said = ["link-send", "link-recv"].map(|name| self.site.last_words(name));
            findings.push(format!("link: the end of the data: statuses {status:?}: {said:?}"));
        }
        findings
    }

    fn count(&self) -> Count {
        self.count.clone()
    }
}
