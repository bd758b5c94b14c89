//! Numbers as drivers write them, read without allocating.

/// Parts of one that fractions are read to: the kernel writes millionths or, of large scales, billionths.
pub const PARTS: i64 = 1_000_000;

/// `1234\n`, `-7`.
pub fn whole(text: &[u8]) -> Option<i64> {
    std::str::from_utf8(text).ok()?.trim_ascii().parse().ok()
}

/// `23.500000\n`, `-0.25`, `1e3` not: in millionths, further digits cut off.
pub fn millionths(text: &[u8]) -> Option<i64> {
    let text = std::str::from_utf8(text).ok()?.trim_ascii();
    let (negative, digits) = text.strip_prefix('-').map_or((false, text), |digits| (true, digits));
    let (whole, part) = digits.split_once('.').unwrap_or((digits, "0"));
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !is_digits(whole) || !is_digits(part) {
        return None;
    }
    let mut parts = 0;
    for n in 0..6 {
        parts = parts * 10 + part.as_bytes().get(n).map_or(0, |digit| i64::from(digit - b'0'));
    }
    let number = whole.parse::<i64>().ok()?.checked_mul(PARTS)?.checked_add(parts)?;
    Some(if negative { -number } else { number })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_drivers_write_them() {
        assert_eq!([whole(b"1234\n"), whole(b"-7"), whole(b""), whole(b"1.5")], [Some(1234), Some(-7), None, None]);
        let texts: [&[u8]; 6] = [b"23.500000\n", b"-0.25", b"7", b"0.0000019", b"-", b"1e3"];
        let wanted = [Some(23_500_000), Some(-250_000), Some(7_000_000), Some(1), None, None];
        assert_eq!(texts.map(millionths), wanted);
    }
}
