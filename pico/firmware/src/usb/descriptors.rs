//! What the Pico says of itself to the host's USB: a modem of the communications class (CDC 1.2), which Linux calls ttyACM.

/// Data of the control endpoint and of the endpoint for bytes.
pub const PACKET: usize = 64;
/// Of notifications, none of which is ever sent.
pub const NOTIFY: u8 = 1;
/// Of bytes, both ways.
pub const BYTES: u8 = 2;

const DEVICE: [u8; 18] = [
    18, 1, 0x00, 0x02, // USB 2.0
    2, 0, 0, 64, // communications
    0x09, 0x12, 0x01, 0x00, // 1209:0001, which pid.codes keeps for tests
    0x00, 0x01, 1, 2, 0, 1,
];

const CONFIGURATION: [u8; 67] = [
    9,
    2,
    67,
    0,
    2,
    1,
    0,
    0x80,
    50, // two interfaces, 100 mA
    9,
    4,
    0,
    0,
    1,
    2,
    2,
    0,
    0, // communications, abstract control model
    5,
    0x24,
    0,
    0x20,
    0x01, // header: CDC 1.2
    5,
    0x24,
    1,
    0,
    1, // call management: none
    4,
    0x24,
    2,
    2, // line coding and control line state
    5,
    0x24,
    6,
    0,
    1, // union of both interfaces
    7,
    5,
    0x80 | NOTIFY,
    3,
    8,
    0,
    255, // interrupt
    9,
    4,
    1,
    0,
    2,
    10,
    0,
    0,
    0, // data
    7,
    5,
    BYTES,
    2,
    64,
    0,
    0, // bulk out
    7,
    5,
    0x80 | BYTES,
    2,
    64,
    0,
    0, // bulk in
];

const LANGUAGES: [u8; 4] = [4, 3, 0x09, 0x04];

/// A descriptor by its type and index, into a buffer; how long it is.
pub fn descriptor(kind: u8, index: u8, to: &mut [u8; 128]) -> Option<usize> {
    let bytes: &[u8] = match (kind, index) {
        (1, _) => &DEVICE,
        (2, _) => &CONFIGURATION,
        (3, 0) => &LANGUAGES,
        (3, 1) => return Some(text("ontick", to)),
        (3, 2) => return Some(text("ontick Pico", to)),
        _ => return None,
    };
    to[..bytes.len()].copy_from_slice(bytes);
    Some(bytes.len())
}

/// A string of ASCII as UTF-16.
fn text(text: &str, to: &mut [u8; 128]) -> usize {
    let length = 2 + 2 * text.len();
    to[..2].copy_from_slice(&[length as u8, 3]);
    for (pair, byte) in to[2..].chunks_exact_mut(2).zip(text.bytes()) {
        pair.copy_from_slice(&[byte, 0]);
    }
    length
}
