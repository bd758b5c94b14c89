//! Points in time as rt-tests writes them: `Sat, 21 Nov 2026 07:55:14 +0000`.

/// Seconds since 1970; `None` where the text is not such a date (a localised one, for example).
pub(super) fn seconds(text: &str) -> Option<i64> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let [_, day, month, year, clock, zone] = words[..] else { return None };
    let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let month = months.iter().position(|m| *m == month)? as i64 + 1;
    let year: i64 = year.parse().ok().filter(|y| (1970..10_000).contains(y))?;
    let day: i64 = day.parse().ok().filter(|d| (1..=31).contains(d))?;
    let clock: Vec<i64> = clock.split(':').map(|part| part.parse().ok()).collect::<Option<_>>()?;
    let [hours @ 0..24, minutes @ 0..60, seconds @ 0..=60] = clock[..] else { return None };
    let (sign, zone) = match zone.split_at_checked(1)? {
        ("+", zone) => (1, zone),
        ("-", zone) => (-1, zone),
        _ => return None,
    };
    let zone: i64 = zone.parse().ok().filter(|z| (0..=1500).contains(z))?;
    let offset = sign * (zone / 100 * 3_600 + zone % 100 * 60);
    Some(days(year, month, day) * 86_400 + hours * 3_600 + minutes * 60 + seconds - offset)
}

/// As RFC 3339 in UTC.
pub(super) fn rfc3339(seconds: i64) -> String {
    let (mut year, mut month) = (1970, 1);
    let day = seconds.div_euclid(86_400);
    while days(year + 1, 1, 1) <= day {
        year += 1;
    }
    while month < 12 && days(year, month + 1, 1) <= day {
        month += 1;
    }
    let day = day - days(year, month, 1) + 1;
    let second = seconds.rem_euclid(86_400);
    let (hours, minutes, seconds) = (second / 3_600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hours:02}:{minutes:02}:{seconds:02}Z")
}

/// Days from 1970-01-01 to a date of the Gregorian calendar.
fn days(year: i64, month: i64, day: i64) -> i64 {
    // Counted in years that begin with March, the leap day is the last of its year.
    let (year, month) = if month < 3 { (year - 1, month + 9) } else { (year, month - 3) };
    365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 719_469
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_read_and_show() {
        for (text, shown) in [
            ("Thu, 01 Jan 1970 00:00:00 +0000", "1970-01-01T00:00:00Z"),
            ("Sat, 21 Nov 2026 07:55:14 +0000", "2026-11-21T07:55:14Z"),
            ("Fri, 01 Mar 2024 00:30:00 +0100", "2024-02-29T23:30:00Z"),
            ("Tue, 31 Dec 2999 23:59:59 -0500", "3000-01-01T04:59:59Z"),
        ] {
            assert_eq!(seconds(text).map(rfc3339).as_deref(), Some(shown), "{text}");
        }
    }

    #[test]
    fn others_are_unknown() {
        for text in
            ["", "Sa, 21 Nov. 2026", "Sat, 21 Nov 2026 25:00:00 +0000", "Sat, 0 Nov 2026 01:00:00 +0000", "a b c d e é"]
        {
            assert_eq!(seconds(text), None, "{text}");
        }
    }
}
