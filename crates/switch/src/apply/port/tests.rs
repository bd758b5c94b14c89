//! What of IPv6 somebody gave a port, and what comes back by itself.

use super::*;
use crate::apply::double::Double;

/// A machine with one port, as `ip` shows it.
#[derive(Default)]
struct Machine {
    addresses: &'static str,
    routes: &'static str,
    neighbours: &'static str,
}

impl Double for Machine {
    fn query(&self, argv: &[&str]) -> Result<String, Refused> {
        match argv {
            ["ip", "-j", "addr", "show", "dev", "pa"] => {
                Ok(format!(r#"[{{"ifname":"pa","address":"a6:a1:74:21:be:d7","addr_info":[{}]}}]"#, self.addresses))
            }
            ["ip", "-6", "-j", "route", "show", "table", "all", "dev", "pa"] => Ok(format!("[{}]", self.routes)),
            ["ip", "-6", "-j", "neigh", "show", "dev", "pa", "nud", "permanent"] => Ok(self.neighbours.into()),
            other => panic!("{other:?}"),
        }
    }

    fn read(&self, path: &str) -> Option<String> {
        path.ends_with("/pa/disable_ipv6").then(|| "0".into())
    }
}

/// Why IPv6 cannot be switched off; none if it can.
fn refused(machine: &Machine) -> Option<String> {
    let link = r#"{"ifindex":3,"ifname":"pa","flags":["UP"],"mtu":1500,"link_type":"ether"}"#;
    match no_ipv6(machine, &serde_json::from_str(link).unwrap()) {
        Ok(step) => {
            assert!(step.is_some());
            None
        }
        Err(error) => Some(error.to_string()),
    }
}

fn with_address(addresses: &'static str) -> Option<String> {
    refused(&Machine { addresses, ..Machine::default() })
}

#[test]
fn link_local_addresses_of_the_kernel_come_back_by_themselves() {
    for own in [
        "",
        r#"{"family":"inet6","local":"fe80::a4a1:74ff:fe21:bed7","prefixlen":64,"scope":"link"}"#,
        r#"{"family":"inet6","local":"fe80::9c63:eb73:3de2:92e4","prefixlen":64,"scope":"link","stable-privacy":true}"#,
        r#"{"family":"inet6","local":"fe80::7","prefixlen":64,"scope":"link","protocol":"kernel_ll"}"#,
        r#"{"family":"inet6","local":"fd00::7","prefixlen":64,"scope":"global","dynamic":true}"#,
        r#"{"family":"inet","local":"192.0.2.1","prefixlen":24,"scope":"global"}"#,
    ] {
        assert_eq!(with_address(own), None, "{own}");
    }
}

#[test]
fn addresses_that_somebody_gave_are_named() {
    let given = r#"{"family":"inet6","local":"fe80::1","prefixlen":64,"scope":"link"}"#;
    let why =
        "port pa has the address fe80::1/64, which would be lost: remove it first (ip addr del fe80::1/64 dev pa)";
    assert_eq!(with_address(given).unwrap(), why);
    // Of another port's MAC address.
    let given = r#"{"family":"inet6","local":"fe80::a4a1:74ff:fe21:bed8","prefixlen":64,"scope":"link"}"#;
    assert!(with_address(given).unwrap().contains("fe80::a4a1:74ff:fe21:bed8/64"));
    let given = r#"{"family":"inet6","local":"fd00::7","prefixlen":64,"scope":"global"}"#;
    assert!(with_address(given).unwrap().contains("fd00::7/64"));
}

#[test]
fn routes_that_somebody_gave_are_named() {
    const KERNELS: &str = r#"{"dst":"fe80::/64","protocol":"kernel","metric":256},{"dst":"default","gateway":"fe80::2","protocol":"ra"},
        {"type":"multicast","dst":"ff00::/8","table":"local","protocol":"kernel"}"#;
    assert_eq!(refused(&Machine { routes: KERNELS, ..Machine::default() }), None);
    let why = |routes| refused(&Machine { routes, ..Machine::default() }).unwrap();
    assert_eq!(
        why(r#"{"dst":"fd00:5::/64","gateway":"fe80::99","metric":1024}"#),
        "port pa has the route fd00:5::/64 via fe80::99, which would be lost: remove it first (ip -6 route del fd00:5::/64 via \
         fe80::99 dev pa)"
    );
    let of_table = why(r#"{"dst":"fd00:6::/64","table":"100","protocol":"static"}"#);
    assert!(of_table.contains("ip -6 route del fd00:6::/64 table 100 dev pa"), "{of_table}");
}

#[test]
fn neighbours_that_somebody_gave_are_named() {
    let neighbours = r#"[{"dst":"fe80::99","lladdr":"02:00:00:00:00:99","state":["PERMANENT"]}]"#;
    let said = refused(&Machine { neighbours, ..Machine::default() }).unwrap();
    assert!(
        said.contains("neighbour fe80::99, which would be lost") && said.contains("neigh del fe80::99 dev pa"),
        "{said}"
    );
}
