//! Answers packed by gzip, for who takes them so: the figures of many CPUs are mostly the same words.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;

/// Whether the head `Accept-Encoding` names it, and not to refuse it.
pub fn is_accepted(encodings: &str) -> bool {
    encodings.split(',').any(|encoding| {
        let (name, quality) = encoding.split_once(';').unwrap_or((encoding, ""));
        name.trim() == "gzip" && !matches!(quality.trim(), "q=0" | "q=0.0" | "q=0.00" | "q=0.000")
    })
}

/// The bytes, packed.
pub fn packed(plain: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(plain)?;
    encoder.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_refuses_it_does_not_get_it() {
        assert!(is_accepted("gzip") && is_accepted("deflate, gzip;q=0.5"));
        assert!(!is_accepted("") && !is_accepted("gzip;q=0, identity") && !is_accepted("x-gzip"));
    }
}
