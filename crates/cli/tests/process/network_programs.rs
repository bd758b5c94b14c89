//! Programs in C as stations of a planned network: with `ontick network listen` and `talk` at the other end of the cable, and
//! tcpdump on it.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use ontick_switch::verify::namespace::Namespace;
use rustix::process::Signal;
use serde_json::Value;
use tempfile::TempDir;

use super::network_stations::NETWORK;
use super::wire_capture::Capture;
use super::{Running, alone_on_this_machine, has, namespace::namespace, ontick, send, stderr, stdout};

/// A cable between two namespaces, a plan, and the programs.
struct Cable {
    talks: Namespace,
    listens: Namespace,
    folder: TempDir,
    _alone: crate::apart::Alone,
}

fn cable() -> Option<Cable> {
    if !has("ip") || !has("gcc") {
        return None;
    }
    let (talks, listens) = (namespace()?, namespace()?);
    talks.join("out", &listens, "in").unwrap();
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("network.toml"), NETWORK).unwrap();
    let words = ["network", "plan", "network.toml", "--target", "user", "--out", "plan.json"];
    let planned = ontick(&words).current_dir(&folder).output().unwrap();
    assert_eq!(planned.status.code(), Some(0), "{}", stderr(&planned));
    for name in ["talk", "listen"] {
        compile(name, folder.path());
    }
    Some(Cable { talks, listens, folder, _alone: alone_on_this_machine() })
}

/// Compiles an example with the library of this build, which cargo puts beside the tests.
fn compile(name: &str, into: &Path) {
    let c = Path::new(env!("CARGO_MANIFEST_DIR")).join("../c");
    let built = std::env::current_exe().unwrap().parent().unwrap().join("libontick_c.so");
    for link in ["libontick.so", "libontick.so.0"] {
        let place = into.join(link);
        if !place.exists() {
            std::os::unix::fs::symlink(&built, place).unwrap();
        }
    }
    let mut gcc = Command::new("gcc");
    gcc.args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-O1", "-I"]).arg(c.join("include"));
    gcc.arg(c.join("examples").join(name).with_extension("c")).arg("-o").arg(into.join(name));
    let output = gcc.arg("-L").arg(into).arg("-lontick").output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
}

impl Cable {
    /// A compiled program, ended where it hangs.
    fn program(&self, name: &str, words: &[&str]) -> Command {
        let mut command = Command::new("timeout");
        command.arg("60").arg(self.folder.path().join(name)).args(["network.toml", "plan.json"]).args(words);
        command.current_dir(&self.folder).env("LD_LIBRARY_PATH", self.folder.path());
        command
    }

    fn command(&self, command: &str, words: &[&str]) -> Command {
        let mut all = ontick(&[]);
        all.current_dir(&self.folder).args(["network", command, "network.toml", "plan.json"]).args(words);
        all
    }

    /// A listener at work, once it has said so.
    fn begin(&self, mut command: Command) -> Running {
        let spawn = || command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let mut child = Running(self.listens.within(spawn).unwrap().unwrap());
        let mut line = String::new();
        BufReader::new(child.0.stderr.take().unwrap()).read_line(&mut line).unwrap();
        assert!(line.contains("listening"), "{line}");
        child
    }

    fn talk(&self, mut command: Command) -> Output {
        self.talks.within(|| command.output()).unwrap().unwrap()
    }
}

fn printed(mut child: Running) -> String {
    let mut text = String::new();
    child.0.stdout.as_mut().unwrap().read_to_string(&mut text).unwrap();
    let _ = child.0.wait();
    text
}

/// The number in front of a word, in a text like "7 sent, 0 refused".
fn figure(text: &str, word: &str) -> u64 {
    let words: Vec<&str> = text.split([' ', ',', '\n']).filter(|word| !word.is_empty()).collect();
    let at = words.iter().position(|found| *found == word).unwrap_or_else(|| panic!("{word}: {text}"));
    words[at - 1].parse().unwrap()
}

#[test]
fn a_talker_in_c_is_judged_by_the_listener_and_by_what_is_on_the_cable() {
    let Some(cable) = cable() else { return };
    let file: PathBuf = cable.folder.path().join("cable.pcap");
    let Some(capture) = cable.listens.within(|| Capture::begin("in", &file)).unwrap() else { return };
    let listener = cable.begin(cable.command("listen", &["--station", "b", "--interface", "in", "--json"]));
    let talked = cable.talk(cable.program("talk", &["a", "out", "setpoint", "2"]));
    assert_eq!(talked.status.code(), Some(0), "{}", stderr(&talked));
    send(listener.0.id(), Signal::INT);
    let heard: Value = serde_json::from_str(&printed(listener)).unwrap();
    let frames = capture.end();

    let (said, streams) = (stdout(&talked), heard["network"]["streams"].as_array().unwrap());
    let received = |n: usize| streams[n]["received"].as_u64().unwrap();
    // One second until the first whole one, and about one after it.
    assert_eq!(received(0) + received(1), figure(&said, "sent"), "{said}{heard}");
    assert!(received(0) > 2 * received(1) && received(1) > 10, "{heard}");
    for of in streams {
        for what in ["duplicates", "out_of_order", "early"] {
            assert_eq!(of[what], 0, "{of}");
        }
    }
    // By tcpdump: each setpoint carries what the program had it carry at that time, in the order in which it did.
    let mut counts = Vec::new();
    for frame in frames.iter().filter(|frame| frame.bytes[12..14] == [0x81, 0] && frame.bytes[18..22] == *b"OTN1") {
        let data = &frame.bytes[18..];
        let length = usize::from(u16::from_be_bytes([data[14], data[15]]));
        let payload = std::str::from_utf8(&data[40..40 + length]).unwrap();
        match data[11] {
            0 => counts.push(payload.strip_prefix("count ").map_or(0, |count| count.parse::<u64>().unwrap())),
            _ => assert_eq!(payload, "", "nothing was given for this stream"),
        }
    }
    assert!(counts.is_sorted() && counts.len() as u64 == received(0), "{counts:?}");
    assert!(counts.last() > counts.first(), "{counts:?}");
}

#[test]
fn a_listener_in_c_gets_what_talk_sends() {
    let Some(cable) = cable() else { return };
    // All that a message of three frames has room for, with every octet in it.
    let video: Vec<u8> = (0..3_400 - 3 * 40).map(|n| b'!' + (n % 90) as u8).collect();
    fs::write(cable.folder.path().join("video"), &video).unwrap();
    fs::write(cable.folder.path().join("setpoint"), "a payload").unwrap();
    let listener = cable.begin(cable.program("listen", &["b", "in", "400"]));
    let carried = ["--payload", "setpoint=setpoint", "--payload", "video=video", "--duration", "800ms"];
    let talked = cable.talk(cable.command("talk", &[&["--station", "a", "--interface", "out"], &carried[..]].concat()));
    assert_eq!(talked.status.code(), Some(0), "{}", stderr(&talked));
    let text = printed(listener);
    let mut messages = [0, 0];
    for line in text.lines().filter(|line| line.contains(" after its time: ")) {
        let (head, payload) = line.split_once(": ").unwrap();
        let stream = usize::from(head.starts_with("video "));
        assert_eq!(payload.as_bytes(), [&b"a payload"[..], &video][stream]);
        messages[stream] += 1;
    }
    assert!(messages[0] + messages[1] == 400 && messages[1] > 10, "{messages:?}");
    for (name, count) in ["setpoint", "video"].into_iter().zip(messages) {
        let line = text.lines().find(|line| line.starts_with(&format!("{name}: "))).unwrap();
        // What is taken at once may be more than was asked for.
        assert!(figure(line, "received") >= count && line.contains(" 0 out of order"), "{line}");
    }
}

#[test]
fn a_program_is_refused_in_one_sentence_what_the_command_is_refused() {
    let Some(cable) = cable() else { return };
    let words = |output: &Output| stderr(output).trim().split_once(": ").unwrap().1.to_owned();
    fs::write(cable.folder.path().join("network.toml"), NETWORK.replace("size = 100", "size = 101")).unwrap();
    let of_program = cable.talk(cable.program("talk", &["a", "out", "setpoint", "1"]));
    let of_command = cable.talk(cable.command("talk", &["--station", "a", "--interface", "out"]));
    assert_eq!((of_program.status.code(), of_command.status.code()), (Some(2), Some(2)));
    assert!(words(&of_program).starts_with("the plan has no place for setpoint as the network has it now: plan again"));
    assert_eq!(words(&of_program), words(&of_command));
    // Without any right.
    fs::write(cable.folder.path().join("network.toml"), NETWORK).unwrap();
    if !has("setpriv") {
        return;
    }
    for (program, words) in [("talk", &["a", "out", "setpoint", "1"][..]), ("listen", &["b", "in", "1"])] {
        let mut command = Command::new("setpriv");
        command.args(["--inh-caps=-all", "--bounding-set=-all", "--"]).arg(cable.folder.path().join(program));
        command.args(["network.toml", "plan.json"]).args(words);
        command.current_dir(&cable.folder).env("LD_LIBRARY_PATH", cable.folder.path());
        let namespace = if program == "talk" { &cable.talks } else { &cable.listens };
        let refused = namespace.within(|| command.output()).unwrap().unwrap();
        assert_eq!(refused.status.code(), Some(2), "{}", stdout(&refused));
        let said = stderr(&refused);
        assert!(said.contains("raw frames need root or CAP_NET_RAW") && said.trim().lines().count() == 1, "{said}");
    }
}
