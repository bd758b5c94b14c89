//! What a request asks for behind its question mark: numbers, each within its limits.

/// The numbers of a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stretch {
    /// From this time on, in seconds since 1970.
    pub from: u32,
    /// Before this time.
    pub to: u32,
    /// At most so many points for each CPU.
    pub points: u32,
}

/// Points at most.
const MOST_POINTS: u32 = 5_000;

impl Stretch {
    /// Of a query such as `from=1700000000&to=1700003600&points=500`; the last hour where nothing is said. None where a
    /// number is no number, or the stretch none.
    pub fn read(query: &str, now: u32) -> Option<Self> {
        let number = |name: &str, otherwise: u32| match value(query, name) {
            Some(text) => text.parse().ok(),
            None => Some(otherwise),
        };
        let to = number("to", now.saturating_add(1))?;
        let stretch = Self { from: number("from", to.saturating_sub(3_600))?, to, points: number("points", 500)? };
        (stretch.from < stretch.to && (1..=MOST_POINTS).contains(&stretch.points)).then_some(stretch)
    }
}

/// The length of a stretch of signals, in ms; a second where nothing is said. None where it is no number.
pub fn span_ms(query: &str) -> Option<u64> {
    value(query, "span").map_or(Some(1_000), |text| text.parse().ok())
}

/// The value of a name in a query.
pub fn value<'a>(query: &'a str, name: &str) -> Option<&'a str> {
    query.split('&').find_map(|part| part.strip_prefix(name)?.strip_prefix('='))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stretch_has_sound_limits_or_is_none() {
        assert_eq!(Stretch::read("", 10_000), Some(Stretch { from: 6_401, to: 10_001, points: 500 }));
        assert_eq!(Stretch::read("from=5&to=9&points=2", 0), Some(Stretch { from: 5, to: 9, points: 2 }));
        for query in ["from=x", "from=-1", "from=9&to=9", "points=0", "points=5001", "to=99999999999"] {
            assert_eq!(Stretch::read(query, 10_000), None, "{query}");
        }
        assert_eq!([span_ms(""), span_ms("span=100"), span_ms("span=x")], [Some(1_000), Some(100), None]);
        assert_eq!(value("a=1&token=x", "token"), Some("x"));
        assert_eq!(value("atoken=x", "token"), None);
    }
}
