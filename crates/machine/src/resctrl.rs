//! A part of the last-level cache for some CPUs alone, by resctrl (Intel CAT, AMD's and ARM's equivalents): what is to be
//! written. A group of its own has the upper end of the cache, which everything else is kept out of.

use std::collections::BTreeSet;
use std::io;

use ontick_units::CpuList;

use crate::root::cache::{Allocation, Caches, FOLDER, GROUP, group};
use crate::root::{Root, reason};

/// How a cache is divided: masks as the file `schemata` has them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Division {
    /// The line of the cache, undivided: `L3:0=fff;1=fff`.
    pub before: String,
    /// The line of all others.
    pub others: String,
    /// The line of the group.
    pub own: String,
    /// What the group has, in words.
    pub about: String,
}

/// Why a cache cannot be divided.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DivisionError {
    /// The file system is not mounted.
    #[error("{folder} is not there (a processor with cache allocation needs: sudo mount -t resctrl resctrl {folder})", folder = FOLDER)]
    NotMounted,
    /// It cannot be read.
    #[error("{folder}/schemata: {0}", folder = FOLDER)]
    Unreadable(String),
    /// The processor divides none.
    #[error("the processor allocates no cache (and separate parts for code and data are not divided here)")]
    NoCache,
    /// Somebody did so already.
    #[error("the cache is divided already, by the group {0}")]
    Divided(String),
    /// Which cache a CPU has is not known.
    #[error("the kernel does not say which {level} cache CPU {cpu} has")]
    UnknownCache {
        /// `L3` or `L2`.
        level: &'static str,
        /// The CPU.
        cpu: u32,
    },
    /// Not as the kernel documents it.
    #[error("cannot read the mask \"{0}\"")]
    Mask(String),
    /// It is too small for two.
    #[error("its smallest part is more than half of the cache")]
    TooSmall,
    /// It has no masks.
    #[error("the {level} cache of CPU {cpus} cannot be divided")]
    NotListed {
        /// `L3` or `L2`.
        level: &'static str,
        /// The CPUs.
        cpus: CpuList,
    },
}

impl Division {
    /// For these CPUs; a cache that is divided already is left alone.
    pub fn of(root: &Root, cpus: &CpuList) -> Result<Self, DivisionError> {
        match group(root, &[]) {
            Some(name) => Err(DivisionError::Divided(name)),
            None => Self::make(root, cpus),
        }
    }

    /// The value of the address `resctrl:LEVEL`, for these CPUs; what ontick's group has counts as undivided.
    pub(crate) fn tuned(root: &Root, cpus: &CpuList) -> Result<String, DivisionError> {
        if let Some(name) = group(root, &[GROUP]) {
            return Err(DivisionError::Divided(name));
        }
        let division = Self::make(root, cpus)?;
        let masks = |line: &str| line.split_once(':').map_or_else(String::new, |(_, masks)| masks.to_owned());
        let own = Some((masks(&division.own), cpus.clone()));
        Ok(Allocation { others: masks(&division.others), own }.to_string())
    }

    fn make(root: &Root, cpus: &CpuList) -> Result<Self, DivisionError> {
        let (level, allocation) = level(root)?;
        let domains = cpus
            .iter()
            .map(|cpu| domain(root, cpu, level).ok_or(DivisionError::UnknownCache { level, cpu }))
            .collect::<Result<BTreeSet<u32>, _>>()?;
        let min_bits = root.number(&format!("{FOLDER}/info/{level}/min_cbm_bits")).unwrap_or(1u32).max(1);
        let ours = match &allocation.own {
            Some((own, _)) => masks(own)?,
            None => Vec::new(),
        };
        let (mut before, mut others, mut own, mut about) = (Vec::new(), Vec::new(), Vec::new(), None);
        for (id, rest, written) in masks(&allocation.others)? {
            if !domains.contains(&id) {
                [&mut before, &mut others, &mut own].into_iter().for_each(|line| line.push(format!("{id}={written}")));
                continue;
            }
            let whole = rest | ours.iter().find(|(of, ..)| *of == id).map_or(0, |(_, mask, _)| *mask);
            let kept = upper_part(whole, min_bits).ok_or(DivisionError::TooSmall)?;
            before.push(format!("{id}={whole:x}"));
            others.push(format!("{id}={:x}", whole & !kept));
            own.push(format!("{id}={kept:x}"));
            about = Some(format!("{} of {} parts of the {level} cache", kept.count_ones(), whole.count_ones()));
        }
        let about = about.ok_or_else(|| DivisionError::NotListed { level, cpus: cpus.clone() })?;
        let line = |masks: Vec<String>| format!("{level}:{}", masks.join(";"));
        Ok(Self { before: line(before), others: line(others), own: line(own), about })
    }
}

/// The last level that can be divided, and how it is.
fn level(root: &Root) -> Result<(&'static str, Allocation), DivisionError> {
    match root.text(&format!("{FOLDER}/schemata")) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(DivisionError::NotMounted),
        Err(error) => return Err(DivisionError::Unreadable(reason(&error))),
        Ok(_) => {}
    }
    let levels = ["L3", "L2"].into_iter();
    let mut found = levels.filter_map(|level| Some((level, Caches { level }.allocation(root).ok()?)));
    found.next().ok_or(DivisionError::NoCache)
}

/// Number and mask of each cache, and the mask as it is written.
fn masks(line: &str) -> Result<Vec<(u32, u64, &str)>, DivisionError> {
    let read = |part: &'_ str| {
        let (id, mask) = part.split_once('=')?;
        Some((id.trim().parse().ok()?, u64::from_str_radix(mask.trim(), 16).ok()?))
    };
    let parts = line.split(';').map(|part| {
        let (id, mask) = read(part).ok_or_else(|| DivisionError::Mask(part.into()))?;
        Ok((id, mask, part.split_once('=').map_or("", |(_, written)| written)))
    });
    parts.collect()
}

/// A quarter of the cache, or the least that may be had: the upper end, as the lower one is often shared with devices.
fn upper_part(whole: u64, min_bits: u32) -> Option<u64> {
    let bits = (whole.count_ones() / 4).max(min_bits);
    let top = 64 - whole.leading_zeros();
    let kept = if bits >= top { return None } else { ((1u64 << bits) - 1) << (top - bits) };
    // Parts are without gaps, and others need the least, too.
    let rest = whole & !kept;
    (kept & whole == kept && rest.count_ones() >= min_bits && bits * 2 <= whole.count_ones().max(2)).then_some(kept)
}

/// The number of the cache of this level that the CPU has.
fn domain(root: &Root, cpu: u32, level: &str) -> Option<u32> {
    let folders = root.matching(&format!("/sys/devices/system/cpu/cpu{cpu}/cache/index*"));
    let of_level = |folder: &String| {
        let kind = root.value(&format!("{folder}/type"));
        root.value(&format!("{folder}/level")).is_some_and(|of| level.strip_prefix('L') == Some(&of))
            && kind.is_none_or(|kind| kind != "Instruction")
    };
    folders.iter().filter(|folder| of_level(folder)).find_map(|folder| root.number(&format!("{folder}/id")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_at_the_upper_end_without_gaps() {
        let parts = [(0xfff, 1), (0xff, 2), (0x7ff, 1), (0b11, 1), (0xf, 3), (1, 1), (0, 1), (u64::MAX, 1)];
        let kept = parts.map(|(whole, min_bits)| upper_part(whole, min_bits));
        let all = [Some(0xe00), Some(0xc0), Some(0x600), Some(0b10), None, None, None, Some(0xffff << 48)];
        assert_eq!(kept, all);
    }
}
