//! Frame preemption: which classes are interrupted, and how the other end is asked.

/// Frame preemption (IEEE 802.1Q-2022 clause 6.7.2, IEEE 802.3-2022 clause 99): a frame of a preemptible class is
/// interrupted for one of an express class, and goes on afterwards. The port does that; no data plane of its own can.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Preemption {
    /// Preemptible classes, by their place in [`Switch::classes`](super::Switch::classes), in ascending order; all
    /// others are express, and there is at least one of each.
    pub preemptible: Vec<usize>,
    /// Whether the other end is asked before anything is preempted (802.3-2022 clause 99.4.3).
    pub verify: bool,
    /// How long its answer is waited for each time, in ms, 1 to 128.
    pub verify_time_ms: u32,
    /// Octets of a fragment at least, without its check sequence: 60, 124, 188 or 252.
    pub min_fragment_size: u32,
}

impl Preemption {
    /// Whether frames of a class are preempted, by its place in [`Switch::classes`](super::Switch::classes).
    pub fn is_preemptible(&self, class: usize) -> bool {
        self.preemptible.contains(&class)
    }
}
