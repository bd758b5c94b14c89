//! What a file of a package is for, by where it lies there.

/// What a file is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// The kernel itself.
    Kernel,
    /// The configuration that it was built with.
    Config,
    /// Its table of symbols.
    SystemMap,
    /// An initramfs that was made for it.
    Initramfs,
    /// A module, or one of the lists about them.
    Module {
        /// The kernel's release.
        release: String,
        /// Its place in the release's folder.
        name: String,
    },
    /// A device tree.
    Dtb(String),
    /// A device tree overlay, or the README that belongs to them.
    Overlay(String),
    /// Firmware for devices: the system's own, not the kernel's.
    Firmware,
    /// Anything else.
    Other,
}

/// What the file at this path is.
pub(super) fn of(path: &str) -> Kind {
    let path = path.strip_prefix("usr/").unwrap_or(path);
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    if let Some((release, name)) = path.strip_prefix("lib/modules/").and_then(|rest| rest.split_once('/')) {
        return Kind::Module { release: release.into(), name: name.into() };
    }
    if path.starts_with("lib/firmware/") {
        return Kind::Firmware;
    }
    let begins = |words: &[&str]| words.iter().any(|word| name.starts_with(word));
    if folder == "boot" {
        match () {
            () if name.ends_with(".dtb") => {}
            () if begins(&["vmlinuz", "vmlinux", "Image", "zImage", "bzImage"]) => return Kind::Kernel,
            () if name.starts_with("kernel") && name.ends_with(".img") => return Kind::Kernel,
            () if begins(&["config-"]) => return Kind::Config,
            () if begins(&["System.map"]) => return Kind::SystemMap,
            () if begins(&["initrd", "initramfs"]) => return Kind::Initramfs,
            () => return Kind::Other,
        }
    }
    let Some(below) = of_device_trees(path) else { return Kind::Other };
    match below.split_once("overlays/") {
        Some((before, name)) if before.is_empty() || before.ends_with('/') => match name {
            "README" => Kind::Overlay(name.into()),
            _ if !name.contains('/') && (name.ends_with(".dtbo") || name.ends_with(".dtb")) => {
                Kind::Overlay(name.into())
            }
            _ => Kind::Other,
        },
        _ if below.ends_with(".dtb") => Kind::Dtb(below.into()),
        _ => Kind::Other,
    }
}

/// The part of a path below the folder of device trees: distributions and boards have them in several places.
fn of_device_trees(path: &str) -> Option<&str> {
    let below = ["boot/dtbs/", "dtbs/", "boot/"].into_iter().find_map(|folder| path.strip_prefix(folder));
    let below = below.or_else(|| path.strip_prefix("lib/linux-image-").and_then(|rest| Some(rest.split_once('/')?.1)));
    // dtbs/RELEASE/…
    let below = below.or_else(|| path.strip_prefix("overlays/").map(|_| path))?;
    match below.split_once('/') {
        Some((first, rest)) if first.starts_with(|c: char| c.is_ascii_digit()) => Some(rest),
        _ => Some(below),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_layouts_are_understood() {
        let dtb = |name: &str| Kind::Dtb(name.into());
        let cases = [
            ("boot/vmlinuz-6.12.25+rpt-rpi-v8", Kind::Kernel),
            ("boot/kernel8.img", Kind::Kernel),
            ("boot/config-6.12.25", Kind::Config),
            ("boot/initrd.img-6.12.25", Kind::Initramfs),
            (
                "usr/lib/modules/6.12.25/kernel/a.ko",
                Kind::Module { release: "6.12.25".into(), name: "kernel/a.ko".into() },
            ),
            ("usr/lib/linux-image-6.12.25/broadcom/bcm2711-rpi-4-b.dtb", dtb("broadcom/bcm2711-rpi-4-b.dtb")),
            ("usr/lib/linux-image-6.12.25/overlays/uart0.dtbo", Kind::Overlay("uart0.dtbo".into())),
            ("boot/bcm2708-rpi-b.dtb", dtb("bcm2708-rpi-b.dtb")),
            ("boot/dtbs/6.12.25/ti/am335x-boneblack.dtb", dtb("ti/am335x-boneblack.dtb")),
            ("dtbs/am335x-boneblack.dtb", dtb("am335x-boneblack.dtb")),
            ("boot/overlays/README", Kind::Overlay("README".into())),
            ("overlays/spi0.dtbo", Kind::Overlay("spi0.dtbo".into())),
            ("lib/firmware/brcm/x.bin", Kind::Firmware),
            ("usr/share/doc/linux-image/copyright", Kind::Other),
            ("etc/passwd", Kind::Other),
        ];
        for (path, kind) in cases {
            assert_eq!(of(path), kind, "{path}");
        }
    }
}
