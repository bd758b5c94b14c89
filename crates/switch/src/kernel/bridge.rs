//! The kernel's bridge: it forwards only once everything else is in place.

use crate::apply::{Act, Expect, Iface, Link, Step, Undo};
use ontick_tsn::bridge_entry::{is_group, unfit_for_kernel};
use ontick_tsn::config::show_mac;
use ontick_tsn::model::{Bridge, Forwarding, SpanningTree, Switch};

/// Hundredths of a second.
const TICK_NS: u64 = 10_000_000;
/// Groups that the kernel's bridge has room for by default; where they are more, it looks none up.
const LEAST_GROUPS: usize = 4_096;
/// Addresses that `group_fwd_mask` does not reach: spanning tree, flow control, slow protocols.
pub(super) const KERNEL_DECIDES: u16 = 0b111;

/// Makes the bridge, still switched off.
pub(super) fn make(switch: &Switch, links: &[Link]) -> Step {
    let name = &switch.name;
    // A number of our own choice, so that what is removed later can only be what was made here.
    let index = links.iter().map(|link| link.index).max().unwrap_or(0) + 1;
    let mut words = format!(
        "ip link add name {name} index {index} type bridge stp_state {} ageing_time {} mcast_snooping 0",
        u8::from(matches!(switch.stp, SpanningTree::Stp(_))),
        switch.ageing_ns / TICK_NS
    );
    if let SpanningTree::Stp(priority) = switch.stp {
        words += &format!(" priority {}", priority.number());
    }
    // Without the protocol the kernel forwards those of the spanning tree in any case, and takes no mask for them.
    let mask = switch.forward_reserved.mask() & !KERNEL_DECIDES;
    if mask != 0 {
        words += &format!(" group_fwd_mask {mask}");
    }
    Step::new(format!("bridge {name}"))
        .undo(Undo::Bridge { bridge: Iface::made(name, index) })
        .act(Act::run(words))
        .expect(Expect::Bridge { bridge: name.clone() })
}

/// Puts a port into it.
pub(super) fn join(switch: &Switch, link: &Link) -> Step {
    let (port, bridge) = (Iface::from(link), switch.name.clone());
    let step = Step::of(&port.name, format!("into bridge {bridge}"))
        .act(Act::run(format!("ip link set dev {} master {bridge}", port.name)));
    // All of it goes with the port's place in the bridge.
    forwarding(switch, &port.name)
        .into_iter()
        .fold(step, |step, words| step.act(Act::run(words)))
        .undo(Undo::Released { port: port.clone(), bridge: bridge.clone() })
        .expect(Expect::In { port: port.name, bridge })
}

/// What a port is to do with frames that have no entry, and the entries that lead to it.
fn forwarding(switch: &Switch, port: &str) -> Vec<String> {
    let Some(place) = switch.ports.iter().position(|of| of.name == port) else { return Vec::new() };
    let Forwarding { learning, flood, entries } = &switch.forwarding;
    let floods = flood.as_ref().is_none_or(|flood| flood.contains(&place));
    let mut words = Vec::new();
    if !floods {
        words.push(format!(
            "ip link set dev {port} type bridge_slave learning off flood off mcast_flood off bcast_flood off"
        ));
    } else if !learning {
        words.push(format!("ip link set dev {port} type bridge_slave learning off"));
    }
    // Frames of a group would also leave by each port behind which a multicast router is detected.
    if has_groups(switch) {
        words.push(format!("ip link set dev {port} type bridge_slave mcast_router 0"));
    }
    let here = entries.iter().filter(|entry| !is_group(entry.to) && entry.ports == [place]);
    words.extend(here.map(|entry| format!("bridge fdb add {} dev {port} master static", show_mac(entry.to))));
    words
}

fn has_groups(switch: &Switch) -> bool {
    switch.forwarding.entries.iter().any(|entry| is_group(entry.to))
}

/// The entries of groups that lead to a port. The bridge takes them only while it is on.
pub(super) fn groups(switch: &Switch, link: &Link) -> Option<Step> {
    let (port, bridge) = (Iface::from(link), switch.name.clone());
    let place = switch.ports.iter().position(|of| of.name == port.name)?;
    let all = || switch.forwarding.entries.iter().filter(|entry| is_group(entry.to));
    let groups: Vec<String> =
        all().filter(|entry| entry.ports.contains(&place)).map(|entry| show_mac(entry.to)).collect();
    if groups.is_empty() {
        return None;
    }
    let most = all().count().next_power_of_two().max(LEAST_GROUPS) * 2;
    // Without a querier the bridge forwards IP groups as before; an interval of zero forgets those that it meets.
    let look_up = format!(
        "ip link set dev {bridge} type bridge mcast_hash_max {most} mcast_router 0 mcast_querier_interval 0 mcast_snooping 1"
    );
    let step = Step::of(&port.name, "group addresses").act(Act::run(look_up));
    let add =
        |group: &String| Act::run(format!("bridge mdb add dev {bridge} port {} grp {group} permanent", port.name));
    let step = groups.iter().map(add).fold(step, Step::act);
    Some(
        step.undo(Undo::Groups { port: port.clone(), bridge: bridge.clone(), groups: groups.clone() })
            .expect(Expect::Groups { port: port.name, bridge: bridge.clone(), groups }),
    )
}

/// What entries of groups do not hold for.
pub(super) fn groups_note(switch: &Switch) -> Option<String> {
    has_groups(switch).then(|| {
        "[[forward]] to groups holds for frames that are not IP: the kernel's bridge looks groups of IP up by their IP \
         address, and sends those to all ports that flood (plane = \"user\" forwards them by their entry)"
            .into()
    })
}

/// What of a switch's static entries the kernel's bridge cannot do.
pub fn unfit(switch: &Switch) -> Vec<String> {
    if switch.bridge != Bridge::Linux {
        return Vec::new();
    }
    let entries = switch.forwarding.entries.iter();
    let why = entries.filter_map(|entry| Some((show_mac(entry.to), unfit_for_kernel(entry)?)));
    let mut reasons: Vec<String> = Vec::new();
    if switch.forward_reserved.names().any(|group| group == "slow") {
        reasons.push("forward-reserved: the kernel's bridge keeps slow protocols to itself (plane = \"user\")".into());
    }
    let why: Vec<(String, &str)> = why.collect();
    if let Some((first, reason)) = why.first() {
        let more = if why.len() > 1 { format!(" (and {} more)", why.len() - 1) } else { String::new() };
        reasons.push(format!("[[forward]] to {first}{more} is the user data plane's: {reason} (plane = \"user\")"));
    }
    reasons
}

/// Switches it on.
pub(super) fn start(switch: &Switch) -> Step {
    let name = switch.name.clone();
    Step::new(format!("bridge {name}: on"))
        .act(Act::run(format!("ip link set dev {name} up")))
        .expect(Expect::Up { port: name })
}
