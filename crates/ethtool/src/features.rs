//! Offloads of a port by the names that the kernel gives them (`ethtool -k` shows most under shorter ones).

use std::collections::BTreeMap;
use std::io;

use serde::{Deserialize, Serialize};

use crate::names;
use crate::request::{Request, ask};

const SET: u32 = 4;
const GET: u32 = 0x3a;
const CHANGE: u32 = 0x3b;

/// One offload of a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Feature {
    /// Whether it acts.
    pub active: bool,
    /// Whether it was asked for; it acts as soon as what it depends on does.
    pub wanted: bool,
    /// Whether it can be switched.
    pub can_change: bool,
}

/// All offloads of a port.
pub type Features = BTreeMap<String, Feature>;

/// What the port has.
pub fn get(port: &str) -> io::Result<Features> {
    let names = names(port, SET)?;
    let blocks = names.len().div_ceil(32);
    let mut request = Request::new(GET, 8 + blocks * 16);
    request.set(1, blocks as u32);
    ask(port, &mut request)?;
    let feature = |(i, name): (usize, String)| {
        // Words of a block: available, requested, active, never changed.
        let bit = |word: usize| request.word(2 + i / 32 * 4 + word) & (1 << (i % 32)) != 0;
        (name, Feature { active: bit(2), wanted: bit(1), can_change: bit(0) && !bit(3) })
    };
    Ok(names.into_iter().enumerate().filter(|(_, name)| !name.is_empty()).map(feature).collect())
}

/// Switches offloads by name; those that the port does not have are left out.
pub fn set(port: &str, wanted: &[(String, bool)]) -> io::Result<()> {
    let names = names(port, SET)?;
    let blocks = names.len().div_ceil(32);
    let mut request = Request::new(CHANGE, 8 + blocks * 8);
    request.set(1, blocks as u32);
    for (i, name) in names.iter().enumerate() {
        let Some((_, on)) = wanted.iter().find(|(wanted, _)| wanted == name) else { continue };
        let (word, bit) = (2 + i / 32 * 2, 1 << (i % 32));
        request.set(word, request.word(word) | bit);
        if *on {
            request.set(word + 1, request.word(word + 1) | bit);
        }
    }
    // Bits of what it returns tell that another feature forbids one; who asked looks at the outcome.
    ask(port, &mut request).map(|_| ())
}

/// Makes several frames into one, or one of several.
pub fn merges_frames(name: &str) -> bool {
    name.ends_with("-segmentation")
        || name.starts_with("tx-gso-")
        || name.starts_with("rx-gro")
        || matches!(name, "rx-lro" | "rx-udp-gro-forwarding")
}
