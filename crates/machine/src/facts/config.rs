//! The kernel's configuration: `/proc/config.gz` or the file that distributions put beside the kernel.

use std::collections::BTreeMap;
use std::io::Read;

use serde::Serialize;

use crate::root::Root;

/// A real configuration has about 10 000 lines and 300 kB; a compressed file that unpacks to more is no such file.
const LIMIT: u64 = 8 << 20;

/// What the kernel was built with. Options that are `is not set` are not in the map.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct KernelConfig {
    /// Where it was read; empty where none was found.
    pub source: String,
    /// `CONFIG_` names without that prefix, and their values without quotes.
    #[serde(skip)]
    options: BTreeMap<String, String>,
    /// Major and minor version of the kernel, as the head of the file names it.
    #[serde(skip)]
    version: Option<(u32, u32)>,
}

impl KernelConfig {
    /// Reads the running kernel's configuration, wherever this machine keeps it.
    pub(crate) fn probe(root: &Root, release: &str) -> Self {
        let places = [
            "/proc/config.gz".into(),
            format!("/boot/config-{release}"),
            format!("/lib/modules/{release}/config"),
            format!("/lib/modules/{release}/build/.config"),
        ];
        places.iter().find_map(|path| Self::read(path, &root.bytes(path).ok()?)).unwrap_or_default()
    }

    /// Reads a file's bytes, compressed by gzip or not; `None` where they do not unpack.
    pub fn read(source: &str, bytes: &[u8]) -> Option<Self> {
        match bytes.starts_with(b"\x1f\x8b") {
            true => unpack(bytes).map(|text| Self::parse(source, &text)),
            false => Some(Self::parse(source, &String::from_utf8_lossy(bytes))),
        }
    }

    /// Reads the text of a configuration.
    pub fn parse(source: &str, text: &str) -> Self {
        let option = |line: &str| -> Option<(String, String)> {
            let (name, value) = line.trim().strip_prefix("CONFIG_")?.split_once('=')?;
            let plain = name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') && !name.is_empty();
            let value = value.strip_prefix('"').and_then(|v| v.strip_suffix('"')).unwrap_or(value);
            plain.then(|| (name.to_owned(), value.to_owned()))
        };
        let options = text.lines().filter_map(option).collect();
        Self { source: source.into(), options, version: text.lines().take(10).find_map(version) }
    }

    /// Major and minor version of the kernel, where the head of the file names it.
    pub fn version(&self) -> Option<(u32, u32)> {
        self.version
    }

    /// Whether it sets any option.
    pub fn is_empty(&self) -> bool {
        self.options.is_empty()
    }

    /// Whether a configuration was found at all; without one nothing can be said of any option.
    pub fn known(&self) -> bool {
        !self.source.is_empty()
    }

    /// The value of an option, named without `CONFIG_`.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.options.get(name).map(String::as_str)
    }

    /// Whether an option is on: built in or a module. `None` where no configuration is known.
    pub fn has(&self, name: &str) -> Option<bool> {
        self.known().then(|| matches!(self.get(name), Some("y" | "m")))
    }
}

/// `# Linux/x86 6.12.95 Kernel Configuration`
fn version(line: &str) -> Option<(u32, u32)> {
    let mut numbers = line.strip_prefix("# Linux/")?.split(' ').nth(1)?.split('.').map_while(|n| n.parse().ok());
    Some((numbers.next()?, numbers.next()?))
}

/// The text of a file that gzip compressed; `None` where it does not unpack, or not to the size of a configuration.
pub fn unpack(bytes: &[u8]) -> Option<String> {
    let mut text = String::new();
    flate2::read::GzDecoder::new(bytes).take(LIMIT).read_to_string(&mut text).ok()?;
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn options_are_on_off_or_unknown() {
        let config =
            KernelConfig::parse("x", "CONFIG_HZ=250\n# CONFIG_NO_HZ_FULL is not set\nCONFIG_KSM=m\nCONFIG_V=\"a b\"\n");
        assert_eq!((config.get("HZ"), config.get("V")), (Some("250"), Some("a b")));
        assert_eq!((config.has("NO_HZ_FULL"), config.has("KSM")), (Some(false), Some(true)));
        assert_eq!(KernelConfig::default().has("KSM"), None);
        let headed = "#\n# Automatically generated file; DO NOT EDIT.\n# Linux/arm64 6.12.95 Kernel Configuration\n#\n";
        assert_eq!(KernelConfig::parse("x", headed).version(), Some((6, 12)));
        assert_eq!(unpack(b"\x1f\x8b\x08cut off"), None);
    }

    proptest! {
        #[test]
        fn any_text_is_answered(text in "(CONFIG_[A-Z_]{0,5}=?[yn\"]{0,3}\n|.{0,12}\n){0,8}") {
            let _ = KernelConfig::parse("x", &text);
        }

        #[test]
        fn what_is_written_is_read(options in prop::collection::btree_map("[A-Z][A-Z0-9_]{0,12}", "y|m|[0-9]{1,6}", 0..20)) {
            let text: String = options.iter().map(|(name, value)| format!("CONFIG_{name}={value}\n")).collect();
            let config = KernelConfig::parse("x", &text);
            for (name, value) in &options {
                prop_assert_eq!(config.get(name), Some(value.as_str()));
            }
        }

        #[test]
        fn any_bytes_are_answered(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            let _ = unpack(&bytes);
        }
    }
}
