//! Settings of network interfaces, of those that a target names.

use ontick_rt::thread::Policy;

use super::{Knob, KnobFile, QUICK, Want};
use crate::target::Target;
use crate::value_format::ValueFormat;

/// Stands for each interface of a target.
pub(crate) const INTERFACE: &str = "{interface}";
/// The knob of the threads that appear with [`THREADED`].
pub(crate) const NAPI_THREADS: &str = "napi-threads";
const THREADED: &str = "threaded-napi";
/// As threads of interrupts have (the kernel's `MAX_RT_PRIO / 2`): below timed threads, above all ordinary ones.
const NAPI_PRIORITY: Policy = Policy::Fifo(50);

pub(super) const KNOBS: &[Knob] = &[
    Knob {
        name: "interrupt-coalescing",
        paths: &["ethtool:{interface}/coalesce/*"],
        form: ValueFormat::Plain,
        profiles: QUICK,
        isolates: false,
        want: coalescing,
        why: "the card waits for more frames before it interrupts, and the first one waits with it",
        source: "kernel: linux/ethtool.h (struct ethtool_coalesce: off is 0 µs and 1 frame), ethtool(8) -C",
    },
    Knob {
        name: "energy-efficient-ethernet",
        paths: &["ethtool:{interface}/eee/enabled"],
        form: ValueFormat::Plain,
        profiles: QUICK,
        isolates: false,
        want: |_, _| Want::set(0),
        why: "a link that rests between frames wakes before each one; the change negotiates the link anew, for some seconds",
        source: "IEEE 802.3 clause 78 (16.5 µs to wake at 1000BASE-T, 30 µs at 100BASE-TX), ethtool(8)",
    },
    Knob {
        name: "joined-frames",
        paths: &["ethtool:{interface}/feature/*"],
        form: ValueFormat::Plain,
        profiles: QUICK,
        isolates: false,
        want: |_, file| match file.shown.split_once(' ') {
            Some((state, _)) => Want::leave(format!("the driver keeps it {state}")),
            None => Want::set("off"),
        },
        why: "frames that are joined leave as one piece of up to 64 KiB, 0.5 ms at 1 Gbit/s, which a timed frame waits for, and frames that come are held until others can join them",
        source: "kernel: networking/segmentation-offloads; ethtool(8) -K",
    },
    Knob {
        name: "receive-ring",
        paths: &["ethtool:{interface}/ring/rx"],
        form: ValueFormat::Plain,
        profiles: &[],
        isolates: false,
        want: |_, file| match file.root.value(&format!("{}-max", file.path)) {
            Some(most) => Want::set(most),
            None => Want::leave("the driver does not say how many there may be"),
        },
        why: "frames that find the card's ring full are lost; most drivers stop the interface for a moment to change it",
        source: "ethtool(8) -G; kernel: networking/scaling",
    },
    Knob {
        name: THREADED,
        paths: &["/sys/class/net/{interface}/threaded"],
        form: ValueFormat::Plain,
        profiles: QUICK,
        isolates: false,
        want: |_, _| Want::set(1),
        why: "frames are taken from the card in softirqs, which wait behind all ordinary programs once there are many of them; threads can have a priority",
        source: "kernel: networking/napi (threaded), ABI/testing/sysfs-class-net",
    },
    Knob {
        name: NAPI_THREADS,
        paths: &["thread:napi/{interface}-*"],
        form: ValueFormat::Plain,
        profiles: QUICK,
        isolates: false,
        want: |_, file| match file.shown.parse::<Policy>() {
            Ok(policy) if policy.is_real_time() => Want::leave(format!("it has a priority ({policy})")),
            _ => Want::set(NAPI_PRIORITY),
        },
        why: "a thread that takes frames from the card at ordinary priority waits behind all other programs of its CPU",
        source: "kernel: networking/napi (threaded); core-api/genericirq (threads of interrupts begin at FIFO 50)",
    },
];

fn coalescing(_: &Target, file: &KnobFile) -> Want {
    let (_, name) = file.path.rsplit_once('/').unwrap_or_default();
    match (name, file.shown) {
        ("adaptive-rx" | "rx-usecs", _) => Want::set(0),
        ("rx-frames", "0") => Want::leave("this driver counts none"),
        ("rx-frames", _) => Want::set(1),
        _ => Want::leave("it delays news of frames that have left, and no frame"),
    }
}

/// Whether a knob is one of interfaces.
pub fn is_of_interfaces(knob: &Knob) -> bool {
    knob.paths.iter().any(|path| path.contains(INTERFACE))
}
