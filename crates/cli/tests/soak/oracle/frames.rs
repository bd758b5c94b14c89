//! Every frame that was sent into the switch came out once, in the order of its class, or is in a counter of drops.

use serde_json::Value;

/// Classes that frames are sent in.
pub const CLASSES: usize = 2;

/// What was sent and what came, as the stations know it.
#[derive(Debug, Default, Clone)]
pub struct Frames {
    pub sent: u64,
    pub received: u64,
    /// Came, and found the receiving station's ring full.
    pub overflowed: u64,
    /// The last of each class, from 1 on.
    last: [u64; CLASSES],
    pub wrong: Option<String>,
}

impl Frames {
    /// The number of the frame that is to be sent next.
    pub fn next(&self) -> u64 {
        self.sent + 1
    }

    pub fn receive(&mut self, class: usize, number: u64) {
        self.received += 1;
        let last = self.last.get(class).copied().unwrap_or(u64::MAX);
        if number <= last || number > self.next() {
            self.wrong.get_or_insert_with(|| format!("frame {number} of class {class} came after {last}"));
        }
        if let Some(last) = self.last.get_mut(class) {
            *last = number;
        }
    }
}

/// Frames that others count as lost.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Drops {
    /// By the switch, each once.
    pub by_switch: u64,
    /// By the interfaces. What an interface refuses the switch may have counted, too.
    pub by_interfaces: u64,
}

impl Drops {
    /// Of the counters in a report of the user data plane, for frames from its first port to its second.
    pub fn of_switch(counters: &Value) -> Option<u64> {
        let count = |of: &Value, names: &[&str]| -> Option<u64> { names.iter().map(|name| of[name].as_u64()).sum() };
        let (from, to) = (&counters["ports"][0], &counters["ports"][1]);
        let ingress = [
            "overflowed",
            "oversized",
            "malformed",
            "reserved",
            "filtered",
            "closed",
            "no_entry",
            "policed",
            "eliminated",
        ];
        let egress = ["full", "over_sdu", "no_window", "down", "refused"];
        let queues: Option<u64> = to["queues"].as_array()?.iter().map(|queue| count(queue, &egress)).sum();
        Some(count(from, &ingress)? + queues?)
    }
}

/// What was seen at one moment.
#[derive(Debug, Clone)]
pub struct Look {
    pub frames: Frames,
    pub drops: Drops,
    /// How often the core of the switch has looked around, and how often the stations have.
    pub turns: [u64; 2],
}

/// Core and stations have looked around so often that they would have met what was under way.
const TURNS: [u64; 2] = [1000, 2];

/// Whether no frame was under way at the later of two looks. Drops of interfaces, which the switch may have counted, too, can
/// hide that some were.
pub fn is_quiet(before: &Look, now: &Look) -> bool {
    let turned = (0..2).all(|n| now.turns[n] >= before.turns[n] + TURNS[n]);
    let frames = |look: &Look| (look.frames.sent, look.frames.received, look.frames.overflowed);
    turned && frames(before) == frames(now) && before.drops == now.drops
}

/// Whether the frames between two moments at which none was under way add up; how many were lost and counted.
pub fn balance(before: &Frames, after: &Frames, drops: Drops) -> Result<u64, String> {
    let sent = after.sent - before.sent;
    let came = after.received - before.received + after.overflowed - before.overflowed;
    let says = || format!("{sent} frames sent, {came} came, and {drops:?}");
    let lost = sent.checked_sub(came).ok_or_else(|| format!("more came than were sent: {}", says()))?;
    if lost < drops.by_switch || lost > drops.by_switch + drops.by_interfaces {
        return Err(format!("frames do not add up: {}", says()));
    }
    Ok(lost)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(sent: u64, received: u64) -> Frames {
        Frames { sent, received, ..Frames::default() }
    }

    #[test]
    fn a_frame_that_nobody_counts_is_found() {
        let (before, drops) = (frames(100, 90), |by_switch, by_interfaces| Drops { by_switch, by_interfaces });
        assert_eq!(balance(&before, &frames(200, 190), drops(0, 0)), Ok(0));
        assert_eq!(balance(&before, &frames(200, 187), drops(2, 1)), Ok(3));
        assert!(balance(&before, &frames(200, 189), drops(0, 0)).is_err(), "one is lost");
        assert!(balance(&before, &frames(200, 191), drops(0, 0)).is_err(), "one came twice");
        assert!(balance(&before, &frames(200, 190), drops(1, 0)).is_err(), "one came and is counted as dropped");
        assert_eq!(balance(&before, &Frames { overflowed: 1, ..frames(200, 189) }, drops(0, 0)), Ok(0));
    }

    #[test]
    fn what_stands_still_because_nobody_looks_is_not_quiet() {
        let look = |received, by_switch, turns| Look {
            frames: frames(100, received),
            drops: Drops { by_switch, by_interfaces: 0 },
            turns,
        };
        let before = look(90, 0, [5000, 7]);
        assert!(is_quiet(&before, &look(90, 0, [6000, 9])));
        let under_way =
            [look(91, 0, [6000, 9]), look(90, 1, [6000, 9]), look(90, 0, [5999, 9]), look(90, 0, [6000, 8])];
        assert!(under_way.iter().all(|now| !is_quiet(&before, now)));
    }

    #[test]
    fn a_frame_out_of_order_is_found() {
        let mut all = frames(9, 0);
        [(0, 1), (1, 2), (0, 5), (1, 4)].iter().for_each(|(class, number)| all.receive(*class, *number));
        assert_eq!((all.received, &all.wrong), (4, &None));
        for (class, number) in [(0, 5), (0, 3), (1, 11)] {
            let mut all = all.clone();
            all.receive(class, number);
            assert!(all.wrong.is_some(), "{class} {number}");
        }
    }

    #[test]
    fn drops_of_every_kind_are_counted_and_a_missing_counter_is_no_zero() {
        let queue =
            serde_json::json!({ "full": 1, "over_sdu": 2, "no_window": 4, "down": 8, "refused": 16, "sent": 999 });
        let port = serde_json::json!({ "overflowed": 32, "oversized": 64, "malformed": 128, "reserved": 256,
                                       "filtered": 512, "closed": 1024, "no_entry": 2048, "policed": 4096, "eliminated": 8192, "queues": [queue, queue] });
        let mut counters = serde_json::json!({ "ports": [port, port] });
        assert_eq!(Drops::of_switch(&counters), Some(2 * 31 + 16352));
        counters["ports"][0].as_object_mut().unwrap().remove("closed");
        assert_eq!(Drops::of_switch(&counters), None);
    }
}
