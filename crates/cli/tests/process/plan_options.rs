//! Options of `ontick network plan` and `validate`: what each of them changes in a plan.

use std::fs;

use serde_json::Value;
use tempfile::TempDir;

use crate::switch_plan::{network, plan, three_where_two_fit, validate};
use crate::{ontick, stderr, stdout};

/// Windows of each link: begin and end, in ns.
type Windows = Vec<(u64, u64)>;

/// There is one at least.
fn windows_of(folder: &TempDir) -> Windows {
    let plan: Value = serde_json::from_str(&fs::read_to_string(folder.path().join("plan.json")).unwrap()).unwrap();
    let gates = plan["gates"].as_array().unwrap().iter();
    let windows = gates.flat_map(|gates| gates["windows"].as_array().unwrap().clone());
    let windows: Windows = windows.map(|window| (window[1].as_u64().unwrap(), window[2].as_u64().unwrap())).collect();
    assert!(!windows.is_empty(), "{plan}");
    windows
}

/// The windows of the guide's network with these options.
fn planned_with(more: &[&str]) -> (TempDir, Windows) {
    let (folder, text) = network();
    let planned = plan(&folder, &text, &[&["--out", "plan.json"], more].concat());
    assert_eq!(planned.status.code(), Some(0), "{more:?}: {}", stderr(&planned));
    let windows = windows_of(&folder);
    (folder, windows)
}

/// Entries of the gate control lists of the switch, as they are written for `apply`.
fn node(more: &[&str]) -> String {
    let (folder, _) = planned_with(&[&["--nodes", "nodes"], more].concat());
    fs::read_to_string(folder.path().join("nodes/s1.toml")).unwrap()
}

#[test]
fn a_slot_is_what_all_windows_are_multiples_of() {
    let (_, windows) = planned_with(&["--slot", "10us"]);
    assert!(windows.iter().all(|(begin, end)| begin % 10_000 == 0 && end % 10_000 == 0), "{windows:?}");
    let (_, windows) = planned_with(&[]);
    assert!(windows.iter().any(|(_, end)| end % 10_000 != 0), "{windows:?}");
}

#[test]
fn windows_are_spread_where_that_is_preferred() {
    let last = |prefer: &str| planned_with(&["--prefer", prefer]).1.iter().map(|window| window.1).max().unwrap();
    // All that is sent takes a fifteenth of the cycle.
    assert!(last("early") < 100_000 && last("few-entries") < 100_000);
    assert!(last("spread") > 200_000);
}

#[test]
fn guard_bands_close_all_gates_before_each_window() {
    let closed = |text: &str| text.lines().filter(|line| line.contains("open = []")).count();
    assert_eq!(closed(&node(&[])), 0);
    let text = node(&["--guard-bands"]);
    // Three ports of the switch have one window each.
    assert!(closed(&text) >= 3, "{text}");
    assert!(text.contains("{ open = [], for = \"12.336us\" }"), "the largest frame at 1 Gbit/s: {text}");
}

#[test]
fn cycles_begin_at_the_base_time() {
    let text = node(&["--base-time", "5000000001"]);
    assert_eq!(text.matches("base-time = 5000000001\n").count(), text.matches("[port.gates]").count(), "{text}");
    assert!(!node(&[]).contains("5000000001"));
}

#[test]
fn a_gate_control_list_has_no_more_entries_than_asked_for() {
    let (folder, text) = network();
    let refused = plan(&folder, &text, &["--nodes", "nodes", "--max-entries", "2"]);
    assert_eq!(refused.status.code(), Some(1), "{}", stdout(&refused));
    assert!(
        stderr(&refused).contains("the gate control list has 3 entries, and there may be 2"),
        "{}",
        stderr(&refused)
    );
    assert!(!folder.path().join("nodes").exists());
    fs::write(folder.path().join("file"), "").unwrap();
    let refused = plan(&folder, &text, &["--nodes", "file"]);
    assert_eq!(stderr(&refused), "ontick: file is no folder\n");
    assert_eq!(plan(&folder, &text, &["--nodes", "nodes", "--max-entries", "3"]).status.code(), Some(0));

    let (folder, _) = planned_with(&[]);
    assert_eq!(validate(&folder, &["--max-entries", "3"]).status.code(), Some(0));
    let over = validate(&folder, &["--max-entries", "2", "--json"]);
    let reported: Value = serde_json::from_slice(&over.stdout).unwrap();
    assert_eq!((over.status.code(), &reported["counts"]), (Some(1), &serde_json::json!({"entries": 3})), "{reported}");
}

#[test]
fn the_clocks_error_is_kept_free_between_two_nodes() {
    let (folder, exact) = planned_with(&[]);
    let (other, windows) = planned_with(&["--clock-error", "1us"]);
    // What leaves the switch waits for twice the error: its own, and that of the node before.
    let later = exact.iter().zip(&windows).map(|(before, after)| after.0 - before.0);
    assert_eq!(
        later.collect::<Vec<_>>(),
        exact.iter().map(|window| if window.0 == 0 { 0 } else { 2_000 }).collect::<Vec<_>>()
    );
    assert_eq!(validate(&folder, &["--clock-error", "1us"]).status.code(), Some(1));
    let held = validate(&other, &["--clock-error", "1us"]);
    assert_eq!(held.status.code(), Some(0), "{}", stdout(&held));
}

#[test]
fn windows_have_room_for_the_spacing_of_frames() {
    let longest = |windows: &Windows| windows.iter().map(|(begin, end)| end - begin).max().unwrap();
    let (folder, exact) = planned_with(&[]);
    let (other, spaced) = planned_with(&["--spacing", "30us"]);
    // Four frames of up to 12.336 us, each with the time until the next may begin.
    assert_eq!(longest(&exact), 4 * 12_336);
    assert_eq!(longest(&spaced), 4 * 30_000);
    assert_eq!(validate(&folder, &["--spacing", "30us"]).status.code(), Some(1));
    let held = validate(&other, &["--spacing", "30us"]);
    assert_eq!(held.status.code(), Some(0), "{}", stdout(&held));
}

/// Two talkers of one listener: the second is sent later.
#[test]
fn with_no_wait_frames_run_through() {
    let (folder, text) = network();
    let head = &text[..text.find("[[stream]]").unwrap()];
    let stream = |name: &str, from: &str, more: &str| {
        format!(
            "[[stream]]\nname = \"{name}\"\nfrom = \"{from}\"\nto = \"drive\"\nsize = 1000\nperiod = \"1ms\"\n{more}"
        )
    };
    let text = head.to_owned() + &stream("a", "camera", "") + &stream("b", "controller", "");
    let planned = plan(&folder, &text, &["--no-wait", "--json", "--out", "plan.json"]);
    assert_eq!(planned.status.code(), Some(0), "{}{}", stdout(&planned), stderr(&planned));
    let plan: Value = serde_json::from_str(&fs::read_to_string(folder.path().join("plan.json")).unwrap()).unwrap();
    let window = |from: &str| {
        let gates = plan["gates"].as_array().unwrap().iter().filter(|gates| gates["link"][0] == from);
        let begin = |window: &Value| window[1].as_u64().unwrap();
        gates.flat_map(|gates| gates["windows"].as_array().unwrap().iter().map(begin)).collect::<Vec<_>>()
    };
    // 1 030 octets on the first link, its cable of 50 ns, and the switch's 2 us.
    let sent = [window("camera")[0], window("controller")[0]];
    let mut through = sent.map(|begin| begin + 1_030 * 8 + 50 + 2_000);
    through.sort_unstable();
    assert_eq!(window("s1"), through);
    let waits: Vec<&Value> = plan["streams"].as_array().unwrap().iter().map(|stream| &stream["waits"]).collect();
    assert_eq!(waits, [false, false], "{plan}");
    // Where no plan is found, nothing is said of waiting.
    fs::write(folder.path().join("three.toml"), three_where_two_fit(&network().1)).unwrap();
    for (more, tried) in [(&["--no-wait"][..], "running through;"), (&[], "running through and waiting;")] {
        let words = [&["network", "plan", "three.toml", "--time", "200ms"], more].concat();
        let found = ontick(&words).current_dir(&folder).output().unwrap();
        // Lines break where the number of places that were tried has them break.
        let words = stdout(&found).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains(tried), "{words}{}", stderr(&found));
    }
}

#[test]
fn a_rate_of_ten_is_read_in_the_unit_that_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write(
        "topo.csv",
        "link,q_num,rate,t_proc,t_prop\n\"(0, 1)\",8,10,2000,0\n\"(1, 0)\",8,10,2000,0\n\"(2, 0)\",8,10,2000,0\n\"(0, 2)\",8,10,2000,0\n",
    );
    write("task.csv", "stream,src,dst,size,period,deadline,jitter\n0,1,[2],100,500000,500000,0\n");
    let tables = ["--task", "task.csv", "--topo", "topo.csv"];
    let asked =
        |words: &[&str], more: &[&str]| ontick(&[words, &tables, more].concat()).current_dir(&folder).output().unwrap();
    let unsaid = asked(&["network", "plan"], &["--out", "plan.json"]);
    assert_eq!(unsaid.status.code(), Some(2));
    assert!(stderr(&unsaid).contains("10 can mean"), "{}", stderr(&unsaid));
    // 142 octets with all that the wire carries.
    for (unit, wire_ns) in [("ns-per-bit", 142 * 8 * 10), ("gbit", 114)] {
        let planned = asked(&["network", "plan"], &["--rate-unit", unit, "--out", "plan.json"]);
        assert_eq!(planned.status.code(), Some(0), "{}", stderr(&planned));
        assert!(windows_of(&folder).iter().all(|(begin, end)| end - begin == wire_ns), "{:?}", windows_of(&folder));
        let written = asked(&["network", "plan"], &["--rate-unit", unit, "--tsnkit", "out"]);
        assert_eq!(written.status.code(), Some(0), "{}", stderr(&written));
        let held = asked(&["network", "validate"], &["--rate-unit", unit, "--tsnkit", "out"]);
        assert!(stdout(&held).contains("followed"), "{}{}", stdout(&held), stderr(&held));
    }
}

/// Tables name a link by the numbers of its nodes: one of two cables would have the gates of both.
#[test]
fn what_tsnkits_tables_cannot_tell_apart_is_refused() {
    let text = "switch = [{ name = \"1\" }, { name = \"2\" }]\nstation = [{ name = \"3\" }, { name = \"4\" }]\n\
                link = [{ between = [\"3\", \"1\"] }, { between = [\"1\", \"2\"] }, { between = [\"2\", \"4\"] }]\n\
                stream = [{ name = \"0\", from = \"3\", to = \"4\", size = 64, period = \"1ms\" }]\n";
    let (folder, _) = network();
    let validated = || {
        let words = ["network", "validate", "network.toml", "--tsnkit", "out"];
        ontick(&words).current_dir(&folder).output().unwrap()
    };
    assert_eq!(plan(&folder, text, &["--tsnkit", "out"]).status.code(), Some(0));
    assert_eq!(validated().status.code(), Some(0), "{}", stderr(&validated()));
    let twice =
        text.replace("{ between = [\"1\", \"2\"] }", "{ between = [\"1\", \"2\"] }, { between = [\"2\", \"1\"] }");
    let cables =
        "ontick: --tsnkit: its tables name a link by its two nodes, and between 2 and 1 there are several cables\n";
    let alike = text.replace("\"4\"", "\"01\"");
    let numbers = "ontick: --tsnkit: its tables have numbers for names, and \"1\" and \"01\" are the same one\n";
    for (text, why) in [(&twice, cables), (&alike, numbers)] {
        let planned = plan(&folder, text, &["--tsnkit", "other", "--out", "plan.json"]);
        assert_eq!((planned.status.code(), stderr(&planned).as_str()), (Some(2), why));
        assert!(!folder.path().join("other-GCL.csv").exists() && !folder.path().join("plan.json").exists());
        assert_eq!((validated().status.code(), stderr(&validated()).as_str()), (Some(2), why));
    }
}

#[test]
fn files_of_nodes_that_an_earlier_plan_wrote_are_named() {
    let (folder, text) = network();
    let noted = || {
        let planned = plan(&folder, &text, &["--nodes", "nodes"]);
        assert_eq!(planned.status.code(), Some(0), "{}", stderr(&planned));
        stderr(&planned)
    };
    assert!(!noted().contains("did not write") && !noted().contains("did not write"), "{}", noted());
    for name in ["spare.toml", "old.toml", "notes.txt"] {
        fs::write(folder.path().join("nodes").join(name), "").unwrap();
    }
    assert!(noted().contains("this plan did not write old.toml, spare.toml in nodes; remove what is"), "{}", noted());
    for name in ["a.toml", "b.toml"] {
        fs::write(folder.path().join("nodes").join(name), "").unwrap();
    }
    assert!(noted().contains("this plan did not write a.toml and 3 more in nodes; "), "{}", noted());
}

#[test]
fn streams_that_a_switch_cannot_tell_apart_do_not_hold() {
    let (folder, _) = planned_with(&[]);
    assert_eq!(validate(&folder, &[]).status.code(), Some(0));
    let file = folder.path().join("network.toml");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replace("[[stream]]\n", "[[stream]]\naddress = \"02:00:00:00:00:01\"\n")).unwrap();
    let held = validate(&folder, &[]);
    let said = stdout(&held);
    assert!(held.status.code() == Some(1) && said.contains("cannot tell them apart"), "{said}{}", stderr(&held));
}

#[test]
fn a_plan_that_has_a_stream_twice_is_refused() {
    let (folder, _) = planned_with(&[]);
    let file = folder.path().join("plan.json");
    let mut document: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    let streams = document["streams"].as_array_mut().unwrap();
    streams.push(streams[0].clone());
    fs::write(&file, document.to_string()).unwrap();
    let held = validate(&folder, &[]);
    let said = stderr(&held);
    assert!(held.status.code() == Some(2) && said.contains("stands there twice"), "{said}");
}

#[test]
fn without_a_terminal_lines_are_as_long_as_columns_says() {
    let (folder, text) = network();
    fs::write(folder.path().join("network.toml"), text).unwrap();
    let longest = |columns: &str| {
        let words = ["network", "plan", "network.toml"];
        let planned = ontick(&words).current_dir(&folder).env("COLUMNS", columns).output().unwrap();
        stdout(&planned).lines().map(|line| line.chars().count()).max().unwrap()
    };
    let (usual, long) = (longest("none"), longest("110"));
    assert!(usual <= 80 && long > 80 && long <= 110, "{usual} {long}");
}

#[test]
fn a_pictures_rows_are_links_or_streams() {
    let drawn = |rows: &str| {
        let (folder, text) = network();
        assert_eq!(plan(&folder, &text, &["--picture", "plan.svg", "--rows", rows]).status.code(), Some(0));
        fs::read_to_string(folder.path().join("plan.svg")).unwrap()
    };
    let (links, streams) = (drawn("links"), drawn("streams"));
    let is_row = |svg: &str, name: &str| svg.contains(&format!("data-name=\"{name}\""));
    assert!(is_row(&links, "s1&gt;drive") && !is_row(&links, "video"), "a row is named after a link");
    assert!(is_row(&streams, "video") && !is_row(&streams, "s1&gt;drive"), "a row is named after a stream");
    // What the colours mean, and until when each must be there.
    assert!(links.contains(">video</text>") && links.contains("video: deadline "), "{links}");
    assert!(streams.contains(">link 1 of the way</text>") && streams.contains("deadline "), "{streams}");
}

#[test]
fn a_pictures_cards_are_nodes_with_gates_and_deadlines() {
    let (folder, text) = network();
    let planned = plan(&folder, &text, &["--picture", "plan.svg", "--rows", "nodes"]);
    assert_eq!(planned.status.code(), Some(0), "{}", stderr(&planned));
    let drawn = fs::read_to_string(folder.path().join("plan.svg")).unwrap();
    let is_card = |name: &str| drawn.contains(&format!("data-name=\"{name}\""));
    assert!(is_card("s1") && is_card("drive") && !is_card("video"), "a card is named after a node: {drawn}");
    assert!(drawn.contains("to drive") && drawn.contains("video: "), "{drawn}");
}

#[test]
fn a_picture_has_a_row_for_each_listener() {
    let (folder, text) = network();
    let text = text.replacen("listeners = [", "listeners = [\"drive\", ", 1);
    let planned = plan(&folder, &text, &["--picture", "plan.svg", "--rows", "streams"]);
    assert_eq!(planned.status.code(), Some(0), "{}\n{text}", stderr(&planned));
    let drawn = fs::read_to_string(folder.path().join("plan.svg")).unwrap();
    assert!(drawn.matches(" to drive</text>").count() >= 1, "{drawn}");
}
