//! What this process may do: real-time priority, locked memory, capabilities.

use serde::Serialize;

use crate::root::Root;

/// Limits and privileges.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Limits {
    /// Effective user; `None` where it cannot be known.
    pub user: Option<u32>,
    /// Highest real-time priority without a capability.
    pub priority: Option<u64>,
    /// Memory that may be locked without a capability, in bytes; `u64::MAX` for no limit.
    pub locked_bytes: Option<u64>,
    /// `CAP_SYS_NICE`: any policy and priority.
    pub may_set_priority: bool,
    /// `CAP_IPC_LOCK`: lock any amount of memory.
    pub may_lock: bool,
    /// `CAP_SYS_ADMIN`: settings of the machine.
    pub may_administer: bool,
}

impl Limits {
    pub(crate) fn probe(root: &Root) -> Self {
        let limits = root.text("/proc/self/limits").unwrap_or_default();
        let status = root.text("/proc/self/status").unwrap_or_default();
        let soft = |name: &str| {
            let value = limits.lines().find_map(|l| l.strip_prefix(name))?.split_whitespace().next()?;
            if value == "unlimited" { Some(u64::MAX) } else { value.parse().ok() }
        };
        let field = |name: &str| status.lines().find_map(|l| l.strip_prefix(name));
        let effective = field("CapEff:").and_then(|v| u64::from_str_radix(v.trim(), 16).ok()).unwrap_or(0);
        let capable = |bit: u32| effective & (1 << bit) != 0;
        Self {
            user: field("Uid:").and_then(|v| v.split_whitespace().nth(1)?.parse().ok()),
            priority: soft("Max realtime priority"),
            locked_bytes: soft("Max locked memory"),
            may_set_priority: capable(23),
            may_lock: capable(14),
            may_administer: capable(21),
        }
    }
}
