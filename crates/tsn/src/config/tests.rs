//! Files as people write them, and the messages that they get.

use proptest::prelude::*;

use super::*;
use crate::model::*;

const NOW_NS: u64 = 1_795_000_000_000_000_000;

/// Source 004's switch.
const CELL: &str = r#"[switch]
name = "cell4"

[[class]]
name = "red"
queue = 1
match = [{ udp-port = 7777 }, { pcp = 6 }]

[[class]]
name = "blue"
queue = 0

[[port]]
name = "enp2s0f0"

[[port]]
name = "enp2s0f1"
rate = "1Gbit"

[port.gates]
cycle = "1ms"
entries = [
    { open = ["blue"], for = "800us" },
    { open = ["red"], for = "200us" },
]
"#;

fn read(text: &str) -> Result<Parsed, Errors> {
    read_at(text, NOW_NS)
}

/// The cell with a part changed, which must be there.
fn changed(from: &str, to: &str) -> String {
    assert!(CELL.contains(from), "{from}");
    CELL.replacen(from, to, 1)
}

fn errors(text: &str) -> String {
    match read(text) {
        Ok(parsed) => panic!("it was taken: {parsed:?}\n{text}"),
        Err(errors) => errors.in_file("f"),
    }
}

#[test]
fn what_is_no_toml_from_its_beginning_is_one_error() {
    let wanted = "the file that describes a switch, in TOML, is wanted here";
    for (text, is) in [
        ("{\n  \"ontick_plan\": 1,\n  \"streams\": []\n}\n", "a plan of a network"),
        ("{\"schema\": \"ontick-run/1\"}", "a record (ontick-run/1)"),
        ("{\"station\": [{}]", "JSON"),
    ] {
        assert_eq!(errors(text), format!("f:1:1: this is {is}; {wanted}"));
    }
    for text in ["cycle,latency\n1,2\n3,4\n", "# of the run\n\nname = \n[[port\nx y\n", "[1, 2]\nx y\n"] {
        assert_eq!(errors(text).lines().count(), 1, "{}", errors(text));
    }
    let later = errors("[switch]\nname = \nrole = \n");
    assert!(later.starts_with("f:2:") && later.lines().count() == 2, "{later}");
}

#[test]
fn the_article_s_switch() {
    let Parsed { switch, warnings } = read(CELL).unwrap();
    assert_eq!(warnings, []);
    assert_eq!((switch.name.as_str(), switch.role, switch.plane), ("cell4", Role::Bridge, Plane::Auto));
    let udp = Rule { ip_protocol: Some(17), to_port: Some(7777), ..Rule::default() };
    assert_eq!(switch.classes[0].rules, [udp, Rule { pcp: Some(6), ..Rule::default() }]);
    assert_eq!(switch.ports[0].gates, None);
    let entries = vec![Entry { open: 1, for_ns: 800_000 }, Entry { open: 2, for_ns: 200_000 }];
    let gates = Gates { base: Base::NextSecond, cycle_ns: 1_000_000, guard: Guard::None, entries };
    assert_eq!(switch.ports[1].gates, Some(gates));
    assert_eq!(switch.ports[1].rate, Some(1_000_000_000));
    assert_eq!(
        write(&switch),
        CELL.replace("cycle = \"1ms\"\n", "cycle = \"1ms\"\nbase-time = \"next second\"\n").replace(
            "match = [{ udp-port = 7777 }, { pcp = 6 }]",
            "match = [\n    { udp-port = 7777 },\n    { pcp = 6 },\n]"
        )
    );
}

/// Each is wrong in one way; the place and the words that must be said.
#[test]
fn what_is_wrong_is_said_with_its_place() {
    let gates = |text: &str| changed("cycle = \"1ms\"\n", &format!("cycle = \"1ms\"\n{text}\n"));
    let class = |text: &str| changed("[[port]]", &format!("[[class]]\n{text}\n[[port]]"));
    let rule = |text: &str| changed("{ pcp = 6 }", text);
    let cases = [
        (changed("name = \"cell4\"", "name = \"cell4"), "f:2:14", "expected"),
        (changed("name = \"cell4\"\n", ""), "f:1:1", "lacks `name`"),
        (changed("cell4", "cell-number-four"), "f:2:8", "15 characters"),
        (changed("cell4", "-cell"), "f:2:8", "no interface"),
        (changed("cell4", "cell 4"), "f:2:8", "letters"),
        (changed("cell4", "enp2s0f0"), "f:2:8", "another name"),
        (changed("\"cell4\"", "4"), "f:2:8", "text in quotes, not the number 4"),
        (changed("\"cell4\"", "\"cell4\"\nplane = \"kernle\""), "f:3:9", "did you mean `kernel`"),
        (changed("\"cell4\"", "\"cell4\"\nmac-tabel = 7"), "f:3:1", "did you mean `mac-table`"),
        (changed("\"cell4\"", "\"cell4\"\ncpus = \"3-1\""), "f:3:8", "a list of 1 to 64 CPUs"),
        (changed("\"cell4\"", "\"cell4\"\ncpus = \"0-64\""), "f:3:8", "a list of 1 to 64 CPUs"),
        (changed("\"cell4\"", "\"cell4\"\ncpus = \"65536\""), "f:3:8", "a list of 1 to 64 CPUs"),
        (changed("\"cell4\"", "\"cell4\"\ncpu = 1\ncpus = \"2-3\""), "f:4:8", "`cpu` and `cpus` say the same"),
        (changed("\"cell4\"", "\"cell4\"\nmac-table = 0"), "f:3:13", "from 1 to 1048576, not 0"),
        (changed("\"cell4\"", "\"cell4\"\nageing-time = \"10ms\""), "f:3:15", "300s is usual"),
        (changed("\"cell4\"", "\"cell4\"\nstp = \"on\""), "f:3:7", "is true, false or"),
        (changed("\"cell4\"", "\"cell4\"\nforward-reserved = [\"bpdus\"]"), "f:3:21", "did you mean `bpdu`"),
        (changed("\"cell4\"", "\"cell4\"\nforward-reserved = \"bpdu\""), "f:3:20", "a list in [ ]"),
        (changed("\"cell4\"", "\"cell4\"\nclock = \"utc\""), "f:3:9", "\"tai\", \"realtime\", \"monotonic\""),
        (changed("[[class]]", "[class]"), "f:9:3", ""),
        (changed("queue = 1", "queue = 16"), "f:6:9", "from 0 to 15, not 16"),
        (changed("queue = 1", "queue = 0"), "f:11:9", "on line 4 already; queue = 1 is free"),
        (changed("queue = 1\n", ""), "f:4:1", "lacks `queue`"),
        (changed("name = \"blue\"", "name = \"red\""), "f:10:8", "already, on line 4"),
        (changed("queue = 1", "queue = 1\nlimit = 0"), "f:7:9", "from 1 to 65536"),
        (class("name = \"green\"\nqueue = 3"), "f:13:1", "without `match`, the one on line 9 takes all"),
        (class("name = \"green\"\nqueue = 3\nmatch = []"), "f:16:9", "takes nothing"),
        (class("name = \"green\"\nqueue = 3\nmatch = [{ pcp = 6, vlan = 5 }]"), "f:16:10", "line 7 comes first"),
        (changed("queue = 0", "queue = 0\nmatch = [{ vlan = 1 }]"), "f:9:1", "no class takes all other frames"),
        (rule("{}"), "f:7:31", "every frame"),
        (rule("{ pcp = 9 }"), "f:7:39", "from 0 to 7"),
        (rule("{ udp-port = 70000 }"), "f:7:44", "from 0 to 65535"),
        (rule("{ udp-port = 1, tcp-port = 1 }"), "f:7:31", "not both"),
        (rule("{ udp-port = 1, ip-protocol = \"tcp\" }"), "f:7:31", "tcp and udp at once"),
        (rule("{ to-port = 1, ip-protocol = 132 }"), "f:7:31", "`ip-protocol` is 132"),
        (rule("{ ether-type = \"ptp\", dscp = 46 }"), "f:7:31", "not IP"),
        (rule("{ ether-type = 0x8100 }"), "f:7:31", "never seen"),
        (rule("{ ether-type = 46 }"), "f:7:31", "length"),
        (rule("{ ether-type = \"ptpp\" }"), "f:7:46", "not an EtherType"),
        (rule("{ ip-protocol = \"sctp\" }"), "f:7:47", "not an IP protocol"),
        (rule("{ to = \"aa:bb:cc\" }"), "f:7:38", "not a MAC address"),
        (rule("{ to = \"aa:bb:cc:dd:ee:ff/24\" }"), "f:7:38", "write \"aa:bb:cc:00:00:00/24\""),
        (rule("{ to-ip = \"10.1.0.0/8\" }"), "f:7:41", "write \"10.0.0.0/8\""),
        (rule("{ to-ip = \"10.0.0.0/33\" }"), "f:7:41", "not an IPv4"),
        (rule("{ udp-prot = 5 }"), "f:7:33", "did you mean `udp-port`"),
        (changed("enp2s0f1", "enp2s0f0"), "f:17:8", "on line 13"),
        (changed("[[port]]\nname = \"enp2s0f0\"\n", ""), "f:14:1", "two ports at least"),
        (changed("1Gbit", "1Gb"), "f:18:8", "not a rate"),
        (changed("1Gbit", "0Gbit"), "f:18:8", "above zero"),
        (changed("1Gbit\"", "1Gbit\"\noffload = \"hard\""), "f:19:11", "\"none\", \"txtime\", \"full\""),
        (changed("1Gbit\"", "1Gbit\"\ntxtime-delay = \"1us\""), "f:19:16", "leave it out"),
        (changed("1Gbit\"", "1Gbit\"\nmax-sdu = { rde = 300 }"), "f:19:13", "did you mean `red`"),
        (changed("1Gbit\"", "1Gbit\"\nmax-sdu = { red = 9300 }"), "f:19:19", "more than the largest link"),
        (changed("1Gbit\"", "1Gbit\"\nmax-sdu = { red = 0 }"), "f:19:19", "leave the class out"),
        (changed("1Gbit\"", "1Gbit\"\nmax-sdu = { red = 20 }"), "f:19:19", "no frame carries less"),
        (changed("[\"blue\"]", "[\"bleu\"]"), "f:23:15", "did you mean `blue`"),
        (changed("[\"blue\"]", "[\"blue\", \"blue\"]"), "f:23:23", "occurs twice"),
        (
            CELL.replace("[\"red\"]", "[\"blue\"]")
                .replace("enp2s0f0\"", "enp2s0f0\"\ngates.entries = [{ open = [\"blue\"], for = \"1ms\" }]"),
            "f:4:1",
            "no port ever opens the gate of `red`",
        ),
        (changed("800us", "700us"), "f:21:9", "sum up to 900us, not to the cycle; add 100us"),
        (changed("800us", "900us"), "f:21:9", "take 100us off an entry, or write cycle = \"1.1ms\""),
        (changed("800us", "0us"), "f:23:30", "no length"),
        (changed("800us", "800"), "f:23:30", "has no unit"),
        (changed("800us", "5s"), "f:23:30", "4.29"),
        (changed("\"800us\"", "800"), "f:23:30", "text in quotes"),
        (gates("base-time = 1000"), "f:22:13", "1970-01-01"),
        (gates("base-time = 9000000000000000000"), "f:22:13", "2255-03-14, more than ten years ahead"),
        (gates("base-time = 99999999999999999999"), "f:22:13", ""),
        (gates("base-time = -1"), "f:22:13", "nanoseconds"),
        (gates("base-time = \"now\""), "f:22:13", "next second"),
        (gates("base-time = 2026-01-01T00:00:00Z"), "f:22:13", "not a date"),
        (gates("guard-band = \"200us\""), "f:25:5", "eats all of the 200us for which `red`"),
        (gates("guard-band = \"190us\""), "f:25:5", "and the guard band takes 202.336us"),
        (gates("guard-band = \"some\""), "f:22:14", "largest-frame"),
        (gates("guardband = \"1us\""), "f:22:1", "did you mean `guard-band`"),
        (changed("1Gbit", "10Mbit"), "f:24:5", "takes 1233.6us"),
        (CELL.replace("800us", "4us").replace("200us", "4us").replace("1ms", "8us"), "f:21:9", "too short"),
        (CELL.replace("{ open", "open"), "f:", ""),
        (String::new(), "f:1:1", "[switch]"),
    ];
    let mut wrong = Vec::new();
    for (text, place, words) in cases {
        let said = errors(&text);
        let fits = said.lines().any(|line| line.starts_with(place) && line.contains(words));
        if !fits {
            wrong.push(format!("expected {place} … {words}\n{said}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn what_is_doubtful_is_said_with_its_place() {
    let cases = [
        (changed("[\"red\"]", "[\"blue\"]"), "23:5", "never opens the gate of `red`"),
        (changed("{ pcp = 6 }", "{ to-port = 7777, pcp = 6, ip-protocol = 17 }"), "7:31", "line 7 comes first"),
        (changed("{ pcp = 6 }", "{ socket-priority = 6 }"), "7:31", "none that a bridge forwards"),
        (changed("1Gbit\"", "1Gbit\"\nmax-sdu = { red = 9000 }"), "19:19", "MTU above 1500"),
        (
            changed(
                "{ open = [\"red\"], for = \"200us\" }",
                "{ open = [\"red\"], for = \"190us\" }, { open = [], for = \"1us\" }, { open = [\"red\"], for = \"9us\" }",
            ),
            "24:68",
            "takes 12.336us at 1Gbit: lengthen the entry, or write max-sdu = { red = 1083 }",
        ),
        (CELL.replace("800us", "2s").replace("1ms", "2000200us"), "", ""),
        (CELL.replace("800us", "3s").replace("1ms", "3000200us"), "21:9", "the user data plane will do it"),
    ];
    let mut wrong = Vec::new();
    for (text, place, words) in cases {
        let said: Vec<String> = match read(&text) {
            Ok(parsed) => parsed.warnings.iter().map(Problem::to_string).collect(),
            Err(errors) => vec![format!("error: {errors}")],
        };
        let fits = match place {
            "" => said.is_empty(),
            place => said.len() == 1 && said[0].starts_with(place) && said[0].contains(words),
        };
        if !fits {
            wrong.push(format!("expected {place} … {words}\n{said:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn static_entries_are_read_and_their_errors_have_a_place() {
    let with = |text: &str| format!("{CELL}\n[[forward]]\n{text}\n");
    let text = with("to = \"02:00:00:00:00:01\"\nvlan = 10\nports = [\"enp2s0f1\", \"enp2s0f0\"]")
        .replace("name = \"cell4\"", "name = \"cell4\"\nlearning = false\nflood = []");
    let Parsed { switch, .. } = read(&text).unwrap();
    let entry = StaticEntry { to: [2, 0, 0, 0, 0, 1], vlan: Some(10), ports: vec![0, 1] };
    assert_eq!(switch.forwarding, Forwarding { learning: false, flood: Some(Vec::new()), entries: vec![entry] });
    let port = "ports = [\"enp2s0f1\"]";
    for (text, place, what) in [
        (with("to = \"02:00:00:00:00\"\nports = [\"enp2s0f1\"]"), "f:28:6", "is not a MAC address"),
        (with(&format!("to = \"00:00:00:00:00:00\"\n{port}")), "f:28:6", "no frame has an address of zeros"),
        (with(&format!("to = \"01:80:c2:00:00:0e\"\n{port}")), "f:28:6", "not forwarded by any bridge"),
        (with(&format!("to = \"02:00:00:00:00:01\"\nvlan = 4095\n{port}")), "f:29:8", "`vlan` is from 0 to 4094"),
        (with("to = \"02:00:00:00:00:01\"\nports = [\"enp2s0f2\"]"), "f:29:10", "there is no port \"enp2s0f2\""),
        (with("to = \"02:00:00:00:00:01\"\nports = []"), "f:27:1", "has no port"),
        (
            with(&format!("to = \"02:00:00:00:00:01\"\n{port}\n[[forward]]\nto = \"02:00:00:00:00:01\"\n{port}")),
            "f:30:1",
            "line 27 has this address and VLAN already",
        ),
        (changed("name = \"cell4\"", "name = \"cell4\"\nflood = [\"enp2\"]"), "f:3:10", "there is no port \"enp2\""),
        (
            changed("name = \"cell4\"", "name = \"cell4\"\nrole = \"station\"\nlearning = false"),
            "f:2:8",
            "a station forwards nothing",
        ),
    ] {
        let said = errors(&text);
        assert!(said.starts_with(place) && said.contains(what), "{place} {what}: {said}");
    }
}

#[test]
fn all_that_is_wrong_is_said_at_once() {
    let text = changed("queue = 1", "queue = 19").replace("1Gbit", "1Gb").replace("[\"blue\"]", "[\"bleu\"]");
    let lines: Vec<String> = errors(&text).lines().map(|line| line.split(": ").next().unwrap().to_owned()).collect();
    assert_eq!(lines, ["f:6:9", "f:18:8", "f:23:15"]);
}

proptest! {
    /// A file that was damaged somewhere is taken or refused, and what is said has a line of the file.
    #[test]
    fn a_damaged_file_is_answered(
        at in any::<prop::sample::Index>(),
        length in 0usize..12,
        word in "[\\[\\]{}\"=,.#\n a-z0-9-]{0,6}|99999999999999999999|open|1e9|true|queue = 7|\u{e9}",
    ) {
        let from = at.index(CELL.len());
        let to = (from + length).min(CELL.len());
        let text = format!("{}{word}{}", &CELL[..from], &CELL[to..]);
        let lines = text.matches('\n').count() + 1;
        match read(&text) {
            Ok(parsed) => prop_assert_eq!(read(&write(&parsed.switch)).map(|again| again.switch), Ok(parsed.switch)),
            Err(errors) => {
                let sound = |problem: &Problem| (1..=lines).contains(&problem.line) && !problem.what.contains('\n');
                prop_assert!(!errors.problems.is_empty() && errors.problems.iter().all(sound), "{errors}");
            }
        }
    }
}

#[test]
fn idle_slopes_that_cannot_be_kept_are_named() {
    let with = |port: &str| CELL.replace("name = \"enp2s0f1\"\n", &format!("name = \"enp2s0f1\"\n{port}\n"));
    let refused = |port: &str| read(&with(port)).unwrap_err().in_file("f");
    for (port, says) in [
        ("idle-slope = { bleu = \"1Mbit\" }", "f:18:16: there is no class `bleu`; did you mean `blue`?"),
        ("idle-slope = { red = 5 }", "f:18:22: `red`"),
        ("idle-slope = { red = \"0Mbit\" }", "a rate is above zero"),
        (
            "idle-slope = { red = \"600Mbit\", blue = \"500Mbit\" }",
            "f:18:14: the idle slopes sum up to 1.1Gbit, and the link has 1Gbit: lower them",
        ),
        (
            "idle-slope = { red = \"300Mbit\" }",
            "`red` is open for 200us of 1ms, where an idle slope of 300Mbit needs, with those of higher classes, 1.5Gbit of",
        ),
        ("offload = \"txtime\"\nidle-slope = { red = \"1Mbit\" }", "`red` has an idle slope, and offload = \"txtime\""),
        (
            "transmit-queues = { red = 2 }\nidle-slope = { red = \"1Mbit\" }",
            "`red` has an idle slope and 2 transmit queues, which cannot share one credit",
        ),
    ] {
        let errors = refused(port);
        assert!(errors.contains(says), "{errors}");
        assert_eq!(errors.lines().count(), 1, "{errors}");
    }
    let warned =
        |port: &str| read(&with(port)).unwrap().warnings.iter().map(|doubt| doubt.what.clone()).collect::<Vec<_>>();
    assert_eq!(warned("idle-slope = { red = \"20Mbit\" }"), [] as [String; 0]);
    let sum = "the idle slopes sum up to 780Mbit of 1Gbit, more than the 75 % that are usual (clause 34.3.1)";
    assert_eq!(warned("idle-slope = { blue = \"780Mbit\" }"), [sum]);
    let text = CELL.replace("name = \"enp2s0f0\"", "name = \"enp2s0f0\"\nidle-slope = { blue = \"1Mbit\" }");
    let waits = "`red` goes before `blue` and has no idle slope: nothing bounds how long `blue` waits for it";
    assert_eq!(read(&text).unwrap().warnings.iter().map(|doubt| doubt.what.as_str()).collect::<Vec<_>>(), [waits]);
}

#[test]
fn a_loop_is_cut_by_a_protocol_that_is_named() {
    let with = |value: &str| CELL.replace("name = \"cell4\"", &format!("name = \"cell4\"\nstp = {value}"));
    let usual = BridgePriority::default();
    let lowest = BridgePriority::new(4_096).unwrap();
    for (value, is) in [
        ("false", SpanningTree::Off),
        ("true", SpanningTree::Stp(usual)),
        ("\"rstp\"", SpanningTree::Rstp(usual)),
        ("true\nbridge-priority = 4096", SpanningTree::Stp(lowest)),
    ] {
        let switch = read(&with(value)).unwrap().switch;
        assert_eq!(switch.stp, is);
        assert_eq!(read(&write(&switch)).unwrap().switch, switch);
    }
    let wrong = errors(&with("\"mstp\""));
    assert!(wrong.contains("f:3:7: `stp` is true, false or \"rstp\", not the text \"mstp\""), "{wrong}");
    for (value, what) in [
        ("true\nbridge-priority = 4095", "f:4:19: `bridge-priority` is a multiple of 4096"),
        ("true\nbridge-priority = 65536", "f:4:19: `bridge-priority` is from 0 to 61440"),
        ("false\nbridge-priority = 4096", "f:4:19: `bridge-priority` goes with `stp` alone"),
    ] {
        let wrong = errors(&with(value));
        assert!(wrong.contains(what), "{wrong}");
    }
}

#[test]
fn preemption_is_read_written_and_refused_in_words() {
    let with = |offload: &str, table: &str| {
        let name = "name = \"enp2s0f1\"\n";
        CELL.replace(name, &format!("{name}{offload}"))
            .replace("[port.gates]", &format!("[port.preemption]\n{table}\n[port.gates]"))
    };
    let full = "offload = \"full\"\n";
    let usual = Preemption { preemptible: vec![1], verify: true, verify_time_ms: 10, min_fragment_size: 60 };
    let all = "preemptible = [\"blue\"]\nverify = true\nverify-time = \"20ms\"\nmin-fragment-size = 124";
    for (table, wanted) in [
        ("preemptible = [\"blue\", \"blue\"]", usual.clone()),
        (all, Preemption { verify_time_ms: 20, min_fragment_size: 124, ..usual.clone() }),
        ("preemptible = [\"blue\"]\nverify = false", Preemption { verify: false, ..usual }),
    ] {
        let switch = read(&with(full, table)).unwrap().switch;
        assert_eq!(switch.ports[1].preemption.as_ref(), Some(&wanted));
        assert_eq!(read(&write(&switch)).unwrap().switch, switch);
    }
    for (offload, table, says) in [
        (full, "", "[port.preemption] lacks `preemptible` (preemptible = [\"blue\"])"),
        (full, "preemptible = []", "no class is preemptible; name one, or leave [port.preemption] out"),
        (full, "preemptible = [\"bleu\"]", "there is no class `bleu`; did you mean `blue`?"),
        (full, "preemptible = [\"blue\", \"red\"]", "leave one class out of the list"),
        (full, "preemptible = [\"blue\"]\nverify-time = \"0.5ms\"", "whole milliseconds from 1ms to 128ms"),
        (full, "preemptible = [\"blue\"]\nverify-time = \"129ms\"", "whole milliseconds from 1ms to 128ms"),
        (
            full,
            "preemptible = [\"blue\"]\nmin-fragment-size = 64",
            "`min-fragment-size` is 60, 124, 188 or 252 octets, not 64",
        ),
        (
            full,
            "preemptible = [\"blue\"]\nverify = false\nverify-time = \"5ms\"",
            "`verify-time` goes with verify = true alone; leave it out",
        ),
        ("", "preemptible = [\"blue\"]", "frames of gates in software are not preempted; write offload = \"full\""),
    ] {
        let errors = read(&with(offload, table)).unwrap_err().in_file("f");
        assert!(errors.contains(says), "{table}: {errors}");
        assert_eq!(errors.lines().count(), 1, "{errors}");
    }
    // Without gates there is nothing that software would do.
    let alone = CELL.replace("name = \"enp2s0f0\"", "name = \"enp2s0f0\"\npreemption = { preemptible = [\"blue\"] }");
    assert!(read(&alone).unwrap().switch.ports[0].preemption.is_some());
}

#[test]
fn a_stream_is_read_and_written_as_it_was() {
    let text = format!(
        "{CELL}\n[[stream]]\nname = \"axis\"\nhandle = 7\nto = \"02:00:00:00:00:01\"\nvlan = 10\nfrom = \"02:00:00:00:00:02\"\n\
         ingress = [\"enp2s0f0\"]\nmax-sdu = 100\nmeter = {{ rate = \"1.5Mbit\", burst = 122 }}\n\
         replicate = [\"enp2s0f1\", \"enp2s0f0\"]\neliminate = {{ history-length = 8 }}\n\n[stream.gate]\n\
         entries = [{{ open = true, for = \"200us\" }}, {{ open = false, for = \"800us\" }}]\n"
    );
    let Parsed { switch, warnings } = read(&text).unwrap();
    assert_eq!(warnings, []);
    let entry = |open, for_ns| StreamGateEntry { open, for_ns };
    let gate = StreamGate {
        base: Base::NextSecond,
        cycle_ns: 1_000_000,
        entries: vec![entry(true, 200_000), entry(false, 800_000)],
    };
    let axis = Stream {
        name: "axis".into(),
        handle: Some(7),
        to: [2, 0, 0, 0, 0, 1],
        vlan: Some(10),
        from: Some([2, 0, 0, 0, 0, 2]),
        ingress: Some(vec![0]),
        max_sdu: Some(100),
        meter: Some(Meter { rate: 1_500_000, burst: 122 }),
        gate: Some(gate),
        eliminate: Some(Elimination { history_length: 8, ..Elimination::default() }),
        replicate: Some(vec![0, 1]),
    };
    assert_eq!(switch.streams, [axis]);
    assert_eq!(read(&write(&switch)).unwrap().switch, switch);
}

#[test]
fn what_is_wrong_with_a_stream_is_said_with_its_place() {
    // The table begins on line 27.
    let with = |text: &str| format!("{CELL}\n[[stream]]\nname = \"axis\"\n{text}\n");
    let to = "to = \"02:00:00:00:00:01\"";
    let gate = |text: &str| with(&format!("{to}\n[stream.gate]\n{text}"));
    let other = |text: &str| with(&format!("{to}\nmax-sdu = 99\n[[stream]]\nname = \"other\"\n{text}\nmax-sdu = 99"));
    let cases = [
        (with("max-sdu = 100"), "f:27:1", "lacks `to`"),
        (with("to = \"01:80:c2:00:00:0e\"\nmax-sdu = 100"), "f:29:6", "not forwarded by any bridge"),
        (with(to), "f:27:1", "asks for nothing; give it `max-sdu`, `meter`, `gate`, `eliminate` or `replicate`"),
        (with(&format!("{to}\nmax-sdu = 41")), "f:30:11", "no frame carries less than 42"),
        (with(&format!("{to}\nmax-sdu = 99\nvlan = 4095")), "f:31:8", "from 0 to 4094"),
        (with(&format!("{to}\nmax-sdu = 99\nfrom = \"03:00:00:00:00:01\"")), "f:31:8", "the MAC address of a station"),
        (with(&format!("{to}\nmax-sdu = 99\ningress = []")), "f:27:1", "name one at least"),
        (with(&format!("{to}\nmax-sdu = 99\ningress = [\"enp2s0f2\"]")), "f:31:12", "there is no port \"enp2s0f2\""),
        (with(&format!("{to}\nmax-sdu = 99\nmetre = 9")), "f:31:1", "did you mean `meter`"),
        (with(&format!("{to}\nmeter = {{ rate = \"1Mbit\" }}")), "f:30:9", "[stream.meter] lacks `burst`"),
        (with(&format!("{to}\nmeter = {{ rate = \"1Mbit\", burst = 63 }}")), "f:30:35", "from 64 to 16777216"),
        (
            with(&format!("{to}\nmax-sdu = 100\nmeter = {{ rate = \"1Mbit\", burst = 121 }}")),
            "f:31:9",
            "it would always be dropped; write burst = 122",
        ),
        (with(&format!("{to}\nreplicate = [\"enp2s0f1\"]")), "f:27:1", "for two paths or more"),
        (with(&format!("{to}\neliminate = {{ history-length = 129 }}")), "f:30:32", "from 2 to 128"),
        (with(&format!("{to}\neliminate = {{ reset-timeout = \"1us\" }}")), "f:30:31", "2s is usual"),
        (gate("entries = []"), "f:30:1", "no entry is open"),
        (gate("entries = [{ open = false, for = \"1ms\" }]"), "f:30:1", "no entry is open"),
        (gate("entries = [{ open = true, for = \"1ms\" }]"), "f:30:1", "no entry is closed; leave [stream.gate] out"),
        (gate("entries = [{ open = 1, for = \"1ms\" }]"), "f:31:21", "true or false"),
        (gate("entries = [{ open = true, for = \"5us\" }, { open = false, for = \"4us\" }]"), "f:30:1", "too short"),
        (
            gate("cycle = \"1ms\"\nentries = [{ open = true, for = \"1ms\" }, { open = false, for = \"1ms\" }]"),
            "f:31:9",
            "sum up to 2ms",
        ),
        (
            gate("base-time = 7\nentries = [{ open = true, for = \"1ms\" }, { open = false, for = \"1ms\" }]"),
            "f:31:13",
            "1970-01-01",
        ),
        (other(to), "f:31:1", "the stream `axis` on line 27 takes all of them; put it first"),
        (other(&format!("{to}\nvlan = 5\ningress = [\"enp2s0f1\"]")), "f:31:1", "takes all of them"),
        (other("to = \"02:00:00:00:00:02\"").replace("other", "axis"), "f:31:1", "a stream `axis` already, on line 27"),
        (
            other("to = \"02:00:00:00:00:02\"\nhandle = 5").replacen("max-sdu", "handle = 5\nmax-sdu", 1),
            "f:32:1",
            "the stream `axis` on line 27 has the handle 5 already",
        ),
        (
            with(&format!("{to}\nmax-sdu = 99")).replace("name = \"cell4\"", "name = \"cell4\"\nrole = \"station\""),
            "f:2:8",
            "a station forwards nothing; leave [[stream]] out",
        ),
    ];
    for (text, place, words) in cases {
        let errors = errors(&text);
        assert!(errors.starts_with(place) && errors.contains(words), "{place} {words}:\n{errors}\n{text}");
    }
    // One that is narrower may come first.
    let narrow = with(&format!("{to}\nvlan = 5\nmax-sdu = 99\n[[stream]]\nname = \"rest\"\n{to}\nmax-sdu = 42"));
    assert_eq!(read(&narrow).unwrap().switch.streams.len(), 2);
    let doubtful = read(&with(&format!("{to}\nmeter = {{ rate = \"1Mbit\", burst = 1521 }}"))).unwrap();
    assert!(doubtful.warnings[0].what.contains("write burst = 1522, or `max-sdu`"), "{:?}", doubtful.warnings);
}
