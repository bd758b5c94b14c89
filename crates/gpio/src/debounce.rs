//! How long a level must last to count.

use std::fmt;

use crate::error::DebounceError;

/// The longest, in us: a driver whose chip filters by itself gets the period in 24 bits (`PIN_CONFIG_INPUT_DEBOUNCE`).
const LONGEST_US: u32 = 16_000_000;

/// How long a line must stay at a level until that counts: shorter pulses, as a switch that bounces makes them, are never
/// seen. Whole microseconds, as the kernel takes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Debounce {
    us: u32,
}

impl Debounce {
    /// For so many nanoseconds.
    pub fn from_ns(ns: u64) -> Result<Self, DebounceError> {
        match u32::try_from(ns / 1_000) {
            Ok(us @ 1..=LONGEST_US) if ns % 1_000 == 0 => Ok(Self { us }),
            _ => Err(DebounceError(ns)),
        }
    }

    /// In microseconds.
    pub fn us(self) -> u32 {
        self.us
    }

    /// In ns.
    pub fn ns(self) -> u64 {
        u64::from(self.us) * 1_000
    }
}

impl fmt::Display for Debounce {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}us", self.us)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn periods_are_whole_microseconds_up_to_what_every_driver_takes() {
        let us = |ns| Debounce::from_ns(ns).ok().map(Debounce::us);
        assert_eq!(us(1_000), Some(1));
        assert_eq!(us(10_000_000), Some(10_000));
        assert_eq!(us(16_000_000_000), Some(16_000_000));
        for ns in [0, 999, 1_001, 16_000_001_000, 1 << 45, u64::MAX] {
            assert_eq!(us(ns), None, "{ns}");
        }
        let said = Debounce::from_ns(1_500).unwrap_err().to_string();
        assert_eq!(said, "a line cannot be debounced for 1500ns (1us to 16s, in whole microseconds)");
        assert_eq!(
            Debounce::from_ns(5_000).map(|debounce| (debounce.ns(), debounce.to_string())),
            Ok((5_000, "5us".into()))
        );
    }
}
