//! The credit-based shaper of a class (IEEE 802.1Q-2022 clause 8.6.8.2): tc-cbs(8) below the class's queue.

use std::collections::BTreeMap;
use std::time::Duration;

use ontick_tsn::model::{Class, Port, Switch};
use ontick_tsn::schedule::Schedule;
use ontick_tsn::shaper::{Slopes, shaped, unfit};
use ontick_tsn::wire;
use ontick_units::show_bit_rate;

use super::found::PortState;
use super::probe;
use crate::apply::Host;
use crate::qdisc::Cbs;

/// The shapers of a port, by the place of their class in [`Switch::classes`].
pub(super) fn of(host: &impl Host, switch: &Switch, found: &PortState) -> Result<BTreeMap<usize, Cbs>, String> {
    let port = found.port;
    if !port.is_shaped() {
        return Ok(BTreeMap::new());
    }
    probe::cbs(host).required()?;
    // It divides by the rate that the port reports, whatever the file says.
    let Some(rate) = found.rate.or(port.rate) else {
        return Err(format!(
            "port {}: idle-slope needs the rate of the link, which the port does not report: give it a `rate`",
            port.name
        ));
    };
    let reasons = unfit(switch, port, Some(rate));
    if !reasons.is_empty() {
        return Err(format!("port {}: {}", port.name, reasons.join("; ")));
    }
    let one = |(class, slopes): (usize, Slopes)| match Cbs::of(&slopes) {
        cbs if cbs.idle_kbit > 0 => Ok((class, cbs)),
        _ => Err(format!(
            "port {}: `{}` has an idle slope of {}, and the kernel's cbs counts whole kbit/s: raise it, or use the user \
             data plane",
            port.name,
            switch.classes[class].name,
            show_bit_rate(slopes.idle)
        )),
    };
    shaped(switch, port, rate).into_iter().map(one).collect()
}

/// Why the kernel does not hold a port's classes to their idle slopes.
pub fn unshaped(switch: &Switch, port: &Port) -> Option<String> {
    let gates = port.gates.as_ref().filter(|_| port.is_shaped())?;
    let shares = Schedule::new(0, &gates.entries).shares();
    let closes = |(place, class): &(usize, &Class)| {
        let shaped = port.idle_slopes.get(*place).copied().flatten().is_some();
        shaped && shares.open_ns[usize::from(class.queue)] < shares.cycle_ns
    };
    let (_, class) = switch.classes.iter().enumerate().find(closes)?;
    Some(format!(
        "`{}` has an idle slope and a gate that closes, and the kernel's cbs goes on counting while a gate is closed: leave \
         its gate open, or use the user data plane",
        class.name
    ))
}

/// For how long a port with shaped classes may send nothing although frames wait: a class pays for its largest frame.
pub(super) fn longest_pause(port: &Port) -> Duration {
    let slowest = port.idle_slopes.iter().flatten().min().copied().unwrap_or(u64::MAX).max(1);
    Duration::from_secs_f64(3.0 * wire::largest_frame_bits(wire::LARGEST_SDU) as f64 / slowest as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ontick_tsn::config;

    #[test]
    fn the_slowest_class_decides_how_long_a_pause_may_be() {
        let text = "[switch]\nname = \"s\"\nrole = \"station\"\n[[class]]\nname = \"a\"\nqueue = 1\nmatch = [{ pcp = 3 }]\n\
                    [[class]]\nname = \"b\"\nqueue = 0\n[[port]]\nname = \"p\"\n";
        let port = |slopes: &str| config::read(&format!("{text}{slopes}")).unwrap().switch.ports.remove(0);
        assert_eq!(longest_pause(&port("idle-slope = { a = \"12336bit\", b = \"1Mbit\" }")), Duration::from_secs(3));
        assert!(longest_pause(&port("")) < Duration::from_micros(1));
    }
}
