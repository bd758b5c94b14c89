//! What gives the right to open a device file.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// What a user whom this file refused can do.
pub fn remedy(path: &Path) -> String {
    match fs::metadata(path).ok().and_then(|seen| group(seen.gid())).filter(|group| group != "root") {
        Some(group) => {
            format!("join the group {group}: sudo usermod -aG {group} $USER, then log in again; or use sudo")
        }
        None => "use sudo, or give a group the right with a udev rule: see docs/gpio.md".into(),
    }
}

fn group(gid: u32) -> Option<String> {
    let groups = fs::read_to_string("/etc/group").ok()?;
    let named = |line: &str| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)? == gid.to_string()).then(|| name.to_string())
    };
    groups.lines().find_map(named)
}
