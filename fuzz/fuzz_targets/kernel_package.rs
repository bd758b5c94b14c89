//! A packed kernel: a tar, what its files are for, and the kernel's image.
#![no_main]

use ontick_kernel::install::Package;
use ontick_kernel::install::image;
use ontick_kernel::install::package::{Kind, is_release};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = image::read(bytes);
    let Ok(package) = Package::read(bytes) else { return };
    assert!(is_release(&package.release));
    for (kind, _) in &package.files {
        // Nothing that is put in place leads out of its folder.
        if let Kind::Module { name, .. } | Kind::Dtb(name) | Kind::Overlay(name) = kind {
            assert!(!name.starts_with('/') && name.split('/').all(|part| !part.is_empty() && part != ".."), "{name}");
        }
    }
});
