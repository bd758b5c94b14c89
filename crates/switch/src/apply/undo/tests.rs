//! Interfaces that are called otherwise when they are to be as before.

use std::cell::RefCell;

use super::*;
use crate::apply::double::Double;
use crate::features::{Feature, Features};

/// A machine with one interface, and what is done to it.
struct Machine {
    link: String,
    acts: RefCell<Vec<String>>,
}

impl Machine {
    fn with(name: &str, index: u32, address: &str) -> Self {
        let link = format!(
            r#"[{{"ifindex":{index},"ifname":"{name}","address":"{address}","flags":["UP"],"mtu":1500,"link_type":"ether"}}]"#
        );
        Self { link, acts: RefCell::default() }
    }
}

impl Double for Machine {
    fn query(&self, argv: &[&str]) -> Result<String, Refused> {
        assert_eq!(argv, ["ip", "-d", "-j", "link", "show"]);
        Ok(self.link.clone())
    }

    fn act(&self, act: &Act) -> Result<(), Refused> {
        self.acts.borrow_mut().push(act.to_string());
        Ok(())
    }

    fn features(&self, _: &str) -> Result<Features, Refused> {
        Ok([("rx-gro".to_owned(), Feature { active: false, wanted: false, can_change: true })].into())
    }
}

const MAC: &str = "02:00:00:00:00:0a";

fn undo() -> Undo {
    let port = Iface { name: "pa".into(), index: 3, address: Some(MAC.into()) };
    Undo::Features { port, was: vec![("rx-gro".into(), true)] }
}

#[test]
fn an_interface_with_another_name_is_not_gone() {
    let machine = Machine::with("wan0", 3, MAC);
    let why = "it is called wan0 now: ip link set dev wan0 name pa, then revert again";
    assert_eq!(undo().carry_out(&machine), Undone::Refused(why.into()));
    assert!(machine.acts.borrow().is_empty());
    // With its own name again all is put back.
    let machine = Machine::with("pa", 3, MAC);
    assert_eq!(undo().carry_out(&machine), Undone::Restored);
    assert_eq!(machine.acts.borrow().len(), 1);
}

#[test]
fn another_interface_with_its_number_or_its_name_is_not_it() {
    for other in [Machine::with("wan0", 3, "02:00:00:00:00:0b"), Machine::with("pa", 4, MAC)] {
        assert_eq!(undo().carry_out(&other), Undone::Gone);
        assert!(other.acts.borrow().is_empty());
    }
    // An earlier version wrote no address down.
    let old = r#"{"undo":"features","port":{"name":"pa","index":3},"was":[["rx-gro",true]]}"#;
    let old: Undo = serde_json::from_str(old).unwrap();
    assert_eq!(old.carry_out(&Machine::with("wan0", 3, MAC)), Undone::Gone);
}
