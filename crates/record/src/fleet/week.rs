//! Weeks as ISO 8601 counts them: from Monday to Sunday, in UTC.

use std::fmt;

use jiff::civil;
use serde::{Serialize, Serializer};

use crate::date;

/// A week, by how many Mondays there were before it since that of 1969-12-29.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Week(i32);

const DAY_NS: i64 = 86_400_000_000_000;
/// 1970-01-01 was a Thursday.
const DAYS_SINCE_MONDAY: i64 = 3;

impl Week {
    /// The week of a record's point in time.
    pub fn of(started: &str) -> Option<Self> {
        let day = date::unix_ns(started)?.div_euclid(DAY_NS);
        i32::try_from((day + DAYS_SINCE_MONDAY).div_euclid(7)).ok().map(Self)
    }

    /// Its Monday.
    fn monday(self) -> Option<civil::Date> {
        let days = i64::from(self.0) * 7 - DAYS_SINCE_MONDAY;
        civil::date(1970, 1, 1).checked_add(jiff::Span::new().try_days(days).ok()?).ok()
    }

    /// It and all weeks after it up to `last`.
    pub fn until(self, last: Self) -> impl Iterator<Item = Self> {
        (self.0..=last.0).map(Self)
    }

    /// How many weeks after another it is.
    pub fn since(self, other: Self) -> i32 {
        self.0 - other.0
    }
}

/// `2026-W46`
impl fmt::Display for Week {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self.monday().map(civil::Date::iso_week_date) {
            Some(week) => write!(f, "{}-W{:02}", week.year(), week.week()),
            None => f.write_str("a week beyond all calendars"),
        }
    }
}

impl Serialize for Week {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// ISO 8601: the week with the year's first Thursday is its first.
    #[test]
    fn weeks_are_those_of_the_calendar() {
        let of = |text: &str| Week::of(text).unwrap().to_string();
        assert_eq!(of("2026-11-22T23:59:59Z"), "2026-W47");
        assert_eq!(of("2026-11-23T00:00:00Z"), "2026-W48");
        assert_eq!(of("2027-01-03T12:00:00Z"), "2026-W53");
        assert_eq!(of("2027-01-04T00:00:00Z"), "2027-W01");
        assert_eq!(of("1970-01-01T00:00:00Z"), "1970-W01");
        assert_eq!(of("1969-12-28T23:59:59Z"), "1969-W52");
        assert_eq!(Week::of(""), None);
        let week = |text: &str| Week::of(text).unwrap();
        assert_eq!(week("2027-01-04T00:00:00Z").since(week("2026-12-31T00:00:00Z")), 1);
    }
}
