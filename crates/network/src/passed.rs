//! What was on a link.

/// A frame that was on a link, to be drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Passed {
    /// Its stream, by its place; absent: of none.
    pub stream: Option<u32>,
    /// When its first bit left.
    pub begin_ns: u64,
    /// When its last bit had left.
    pub end_ns: u64,
}
