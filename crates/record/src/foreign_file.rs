//! What a file that is no text looks like, by its first bytes.

/// The first bytes of well-known formats (file(1) and the formats' own specifications).
const FORMATS: &[(&[u8], &str)] = &[
    (b"\x7fELF", "a program (ELF)"),
    (b"\x1f\x8b", "compressed by gzip"),
    (b"\xfd7zXZ\x00", "compressed by xz"),
    (b"\x28\xb5\x2f\xfd", "compressed by zstd"),
    (b"BZh", "compressed by bzip2"),
    (b"PK\x03\x04", "a ZIP archive (a session of sigrok must be imported first)"),
    (b"\x89PNG", "a PNG picture"),
    (b"\xff\xd8\xff", "a JPEG picture"),
    (b"%PDF", "a PDF document"),
    (b"\xd4\xc3\xb2\xa1", "a packet capture (pcap)"),
    (b"\x4d\x3c\xb2\xa1", "a packet capture (pcap)"),
    (b"\xa1\xb2\xc3\xd4", "a packet capture (pcap)"),
    (b"\x0a\x0d\x0d\x0a", "a packet capture (pcapng)"),
    (b"\x17\x08Dtracing", "a recording of trace-cmd (trace.dat)"),
    (b"PERFILE2", "a recording of perf (perf.data)"),
    (b"SQLite format 3\x00", "an SQLite database"),
    (b"ARROW1", "an Arrow file"),
    (b"PAR1", "a Parquet file"),
];

/// What it is, in words; `not text` where nothing is known.
pub fn describe(bytes: &[u8]) -> String {
    if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") {
        return "text in UTF-16: convert it to UTF-8 (iconv)".into();
    }
    let known = FORMATS.iter().find(|(first, _)| bytes.starts_with(first));
    known.map_or_else(|| "not text".into(), |(_, name)| format!("{name}, not text"))
}

#[cfg(test)]
mod tests {
    use super::describe;

    #[test]
    fn a_format_is_known_by_its_first_bytes() {
        assert_eq!(describe(b"\x1f\x8b\x08\x00"), "compressed by gzip, not text");
        assert_eq!(describe(b"\x7fELF\x02"), "a program (ELF), not text");
        assert_eq!(describe(b"\xff\x00"), "not text");
        assert!(describe(b"\xff\xfe{\0").contains("UTF-16"));
        assert_eq!(describe(b""), "not text");
    }
}
