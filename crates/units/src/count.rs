//! Counts as people read them.

/// A count in groups of three.
///
/// ```
/// use ontick_units::count;
/// assert_eq!([count(999), count(30_000), count(12_345_678)], ["999", "30 000", "12 345 678"]);
/// ```
pub fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i) % 3 == 0 {
            grouped.push(' ');
        }
        grouped.push(digit);
    }
    grouped
}

/// A count with its noun: `1 cycle`, `30 000 cycles`.
///
/// ```
/// use ontick_units::counted;
/// assert_eq!([counted(1, "cycle"), counted(30_000, "cycle")], ["1 cycle", "30 000 cycles"]);
/// ```
pub fn counted(n: u64, noun: &str) -> String {
    format!("{} {noun}{}", count(n), if n == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_grouped() {
        assert_eq!([count(0), count(999), count(1_000), count(12_345_678)], ["0", "999", "1 000", "12 345 678"]);
        assert_eq!([counted(1, "cycle"), counted(0, "cycle")], ["1 cycle", "0 cycles"]);
    }
}
