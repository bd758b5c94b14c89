//! The kernel's own tracers, which cost time on the CPUs that they look at.

use serde::Serialize;

use crate::root::Root;

/// Tracers of the kernel.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Tracing {
    /// The one that runs; `nop` for none, empty where it cannot be read.
    pub current: String,
    /// Whether the kernel has the one that looks for gaps made by hardware and firmware.
    pub has_hwlat: bool,
    /// How long that one holds interrupts off at a time, in µs.
    pub hwlat_width_us: Option<u64>,
}

impl Tracing {
    pub(crate) fn probe(root: &Root) -> Self {
        let folder = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"]
            .into_iter()
            .find(|folder| root.exists(&format!("{folder}/current_tracer")))
            .unwrap_or_default();
        let read = |file: &str| root.value(&format!("{folder}/{file}")).unwrap_or_default();
        Self {
            current: read("current_tracer"),
            has_hwlat: read("available_tracers").split_whitespace().any(|tracer| tracer == "hwlat"),
            hwlat_width_us: read("hwlat_detector/width").parse().ok(),
        }
    }
}
