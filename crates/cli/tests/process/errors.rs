//! Whatever is wrong: one sentence that says what and what to do, exit status 2, nothing written.

use std::fs;

use crate::{ontick, run, stderr, stdout};

pub fn fails(arguments: &[&str], words: &[&str]) {
    let output = run(arguments);
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
    assert!(said.starts_with("ontick: ") && said.trim_end().lines().count() == 1, "{arguments:?}: {said}");
    for word in words {
        assert!(said.contains(word), "{arguments:?} lacks \"{word}\": {said}");
    }
    assert_eq!(stdout(&output), "", "{arguments:?}");
}

#[test]
fn nonsense_on_the_command_line() {
    fails(&["tune-up"], &["tune-up", "--help"]);
    fails(&["lateny"], &["'lateny' (did you mean latency? see --help)"]);
    fails(&["latency", "timer", "--intervall", "1ms"], &["'--intervall' found (did you mean --interval? see --help)"]);
    fails(&["latency", "timer", "--dura", "1s"], &["'--dura' found (did you mean --duration? see --help)"]);
    // Nothing is near.
    fails(&["pulse", "--period", "1ms"], &["'--period' found (see --help)"]);
    fails(
        &["report", "run.json", "--as", "x"],
        &["'x' for '--as <FORMAT>': choose one of summary, plot, ", "json (see"],
    );
    fails(&["report", "run.json", "--plot", "maximal", "--svg", "x"], &["did you mean maxima?"]);
    fails(&["latency", "timer", "--cpu", "4000"], &["CPU 4000", "online"]);
    fails(&["latency", "timer", "--cpu", "first"], &["first"]);
    fails(&["latency", "timer", "--interval", "1"], &["unit"]);
    fails(
        &["sample", "--source", "wave:sine", "--rate", "1000"],
        &["\"1000\" has no unit (write 1000Hz, 1000us, 1000ms or"],
    );
    fails(&["latency", "timer", "--interval", "0"], &["above 0"]);
    fails(&["latency", "timer", "--interval", "0s"], &["above 0"]);
    fails(&["latency", "timer", "--interval", "10ns"], &["at least 1us"]);
    fails(&["latency", "timer", "--interval", "2h", "--duration", "3h"], &["at most 1h"]);
    fails(&["latency", "timer", "--method", "usleep"], &["usleep", "clock_nanosleep"]);
    fails(&["latency", "timer", "--policy", "fifo:100"], &["1 to 99"]);
    fails(&["latency", "timer", "--phase", "best"], &["best"]);
    fails(&["latency", "timer", "--phase", "7ms"], &["shorter than the interval"]);
    fails(&["latency", "timer", "--duty", "120%"], &["100%"]);
    fails(&["latency", "timer", "--wake-within", "50"], &["unit"]);
    for by_none in [&["gpio", "pwm", "--pwm", "pwmchip0:0", "--width", "1ms"][..], &["link", "test", "--source-002"]] {
        fails(&[by_none, &["--wake-within", "50us"]].concat(), &[by_none[2], "--wake-within"]);
    }
    fails(&["link", "test", "--source-002", "--keep-awake"], &["--source-002", "--keep-awake"]);
    fails(&["latency", "timer", "--wake-within", "never"], &["never", "TIME|off"]);
    fails(&["latency", "noise", "--duty", "0%"], &["above 0%"]);
    fails(&["latency", "noise", "--duty", "0.0001%"], &["at least 0.5%"]);
    fails(&["latency", "noise", "--hwlat", "--duty", "50%"], &["--hwlat", "--duty"]);
    fails(&["latency", "timer", "--load", "much"], &["choose one of"]);
    fails(&["latency", "timer", "--count", "0"], &["0 is not from 1 to 18446744073709551615 (see"]);
    fails(&["latency", "timer", "--count", "99999999999999999999"], &["'--count <N>': it is too large a number (see"]);
    fails(&["latency", "timer", "--waits", "x"], &["'--waits <K>': it is no whole number (see"]);
    fails(&["latency", "timer", "--waits", "17"], &["17 is not from 2 to 16 (see"]);
    fails(&["inspect", "controller"], &["'[PID]': it is no whole number (see"]);
    fails(&["latency", "timer", "--count", "5", "--duration", "1s"], &["--duration"]);
    fails(&["latency", "timer", "--require", "fast"], &["99% < 3us"]);
    fails(&["latency", "wakeup", "--method", "shouting"], &["futex"]);
    fails(&["latency", "delay", "--delay", "1s"], &["shorter than 1s"]);
    fails(&["latency", "delay", "--method", "sleep"], &["usleep, nanosleep"]);
    fails(&["latency", "wallclock", "--at", "25:00"], &["time of day"]);
    fails(&["latency", "wallclock", "--clock", "sun"], &["tai"]);
    fails(&["prove", "--duration", "1ms"], &["too short"]);
    for command in [
        &["latency", "timer", "--interval", "1h"][..],
        &["latency", "timer", "--interval", "1h", "--waits", "2"],
        &["latency", "timer", "--interval", "1h", "--cache", "untouched"],
        &["latency", "timer", "--interval", "1h", "--cpu", "all"],
        &["latency", "wallclock", "--interval", "1h"],
        &["sample", "--source", "wave:sine", "--rate", "1h"],
    ] {
        fails(&[command, &["--duration", "2400ms"]].concat(), &["no cycle of 1h ends within 2.4s", "--count"]);
    }
    for command in [
        &["latency", "wakeup", "--interval", "1s"][..],
        &["latency", "edge", "--interval", "1s"],
        &["latency", "response", "--interval", "1s"],
        &["latency", "roundtrip", "--period", "1s"],
        &["pulse", "--gap", "999ms", "--width", "1ms"],
    ] {
        fails(&[command, &["--duration", "900ms"]].concat(), &["no cycle of 1s ends within 900ms"]);
    }
    fails(&["compare", "one.json"], &["2"]);
    fails(&["check", "--cpu", "4000"], &["CPU 4000", "online"]);
    fails(&["check", "--duration", "1s"], &["--cpu"]);
    fails(&["check", "--root", "/no/such/folder"], &["/no/such/folder"]);
    fails(&["check", "--root", "/dev"], &["no CPU"]);
    fails(&["tune", "plan", "warp-drive"], &["warp-drive", "governor"]);
    fails(&["tune", "plan", "--cpu", "x"], &["3 or 2-3"]);
    fails(&["tune", "plan", "--profile", "fast"], &["low-latency"]);
    fails(&["tune", "plan", "governor", "--boot"], &["--boot"]);
    fails(&["tune", "plan", "--tryboot"], &["--boot"]);
    fails(&["run"], &["COMMAND"]);
    fails(&["run", "--policy", "idle", "--", "true"], &["fifo:1 to fifo:99"]);
    fails(&["run", "--cpu", "4000", "--", "true"], &["CPU 4000", "online"]);
    fails(&["run", "--runaway-after", "1us", "--", "true"], &["1ms"]);
    fails(&["switch", "demo", "--cpu", "4000"], &["CPU 4000", "online"]);
}

#[test]
fn negative_numbers_are_named_as_such() {
    for words in [&["latency", "timer", "--count", "-5"][..], &["sample", "--rate", "-5Hz"], &["check", "--cpu", "-1"]]
    {
        // Of letters behind the number clap does not know.
        fails(words, &[&words[words.len() - 1][..2], "is negative"]);
    }
    // No number, so an option that there is not.
    fails(&["latency", "timer", "--count", "--fast"], &["--fast", "--help"]);
}

#[test]
fn lines_that_are_not_there_or_cannot_do_that() {
    let chip = format!("sim:test-errors-{}", std::process::id());
    let (line, beyond) = (format!("{chip}/4"), format!("{chip}/54"));
    fails(&["gpio", "get", "gpiochip4000:3"], &["gpiochip4000:3"]);
    fails(&["gpio", "get", "no such name"], &["no such name"]);
    fails(&["gpio", "get", "sim:../../etc/4"], &["letters, digits"]);
    fails(&["gpio", "get", &beyond], &["lines 0 to 53", &chip]);
    fails(&["gpio", "set", &line], &["LINE=1"]);
    fails(&["gpio", "set", &format!("{line}=2")], &["LINE=1"]);
    fails(&["gpio", "set", &format!("{line}=1"), "--count", "3"], &["--toggle"]);
    fails(&["gpio", "set", &format!("{line}=1"), "--on-exit", "off"], &["keep, low, high or input"]);
    fails(&["gpio", "set", &format!("{line}=1"), &format!("{line}=0")], &[&line, "twice"]);
    assert!(stdout(&run(&["gpio", "get", &line])).contains("=0"), "nothing was set");
    fails(&["gpio", "watch", &line, "--edges", "up"], &["rising, falling or both"]);
    fails(&["gpio", "watch", &line, &line], &[&line, "named twice"]);
    let [send, recv, pty] = ["send", "recv", "pty"].map(|end| ["link", end]);
    let names = |output: &'static str, input: &'static str| [output, line.as_str(), input, line.as_str()];
    for (end, names) in [
        (send, names("--output", "--return-input")),
        (recv, names("--return-output", "--input")),
        (pty, names("--output", "--input")),
    ] {
        fails(&[&end[..], &names[..]].concat(), &[&line, "driven and watched at once: name two lines"]);
    }
    fails(&["gpio", "wire", &line, &line], &["two different lines"]);
    fails(&["gpio", "wire", &line, "sim:other/4"], &["one chip"]);
    fails(&["gpio", "wire", &line, "GPIO17"], &["cable"]);
    fails(&["gpio", "wire", &line, &beyond], &["lines 0 to 53"]);
    fails(&["gpio", "remove", "gpiochip0"], &["real chip"]);
    fails(&["gpio", "remove", "sim:../../etc/passwd"], &["a chip was expected"]);
    fails(&["gpio", "list", "sim:no-such-chip"], &["is not there"]);
    run(&["gpio", "remove", &chip]);
}

#[test]
fn a_failed_command_leaves_no_simulated_chip_that_it_made() {
    let chip = format!("sim:test-left-{}", std::process::id());
    let (line, beyond) = (format!("{chip}/4"), format!("{chip}/54"));
    let there = || stdout(&run(&["gpio", "list"])).contains(&chip);
    fails(&["gpio", "get", &beyond], &["lines 0 to 53"]);
    fails(&["gpio", "wire", &line, &beyond], &["lines 0 to 53"]);
    fails(&["gpio", "unwire", &line], &["is not there"]);
    fails(&["gpio", "get", &line, "no such name"], &["no such name"]);
    assert!(!there());
    // One that was there before stays.
    assert!(run(&["gpio", "get", &line]).status.success());
    fails(&["gpio", "get", &line, &beyond], &["lines 0 to 53"]);
    assert!(there());
    run(&["gpio", "remove", &chip]);
}

#[test]
fn no_line_is_driven_where_another_cannot_be() {
    let chip = format!("sim:test-set-{}", std::process::id());
    let line = format!("{chip}/4");
    let outputs = || stdout(&run(&["gpio", "list", &chip, "--json"])).matches(r#""direction": "output""#).count();
    assert!(run(&["gpio", "get", &line]).status.success());
    fails(&["gpio", "set", "--for", "0s", &format!("{line}=1"), &format!("{chip}/54=1")], &["lines 0 to 53"]);
    assert_eq!(outputs(), 0);
    assert!(run(&["gpio", "set", "--for", "0s", &format!("{line}=1")]).status.success());
    assert_eq!(outputs(), 1);
    run(&["gpio", "remove", &chip]);
}

#[test]
fn where_nothing_can_be_said_the_status_still_tells() {
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    assert_eq!(ontick(&["latency", "timer", "--cpu", "4000"]).stderr(full).status().unwrap().code(), Some(2));
}

#[test]
fn a_load_that_is_not_there() {
    fails(&["latency", "timer", "--count", "5", "--load", "cmd:/no/such/program"], &["no program"]);
    fails(&["latency", "timer", "--count", "5", "--load", "cmd:false"], &["ended before the measurement began"]);
    let output =
        ontick(&["latency", "timer", "--count", "5", "--load", "cpu"]).env("PATH", "/nowhere").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("apt install stress-ng"), "{}", stderr(&output));
}

#[test]
fn output_that_cannot_be_written_is_found_out_before_measuring() {
    // The default duration would exceed any patience if it were measured first.
    for option in ["--record", "--html"] {
        fails(&["latency", "timer", "--duration", "1h", option, "/no/such/folder/file"], &["/no/such/folder/file"]);
        fails(&["latency", "timer", "--duration", "1h", option, "/proc/file"], &["/proc/file"]);
        fails(&["latency", "timer", "--duration", "1h", option, "/tmp"], &["/tmp"]);
    }
    fails(&["prove", "--duration", "1h", "--html", "/no/such/folder/report.html"], &["/no/such/folder/report.html"]);
}

#[test]
fn a_journal_that_a_killed_run_left_is_not_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let (record, journal) = (folder.path().join("run.json"), folder.path().join("run.json.journal"));
    fs::write(&journal, "{\"journal\":\"precious\"}").unwrap();
    fails(&["latency", "timer", "--count", "5", "--record", record.to_str().unwrap()], &["then remove it"]);
    assert_eq!(fs::read_to_string(journal).unwrap(), "{\"journal\":\"precious\"}");
    assert!(!record.exists());
}

#[test]
fn files_that_are_no_records() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    let path = path.to_str().unwrap();
    fails(&["report", path], &[path]);
    for (content, word) in [
        (&b""[..], "the file is empty"),
        (b"{}", "not an ontick record: it lacks \"schema\":\"ontick-run/1\""),
        (b"{\"schema\":\"ontick-run/1\"", "cut off"),
        (b"{\"schema\":\"ontick-run/7\"}", "ontick-run/7"),
        (b"\xff\xfe\x00", "UTF-16"),
        (b"\xff\x00\x00", "not text"),
        (b"{\"journal\":3}\n", "line 1"),
    ] {
        fs::write(path, content).unwrap();
        fails(&["report", path], &[path, word]);
        fails(&["compare", path, path], &[path]);
    }
    fs::write(path, "").unwrap();
    fails(&["import", path], &[path, "the file is empty"]);
}

#[test]
fn a_foreign_file_is_named_for_what_it_looks_like() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    let path = path.to_str().unwrap();
    let formats: [(&[u8], &str); 4] = [
        (b"\x7fELF\x02\x01\x01\x00\xff\xff", "a program (ELF)"),
        (b"\x1f\x8b\x08\x00\xff", "compressed by gzip"),
        (b"\x89PNG\r\n\x1a\n\xff", "a PNG picture"),
        (b"\xd4\xc3\xb2\xa1\x02\x00\xff", "a packet capture (pcap)"),
    ];
    for (content, name) in formats {
        fs::write(path, content).unwrap();
        for command in [&["report", path][..], &["import", path], &["switch", "import", path]] {
            fails(command, &[path, name]);
        }
    }
}

#[test]
fn a_plot_without_its_data_is_refused_and_no_file_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let [file, svg, html] = ["run.json", "plot.svg", "run.html"].map(|name| folder.path().join(name));
    let mut record = ontick_record::Run::new("ontick 0.1.0", "timer");
    let mut series = ontick_record::Series { name: "hybrid".into(), ..Default::default() };
    series.latency.add(1_000, 1, 10);
    record.series.push(series);
    fs::write(&file, ontick_record::store::text(&record)).unwrap();
    let [record, svg_file, html_file] = [&file, &svg, &html].map(|path| path.to_str().unwrap());
    for plot in [
        "maxima",
        "blocks",
        "widths",
        "persistence",
        "waveform",
        "outliers",
        "arrivals",
        "delays",
        "waits",
        "received",
        "dips",
    ] {
        fails(&["report", record, "--plot", plot, "--svg", svg_file], &[record, "nothing to show"]);
        assert!(!svg.exists(), "{plot}");
    }
    // What else was asked for is written all the same.
    fails(&["report", record, "--plot", "dips", "--svg", svg_file, "--html", html_file], &["nothing to show"]);
    assert!(html.exists() && !svg.exists());
    assert!(run(&["report", record, "--plot", "percentiles", "--svg", svg_file]).status.success() && svg.exists());
}

#[test]
fn a_plot_without_a_file_for_its_picture_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let [file, html] = ["run.json", "run.html"].map(|name| folder.path().join(name));
    let mut record = ontick_record::Run::new("ontick 0.1.0", "timer");
    record.series.push(ontick_record::Series { name: "hybrid".into(), ..Default::default() });
    fs::write(&file, ontick_record::store::text(&record)).unwrap();
    let [record, html_file] = [&file, &html].map(|path| path.to_str().unwrap());
    fails(&["report", record, "--plot", "latency"], &["--plot", "--svg or --png"]);
    // The HTML report has its own plots: nothing is written.
    fails(&["report", record, "--plot", "blocks", "--html", html_file], &["--plot", "--svg or --png"]);
    assert!(!html.exists());
}
