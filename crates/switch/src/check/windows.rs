//! Whether each class has a window that the data plane which was chosen can send a frame through.

use ontick_record::{Finding, Severity};
use ontick_units::exact;

use super::finding;
use ontick_tsn::config::Terms;
use ontick_tsn::egress::{Calibration, DataPlane, EgressTiming};
use ontick_tsn::model::{Offload, Plane, Port, Switch};
use ontick_tsn::schedule::Schedule;
use ontick_tsn::wire;

/// What the ports' windows lack on this plane. `rate` is that of a port's link where the file has none; `measured` counts
/// in place of what is assumed, if it is of the same plane.
pub fn windows(
    switch: &Switch,
    plane: Plane,
    rate: impl Fn(&Port) -> Option<u64>,
    measured: Option<&Calibration>,
) -> Vec<Finding> {
    short(switch, plane, rate, measured, Terms::File).into_iter().map(|short| short.finding).collect()
}

/// A class for whose frames all windows of a port are short.
pub struct ShortWindow {
    /// The port's place in the switch.
    pub port: usize,
    /// The class's.
    pub class: usize,
    /// What there is, and what it needs.
    pub finding: Finding,
}

/// The same in these terms, with what each is of.
pub fn short(
    switch: &Switch,
    plane: Plane,
    rate: impl Fn(&Port) -> Option<u64>,
    measured: Option<&Calibration>,
    terms: Terms,
) -> Vec<ShortWindow> {
    let of_port = |(place, port): (usize, &Port)| {
        let Some(plane) = of(plane, port) else { return Vec::new() };
        let measured = measured.filter(|measured| measured.plane == plane);
        let needs = Needs {
            plane,
            timing: measured.map_or(plane.defaults(), |measured| measured.timing),
            source: if measured.is_some() { "measured" } else { "assumed" },
            terms,
        };
        port.rate.or_else(|| rate(port)).map_or_else(Vec::new, |rate| needs.of_port(switch, place, rate))
    };
    switch.ports.iter().enumerate().flat_map(of_port).collect()
}

/// Whether some port with gates, or all if none has any, is carried by such a data plane; true while that is not decided.
pub fn is_of(switch: &Switch, measured: DataPlane) -> bool {
    let gated = switch.ports.iter().any(|port| port.gates.is_some());
    let mut ports = switch.ports.iter().filter(|port| port.gates.is_some() || !gated);
    ports.any(|port| of(switch.plane, port).is_none_or(|plane| plane == measured))
}

/// What opens a port's gates; nothing while that is not decided.
fn of(plane: Plane, port: &Port) -> Option<DataPlane> {
    let plane = match plane {
        Plane::User => DataPlane::User,
        Plane::Kernel => DataPlane::Kernel,
        Plane::Auto => return None,
    };
    // With launch times too it is the port that sends.
    Some(if port.offload == Offload::None { plane } else { DataPlane::Hardware })
}

/// What a data plane needs.
struct Needs {
    plane: DataPlane,
    timing: EgressTiming,
    source: &'static str,
    terms: Terms,
}

impl Needs {
    fn of_port(&self, switch: &Switch, place: usize, rate: u64) -> Vec<ShortWindow> {
        let port = &switch.ports[place];
        let Some(gates) = &port.gates else { return Vec::new() };
        let longest_ns = Schedule::new(0, &gates.guarded(switch, port, rate)).longest_ns();
        let classes = switch.classes.iter().zip(&port.max_sdu).enumerate();
        let found = classes.filter_map(|(number, (class, sdu))| {
            let sdu = sdu.unwrap_or(wire::LARGEST_SDU);
            let frame_ns = wire::largest_frame_ns(sdu, rate);
            let open_ns = longest_ns[usize::from(class.queue)];
            // A gate that never opens is reported elsewhere.
            if open_ns == 0 || self.timing.fits(frame_ns, open_ns) {
                return None;
            }
            let never = frame_ns.saturating_add(self.timing.hand_over_ns) > open_ns;
            let (plane, margin) = (self.plane.name(), exact(self.timing.margin_ns()));
            // YANG's queue-max-sdu is fixed while the switch is set up.
            let smaller = self.terms.pick("lower max-sdu, ", "");
            let why = match never {
                true => "no such frame is ever sent".into(),
                false => format!(
                    "frames whose hand-over takes longer than usual ({}) wait for another window, or are late",
                    exact(self.timing.hand_over_ns)
                ),
            };
            let finding = finding(
                format!("{} window of {}", port.name, class.name),
                if never { Severity::Bad } else { Severity::Warn },
                format!("{} at most", exact(open_ns)),
                format!(
                    "{}: {} for a frame with {sdu} octets of data, and {margin} for the {plane} data plane ({})",
                    exact(self.timing.window_ns(frame_ns)),
                    exact(frame_ns),
                    self.source
                ),
                format!("{why}: lengthen the entry, {smaller}or plan for the {plane} data plane"),
            );
            Some(ShortWindow { port: place, class: number, finding })
        });
        found.collect()
    }
}
