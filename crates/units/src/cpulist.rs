//! Sets of CPUs as the kernel writes them: lists (`0-2,5`) and masks (`ff,00000003`).

use std::collections::BTreeSet;
use std::fmt;

use serde::{Serialize, Serializer};

use crate::UnitError;

/// No kernel is built for more CPUs than this; a larger number in a list is a mistake.
const MOST: u32 = 8192;

/// A set of CPUs.
///
/// ```
/// use ontick_units::CpuList;
/// let cpus: CpuList = "0-2,5".parse().unwrap();
/// assert!(cpus.contains(1) && !cpus.contains(4));
/// assert_eq!(cpus.mask(), "27");
/// assert_eq!(CpuList::from_mask("27").unwrap().to_string(), "0-2,5");
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CpuList(BTreeSet<u32>);

impl CpuList {
    /// The set with one CPU.
    pub fn one(cpu: u32) -> Self {
        Self(BTreeSet::from([cpu]))
    }

    /// Reads a hexadecimal mask with or without commas every eight digits.
    pub fn from_mask(text: &str) -> Result<Self, UnitError> {
        let digits: String = text.trim().chars().filter(|c| *c != ',').collect();
        let wrong = || UnitError(format!("\"{}\" is not a CPU mask such as f or ff,00000003", text.trim()));
        if digits.is_empty() || digits.len() > (MOST / 4) as usize {
            return Err(wrong());
        }
        let mut set = BTreeSet::new();
        for (place, digit) in digits.chars().rev().enumerate() {
            let bits = digit.to_digit(16).ok_or_else(wrong)?;
            set.extend((0..4).filter(|bit| bits & (1 << bit) != 0).map(|bit| place as u32 * 4 + bit));
        }
        Ok(Self(set))
    }

    /// As the kernel writes and accepts masks: hexadecimal, a comma before every eight digits.
    pub fn mask(&self) -> String {
        let words = self.0.last().map_or(1, |last| last / 32 + 1);
        let word = |w: u32| self.0.range(w * 32..(w + 1) * 32).fold(0u32, |bits, cpu| bits | 1 << (cpu % 32));
        let mut text = format!("{:x}", word(words - 1));
        (0..words - 1).rev().for_each(|w| text.push_str(&format!(",{:08x}", word(w))));
        text
    }

    /// Whether a CPU is in the set.
    pub fn contains(&self, cpu: u32) -> bool {
        self.0.contains(&cpu)
    }

    /// Whether any CPU is in both sets.
    pub fn meets(&self, other: &Self) -> bool {
        !self.0.is_disjoint(&other.0)
    }

    /// Whether every CPU of this set is in the other.
    pub fn within(&self, other: &Self) -> bool {
        self.0.is_subset(&other.0)
    }

    /// This set without the CPUs of the other.
    pub fn without(&self, other: &Self) -> Self {
        Self(&self.0 - &other.0)
    }

    /// The CPUs of both sets together.
    pub fn with(&self, other: &Self) -> Self {
        Self(&self.0 | &other.0)
    }

    /// The CPUs, ascending.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().copied()
    }

    /// How many CPUs.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The highest-numbered CPU.
    pub fn last(&self) -> Option<u32> {
        self.0.last().copied()
    }
}

impl FromIterator<u32> for CpuList {
    fn from_iter<I: IntoIterator<Item = u32>>(cpus: I) -> Self {
        Self(cpus.into_iter().collect())
    }
}

impl std::str::FromStr for CpuList {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let wrong = || UnitError(format!("\"{}\" is not a CPU list such as 3 or 0-2,5", text.trim()));
        let number = |part: &str| -> Result<u32, UnitError> {
            let cpu: u32 = part.parse().map_err(|_| wrong())?;
            if cpu < MOST { Ok(cpu) } else { Err(wrong()) }
        };
        let mut set = BTreeSet::new();
        for part in text.trim().split(',').filter(|_| !text.trim().is_empty()) {
            // The kernel's full form is first-last:used/group.
            let (range, stride) = part.split_once(':').map_or((part, None), |(r, s)| (r, Some(s)));
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            let (first, last) = (number(first)?, number(last)?);
            let (used, group) = match stride {
                Some(s) => s.split_once('/').ok_or_else(wrong).and_then(|(u, g)| Ok((number(u)?, number(g)?)))?,
                None => (1, 1),
            };
            if first > last || used == 0 || group == 0 || used > group {
                return Err(wrong());
            }
            set.extend((first..=last).filter(|cpu| (cpu - first) % group < used));
        }
        Ok(Self(set))
    }
}

impl fmt::Display for CpuList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut cpus = self.iter().peekable();
        let mut separator = "";
        while let Some(first) = cpus.next() {
            let mut last = first;
            while let Some(next) = cpus.next_if(|next| *next == last + 1) {
                last = next;
            }
            match first == last {
                true => write!(f, "{separator}{first}")?,
                false => write!(f, "{separator}{first}-{last}")?,
            }
            separator = ",";
        }
        Ok(())
    }
}

impl Serialize for CpuList {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_kernels_forms_are_read() {
        let list = |text: &str| text.parse::<CpuList>().map(|c| c.to_string());
        assert_eq!(list("0-3\n"), Ok("0-3".into()));
        assert_eq!(list(""), Ok("".into()));
        assert_eq!(list("0-7:2/4"), Ok("0-1,4-5".into()));
        for wrong in ["3-1", "a", "1,,2", "0-7:0/4", "0-99999999", "-1", "1 2"] {
            assert!(list(wrong).is_err(), "{wrong}");
        }
        assert_eq!(CpuList::from_mask("00000000,0000000f").unwrap().to_string(), "0-3");
        assert_eq!(CpuList::from_mask("1,00000000").unwrap().to_string(), "32");
        assert!(CpuList::from_mask("").is_err() && CpuList::from_mask("xyz").is_err());
    }

    proptest! {
        #[test]
        fn lists_and_masks_read_back(cpus in prop::collection::btree_set(0u32..300, 0..40)) {
            let cpus: CpuList = cpus.into_iter().collect();
            prop_assert_eq!(&cpus.to_string().parse::<CpuList>().unwrap(), &cpus);
            prop_assert_eq!(&CpuList::from_mask(&cpus.mask()).unwrap(), &cpus);
        }

        #[test]
        fn any_text_is_answered(text in "[0-9,:/-]{0,16}|.{0,16}") {
            let _ = text.parse::<CpuList>();
            let _ = CpuList::from_mask(&text);
        }
    }
}
