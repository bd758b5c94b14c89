//! What programs and user space share.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use crate::{bpf, bpf_fd};

const ARRAY: u32 = 2;

/// A new map; kind and flags by the numbers of `linux/bpf.h`, sizes in octets.
pub fn create(kind: u32, key_size: u32, value_size: u32, max_entries: u32) -> io::Result<OwnedFd> {
    #[repr(C)]
    struct MapCreate {
        kind: u32,
        key_size: u32,
        value_size: u32,
        max_entries: u32,
    }
    const BPF_MAP_CREATE: u32 = 0;
    let mut map = MapCreate { kind, key_size, value_size, max_entries };
    // SAFETY: the attributes of this command, without pointers.
    unsafe { bpf_fd(BPF_MAP_CREATE, &mut map) }
}

/// A number that programs add to.
#[derive(Debug)]
pub struct Counter(OwnedFd);

impl Counter {
    /// One that is zero.
    pub fn new() -> io::Result<Self> {
        create(ARRAY, 4, 8, 1).map(Self)
    }

    /// For programs, which take it as source [`crate::instruction::MAP_VALUE`].
    pub fn map(&self) -> &OwnedFd {
        &self.0
    }

    /// What it is now.
    pub fn read(&self) -> io::Result<u64> {
        #[repr(C)]
        struct MapLookup {
            map: u32,
            _pad: u32,
            key: u64,
            value: u64,
            flags: u64,
        }
        const BPF_MAP_LOOKUP_ELEM: u32 = 1;
        let (key, mut number) = (0u32, 0u64);
        let (key, value) = (&raw const key as u64, &raw mut number as u64);
        let mut lookup = MapLookup { map: self.0.as_raw_fd() as u32, _pad: 0, key, value, flags: 0 };
        // SAFETY: the attributes of this command; a key of four octets and a value of eight live through the call.
        unsafe { bpf(BPF_MAP_LOOKUP_ELEM, &mut lookup) }?;
        Ok(number)
    }
}
