//! Headers and blocks of frames: those that were made up, and a real one that was damaged.
#![no_main]

use ontick_link::frame::{HEADER_BYTES, Header, LONGEST, Shape};
use ontick_link::{Frame, Kind};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if bytes.len() < HEADER_BYTES + 4 {
        return;
    }
    let (header, rest) = bytes.split_at(HEADER_BYTES);
    if let Some(header) = Header::read(header) {
        let size = usize::from(bytes[2]).max(1);
        // An odd first byte: the block is missing.
        let came: Vec<_> =
            rest.chunks(size + 1).map(|block| (block[0] & 1 == 0).then(|| block[1..].to_vec())).collect();
        if let Ok((frame, mended)) = header.join(&came) {
            assert!(frame.payload.len() <= LONGEST && mended <= header.wanted());
        }
    }

    let shape = Shape { block: 1 + usize::from(bytes[0]) % 64, parity: bytes[1] % 100 };
    let (payload, damage) = rest.split_at(rest.len() / 2);
    let frame = Frame { kind: Kind::Data, number: u32::from(bytes[2]), payload: payload.to_vec() };
    let (data, parity, _) = shape.blocks(payload.len());
    if data + parity > ontick_link::frame::MOST_BLOCKS {
        return;
    }
    let parts = frame.parts(shape);
    let mut came: Vec<_> = parts.blocks.into_iter().map(Some).collect();
    for hit in damage.chunks_exact(3) {
        let place = usize::from(hit[0]) % came.len();
        match &mut came[place] {
            Some(block) if hit[1] & 1 == 0 => {
                let byte = usize::from(hit[1]) % block.len();
                block[byte] ^= hit[2];
            }
            block => *block = None,
        }
    }
    let header = Header::read(&parts.header).expect("it was made by us");
    if let Ok((read, _)) = header.join(&came) {
        // A checksum of 32 bits can be met by chance, but not by flipping few bits.
        assert!(read == frame || damage.len() > 12, "{read:?}");
    }
});
