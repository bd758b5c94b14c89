use ontick_tsn::config;
use ontick_tsn::model::Datapath;

use super::super::paper::{PAPER, Paper};
use super::super::{plan, rejoin};
use super::*;

const HEAD: &str =
    "[switch]\nname = \"br0\"\nplane = \"kernel\"\nclassifier = \"flower\"\n[[class]]\nname = \"blue\"\nqueue = 0\n";
const RED: &str = "[[class]]\nname = \"red\"\nqueue = 1\nmatch = [{ pcp = 6 }]\n";
const PORTS: &str = "[[port]]\nname = \"a\"\n[[port]]\nname = \"b\"\n";

fn with(streams: &str) -> Switch {
    config::read(&format!("{HEAD}{PORTS}{streams}")).unwrap().switch
}

fn stream(name: &str, rest: &str) -> String {
    format!("[[stream]]\nname = \"{name}\"\nto = \"02:00:00:00:01:01\"\n{rest}\n")
}

fn filters(plan: &Plan) -> Vec<String> {
    let acts = plan.steps.iter().flat_map(|step| &step.acts).map(ToString::to_string);
    acts.filter(|act| act.contains(" ingress ")).collect()
}

#[test]
fn each_part_of_a_stream_is_an_action() {
    let gate = "[stream.gate]\nbase-time = 1600000000000000005\nentries = [{ open = true, for = \"300us\" }, { open = false, for = \"700us\" }]";
    let all = stream(
        "s",
        &format!(
            "vlan = 10\nfrom = \"02:00:00:00:00:07\"\ningress = [\"b\"]\nmax-sdu = 100\nmeter = {{ rate = \"976kbit\", burst = 244 }}\n{gate}"
        ),
    );
    let keys = "protocol 802.1Q flower vlan_id 10 dst_mac 02:00:00:00:01:01 src_mac 02:00:00:00:00:07";
    let size = |mtu: u32| format!("police mtu {mtu} index 40000 conform-exceed drop/pipe");
    let gate = "gate index 40000 clockid CLOCK_TAI base-time 1600000000000000005 sched-entry open 300000 -1 -1 sched-entry close 700000 -1 -1 pipe";
    let meter = "police rate 976000bit burst 244b mtu 65535 overhead 22 index 40001 conform-exceed drop/pass";
    let command = |mtu| {
        format!("tc filter add dev b ingress pref 40000 {keys} action {} action {gate} action {meter}", size(mtu))
    };
    let planned = plan(&PAPER, &with(&all), 0).unwrap();
    assert_eq!(filters(&planned), [command(114)]);
    // Older kernels count what follows the addresses and the EtherType.
    let old = plan(&Paper { release: "5.15.0", ..PAPER }, &with(&all), 0).unwrap();
    assert_eq!(filters(&old), [command(100)]);
}

#[test]
fn what_comes_last_lets_frames_pass() {
    let last = |rest: &str| filters(&plan(&PAPER, &with(&stream("s", rest)), 0).unwrap())[0].clone();
    assert!(
        last("max-sdu = 100")
            .ends_with("flower dst_mac 02:00:00:00:01:01 action police mtu 114 index 40000 conform-exceed drop/pass")
    );
    let meter = last("meter = { rate = \"8kbit\", burst = 6400 }");
    assert!(meter.ends_with("overhead 18 index 40001 conform-exceed drop/pass"), "{meter}");
    let gate = last("[stream.gate]\nentries = [{ open = true, for = \"1ms\" }, { open = false, for = \"1ms\" }]");
    assert!(
        gate.ends_with(
            " action gate index 40000 clockid CLOCK_TAI base-time 2000000000 sched-entry open 1000000 -1 -1 sched-entry close 1000000 -1 -1 pass"
        ),
        "{gate}"
    );
}

#[test]
fn frames_of_no_vlan_have_no_tag_or_one_that_names_none() {
    let planned = plan(&PAPER, &with(&stream("s", "vlan = 0\nmax-sdu = 100")), 0).unwrap();
    let of_a: Vec<String> = filters(&planned).into_iter().filter(|filter| filter.contains(" dev a ")).collect();
    let both = [
        "pref 40000 protocol all flower num_of_vlans 0 dst_mac",
        "pref 40001 protocol 802.1Q flower vlan_id 0 dst_mac",
    ];
    assert!(of_a.len() == 2 && of_a.iter().zip(both).all(|(filter, part)| filter.contains(part)), "{of_a:#?}");
}

/// All ports share the numbers, so that there is one meter; two streams share none.
#[test]
fn actions_are_shared_by_ports_and_not_by_streams() {
    let meter = |name: &str, vlan: u16| {
        stream(name, &format!("vlan = {vlan}\nmax-sdu = 100\nmeter = {{ rate = \"1Mbit\", burst = 400 }}"))
    };
    let switch = with(&(meter("s", 1) + &meter("t", 2)));
    let numbers = |host: &Paper| -> Vec<Vec<String>> {
        let numbers = |filter: String| filter.split("index ").skip(1).map(|part| part[..5].to_owned()).collect();
        filters(&plan(host, &switch, 0).unwrap()).into_iter().map(numbers).collect()
    };
    assert_eq!(numbers(&PAPER), [["40000", "40001"], ["40002", "40003"], ["40000", "40001"], ["40002", "40003"]]);
    let police = r#"[{"total acts":2},{"actions":[{"index":7},{"index":40001,"stats":{"packets":0}}]}]"#;
    assert_eq!(numbers(&Paper { police, ..PAPER })[0], ["40002", "40003"]);
}

/// Whoever makes the hook takes it away, and does so before taprio comes.
#[test]
fn the_hook_is_made_once() {
    let text = |classes: &str| format!("{HEAD}{classes}{PORTS}{}", stream("s", "max-sdu = 100\ningress = [\"a\"]"));
    for classes in ["", RED] {
        let planned = plan(&PAPER, &config::read(&text(classes)).unwrap().switch, 0).unwrap();
        let of_a = |undo: &&Undo| matches!(undo, Undo::Clsact { port } if port.name == "a");
        assert_eq!(planned.steps.iter().flat_map(|step| &step.undos).filter(of_a).count(), 1, "{classes}");
        let acts: Vec<String> = planned.steps.iter().flat_map(|step| &step.acts).map(ToString::to_string).collect();
        let at = |words: &str| acts.iter().position(|act| act.contains(words));
        assert!(at("dev a clsact").unwrap() < at("dev a ingress").unwrap(), "{acts:#?}");
        assert_eq!(acts.iter().filter(|act| act.contains("dev a clsact")).count(), 1, "{acts:#?}");
        assert!(at("dev a root").is_none_or(|root| at("dev a ingress").unwrap() < root), "{acts:#?}");
    }
}

#[test]
fn a_port_that_comes_back_gets_the_same() {
    let switch = with(&stream(
        "s",
        "[stream.gate]\nentries = [{ open = true, for = \"1ms\" }, { open = false, for = \"1ms\" }]",
    ));
    let planned = plan(&PAPER, &switch, 7_000_000_000).unwrap();
    let police = r#"[{"actions":[{"index":40000}]}]"#;
    let steps = rejoin(&Paper { police, ..PAPER }, &switch, &planned, "b").unwrap();
    let again = filters(&Plan { steps, ..Plan::default() });
    assert_eq!(again, filters(&planned)[1..]);
    assert!(again[0].contains("index 40000 ") && again[0].contains("base-time 9000000000"), "{again:?}");
}

#[test]
fn what_the_kernel_cannot_do_is_refused() {
    let why = |switch: &Switch| plan(&PAPER, switch, 0).unwrap_err().to_string();
    let eliminated = why(&with(&stream("s", "eliminate = {}")));
    assert!(eliminated.contains("stream s: eliminate and replicate are of the user data plane alone"), "{eliminated}");
    let slow = why(&with(&stream("s", "meter = { rate = \"8bit\", burst = 6400 }")));
    assert!(slow.contains("stream s: the burst takes longer than 250 s"), "{slow}");
    let entries = "{ open = true, for = \"1us\" }, { open = false, for = \"1us\" }, ".repeat(11);
    let long = why(&with(&stream("s", &format!("[stream.gate]\nentries = [{entries}]"))));
    assert!(long.contains("stream s: 22 entries, and tc has room for 20: have fewer, or plane = \"user\""), "{long}");
    let limited = with(&stream("s", "max-sdu = 100"));
    let open_vswitch = Switch { bridge: Bridge::OpenVswitch(Datapath::System), ..limited };
    assert!(unpoliced(&open_vswitch, Terms::File).unwrap().contains("use bridge = \"linux\""));
    // Who has no file before them cannot have another data plane.
    let gate = with(&stream("s", &format!("[stream.gate]\nentries = [{entries}]")));
    let slow = with(&stream("s", "meter = { rate = \"8bit\", burst = 6400 }"));
    for (switch, end) in [
        (gate, "tc has room for 20: have fewer"),
        (slow, "as the kernel cannot count: have a smaller burst"),
        (open_vswitch, "streams with Open vSwitch are not offered"),
    ] {
        let why = unpoliced(&switch, Terms::Yang).unwrap();
        assert!(why.ends_with(end), "{why}");
    }
    let lacks = Paper { lacks: &["action police"], ..PAPER };
    let lacking = plan(&lacks, &with(&stream("s", "max-sdu = 100")), 0).unwrap_err().to_string();
    assert!(
        lacking.contains("this machine cannot do policing of streams") && lacking.contains("CONFIG_NET_ACT_POLICE"),
        "{lacking}"
    );
}

#[test]
fn counts_are_those_of_the_actions() {
    let meter = "meter = { rate = \"1Mbit\", burst = 400 }";
    let switch = with(
        &(stream("s", &format!("vlan = 1\nmax-sdu = 100\n{meter}")) + &stream("t", &format!("vlan = 2\n{meter}"))),
    );
    let planned = plan(&PAPER, &switch, 0).unwrap();
    assert!(counts(&PAPER, &switch, &Plan::default()).unwrap().is_empty());
    let police = r#"[{"total acts":3},{"actions":[{"index":40000,"stats":{"packets":9,"drops":2}},
        {"index":40001,"stats":{"packets":7,"drops":3}},{"index":40003,"stats":{"packets":4,"drops":1}}]}]"#;
    let count = |stream: &str, frames, over_sdu, red| StreamCount {
        stream: stream.into(),
        frames,
        over_sdu,
        gate_closed: 0,
        red,
    };
    let counted = counts(&Paper { police, ..PAPER }, &switch, &planned).unwrap();
    assert_eq!(counted, [count("s", 9, 2, 3), count("t", 4, 0, 1)]);
}
