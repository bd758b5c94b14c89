//! A setting of one's own: a file of the kernel that no knob is about, and what is wanted there.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::root::Root;

/// A file of the kernel and its value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OwnSetting {
    /// The file, below /sys or /proc/sys.
    pub path: String,
    /// The value, one line.
    pub value: String,
}

/// Why something is no such setting.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OwnSettingError {
    /// The name of no file that may be set.
    #[error("\"{0}\" is neither a sysctl, such as vm.nr_hugepages, nor a file below /sys or /proc/sys")]
    Name(String),
    /// A value that cannot be written in one line.
    #[error("\"{0}\" has no value of one line that could be written")]
    Value(String),
    /// An amount in the place of a ratio.
    #[error("\"{name}\" could not be put back: set the ratio instead ({ratio})")]
    Amount {
        /// What was named.
        name: String,
        /// The sysctl that sets the ratio.
        ratio: String,
    },
}

impl OwnSetting {
    /// By the name of a sysctl (`vm.nr_hugepages`) or the path of a file.
    ///
    /// ```
    /// use ontick_machine::own_setting::OwnSetting;
    /// let setting = OwnSetting::new("net.ipv4.conf.eth0/100.rp_filter", "0").unwrap();
    /// assert_eq!(setting.path, "/proc/sys/net/ipv4/conf/eth0.100/rp_filter");
    /// assert!(OwnSetting::new("/sys/../etc/passwd", "x").is_err());
    /// ```
    pub fn new(name: &str, value: &str) -> Result<Self, OwnSettingError> {
        let path = if name.starts_with('/') { name.into() } else { format!("/proc/sys/{}", below_proc_sys(name)) };
        let below = path.strip_prefix("/sys/").or_else(|| path.strip_prefix("/proc/sys/"));
        let is_part = |part: &str| !["", ".", ".."].contains(&part) && !part.contains(char::is_control);
        let is_file = |below: &str| below.split('/').all(is_part) && below.contains('/');
        if !below.is_some_and(is_file) {
            return Err(OwnSettingError::Name(name.into()));
        }
        if let Some(ratio) = ratio_of(&path) {
            return Err(OwnSettingError::Amount { name: name.into(), ratio: sysctl(ratio) });
        }
        let value = value.trim();
        match value.is_empty() || value.contains(|c: char| c.is_control() && c != '\t') {
            true => Err(OwnSettingError::Value(name.into())),
            false => Ok(Self { path, value: value.into() }),
        }
    }
}

/// Amounts and the ratios in whose place they come. Writing one sets the other to 0, which the kernel does not take back: neither
/// goes back to what it was.
const AMOUNTS: [(&str, &str); 3] = [
    ("/proc/sys/vm/dirty_bytes", "/proc/sys/vm/dirty_ratio"),
    ("/proc/sys/vm/dirty_background_bytes", "/proc/sys/vm/dirty_background_ratio"),
    ("/proc/sys/vm/overcommit_kbytes", "/proc/sys/vm/overcommit_ratio"),
];

/// Why writing a file of this machine, named without links, could not be undone.
pub(crate) fn lasting(root: &Root, path: &str) -> Option<String> {
    if let Some(ratio) = ratio_of(path) {
        return Some(format!("it could not be put back: set the ratio instead ({})", sysctl(ratio)));
    }
    let (amount, _) = AMOUNTS.into_iter().find(|(_, ratio)| *ratio == path)?;
    let is_set = root.value(amount).is_some_and(|value| value != "0");
    is_set.then(|| format!("{} is set in its place, and could not be put back", sysctl(amount)))
}

fn ratio_of(path: &str) -> Option<&'static str> {
    AMOUNTS.into_iter().find_map(|(amount, ratio)| (amount == path).then_some(ratio))
}

/// The name of one whose parts have no dots.
fn sysctl(path: &str) -> String {
    path.trim_start_matches("/proc/sys/").replace('/', ".")
}

/// Two of them that lead to one file of this machine, where there are such: one would be the other's value from before.
pub fn same_file<'a>(root: &Root, settings: &'a [OwnSetting]) -> Option<[&'a OwnSetting; 2]> {
    let mut known: BTreeMap<String, &OwnSetting> = BTreeMap::new();
    settings.iter().find_map(|setting| {
        let real = root.real(&setting.path).unwrap_or_else(|_| setting.path.clone());
        known.insert(real, setting).map(|first| [first, setting])
    })
}

/// As sysctl(8) reads names: whichever of `.` and `/` comes first separates, and the other stands for itself.
fn below_proc_sys(name: &str) -> String {
    let swapped = |c: char| match c {
        '.' => '/',
        '/' => '.',
        other => other,
    };
    match name.find(['.', '/']) {
        Some(at) if name[at..].starts_with('.') => name.chars().map(swapped).collect(),
        _ => name.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_sysctls_and_paths_are_files() {
        let path = |name: &str| OwnSetting::new(name, " 1 ").map(|setting| (setting.path, setting.value));
        let is = |path: &str| Ok((path.to_owned(), "1".to_owned()));
        assert_eq!(path("vm.nr_hugepages"), is("/proc/sys/vm/nr_hugepages"));
        assert_eq!(path("net/ipv4/conf/eth0.100/rp_filter"), is("/proc/sys/net/ipv4/conf/eth0.100/rp_filter"));
        assert_eq!(path("/sys/kernel/mm/ksm/run"), is("/sys/kernel/mm/ksm/run"));
        assert_eq!(path("/proc/sys/vm/swappiness"), is("/proc/sys/vm/swappiness"));
    }

    #[test]
    fn an_amount_in_the_place_of_a_ratio_is_refused() {
        for (name, ratio) in [
            ("vm.dirty_bytes", "vm.dirty_ratio"),
            ("vm/dirty_background_bytes", "vm.dirty_background_ratio"),
            ("/proc/sys/vm/overcommit_kbytes", "vm.overcommit_ratio"),
        ] {
            let said = OwnSetting::new(name, "65536").unwrap_err().to_string();
            assert_eq!(said, format!("\"{name}\" could not be put back: set the ratio instead ({ratio})"));
            assert!(OwnSetting::new(ratio, "10").is_ok());
        }
    }

    #[test]
    fn what_leads_elsewhere_is_refused() {
        for name in [
            "",
            "vm",
            "vm..x",
            ".vm.x",
            "vm.",
            "/etc/passwd",
            "/proc/1/comm",
            "/proc/sys/vm/../../1/comm",
            "/sys/kernel/../../etc/passwd",
            "/sys/kernel/./mm",
            "/sys//kernel",
            "/sys/kernel/",
            "/system/x/y",
            "vm.a\nb",
            "thread:1@2/x",
            "ethtool:eth0/ring/rx",
        ] {
            let setting = OwnSetting::new(name, "1");
            // Such addresses are no files: as names of sysctls they lead to no file either.
            let harmless = setting.as_ref().is_ok_and(|s| name.contains(':') && s.path.starts_with("/proc/sys/"));
            assert!(harmless || setting == Err(OwnSettingError::Name(name.into())), "{name}: {setting:?}");
        }
        for value in ["", " ", "1\n2", "\0"] {
            assert_eq!(OwnSetting::new("vm.swappiness", value), Err(OwnSettingError::Value("vm.swappiness".into())));
        }
    }
}
