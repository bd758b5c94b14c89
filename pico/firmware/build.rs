//! Has the linker lay the program out as link.ld says.

fn main() {
    let folder = std::env::var("CARGO_MANIFEST_DIR").expect("cargo sets it");
    println!("cargo:rustc-link-arg=-T{folder}/link.ld");
    println!("cargo:rerun-if-changed=link.ld");
}
