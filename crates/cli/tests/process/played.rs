//! A file's changes of levels, made again on lines: the lines themselves show whether they are those of the file.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::process::Signal;
use serde_json::Value;

use crate::errors::fails;
use crate::gpio::{Chip, json};
use crate::{Running, has, ontick, record, run, samples, send, stderr, stdout, wait_until};

/// As any thread, wherever there is room.
const PLACED: [&str; 5] = ["--policy", "other", "--cpu", "any", "--stock"];

/// A dump of four signals: D0 and D1 change together at first, D2 never does, D3 begins high.
const DUMP: &str = "$version by hand $end\n$timescale 1 us $end\n$var wire 1 ! D0 $end\n$var wire 1 \" D1 $end\n\
    $var wire 1 # D2 $end\n$var wire 1 $ D3 $end\n$enddefinitions $end\n\
    #0 0! 0\" 0# 1$\n#2000 1! 1\"\n#2100 0!\n#5000 0\" 0$\n#5300 1$\n#6000 0$\n#8000\n";

fn in_folder(name: &str, text: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(name);
    fs::write(&file, text).unwrap();
    (folder, file)
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// What a program does beside: killed if the test fails half-way.
fn begun(arguments: &[&str]) -> Running {
    let mut child = Running(ontick(arguments).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap());
    let mut said = String::new();
    BufReader::new(child.0.stderr.as_mut().unwrap()).read_line(&mut said).unwrap();
    assert!(said.starts_with("Watching ") || said.starts_with("Playing "), "{said}");
    child
}

/// Watches lines into a dump while `act` changes them.
fn watched(lines: &[&str], dump: &Path, act: impl FnOnce()) {
    let mut watch = begun(&[&["gpio", "watch", "--vcd", text(dump)], lines].concat());
    act();
    send(watch.0.id(), Signal::INT);
    assert!(watch.0.wait().unwrap().success());
}

/// Which signals change at a moment, and to which levels.
type Moment = Vec<(String, bool)>;

/// What changes at each time of a dump, in their order; not the levels at its beginning.
fn changes(dump: &Path) -> Vec<Moment> {
    let text = fs::read_to_string(dump).unwrap();
    let (head, changes) = text.split_once("$enddefinitions $end").unwrap();
    let mut names = BTreeMap::new();
    for declared in head.split("$var wire 1 ").skip(1) {
        let mut words = declared.split_whitespace();
        names.insert(words.next().unwrap(), words.next().unwrap().to_owned());
    }
    let mut moments: Vec<Moment> = Vec::new();
    for word in changes.split_whitespace().filter(|word| !word.starts_with("$d") && !word.starts_with("$end")) {
        match word.strip_prefix('#') {
            Some("0") => {}
            Some(_) => moments.push(Vec::new()),
            None => {
                let (name, level) = (names[&word[1..]].clone(), word.starts_with('1'));
                if let Some(moment) = moments.last_mut() {
                    moment.push((name, level));
                }
            }
        }
    }
    moments.retain(|moment| !moment.is_empty());
    // Within a moment there is no order.
    moments.iter_mut().for_each(|moment| moment.sort());
    moments
}

/// The same with other names.
fn renamed(moments: Vec<Moment>, names: &[(&str, &str)]) -> Vec<Moment> {
    let of = |name: &str| names.iter().find(|(old, _)| *old == name).map_or(name, |(_, new)| *new).to_owned();
    let moment = |moment: Moment| moment.into_iter().map(|(name, level)| (of(&name), level)).collect();
    moments.into_iter().map(moment).collect()
}

#[test]
fn what_was_watched_and_is_played_is_watched_as_it_was() {
    let chip = Chip::wired("replayed");
    let folder = tempfile::tempdir().unwrap();
    let [a, b] = ["a.vcd", "b.vcd"].map(|name| folder.path().join(name));
    let (seventeen, eighteen) = (chip.line(17), chip.line(18));
    watched(&[&seventeen, &eighteen], &a, || {
        let pwm = ["gpio", "pwm", &chip.line(4), "--period", "4ms", "--width", "1ms", "--duration", "60ms"];
        assert!(run(&[&pwm[..], &PLACED].concat()).status.success());
        let values = [format!("{}=1", chip.line(5)), format!("{}=1", chip.line(4))];
        assert!(run(&["gpio", "set", &values[0], &values[1], "--toggle", "2ms", "--count", "10"]).status.success());
    });
    // Others than those that were watched.
    let (seven, eight) = (chip.line(7), chip.line(8));
    let lines = [format!("{seventeen}={seven}"), format!("{eighteen}={eight}")];
    let played = || {
        let words = ["gpio", "play", text(&a), "--line", &lines[0], "--line", &lines[1], "--on-exit", "keep", "--json"];
        let taken = record(&run(&[&words[..], &PLACED].concat()));
        assert!(taken["simulated"].as_str().unwrap().contains(&seven), "{}", taken["simulated"]);
        assert!(samples(&taken["series"][0]) > 30);
    };
    watched(&[&seven, &eight], &b, played);
    let (was, is) = (changes(&a), changes(&b));
    assert_eq!(renamed(was, &[(&seventeen, &seven), (&eighteen, &eight)]), is);
}

#[test]
fn a_file_from_elsewhere_drives_the_lines_that_its_signals_are_given() {
    let chip = Chip::new("elsewhere");
    let (folder, file) = in_folder("capture.vcd", DUMP);
    let seen = folder.path().join("seen.vcd");
    let (four, five, six) = (chip.line(4), chip.line(5), chip.line(6));
    let [d0, d1, d3] = [format!("D0={four}"), format!("1={five}"), format!("D3={six}")];
    watched(&[&four, &five, &six], &seen, || {
        let words = ["gpio", "play", text(&file), "--line", &d0, "--line", &d1, "--line", &d3, "--only"];
        let output = run(&[&words[..], &["--count", "2", "--on-exit", "high"], &PLACED].concat());
        assert!(output.status.success(), "{}", stderr(&output));
        let said = stderr(&output);
        assert!(said.starts_with(&format!("Playing 5 changes of {} on {four}, {five}, {six};", text(&file))), "{said}");
        let shown = stdout(&output);
        assert!(shown.contains("simulated lines") && shown.contains("change lines as a file has it"), "{shown}");
    });
    let moments = changes(&seen);
    let of = |name: &String, level| (name.clone(), level);
    let once = [
        vec![of(&four, true), of(&five, true)],
        vec![of(&four, false)],
        vec![of(&five, false), of(&six, false)],
        vec![of(&six, true)],
        vec![of(&six, false)],
    ];
    // D3 begins high, and goes back to that before the second time; all are high afterwards.
    let begins = [vec![of(&six, true)]];
    let all: Vec<_> = begins.iter().chain(&once).chain(&begins).chain(&once).cloned().collect();
    assert_eq!(moments[..all.len()], all);
    assert_eq!(moments[all.len()..].concat(), [of(&four, true), of(&five, true), of(&six, true)]);
}

#[test]
fn a_list_of_changes_is_played_and_read_by_sigrok() {
    let chip = Chip::new("list");
    let (four, five) = (chip.line(4), chip.line(5));
    let list = format!(
        "# by hand\ntime_ns,line,level\n0,{four},0\n0,{five},0\n1000000,{four},1\n1000000,{five},1\n1500000,{four},0\n\
         2000000,{five},0\n4000000\n"
    );
    let (folder, file) = in_folder("burst.csv", &list);
    let seen = folder.path().join("seen.vcd");
    watched(&[&four, &five], &seen, || {
        let judged = ["--require", "max < 60s", "--record", text(&folder.path().join("run.json")).to_owned().leak()];
        let output = run(&[&["gpio", "play", text(&file)][..], &judged, &PLACED].concat());
        assert!(output.status.success(), "{}", stderr(&output));
    });
    let moments = changes(&seen);
    let expected = [vec![(four.clone(), true), (five.clone(), true)], vec![(four.clone(), false)], vec![(five, false)]];
    assert_eq!(moments, expected);
    let taken: Value = serde_json::from_str(&fs::read_to_string(folder.path().join("run.json")).unwrap()).unwrap();
    assert_eq!((&taken["measurement"], samples(&taken["series"][0])), (&"gpio play".into(), 3));
    let missed = run(&[&["gpio", "play", text(&file), "--require", "max < 1ns"][..], &PLACED].concat());
    assert_eq!(missed.status.code(), Some(1), "{}", stderr(&missed));
    // The same file, by the reader of captures.
    assert!(run(&["import", text(&file), "--channel", &four]).status.success());
    if has("sigrok-cli") {
        let arguments = ["-I", "vcd:downsample=1000", "-i", text(&seen), "-O", "csv:time=true:dedup=true"];
        let output = Command::new("sigrok-cli").args(arguments).output().unwrap();
        let rows = stdout(&output).lines().filter(|line| line.starts_with(|c: char| c.is_ascii_digit())).count();
        assert!(output.status.success() && rows >= 4, "{rows}: {}{}", stdout(&output), stderr(&output));
    }
}

#[test]
fn what_has_no_end_ends_at_ctrl_c_or_after_a_time_and_leaves_the_lines_as_asked() {
    let chip = Chip::new("endless");
    let four = chip.line(4);
    let list = format!("time_ns,line,level\n0,{four},0\n500000,{four},1\n900000,{four},0\n1000000\n");
    let (_folder, file) = in_folder("pulse.csv", &list);
    for (signal, on_exit, left) in [(Signal::INT, "low", 0), (Signal::TERM, "high", 1)] {
        let words = ["gpio", "play", text(&file), "--loop", "--on-exit", on_exit];
        let mut player = begun(&[&words[..], &PLACED].concat());
        let is_high = || json(&["gpio", "get", &four])[0]["value"] == 1;
        wait_until("a pulse", is_high);
        send(player.0.id(), signal);
        assert!(player.0.wait().unwrap().success());
        let line = &json(&["gpio", "list", &four])[0]["lines"][0];
        assert_eq!((&line["level"], &line["in_use"]), (&left.into(), &false.into()), "{line}");
    }
    let taken = record(&run(&[&["gpio", "play", text(&file), "--duration", "20ms", "--json"][..], &PLACED].concat()));
    assert!(samples(&taken["series"][0]) >= 2 && taken["interrupted"] != true, "{taken}");
}

#[test]
fn what_cannot_be_played_is_said_before_a_line_moves() {
    let chip = Chip::new("unplayed");
    let four = format!("D0={}", chip.line(4));
    let (folder, file) = in_folder("capture.vcd", DUMP);
    let refused = |more: &[&str], words: &[&str]| fails(&[&["gpio", "play", text(&file)], more].concat(), words);
    refused(&[], &["no line is called D0, D1, D2, D3", "--line D0=LINE", "--only"]);
    refused(&["--line", &four], &["no line is called D1, D2, D3", "--line D1=LINE"]);
    refused(&["--line", "D7=sim:a/1", "--only"], &["no channel \"D7\"", "D0, D1, D2, D3"]);
    refused(&["--line", "D0"], &["gives no signal a line", "SIGNAL=LINE"]);
    refused(&["--only"], &["--line"]);
    refused(&["--line", &four, "--only", "--loop", "--count", "3"], &["--loop", "--count"]);
    refused(&["--line", &four.replace("D0", "D2"), "--only"], &["nothing ever changes"]);
    let with = |from: &str, to: &str| fs::write(&file, DUMP.replace(from, to)).unwrap();
    with("#5000", "#5000 x!");
    refused(&["--line", &four, "--only"], &[text(&file), "line 11: the level of D0 is not known here"]);
    with("#5000", "#50");
    refused(&["--line", &four, "--only"], &["line 11: the time #50 is before #2100"]);
    with("#8000\n", "");
    refused(&["--line", &four.replace("D0", "D3"), "--only", "--count", "2"], &["ends with its last change"]);
    with("#8000\n", "nonsense\n");
    refused(&["--line", &four, "--only"], &["line 14: \"nonsense\""]);
    let rows = folder.path().join("rows.csv");
    fs::write(&rows, "; Channels (1/1): D0\nlogic\n0\n1\n0\n").unwrap();
    let words = ["gpio", "play", text(&rows), "--line", &four];
    fails(&words, &["at which rate", "--samplerate 24MHz"]);
    let line = run(&["gpio", "list", &chip.line(4)]);
    assert!(!stdout(&line).contains("output"), "{}", stdout(&line));
    let output = run(&[&words[..], &["--samplerate", "1kHz"], &PLACED].concat());
    assert!(output.status.success(), "{}", stderr(&output));
    fs::write(&rows, "name,age\n").unwrap();
    fails(&words, &["neither a sigrok session", "begins with \"time_ns,line,level\""]);
    for empty in ["", "\n \n"] {
        fs::write(&rows, empty).unwrap();
        fails(&words, &["the file is empty"]);
    }
    fails(&["gpio", "play", text(folder.path())], &["directory"]);
}
