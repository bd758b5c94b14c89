//! Traffic classes, and how many a port may have.

use super::rule::Rule;

/// Traffic classes of a port at most, as the kernel has them (TC_QOPT_MAX_QUEUE); IEEE 802.1Q-2022 clause 8.6.6 has
/// [`STANDARD_CLASSES`].
pub const CLASSES: usize = 16;

/// Traffic classes of a port at most in IEEE 802.1Q-2022 (clause 8.6.6), and so in its YANG modules.
pub const STANDARD_CLASSES: usize = 8;

/// A traffic class.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Class {
    /// Its name in gates.
    pub name: String,
    /// Its number, 0 to 15: among open gates the highest number with a frame that fits goes first (strict priority,
    /// IEEE 802.1Q-2022 clause 8.6.8.1). No two classes have the same.
    pub queue: u8,
    /// Frames that fit any of these belong to it. The one class without rules takes all others.
    pub rules: Vec<Rule>,
    /// Frames that wait on one port at most; further ones are dropped and counted.
    pub limit: u32,
}
