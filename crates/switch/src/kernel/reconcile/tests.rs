//! Ports that go and come back, and keepers that are killed.

#[path = "../../../../undo/tests/kill/mod.rs"]
mod kill;

use std::sync::Arc;

use kill::{Kill, Manner, Step, at_each_step};

use super::*;
use crate::apply::{Act, Live, Refused, apply, differences, links, revert};
use crate::ethtool::mac_merge;
use crate::features::Features;
use crate::kernel;
use crate::user::testbed::{locked, until};
use crate::verify::namespace::{Namespace, NamespaceError};

const FILE: &str = r#"
[switch]
name = "cell4"
plane = "kernel"
[[class]]
name = "all"
queue = 0
[[port]]
name = "p1"
[[port]]
name = "p2"
[[forward]]
to = "03:00:00:00:00:01"
ports = ["p2"]
"#;

/// Everything that a switch changes at a port.
fn state(port: &str) -> String {
    let look = |argv: &[&str]| Live.query(argv).unwrap();
    let link = links(&Live).unwrap().into_iter().find(|link| link.name == port).unwrap();
    let qdisc = look(&["tc", "-j", "qdisc", "show", "dev", port]);
    format!("{} {:?} {} {:?}", link.is_up(), link.master, qdisc, Live.features(port).unwrap())
}

fn make(network: &Namespace, port: &str, other: &str) {
    network.ip(&["link", "add", port, "type", "veth", "peer", "name", other]).unwrap();
    network.ip(&["link", "set", other, "up"]).unwrap();
}

/// A switch of p1 and p2 in a new network namespace, set up; p2 deleted since and made anew.
fn with_a_port_made_anew(test: impl FnOnce(&SwitchDir, &Switch) + Send) {
    let network = match Namespace::new() {
        Ok(network) => network,
        Err(NamespaceError::Privilege(what)) => return ontick_skip::skipped!("{what} needs root"),
        Err(error) => panic!("{error}"),
    };
    make(&network, "p1", "q1");
    make(&network, "p2", "q2");
    network
        .within(|| {
            let place = tempfile::tempdir().unwrap();
            let folder = SwitchDir::of("cell4", Some(place.path())).unwrap();
            let switch = ontick_tsn::config::read(FILE).unwrap().switch;
            let plan = kernel::plan(&Live, &switch, 0).unwrap();
            apply(&Live, &folder, &locked(&folder), &plan, FILE).unwrap();
            let run = |words: &str| Live.act(&Act::run(words)).unwrap();
            run("ip link delete dev p2");
            run("ip link add p2 type veth peer name q2");
            run("ip link set dev q2 up");
            // A port that was never on has no queueing discipline, which is not to be had again.
            run("ip link set dev p2 up");
            run("ip link set dev p2 down");
            test(&folder, &switch);
        })
        .unwrap();
}

/// No event tells of it: the keeper looks, and finds another interface of the same name.
#[test]
fn a_port_deleted_and_made_anew_is_changed_only_with_a_journal_entry() {
    with_a_port_made_anew(|folder, switch| {
        let fresh = state("p2");
        let (options, mut said) = (Options::default(), Vec::new());
        let mut tell = |sentence: &str| said.push(sentence.to_owned());
        let plan = folder.plan().unwrap();
        let mut keeper = Keeper::new(&Live, folder, switch, plan, &options, &mut tell);
        keeper.reissue_soon("p2");
        until_set_up(&mut keeper);
        let plan = folder.plan().unwrap();
        assert_eq!(differences(&Live, plan.steps.iter().flat_map(|step| &step.expects)), []);
        // Looked at again, it is the port that was set up.
        keeper.look_at = Instant::now();
        assert!(!keeper.service() && keeper.replaced().unwrap().is_empty());
        assert_eq!(said, ["port p2 is back, and set up again"]);
        assert_ne!(state("p2"), fresh);

        let reverted = revert(&Live, folder, &locked(folder)).unwrap().unwrap();
        assert!(reverted.complete(), "{reverted:?}");
        assert!(state("p2") == fresh, "{}\n{fresh}", state("p2"));
        // Nothing of it is in the way of the next.
        let plan = kernel::plan(&Live, switch, 0).unwrap();
        apply(&Live, folder, &locked(folder), &plan, FILE).unwrap();
        revert(&Live, folder, &locked(folder)).unwrap();
    });
}

/// Another try is made where the lock is held.
fn until_set_up<H: Host>(keeper: &mut Keeper<H>) {
    until("the port is set up again", || !keeper.service() && keeper.replaced().unwrap().is_empty());
}

/// The machine, on which the process ends with some change: before it is made, or right after.
struct Killed(Arc<Kill>);

impl Killed {
    const WORDS: &str = "killed here";
}

impl Host for Killed {
    fn query(&self, argv: &[&str]) -> Result<String, Refused> {
        Live.query(argv)
    }

    fn try_out(&self, argv: &[&str], input: &str) -> Result<String, Refused> {
        Live.try_out(argv, input)
    }

    fn read(&self, path: &str) -> Option<String> {
        Live.read(path)
    }

    fn features(&self, port: &str) -> Result<Features, Refused> {
        Live.features(port)
    }

    fn mac_merge(&self, port: &str) -> Result<mac_merge::State, Refused> {
        Live.mac_merge(port)
    }

    fn transmit_queues(&self, port: &str) -> Option<u32> {
        Live.transmit_queues(port)
    }

    fn rate(&self, port: &str) -> Option<u64> {
        Live.rate(port)
    }

    fn driver(&self, port: &str) -> Option<String> {
        Live.driver(port)
    }

    fn act(&self, act: &Act) -> Result<(), Refused> {
        let step = self.0.step();
        let done = if matches!(step, Step::Made | Step::Last(Manner::After)) { Live.act(act) } else { Ok(()) };
        if step != Step::Made {
            std::panic::resume_unwind(Box::new(Self::WORDS));
        }
        done
    }
}

/// A keeper at work on the port, until that is done or it is killed.
fn keep_until(kill: &Arc<Kill>, folder: &SwitchDir, switch: &Switch) {
    let host = Killed(kill.clone());
    let options = Options::default();
    let work = std::panic::AssertUnwindSafe(|| {
        let mut silent = |_: &str| {};
        let mut keeper = Keeper::new(&host, folder, switch, folder.plan().unwrap(), &options, &mut silent);
        until_set_up(&mut keeper);
    });
    if let Err(why) = std::panic::catch_unwind(work) {
        if why.downcast_ref() != Some(&Killed::WORDS) {
            std::panic::resume_unwind(why);
        }
    }
}

/// Between a journal's entry and its change, and between two changes of one entry.
#[test]
fn a_keeper_killed_while_it_sets_a_returned_port_up_is_undone_exactly() {
    let mut is_possible = false;
    let changes = at_each_step(&Manner::AROUND, |kill| {
        with_a_port_made_anew(|folder, switch| {
            is_possible = true;
            let fresh = state("p2");
            keep_until(kill, folder, switch);
            let reverted = revert(&Live, folder, &locked(folder)).unwrap().unwrap();
            assert!(reverted.complete() && reverted.damage.is_empty(), "{kill}: {reverted:?}");
            assert!(state("p2") == fresh, "{kill}: {}\n{fresh}", state("p2"));
            assert!(links(&Live).unwrap().iter().all(|link| link.name != "cell4"), "{kill}");
            // The same as if nothing had been.
            let plan = kernel::plan(&Live, switch, 0).unwrap();
            apply(&Live, folder, &locked(folder), &plan, FILE).unwrap();
            assert!(revert(&Live, folder, &locked(folder)).unwrap().unwrap().complete());
            assert!(state("p2") == fresh, "applied after {kill}: {}\n{fresh}", state("p2"));
        });
    });
    assert!(changes > 0 || !is_possible, "no change was made to the port");
    println!("killed at each of {changes} changes");
}
