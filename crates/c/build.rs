//! The shared library's name for the loader, and that it stays where it is once it is loaded: it has threads.

fn main() {
    // The number is ONTICK_ABI_MAJOR of src/lib.rs; tests/installed.rs compares them.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libontick.so.0");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
    println!("cargo:rerun-if-changed=build.rs");
}
