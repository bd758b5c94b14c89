//! That frames fit through the gates that open for them.

use ontick_units::exact;

use super::super::class::Draft as Class;
use super::super::gates::Places;
use super::super::port::Draft as Port;
use super::super::problem::Report;
use super::super::terms::Terms;
use crate::model::{Gates, Guard, Offload};
use crate::schedule::Schedule;
use crate::wire;

pub(super) fn windows(port: &Port, classes: &[Class], report: &mut Report) {
    let Ok(Some((gates, places))) = &port.gates else { return };
    let (Ok(rate), Ok(offload), Ok(max_sdu)) = (&port.rate, &port.offload, &port.max_sdu) else { return };
    let schedule = Schedule::new(0, &gates.entries);
    for (class, sdu) in classes.iter().zip(max_sdu) {
        let (Ok(name), Ok(queue)) = (&class.name, &class.queue) else { continue };
        let windows = schedule.windows(usize::from(*queue.get_ref()));
        // A gate that never closes has no end that a frame could miss.
        if windows.iter().any(|(_, length_ns)| *length_ns == gates.cycle_ns) {
            continue;
        }
        let (name, terms) = (name.get_ref().as_str(), report.terms());
        let class = Named { name, sdu: sdu.unwrap_or(wire::LARGEST_SDU), limited: sdu.is_some(), terms };
        let fits = |length_ns: u64| class.fits(gates.guard, *offload, *rate, length_ns);
        let short: Vec<(u64, String)> =
            windows.iter().filter_map(|&(begin_ns, length_ns)| Some((begin_ns, fits(length_ns).err()?))).collect();
        if short.len() == windows.len() {
            for (begin_ns, what) in short {
                report.error(entry_at(gates, places, begin_ns), what);
            }
        } else if let [(begin_ns, what), others @ ..] = short.as_slice() {
            // Computed lists have a window for each frame: one sentence says it.
            let others = match others.len() {
                0 => String::new(),
                n => format!(" ({n} other windows of the cycle are short, too)"),
            };
            report.warn(entry_at(gates, places, *begin_ns), format!("{what}{others}"));
        }
    }
}

/// The class whose frames are to fit.
struct Named<'a> {
    name: &'a str,
    /// Its largest service data unit, and whether the file says so.
    sdu: u32,
    limited: bool,
    terms: Terms,
}

impl Named<'_> {
    fn fits(&self, guard: Guard, offload: Offload, rate: Option<u64>, length_ns: u64) -> Result<(), String> {
        let (name, length) = (self.name, exact(length_ns));
        match guard {
            Guard::Fixed(guard_ns) if guard_ns >= length_ns => {
                let guard = exact(guard_ns);
                return Err(format!("the guard band of {guard} eats all of the {length} for which `{name}` is open"));
            }
            _ => {}
        }
        // Without its rate, the link may be fast enough.
        let Some(rate) = rate else { return Ok(()) };
        let frame_ns = wire::largest_frame_ns(self.sdu, rate);
        let needed_ns = match (guard, offload) {
            (Guard::None, _) => frame_ns,
            (Guard::Fixed(guard_ns), _) => frame_ns.saturating_add(guard_ns),
            // Where frames are begun whatever their length, the last may begin as the guard band does.
            (Guard::LargestFrame, Offload::Full) => frame_ns,
            // Elsewhere it must also end before that.
            (Guard::LargestFrame, _) => frame_ns.saturating_mul(2),
        };
        if needed_ns <= length_ns {
            return Ok(());
        }
        let size = self.sdu;
        let of = if self.limited { self.terms.pick("max-sdu", "queue-max-sdu") } else { "an ordinary frame" };
        let with = if needed_ns > frame_ns { " and the guard band" } else { "" };
        let frame = if frame_ns > length_ns { "" } else { " together" };
        let needed = exact(needed_ns);
        let smaller = self.smaller(guard, offload, rate, length_ns);
        Err(format!(
            "`{name}` is open for {length}, and its largest frame ({of}: {size} octets){with} takes {needed}{frame} at {}: \
             lengthen the entry{smaller}",
            ontick_units::show_bit_rate(rate)
        ))
    }

    /// A `max-sdu` that would fit. YANG's is fixed while the switch is set up.
    fn smaller(&self, guard: Guard, offload: Offload, rate: u64, length_ns: u64) -> String {
        if self.terms == Terms::Yang {
            return String::new();
        }
        let times = if guard == Guard::LargestFrame && offload != Offload::Full { 2 } else { 1 };
        let guard_ns = if let Guard::Fixed(ns) = guard { ns } else { 0 };
        let frame_ns = length_ns.saturating_sub(guard_ns) / times;
        let octets = u128::from(frame_ns) * u128::from(rate) / 8_000_000_000;
        match octets.checked_sub(u128::from(wire::OVERHEAD + wire::HEADER + wire::TAG)) {
            Some(sdu @ 42..) => format!(", or write max-sdu = {{ {} = {sdu} }}", self.name),
            _ => String::new(),
        }
    }
}

/// Where the entry stands that begins a window.
fn entry_at(gates: &Gates, places: &Places, begin_ns: u64) -> std::ops::Range<usize> {
    let mut ends_ns = 0;
    let index = gates.entries.iter().position(|entry| {
        ends_ns += entry.for_ns;
        begin_ns < ends_ns
    });
    places.entries[index.unwrap_or(0)].clone()
}
