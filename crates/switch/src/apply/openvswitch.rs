//! What Open vSwitch's database and its bridges hold, as its own programs show it.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{Act, Host, Refused, parsed};

/// The key of a bridge's `external_ids` by which ontick knows its own.
pub(crate) const OWNER: &str = "ontick";
/// The kernel's datapath is the master of all its ports, whatever bridge they are in.
pub(crate) const MASTER: &str = "ovs-system";
/// How long a change may take until `ovs-vswitchd` has made it; without it `ovs-vsctl` waits for ever.
const CHANGE: &str = "--timeout=10";
/// How long a look may take; it does not wait for `ovs-vswitchd`.
const LOOK: [&str; 3] = ["ovs-vsctl", "--timeout=5", "--no-wait"];

/// A change of the database.
pub(crate) fn change(words: &str) -> Act {
    Act::run(format!("ovs-vsctl {CHANGE} {words}"))
}

/// Bridges by name, each with the owner in its `external_ids`.
pub(crate) fn bridges(host: &impl Host) -> Result<BTreeMap<String, Option<String>>, Refused> {
    let row = |row: &Value| {
        let ids = row[1][1].as_array()?;
        let owner = ids.iter().find(|pair| pair[0] == OWNER).and_then(|pair| pair[1].as_str());
        Some((row[0].as_str()?.to_owned(), owner.map(str::to_owned)))
    };
    Ok(table(host, "name,external_ids", "bridge")?.iter().filter_map(row).collect())
}

/// Whether there is a bridge of this name that ontick made.
pub(crate) fn is_ours(host: &impl Host, bridge: &str) -> Result<bool, Refused> {
    Ok(bridges(host)?.get(bridge).is_some_and(|owner| owner.as_deref() == Some(bridge)))
}

/// The bridge that a port belongs to.
pub(crate) fn bridge_of(host: &impl Host, port: &str) -> Result<Option<String>, Refused> {
    let all = table(host, "name", "port")?;
    if !all.iter().any(|row| row[0] == port) {
        return Ok(None);
    }
    let argv = [&LOOK[..], &["port-to-br", port]].concat();
    host.query(&argv).map(|bridge| Some(bridge.trim().to_owned()))
}

/// Numbers of the interfaces that are really there, by name.
pub(crate) fn interfaces(host: &impl Host) -> Result<BTreeMap<String, u64>, Refused> {
    let row = |row: &Value| {
        // A negative number, or none: it could not be opened.
        row[2].as_i64().filter(|number| *number >= 0)?;
        Some((row[0].as_str()?.to_owned(), row[1].as_u64()?))
    };
    Ok(table(host, "name,ifindex,ofport", "interface")?.iter().filter_map(row).collect())
}

/// Cookies of a bridge's flows in ascending order, each with the queue that its flow sets.
pub(crate) fn flows(host: &impl Host, bridge: &str) -> Result<Vec<(u64, Option<u8>)>, Refused> {
    let text = host.query(&["ovs-ofctl", "--timeout=5", "dump-flows", bridge])?;
    let mut all: Vec<_> = text.lines().filter_map(flow).collect();
    all.sort_unstable();
    Ok(all)
}

fn flow(line: &str) -> Option<(u64, Option<u8>)> {
    let number = |text: &str| -> String { text.chars().take_while(char::is_ascii_alphanumeric).collect() };
    let cookie = number(line.trim().strip_prefix("cookie=0x")?);
    let queue = line.split("set_queue:").nth(1).and_then(|rest| number(rest).parse().ok());
    Some((u64::from_str_radix(&cookie, 16).ok()?, queue))
}

fn table(host: &impl Host, columns: &str, table: &str) -> Result<Vec<Value>, Refused> {
    let columns = format!("--columns={columns}");
    let argv = [&LOOK[..], &["--format=json", &columns, "list", table]].concat();
    let text = host.query(&argv)?;
    // An empty table is no text at all in some versions.
    let text = if text.trim().is_empty() { "{}" } else { &text };
    let shown: Value = parsed(&argv, text)?;
    Ok(shown["data"].as_array().cloned().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_are_known_by_cookie_and_queue() {
        let line = " cookie=0xa1000001, duration=0.026s, table=0, n_packets=0, priority=60000,udp,tp_dst=7777 \
                    actions=set_queue:14,resubmit(,1)";
        assert_eq!(flow(line), Some((0xa100_0001, Some(14))));
        assert_eq!(flow(" cookie=0xa2, table=1, priority=0 actions=NORMAL"), Some((0xa2, None)));
        assert_eq!(flow("NXST_FLOW reply (xid=0x4):"), None);
    }
}
