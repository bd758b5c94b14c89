//! Points in time as a record has them: RFC 3339 in UTC, in whole seconds.

use jiff::Timestamp;

/// Now.
pub fn now() -> String {
    text(Timestamp::now())
}

pub(crate) fn text(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
