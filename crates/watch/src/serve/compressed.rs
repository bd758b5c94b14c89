//! Answers packed by gzip, for who takes them so: the figures of many CPUs are mostly the same words.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use hyper::header::{CONTENT_ENCODING, HeaderValue};

use super::answer::{Answer, content};

/// Whether the head `Accept-Encoding` names it, and not to refuse it.
pub fn is_accepted(encodings: &str) -> bool {
    encodings.split(',').any(|encoding| {
        let (name, quality) = encoding.split_once(';').unwrap_or((encoding, ""));
        name.trim() == "gzip" && !matches!(quality.trim(), "q=0" | "q=0.0" | "q=0.00" | "q=0.000")
    })
}

/// The answer, packed.
pub fn packed(kind: &'static str, plain: &[u8]) -> Answer {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    let bytes = encoder.write_all(plain).and_then(|()| encoder.finish());
    // Memory does not refuse to be written to.
    let Ok(bytes) = bytes else { return content(kind, plain.to_vec()) };
    let mut answer = content(kind, bytes);
    answer.headers_mut().insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    answer
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
