//! Points in time as a record has them: RFC 3339 in UTC, in whole seconds.

use jiff::Timestamp;

/// Now.
pub fn now() -> String {
    text(Timestamp::now())
}

/// A record's point in time, in ns since 1970.
pub fn unix_ns(text: &str) -> Option<i64> {
    let time: Timestamp = text.parse().ok()?;
    i64::try_from(time.as_nanosecond()).ok()
}

pub(crate) fn text(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_records_time_is_read_back() {
        assert_eq!(unix_ns("2026-11-23T20:25:00Z"), Some(1_795_465_500_000_000_000));
        assert!(unix_ns(&now()).is_some());
        assert_eq!(["", "yesterday", "9999-12-31T23:59:59Z"].map(unix_ns), [None; 3]);
    }
}
