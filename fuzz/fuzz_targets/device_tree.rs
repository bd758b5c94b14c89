//! A board's device tree on somebody's card.
#![no_main]

use ontick_machine::device_tree::DeviceTree;

libfuzzer_sys::fuzz_target!(|blob: &[u8]| {
    if let Ok(tree) = DeviceTree::parse(blob) {
        // They are numbered from 0 on, and each took bytes of the file.
        assert!(tree.cpus.last().is_none_or(|last| last as usize + 1 == tree.cpus.len()));
        assert!(tree.cpus.len() * 12 <= blob.len());
    }
});
