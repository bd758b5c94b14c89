//! What a PC's boot loader and the system tell each other through variables of the firmware, as the Boot Loader Interface
//! (systemd.io) names them. efivarfs shows four bytes of attributes and then the value: UTF-16 that ends with a zero, or a
//! number.

use crate::root::Root;

/// Where they are shown.
pub const FOLDER: &str = "/sys/firmware/efi/efivars";
const VENDOR: &str = "4a67b082-0a4c-41cf-b6c7-440b29bb8c4f";
/// Kept without power, seen by boot loaders and by the running system.
const ATTRIBUTES: [u8; 4] = [7, 0, 0, 0];

/// The file of a variable.
///
/// ```
/// let path = ontick_machine::boot::efi::path("LoaderInfo");
/// assert_eq!(path, "/sys/firmware/efi/efivars/LoaderInfo-4a67b082-0a4c-41cf-b6c7-440b29bb8c4f");
/// ```
pub fn path(name: &str) -> String {
    format!("{FOLDER}/{name}-{VENDOR}")
}

/// A variable that is text.
pub fn text(root: &Root, name: &str) -> Option<String> {
    let units: Vec<u16> =
        value(root, name)?.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect();
    let end = units.iter().position(|unit| *unit == 0).unwrap_or(units.len());
    String::from_utf16(&units[..end]).ok()
}

/// A variable that is a number of 64 bits.
pub fn number(root: &Root, name: &str) -> Option<u64> {
    Some(u64::from_le_bytes(value(root, name)?.try_into().ok()?))
}

/// What the file of a variable holds that is this text.
pub fn file_of(text: &str) -> Vec<u8> {
    ATTRIBUTES.into_iter().chain(text.encode_utf16().chain([0]).flat_map(u16::to_le_bytes)).collect()
}

fn value(root: &Root, name: &str) -> Option<Vec<u8>> {
    root.bytes(&path(name)).ok()?.get(ATTRIBUTES.len()..).map(<[u8]>::to_vec)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_read_as_the_loader_writes_them() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join(&FOLDER[1..])).unwrap();
        let root = Root::at(folder.path()).unwrap();
        let write = |name: &str, bytes: &[u8]| std::fs::write(folder.path().join(&path(name)[1..]), bytes).unwrap();
        assert_eq!(text(&root, "A"), None);
        write("A", b"\x06\0\0\0d\0e\0b\0.\0c\0o\0n\0f\0\0\0");
        assert_eq!(text(&root, "A").as_deref(), Some("deb.conf"));
        assert_eq!(file_of("é1"), b"\x07\0\0\0\xe9\x001\0\0\0");
        write("N", b"\x06\0\0\0\x0f\x02\0\0\0\0\0\0");
        assert_eq!((number(&root, "N"), number(&root, "A")), (Some(0x20f), None));
        write("N", b"\x06\0");
        assert_eq!((number(&root, "N"), text(&root, "N")), (None, None));
    }
}
