//! The ring buffer's pages, as `trace_pipe_raw` gives them.

/// Bits of a page's length that say events before it were overwritten.
const MISSED: u64 = 1 << 31 | 1 << 30;
const PADDING: u32 = 29;
const TIME_EXTEND: u32 = 30;
const TIME_STAMP: u32 = 31;
/// An absolute time stamp has this many bits; those above are those of the time before it.
const STAMP_BITS: u32 = 59;

/// How a page begins (`events/header_page`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Where the events begin; the length before them has what lies between it and the eight bytes of time.
    data: usize,
}

impl Header {
    /// Reads `events/header_page`; `None` if it is not understood.
    pub fn parse(text: &str) -> Option<Self> {
        let line = text.lines().find(|line| line.contains(" data;"))?;
        let data = line.split("offset:").nth(1)?.split(';').next()?.trim().parse().ok()?;
        matches!(data, 12 | 16).then_some(Self { data })
    }
}

/// Whether events before the page were overwritten.
pub fn follows_loss(page: &[u8]) -> bool {
    word(page, 8).is_some_and(|committed| u64::from(committed) & MISSED != 0)
}

/// Calls `each` with time and record of every event of a page, in order.
pub fn records(page: &[u8], header: Header, mut each: impl FnMut(u64, &[u8])) {
    let Some(mut at_ns) = page.get(..8).map(|b| u64::from_ne_bytes(b.try_into().unwrap_or_default())) else {
        return;
    };
    let Some(committed) = word(page, 8).map(u64::from) else { return };
    let end = header.data.saturating_add((committed & !MISSED & 0xf_ffff) as usize).min(page.len());
    let mut at = header.data;
    while let Some(head) = word(page, at).filter(|_| at + 4 <= end) {
        let (kind, delta) = (head & 0x1f, u64::from(head >> 5));
        let next = word(page, at + 4);
        match kind {
            PADDING if delta == 0 => break,
            PADDING => {
                at_ns = at_ns.wrapping_add(delta);
                at += 4 + next.unwrap_or(0) as usize;
            }
            TIME_EXTEND => {
                at_ns = at_ns.wrapping_add(delta + (u64::from(next.unwrap_or(0)) << 27));
                at += 8;
            }
            TIME_STAMP => {
                let low = delta + (u64::from(next.unwrap_or(0)) << 27);
                at_ns = at_ns >> STAMP_BITS << STAMP_BITS | low;
                at += 8;
            }
            0 => {
                // The length counts itself.
                let length = next.unwrap_or(0) as usize;
                at_ns = at_ns.wrapping_add(delta);
                let Some(record) = page.get(at + 8..(at + 4).saturating_add(length)) else { break };
                each(at_ns, record);
                at += 4 + length.next_multiple_of(4);
            }
            words => {
                at_ns = at_ns.wrapping_add(delta);
                let from = at + 4;
                let Some(record) = page.get(from..from + words as usize * 4) else { break };
                each(at_ns, record);
                at = from + record.len();
            }
        }
    }
}

fn word(page: &[u8], at: usize) -> Option<u32> {
    page.get(at..at + 4)?.try_into().ok().map(u32::from_ne_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const HEADER: Header = Header { data: 16 };

    fn page(at_ns: u64, length: u32, words: &[u32]) -> Vec<u8> {
        let mut page = at_ns.to_ne_bytes().to_vec();
        page.extend(u64::from(length).to_ne_bytes());
        words.iter().for_each(|word| page.extend(word.to_ne_bytes()));
        page
    }

    #[test]
    fn the_header_is_read() {
        let text = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\tfield: local_t commit;\toffset:8;\tsize:4;\tsigned:1;\n\tfield: char data;\toffset:12;\tsize:4084;\tsigned:0;\n";
        assert_eq!(Header::parse(text), Some(Header { data: 12 }));
        assert_eq!(Header::parse("field: char data;\toffset:9999;"), None);
    }

    #[test]
    fn times_add_up_over_all_kinds() {
        let words = [
            7 << 5 | 1,
            0xaa, // + 7 ns, one word
            5 << 5 | TIME_EXTEND,
            1, // + 2^27 + 5
            2 << 5,
            8,
            0xbb, // + 2 ns, length in a word of its own: itself and one word
            3 << 5 | PADDING,
            4, // + 3 ns, a discarded event of four bytes
            1 << 5 | 2,
            0xcc,
            0xdd, // + 1 ns, two words
        ];
        let mut seen = Vec::new();
        let page = page(1_000, 48 | 1 << 31, &words);
        records(&page, HEADER, |at, record| seen.push((at, record.len())));
        let far = 1_000 + 7 + (1 << 27) + 5 + 2;
        assert_eq!(seen, [(1_007, 4), (far, 4), (far + 4, 8)]);
        assert!(follows_loss(&page));
    }

    #[test]
    fn an_absolute_stamp_replaces_the_time() {
        let words = [6 << 5 | TIME_STAMP, 2, 1 << 5 | 1, 0];
        let mut seen = Vec::new();
        let page = page(5, 16, &words);
        records(&page, HEADER, |at, _| seen.push(at));
        assert_eq!((seen, follows_loss(&page)), (vec![(2 << 27) + 7], false));
        // The bits above it stay as they are.
        let mut seen = Vec::new();
        records(&super::tests::page(3 << STAMP_BITS | 5, 16, &words), HEADER, |at, _| seen.push(at));
        assert_eq!(seen, [(3 << STAMP_BITS) + (2 << 27) + 7]);
    }

    #[test]
    fn padding_without_time_ends_a_page() {
        let mut seen = Vec::new();
        records(&page(5, 16, &[PADDING, 4, 1 << 5 | 1, 0xa]), HEADER, |at, _| seen.push(at));
        assert_eq!(seen, [0; 0]);
    }

    /// Behind what the writer committed may lie what it has begun.
    #[test]
    fn what_is_not_committed_is_not_read() {
        let words = [1 << 5 | 1, 0xa, 1 << 5 | 1, 0xb, 1 << 5 | 1, 0xc];
        let read = |length| {
            let mut seen = Vec::new();
            records(&page(5, length, &words), HEADER, |at, _| seen.push(at));
            seen
        };
        assert_eq!([read(0), read(8), read(16), read(24)], [vec![], vec![6], vec![6, 7], vec![6, 7, 8]]);
        // A head that is not all there.
        assert_eq!([read(3), read(11)], [vec![], vec![6]]);
    }

    proptest! {
        #[test]
        fn any_bytes_are_answered(bytes in proptest::collection::vec(any::<u8>(), 0..300), small in any::<bool>()) {
            let header = Header { data: if small { 12 } else { 16 } };
            let mut total = 0;
            records(&bytes, header, |_, record| total += record.len());
            prop_assert!(total <= bytes.len());
        }

        #[test]
        fn any_words_after_a_good_head_are_answered(words in proptest::collection::vec(any::<u32>(), 0..200)) {
            let mut total = 0;
            records(&page(1, words.len() as u32 * 4, &words), HEADER, |_, record| total += record.len());
            prop_assert!(total <= words.len() * 4);
        }
    }
}
