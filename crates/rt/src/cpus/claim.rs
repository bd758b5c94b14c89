//! Which CPUs this program holds, whatever its command, so that two real-time loops never meet on one.
//!
//! A claim is a locked file in a folder that nobody else can write to. The kernel releases the lock when the process ends,
//! however it ends. Where there is no such folder, nobody is hindered.

mod holder;
mod locks;
mod own;
mod registry;

use std::path::Path;

use super::{Choice, online, preference_beside};
use locks::living;
use registry::{FOLDER, RUN, Registry};

pub use holder::{Holder, Occupancy};
pub use own::Claim;

/// Why a CPU is not to be had.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ClaimError {
    /// Another process has this one.
    #[error("CPU {cpu} is held by {holder}: name another CPU, or end that first", cpu = .0.cpu, holder = .0)]
    By(Holder),
    /// A loop that spins would take the last CPU that no other spins on.
    #[error(
        "CPU {cpu} is the last one on which no loop spins, and is left to everything else{beside}",
        beside = .beside.iter().map(|holder| format!("; CPU {} is held by {holder}", holder.cpu)).collect::<String>()
    )]
    LastOne {
        /// The CPU.
        cpu: u32,
        /// Who spins on the others.
        beside: Vec<Holder>,
    },
}

/// Claims `cpu` for this process.
pub fn claim(cpu: u32, occupancy: Occupancy) -> Result<Claim, ClaimError> {
    let Some(registry) = Registry::open() else { return Ok(Claim::at(None)) };
    let holders = registry.holders();
    is_free(cpu, occupancy, &holders, &online())?;
    Ok(registry.enter(cpu, occupancy))
}

/// Chooses a CPU that nobody holds, and claims it for this process. Threads that rest may share one.
pub fn dedicate(occupancy: Occupancy) -> Result<(Choice, Claim), ClaimError> {
    let registry = Registry::open();
    let holders = registry.as_ref().map(Registry::holders).unwrap_or_default();
    let choice = choose_beside(occupancy, &holders)?;
    let claim = registry.map_or(Claim::at(None), |registry| registry.enter(choice.cpu, occupancy));
    Ok((choice, claim))
}

/// Other processes that hold CPUs.
pub fn holders() -> Vec<Holder> {
    match Registry::open() {
        Some(registry) => registry.holders(),
        // Those of root can be seen.
        None => living(&Path::new(RUN).join(FOLDER)),
    }
}

fn choose_beside(occupancy: Occupancy, holders: &[Holder]) -> Result<Choice, ClaimError> {
    let choice = preference_beside(holders, occupancy);
    is_free(choice.cpu, occupancy, holders, &online()).map(|()| choice)
}

/// The CPUs of those allowed that are free for such a thread, the better ones only; all if there are none.
pub(super) fn free(occupancy: Occupancy, holders: &[Holder], allowed: &[u32], online: &[u32]) -> Vec<u32> {
    let of =
        |wanted: &dyn Fn(u32) -> bool| -> Vec<u32> { allowed.iter().copied().filter(|cpu| wanted(*cpu)).collect() };
    let alone = of(&|cpu| !holders.iter().any(|holder| holder.cpu == cpu));
    let shared = of(&|cpu| is_free(cpu, occupancy, holders, online).is_ok());
    [alone, shared].into_iter().find(|cpus| !cpus.is_empty()).unwrap_or_else(|| allowed.to_vec())
}

/// Whether a CPU may be claimed beside these holders.
fn is_free(cpu: u32, occupancy: Occupancy, holders: &[Holder], online: &[u32]) -> Result<(), ClaimError> {
    let spins = |holder: &&Holder| holder.occupancy == Occupancy::Spins;
    let excludes = |holder: &&Holder| occupancy == Occupancy::Spins || spins(holder);
    if let Some(holder) = holders.iter().filter(|holder| holder.cpu == cpu).find(excludes) {
        return Err(ClaimError::By(holder.clone()));
    }
    let is_left = |other: &u32| *other != cpu && !holders.iter().filter(spins).any(|holder| holder.cpu == *other);
    if occupancy == Occupancy::Spins && !online.iter().any(is_left) {
        return Err(ClaimError::LastOne { cpu, beside: holders.iter().filter(spins).cloned().collect() });
    }
    Ok(())
}

#[cfg(test)]
mod tests;
