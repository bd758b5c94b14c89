//! What is planned, read back from the commands by a reader of its own.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::paper::{PAPER, Paper, article, class, commands, gates, switch, udp};
use super::*;
use ontick_tsn::model::Base;
use ontick_tsn::model::{Address, CLASSES, Class, Classifier, Forwarding, Gates, Guard, Reserved, Rule, StaticEntry};
use ontick_tsn::schedule::{Schedule, guard_ns, with_guards};

#[test]
fn static_entries_and_ports_that_do_not_flood() {
    let entry = |to: [u8; 6], vlan, ports: &[usize]| StaticEntry { to, vlan, ports: ports.to_vec() };
    let with = |entries: Vec<StaticEntry>, flood| {
        let switch = Switch { forwarding: Forwarding { learning: true, flood, entries }, ..article() };
        plan(&PAPER, &switch, 0)
    };
    let station = [2, 0, 0, 0, 0, 1];
    let planned = with(vec![entry(station, None, &[1])], Some(vec![0])).unwrap();
    let said: Vec<String> = planned.steps.iter().flat_map(|step| &step.acts).map(ToString::to_string).collect();
    let of_b: Vec<&String> = said.iter().filter(|words| words.contains("dev b ") && !words.contains("tc ")).collect();
    let [joined, flags, entries] = of_b[..] else { panic!("{of_b:?}") };
    assert!(joined.ends_with("dev b master br0"), "{joined}");
    assert!(flags.ends_with("type bridge_slave learning off flood off mcast_flood off bcast_flood off"), "{flags}");
    assert_eq!(entries, "bridge fdb add 02:00:00:00:00:01 dev b master static");
    for (entry, why) in [
        (entry(station, Some(7), &[1]), "without VLANs"),
        (entry([1, 0, 0x5e, 0, 0, 1], None, &[1]), "looks groups of IP up by their IP address"),
        (entry([0x33, 0x33, 0, 0, 0, 1], None, &[1]), "looks groups of IP up by their IP address"),
        (entry(station, None, &[0, 1]), "one port for each address"),
    ] {
        let said = with(vec![entry], None).unwrap_err().to_string();
        assert!(said.contains(why) && said.contains("plane = \"user\""), "{said}");
    }
}

#[test]
fn groups_have_their_entries_once_the_bridge_is_on() {
    let entries = vec![StaticEntry { to: [3, 0, 0, 0, 0, 1], vlan: None, ports: vec![0, 1] }];
    let planned = |entries| {
        let forwarding = Forwarding { learning: true, flood: None, entries };
        plan(&PAPER, &Switch { forwarding, ..article() }, 0).unwrap()
    };
    let with = planned(entries);
    let said = commands(&with);
    let at = |words: &str| said.iter().position(|command| command.contains(words)).unwrap_or_else(|| panic!("{words}"));
    for port in ["a", "b"] {
        let add = format!("bridge mdb add dev br0 port {port} grp 03:00:00:00:00:01 permanent");
        assert!(at("ip link set dev br0 up") < at("mcast_snooping 1") && at("mcast_snooping 1") < at(&add));
        assert!(at(&format!("dev {port} type bridge_slave mcast_router 0")) < at("ip link set dev br0 up"));
    }
    assert!(with.notes.iter().any(|note| note.contains("not IP")), "{:?}", with.notes);
    let without = commands(&planned(Vec::new()));
    assert!(without.iter().all(|command| !command.contains("mdb") && !command.contains("mcast_router")), "{without:?}");
}

const ARTICLE: &str = "tc qdisc replace dev enp2s0f1 parent root handle 100 taprio num_tc 2 \
    map 1 0 1 1 1 1 1 1 1 1 1 1 1 1 1 1 queues 1@0 1@1 base-time 1554445635681310809 \
    sched-entry S 01 800000 sched-entry S 02 200000 clockid CLOCK_TAI";

/// What a taprio command says.
#[derive(Debug, PartialEq)]
struct TaprioCommand {
    map: Vec<usize>,
    queues: Vec<String>,
    base_ns: u64,
    entries: Vec<(u32, u64)>,
    clock: String,
}

fn parse_taprio(command: &str) -> TaprioCommand {
    let words: Vec<&str> = command.split_whitespace().collect();
    let after = |key: &str| words.iter().position(|word| *word == key).map(|at| &words[at + 1..]).unwrap();
    let classes: usize = after("num_tc")[0].parse().unwrap();
    let entries = words.iter().enumerate().filter(|(_, word)| **word == "sched-entry").map(|(at, _)| {
        assert_eq!(words[at + 1], "S");
        (u32::from_str_radix(words[at + 2], 16).unwrap(), words[at + 3].parse().unwrap())
    });
    TaprioCommand {
        map: after("map")[..16].iter().map(|class| class.parse().unwrap()).collect(),
        queues: after("queues")[..classes].iter().map(|queue| (*queue).to_owned()).collect(),
        base_ns: after("base-time")[0].parse().unwrap(),
        entries: entries.collect(),
        clock: after("clockid")[0].to_owned(),
    }
}

/// The gate of frames with a priority, at an offset into the cycle.
fn is_open(reported: &TaprioCommand, priority: u8, mut offset_ns: u64) -> bool {
    for (mask, for_ns) in &reported.entries {
        if offset_ns < *for_ns {
            return mask & (1 << reported.map[usize::from(priority)]) != 0;
        }
        offset_ns -= for_ns;
    }
    panic!("the offset is beyond the cycle")
}

fn only<'a>(commands: &'a [String], parts: &[&str]) -> &'a str {
    let all: BTreeMap<&str, ()> = commands
        .iter()
        .filter(|command| parts.iter().all(|part| command.contains(part)))
        .map(|command| (command.as_str(), ()))
        .collect();
    assert_eq!(all.len(), 1, "{parts:?} in {commands:#?}");
    all.into_keys().next().unwrap()
}

/// The priority that flower gives frames to this port of UDP.
fn priority_of(commands: &[String], port: &str, to: u16) -> u8 {
    let filter = only(commands, &[&format!("dev {port} egress"), "protocol ip flower", &format!("dst_port {to} ")]);
    u8::from_str_radix(filter.rsplit("0:").next().unwrap(), 16).unwrap()
}

#[test]
fn a_list_that_is_too_long_for_tc_goes_to_the_kernel_itself() {
    let of = |entries: usize| {
        let mut switch = article();
        let windows: Vec<(u16, u64)> = (0..entries).map(|i| (1 << (i % 2), 10_000)).collect();
        switch.ports[1].gates = Some(gates(&windows, Guard::None));
        commands(&plan(&PAPER, &switch, 0).unwrap())
    };
    let by_netlink = |commands: &[String]| commands.iter().filter(|words| words.contains("# by rtnetlink")).count();
    assert_eq!(by_netlink(&of(20)), 0);
    let long = of(40);
    // When it is set, and again after its children.
    assert_eq!(by_netlink(&long), 2, "{long:#?}");
    assert_eq!(parse_taprio(only(&long, &["dev b", "taprio"])).entries.len(), 40);
}

/// Which tc shows by no word.
#[test]
fn the_largest_service_data_unit_goes_to_the_kernel_itself() {
    let mut limited = article();
    limited.ports[1].max_sdu = vec![Some(300), None];
    let said = commands(&plan(&PAPER, &limited, 0).unwrap());
    let gates = only(&said, &["dev b", "taprio"]);
    assert!(gates.contains(" max-sdu 300 0") && gates.ends_with("# by rtnetlink"), "{gates}");
    let old = plan(&Paper { release: "5.15.0-91-generic", ..PAPER }, &limited, 0).unwrap();
    assert!(old.notes.iter().any(|note| note.contains("this kernel does not know max-sdu (Linux 6.1 does)")));
    assert!(!commands(&old).iter().any(|command| command.contains("max-sdu")));
}

#[test]
fn the_article_s_commands_have_the_article_s_schedule() {
    let theirs = parse_taprio(ARTICLE);
    let plan = plan(&PAPER, &article(), 0).unwrap();
    let commands = commands(&plan);
    let ours = parse_taprio(only(&commands, &["dev b", "taprio"]));
    assert_eq!(
        (ours.base_ns, &ours.entries, &ours.queues, &ours.clock),
        (theirs.base_ns, &theirs.entries, &theirs.queues, &theirs.clock)
    );
    // There, blue gets priority 1 and red priority 0; here red gets one that no program has by itself.
    let red = priority_of(&commands, "b", 7777);
    for offset_ns in (0..1_000_000).step_by(1_000) {
        assert_eq!(is_open(&ours, red, offset_ns), is_open(&theirs, 0, offset_ns));
        assert_eq!(is_open(&ours, 0, offset_ns), is_open(&theirs, 1, offset_ns));
    }
}

#[test]
fn reserved_addresses_are_forwarded_as_far_as_the_bridge_can() {
    let switch = |name: &str| {
        let group = Reserved::GROUPS.into_iter().find(|(group, _)| *group == name).unwrap().1;
        Switch { forward_reserved: group, ..article() }
    };
    let made = |name: &str| commands(&plan(&PAPER, &switch(name), 0).unwrap()).swap_remove(2);
    assert!(made("lldp").ends_with("mcast_snooping 0 group_fwd_mask 16384"), "{}", made("lldp"));
    assert!(made("bpdu").ends_with("mcast_snooping 0"), "the kernel does so by itself");
    let refused = plan(&PAPER, &switch("slow"), 0).unwrap_err().to_string();
    assert!(refused.contains("slow protocols"), "{refused}");
}

#[test]
fn the_whole_plan_can_be_read() {
    let plan = plan(&PAPER, &article(), 0).unwrap();
    let text: Vec<String> = plan.steps.iter().map(|step| step.what.clone()).collect();
    assert_eq!(
        text,
        [
            "port a: no offloads that merge frames",
            "port b: no offloads that merge frames",
            "bridge br0",
            "port a: into bridge br0",
            "port b: into bridge br0",
            "port a: frames get their class (tc flower)",
            "port b: frames get their class (tc flower)",
            "port a: strict priority (prio)",
            "port b: gates (taprio)",
            "bridge br0: on",
        ]
    );
    let commands = commands(&plan);
    assert_eq!(commands[0], "ethtool -K a rx-gro off tx-tcp-segmentation off");
    assert_eq!(commands[2], "ip link add name br0 index 8 type bridge stp_state 0 ageing_time 30000 mcast_snooping 0");
    assert_eq!(commands.last().unwrap(), "ip link set dev br0 up");
    let taprio: Vec<usize> = (0..commands.len()).filter(|i| commands[*i].contains("taprio")).collect();
    let clsact = commands.iter().position(|command| command.contains("dev b clsact")).unwrap();
    let child = commands.iter().rposition(|command| command.contains("dev b parent a100:")).unwrap();
    assert!(clsact < taprio[0] && taprio[0] < child && child < taprio[1], "{commands:#?}");
}

#[test]
fn what_cannot_be_is_said() {
    let why = |host: &Paper, switch: &Switch| plan(host, switch, 0).unwrap_err().to_string();
    let said = why(&Paper { queues: 1, ..PAPER }, &article());
    assert_eq!(said, "port b has one transmit queue, and taprio needs one for each class: use the user data plane");
    let three =
        (0..3).map(|queue| class("c", queue, if queue == 0 { vec![] } else { vec![udp(queue.into())] })).collect();
    let said = why(&Paper { queues: 2, ..PAPER }, &switch(three, Some(gates(&[(7, 1_000_000)], Guard::None))));
    assert!(said.contains("has 2 transmit queues, and the switch has 3 classes"), "{said}");
    let said = why(&Paper { lacks: &["taprio"], ..PAPER }, &article());
    assert!(said.contains("CONFIG_NET_SCH_TAPRIO") && said.contains("user data plane"), "{said}");
    let mut both = article();
    both.ports[0].gates = both.ports[1].gates.clone();
    assert_eq!(why(&Paper { lacks: &["taprio"], ..PAPER }, &both), said, "once for all ports");
    let said = why(&Paper { lacks: &["flower"], ..PAPER }, &article());
    assert!(said.contains("CONFIG_NET_CLS_FLOWER"), "{said}");
    let root = r#"[{"kind":"fq_codel","handle":"8001:","root":true}]"#;
    let said = why(&Paper { root, ..PAPER }, &article());
    assert!(said.contains("somebody set up (fq_codel, handle 8001:)"), "{said}");
    let said = why(&Paper { master: r#","master":"bond0""#, ..PAPER }, &article());
    assert!(said.contains("port a belongs to bond0") && said.contains("port b belongs to bond0"), "{said}");
    let mut other = article();
    other.ports[1].name = "c".into();
    assert_eq!(why(&PAPER, &other), "there is no port c (ip link shows those that there are)");
    let mut long = article();
    long.ports[1].gates = Some(gates(&[(1, 3_000_000_000)], Guard::None));
    assert!(why(&PAPER, &long).contains("longer than taprio can count"));
    let mut many = article();
    many.ports[1].gates = Some(gates(&[(1, 2_000), (2, 2_000)].repeat(300), Guard::None));
    assert!(why(&PAPER, &many).contains("600 entries, guard bands included"), "{}", why(&PAPER, &many));
    // A guard that ends just before the window does leaves a sliver.
    let mut short = article();
    short.ports[1].gates = Some(gates(&[(1, 800_000), (2, 200_000)], Guard::Fixed(199_900)));
    let said = why(&PAPER, &short);
    assert!(said.contains("guard bands leave an entry of 100 ns") && said.contains("480 ns"), "{said}");
}

#[test]
fn another_classifier_is_taken_where_one_is_missing() {
    let mut switch = article();
    switch.classifier = Classifier::Auto;
    let steps = |host: &Paper| plan(host, &switch, 0).unwrap().steps;
    let has = |steps: &[Step], what: &str| steps.iter().any(|step| step.what.contains(what));
    assert!(has(&steps(&PAPER), "tc flower"));
    assert!(has(&steps(&Paper { lacks: &["flower"], ..PAPER }), "nft, bridge family"));
    let steps = steps(&Paper { lacks: &["flower", "table bridge"], ..PAPER });
    assert!(has(&steps, "(iptables)") && has(&steps, "(ip6tables)"));
    let plan = Plan { steps, ..Plan::default() };
    let rule = "iptables -w -t mangle -A ontick-br0 -o br0 -p udp --dport 7777 -j CLASSIFY --set-class 0:f";
    assert!(commands(&plan).iter().any(|command| command == rule), "{:#?}", commands(&plan));
    let to = Some(Address { bytes: [1; 6], mask: [255; 6] });
    switch.classes[1].rules.push(Rule { to, ..Rule::default() });
    let said = super::plan(&Paper { lacks: &["flower", "table bridge"], ..PAPER }, &switch, 0).unwrap_err().to_string();
    assert!(said.contains("iptables does not look at MAC addresses"), "{said}");
}

#[test]
fn the_next_second_leaves_time() {
    for (now_ns, base) in [(0, 2), (400_000_000, 2), (500_000_000, 2), (500_000_001, 3), (1_999_999_999, 4)] {
        assert_eq!(gates::base_ns(Base::NextSecond, gates::When::Now(now_ns)), base * 1_000_000_000);
    }
}

fn any_switch() -> impl Strategy<Value = Switch> {
    let entries = prop::collection::vec((any::<u16>(), 100_000u64..1_000_000), 1..6);
    let guard =
        prop_oneof![Just(Guard::None), (1u64..20).prop_map(|us| Guard::Fixed(us * 1_000)), Just(Guard::LargestFrame)];
    let queues = prop::sample::subsequence((0u8..16).collect::<Vec<_>>(), 1..=16).prop_shuffle();
    let claims = prop::collection::vec(any::<bool>(), 16);
    let counts = prop::collection::vec(1u8..=4, 16);
    (entries, guard, queues, claims, counts).prop_map(|(entries, guard, queues, claims, counts)| {
        // Each claim takes a priority that the classifier cannot give; the class of all others has 0 at least.
        let claimed = |i: usize| claims[i] && i + queues.len() <= 15 && queues[i] > 0;
        let rules = |i: usize, queue: u8| match i {
            0 => vec![],
            _ if claimed(i) => {
                vec![Rule { socket_priority: Some(queue), ..Rule::default() }, udp(1000 + u16::from(queue))]
            }
            _ => vec![udp(1000 + u16::from(queue))],
        };
        let classes: Vec<Class> =
            queues.iter().enumerate().map(|(i, queue)| class(&format!("c{queue}"), *queue, rules(i, *queue))).collect();
        let mut switch = switch(classes, Some(gates(&entries, guard)));
        switch.ports[1].transmit_queues = counts[..queues.len()].to_vec();
        switch
    })
}

proptest! {
    #[test]
    fn commands_say_what_the_model_says(switch in any_switch(), old in any::<bool>()) {
        let host = Paper { release: if old { "6.1.0" } else { "6.12.95" }, queues: 64, ..PAPER };
        let Ok(plan) = plan(&host, &switch, 0) else {
            // Only slivers beside guard bands may be refused.
            prop_assert!(switch.ports[1].gates.as_ref().unwrap().guard != Guard::None);
            return Ok(());
        };
        let commands = commands(&plan);
        let ours = parse_taprio(only(&commands, &["dev b", "taprio"]));
        let Gates { entries, guard, .. } = switch.ports[1].gates.clone().unwrap();
        let guards = [guard_ns(guard, 1500, 1_000_000_000); CLASSES];
        let wanted = Schedule::new(0, &with_guards(&entries, &guards));
        let plain = Schedule::new(0, &entries);
        // Each transmit queue belongs to one class, has its own queueing discipline, and is counted by that class.
        let lanes = lanes_of(&host, &switch, &switch.ports[1]).unwrap();
        let mut next = 0;
        prop_assert_eq!(ours.queues.len(), switch.classes.len());
        for (queues, lane) in ours.queues.iter().zip(&lanes.lanes) {
            let (count, first) = queues.split_once('@').unwrap();
            prop_assert_eq!(first.parse::<u16>().unwrap(), next);
            prop_assert_eq!(count.parse::<u8>().unwrap(), switch.ports[1].transmit_queues[lane.class]);
            next += count.parse::<u16>().unwrap();
        }
        for queue in 1..=next {
            only(&commands, &["dev b", &format!("parent a100:{queue:x} handle a1{queue:02x}: pfifo")]);
        }
        for class in &switch.classes {
            let mut priorities: Vec<u8> = class.rules.iter().filter_map(|rule| rule.socket_priority).collect();
            match class.rules.is_empty() {
                // Whatever nobody claims.
                true => {
                    let of_others = switch.classes.iter().filter(|other| !other.rules.is_empty());
                    let given: Vec<u8> =
                        of_others.map(|other| priority_of(&commands, "b", 1000 + u16::from(other.queue))).collect();
                    let claimed = |p: &u8| switch.classes.iter().flat_map(|c| &c.rules).any(|r| r.socket_priority == Some(*p));
                    priorities.extend((0..16u8).filter(|p| !claimed(p) && !given.contains(p)));
                    prop_assert!(priorities.contains(&0), "what nobody has classified has priority 0");
                }
                false => priorities.push(priority_of(&commands, "b", 1000 + u16::from(class.queue))),
            }
            let schedule = if guard == Guard::None { &plain } else { &wanted };
            for priority in priorities {
                for offset_ns in (0..schedule.cycle_ns()).step_by(3_331) {
                    let open = schedule.at(offset_ns).open & (1 << class.queue) != 0;
                    prop_assert_eq!(is_open(&ours, priority, offset_ns), open, "class {} at {}", class.name, offset_ns);
                }
            }
            // Which goes first: by traffic class since 6.3, by the lowest transmit queue before.
            for other in switch.classes.iter().filter(|other| other.queue < class.queue) {
                let place = |class: &Class| {
                    let lanes = lanes_of(&host, &switch, &switch.ports[1]).unwrap();
                    lanes.lanes.iter().position(|lane| switch.classes[lane.class].name == class.name).unwrap()
                };
                prop_assert_eq!(place(class) > place(other), !old);
            }
        }
    }
}
