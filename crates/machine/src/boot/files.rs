//! Where this machine keeps the kernel's arguments.

use serde::Serialize;

use super::BootError;
use crate::facts::{Arguments, Identity, board, firmware_folder};
use crate::root::Root;

/// A boot loader and its files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "loader")]
pub enum BootFiles {
    /// The Raspberry Pi's firmware.
    RaspberryPi {
        /// The kernel's arguments, one line.
        cmdline: String,
        /// The firmware's settings.
        config: String,
    },
    /// U-Boot or syslinux with `extlinux.conf`.
    Extlinux {
        /// The file.
        file: String,
    },
    /// A BeagleBone's U-Boot environment.
    UEnv {
        /// The file.
        file: String,
    },
    /// GRUB.
    Grub {
        /// Its defaults.
        file: String,
        /// Our own file beside them, where the distribution reads such.
        drop_in: Option<String>,
    },
    /// systemd-boot, fed by `kernel-install`.
    SystemdBoot {
        /// The arguments of kernels that will be installed.
        kernel_cmdline: String,
        /// The entries of those that are.
        entries: Vec<String>,
    },
}

/// Finds the boot loader's files.
pub fn find(root: &Root) -> Result<BootFiles, BootError> {
    if let Some(folder) = firmware_folder(root)
        .filter(|f| Identity::probe(root).is_raspberry_pi() || root.exists(&format!("{f}/cmdline.txt")))
    {
        return pi(root, &folder);
    }
    let extlinux = ["/boot/extlinux/extlinux.conf", "/boot/firmware/extlinux/extlinux.conf"];
    if let Some(file) = extlinux.into_iter().find(|f| root.exists(f)) {
        return Ok(BootFiles::Extlinux { file: file.into() });
    }
    if root.exists("/boot/uEnv.txt") {
        return Ok(BootFiles::UEnv { file: "/boot/uEnv.txt".into() });
    }
    if let Some((_, entries)) = loader_entries(root).filter(|_| !root.exists("/etc/default/grub")) {
        return Ok(BootFiles::SystemdBoot { kernel_cmdline: "/etc/kernel/cmdline".into(), entries });
    }
    if root.exists("/etc/default/grub") {
        let reads = root.text("/usr/sbin/grub-mkconfig").is_ok_and(|t| t.contains("/etc/default/grub.d"));
        let drop_in = (reads || root.exists("/etc/default/grub.d")).then(|| "/etc/default/grub.d/zz-ontick.cfg".into());
        return Ok(BootFiles::Grub { file: "/etc/default/grub".into(), drop_in });
    }
    Err(BootError::NoLoader)
}

fn pi(root: &Root, folder: &str) -> Result<BootFiles, BootError> {
    let config = format!("{folder}/config.txt");
    // config.txt may name another file for the arguments.
    let settings = board::config(root, &config).unwrap_or_default();
    let named = settings.get("cmdline").filter(|name| !name.is_empty()).unwrap_or("cmdline.txt");
    // So may the folder be another one than the firmware's, if the firmware finds it there.
    let prefix = settings.get("os_prefix").filter(|_| !named.starts_with('/')).unwrap_or_default();
    let own = format!("{folder}/{prefix}{named}");
    let cmdline = match root.exists(&own) {
        true => own,
        false => format!("{folder}/{}", named.trim_start_matches('/')),
    };
    match root.exists(&cmdline) {
        true => Ok(BootFiles::RaspberryPi { cmdline, config }),
        false => Err(BootError::Missing(cmdline)),
    }
}

/// systemd-boot's folder and its entries, where it is installed.
pub(super) fn loader_entries(root: &Root) -> Option<(String, Vec<String>)> {
    let folder = ["/boot/loader", "/efi/loader", "/boot/efi/loader"]
        .into_iter()
        .find(|f| root.exists(&format!("{f}/loader.conf")))?;
    let mut entries = root.matching(&format!("{folder}/entries/*.conf"));
    // Entries of other systems (memory tests, another distribution) have another root.
    let running = Arguments::parse(&root.value("/proc/cmdline").unwrap_or_default());
    let own = running.get("root").map(|r| format!("root={r}"));
    let of_own: Vec<String> = entries
        .iter()
        .filter(|e| own.as_ref().is_some_and(|own| root.text(e).is_ok_and(|t| t.contains(own))))
        .cloned()
        .collect();
    if !of_own.is_empty() {
        entries = of_own;
    }
    entries.retain(|e| root.text(e).is_ok_and(|t| t.lines().any(|l| l.starts_with("options"))));
    Some((folder.into(), entries))
}
