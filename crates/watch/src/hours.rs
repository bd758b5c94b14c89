//! Hours of the day in which measuring is allowed.

use std::fmt;
use std::str::FromStr;

/// From a minute of the day to another, over midnight too; the second is not part of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hours {
    from: u16,
    to: u16,
}

/// Why a text names no hours.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is no part of a day: write it as 22:00-06:00")]
pub struct HoursError(String);

impl Hours {
    /// Whether a minute of the day is among them.
    pub fn contain(&self, minute: u16) -> bool {
        match self.from <= self.to {
            true => (self.from..self.to).contains(&minute),
            false => minute >= self.from || minute < self.to,
        }
    }

    /// Whether it is now allowed, by this machine's time zone.
    pub fn contain_now(&self) -> bool {
        let now = jiff::Zoned::now();
        self.contain(now.hour() as u16 * 60 + now.minute() as u16)
    }
}

impl FromStr for Hours {
    type Err = HoursError;

    fn from_str(text: &str) -> Result<Self, HoursError> {
        let minute = |text: &str| {
            let (hours, minutes) = text.split_once(':')?;
            let digits = |text: &str| text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
            let (hours, minutes): (u16, u16) = match digits(hours) && digits(minutes) {
                true => (hours.parse().ok()?, minutes.parse().ok()?),
                false => return None,
            };
            (hours * 60 + minutes <= 24 * 60 && minutes < 60).then_some(hours * 60 + minutes)
        };
        let both = text.split_once('-').and_then(|(from, to)| Some((minute(from)?, minute(to)?)));
        both.filter(|(from, to)| from != to).map(|(from, to)| Self { from, to }).ok_or_else(|| HoursError(text.into()))
    }
}

impl fmt::Display for Hours {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let (from, to) = (self.from, self.to);
        write!(f, "{:02}:{:02}-{:02}:{:02}", from / 60, from % 60, to / 60, to % 60)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hours_go_over_midnight() {
        let night: Hours = "22:00-06:30".parse().unwrap();
        assert_eq!(night.to_string(), "22:00-06:30");
        assert!(night.contain(22 * 60) && night.contain(0) && night.contain(389));
        assert!(!night.contain(390) && !night.contain(21 * 60 + 59));
        let day: Hours = "08:00-24:00".parse().unwrap();
        assert!(day.contain(480) && day.contain(1439) && !day.contain(479));
    }

    #[test]
    fn what_is_no_part_of_a_day_is_refused() {
        for text in ["", "8-9", "08:00", "08:00-08:00", "25:00-26:00", "08:60-09:00", "+8:00-09:00", "08:00-24:01"] {
            assert_eq!(text.parse::<Hours>(), Err(HoursError(text.into())), "{text}");
        }
    }
}
