//! Network interfaces that somebody asks about: how their cards hand frames over.

use ontick_rt::thread::Policy;
use serde::Serialize;

use crate::root::{ETHTOOL, Root, THREAD};

/// A network interface.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Interface {
    /// Its name.
    pub name: String,
    /// Whether it is a device's, and not made by software alone.
    pub is_device: bool,
    /// Numbers of its device's interrupts.
    pub interrupts: Vec<u32>,
    /// When the card interrupts; `None` where the driver does not say.
    pub coalescing: Option<Coalescing>,
    /// Whether the link rests between frames; `None` where the driver does not say.
    pub energy_efficient: Option<bool>,
    /// Offloads that join frames or cut them, are on, and can be changed.
    pub joining: Vec<String>,
    /// Frames that the receive ring holds, and how many it could.
    pub receive_ring: Option<(u32, u32)>,
    /// Whether threads take frames from the card; `None` before Linux 5.12.
    pub threaded: Option<bool>,
    /// The policies of these threads.
    pub napi_threads: Vec<String>,
}

/// When a card interrupts for frames that came.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Coalescing {
    /// So long after the first frame at most, in µs.
    pub receive_us: u32,
    /// With so many frames at most; 0 where the driver counts none.
    pub receive_frames: u32,
    /// The card chooses itself.
    pub is_adaptive: bool,
}

/// An interface that is not there.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no network interface {name} (there are {})", .there.join(", "))]
pub struct NoInterface {
    /// As it was asked for.
    pub name: String,
    /// Those that there are.
    pub there: Vec<String>,
}

impl Interface {
    pub(super) fn probe(root: &Root, name: &str) -> Result<Self, NoInterface> {
        let there = root.list("/sys/class/net");
        if !there.iter().any(|have| have == name) {
            return Err(NoInterface { name: name.to_owned(), there });
        }
        let folder = format!("/sys/class/net/{name}");
        let own = |what: &str| format!("{ETHTOOL}{name}/{what}");
        let number = |what: &str| root.number::<u32>(&own(what));
        let coalescing = number("coalesce/rx-usecs").map(|receive_us| Coalescing {
            receive_us,
            receive_frames: number("coalesce/rx-frames").unwrap_or(0),
            is_adaptive: number("coalesce/adaptive-rx").is_some_and(|on| on != 0),
        });
        let joining =
            root.matching(&own("feature/*")).into_iter().filter(|path| root.value(path).as_deref() == Some("on"));
        let policy = |path: String| root.value(&path);
        Ok(Self {
            is_device: root.exists(&format!("{folder}/device")),
            interrupts: interrupts(root, &folder),
            coalescing,
            energy_efficient: number("eee/enabled").map(|on| on != 0),
            joining: joining.filter_map(|path| Some(path.rsplit_once('/')?.1.to_owned())).collect(),
            receive_ring: number("ring/rx").zip(number("ring/rx-max")),
            threaded: root.number::<u32>(&format!("{folder}/threaded")).map(|on| on != 0),
            napi_threads: root.matching(&format!("{THREAD}napi/{name}-*")).into_iter().filter_map(policy).collect(),
            name: name.to_owned(),
        })
    }

    /// Whether all threads that take its frames have a priority.
    pub fn has_priority(&self) -> bool {
        let is_real_time = |policy: &String| policy.parse::<Policy>().is_ok_and(|policy| policy.is_real_time());
        !self.napi_threads.is_empty() && self.napi_threads.iter().all(is_real_time)
    }
}

/// Those of the device, or of the one that it is a part of (as virtio's).
fn interrupts(root: &Root, folder: &str) -> Vec<u32> {
    let numbers = |device: &str| -> Vec<u32> {
        let listed =
            root.list(&format!("{folder}/{device}/msi_irqs")).iter().filter_map(|name| name.parse().ok()).collect();
        let one = || root.number::<u32>(&format!("{folder}/{device}/irq")).filter(|number| *number > 0);
        let listed: Vec<u32> = listed;
        if listed.is_empty() { one().into_iter().collect() } else { listed }
    };
    let own = numbers("device");
    let is_virtio =
        || root.link_target(&format!("{folder}/device/subsystem")).is_some_and(|to| to.ends_with("/virtio"));
    if own.is_empty() && is_virtio() { numbers("device/..") } else { own }
}
