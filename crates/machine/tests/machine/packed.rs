//! Kernels packed as they come: an image that says what it is, a module, lists, device trees, an initramfs.

use std::io::Write;
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;

pub const RELEASE: &str = "6.12.25-rt9";

/// What each modelled machine runs on: its tree, and the kernel that fits it.
pub const MACHINES: [(&str, Arch); 7] = [
    ("pi3b-bookworm", Arch::Arm64),
    ("pi4", Arch::Arm64),
    ("pi5", Arch::Arm64),
    ("x86-grub", Arch::Amd64),
    ("x86-systemd-boot", Arch::Amd64),
    ("arm-extlinux", Arch::Arm),
    ("beaglebone", Arch::Arm),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arch {
    Arm64,
    Amd64,
    Arm,
}

impl Arch {
    fn elf(self) -> u8 {
        match self {
            Arch::Arm64 => 183,
            Arch::Amd64 => 62,
            Arch::Arm => 40,
        }
    }

    /// An image of this release.
    pub fn image(self, release: &str) -> Vec<u8> {
        let mut bytes = vec![0; 0x4000];
        let mut put = |at: usize, what: &[u8]| bytes[at..at + what.len()].copy_from_slice(what);
        match self {
            Arch::Arm64 => {
                put(0x38, b"ARM\x64");
                put(0x1000, format!("Linux version {release} (gcc)").as_bytes());
            }
            Arch::Arm => put(0x24, &[0x18, 0x28, 0x6f, 0x01]),
            Arch::Amd64 => {
                put(0x202, b"HdrS");
                put(0x236, &[1]);
                put(0x20e, &0x1000u16.to_le_bytes());
                put(0x1200, format!("{release} (gcc)").as_bytes());
            }
        }
        bytes
    }

    pub fn module(self) -> Vec<u8> {
        let mut bytes = vec![0; 256];
        bytes[..6].copy_from_slice(&[0x7f, b'E', b'L', b'F', 2, 1]);
        bytes[18] = self.elf();
        bytes
    }
}

/// What is in a package: paths and contents.
pub type Files = Vec<(String, Vec<u8>)>;

/// A kernel as `make` and distributions pack it.
pub fn files(arch: Arch, release: &str) -> Files {
    let modules = format!("lib/modules/{release}");
    let mut files: Files = vec![
        (format!("boot/vmlinuz-{release}"), arch.image(release)),
        (format!("boot/config-{release}"), b"CONFIG_PREEMPT_RT=y\n".to_vec()),
        (format!("boot/initrd.img-{release}"), b"an initramfs".to_vec()),
        (format!("{modules}/kernel/drivers/one.ko"), arch.module()),
        (format!("{modules}/kernel/drivers/two.ko"), arch.module()),
        (format!("{modules}/modules.dep"), b"kernel/drivers/one.ko:\n".to_vec()),
        ("lib/firmware/some.bin".into(), b"firmware".to_vec()),
    ];
    let trees = format!("usr/lib/linux-image-{release}");
    if arch == Arch::Arm64 {
        for tree in ["bcm2710-rpi-3-b-plus", "bcm2711-rpi-4-b", "bcm2712-rpi-5-b"] {
            files.push((format!("{trees}/broadcom/{tree}.dtb"), b"a device tree".to_vec()));
        }
        files.push((format!("{trees}/overlays/uart0.dtbo"), b"an overlay".to_vec()));
    }
    if arch == Arch::Arm {
        files.push((format!("{trees}/am335x-boneblack.dtb"), b"a device tree".to_vec()));
    }
    files
}

/// A tar of these files.
pub fn tar(files: &Files) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (path, content) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        // As it is written, so that dangerous names can be made, too.
        let name = &mut header.as_old_mut().name;
        name[..path.len()].copy_from_slice(path.as_bytes());
        header.set_cksum();
        builder.append(&header, &content[..]).unwrap();
    }
    builder.into_inner().unwrap()
}

/// Writes them as `.tar.gz`.
pub fn write(file: &Path, files: &Files) {
    let mut packed = GzEncoder::new(std::fs::File::create(file).unwrap(), Compression::fast());
    packed.write_all(&tar(files)).unwrap();
    packed.finish().unwrap();
}

/// A tar with one link in it.
pub fn tar_with_link(path: &str, target: &str) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    let mut header = tar::Header::new_gnu();
    header.set_entry_type(tar::EntryType::Symlink);
    header.set_size(0);
    builder.append_link(&mut header, path, target).unwrap();
    builder.into_inner().unwrap()
}
