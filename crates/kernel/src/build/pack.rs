//! The result as one file, the same for the same kernel: `.deb` or `.tar.xz` with the kernel, its modules, device trees
//! and overlays, laid out as Debian's own packages are.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;

use ontick_machine::facts::KernelConfig;

use super::{BuildError, Order, file_error};
use crate::command;
use crate::make::Make;
use crate::options::Arch;
use crate::source::Version;

/// What comes out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// A Debian package.
    Deb,
    /// A tar, packed by xz.
    Tar,
}

impl Format {
    /// As the command line names it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Deb => "deb",
            Self::Tar => "tar",
        }
    }

    /// What packing takes.
    pub(super) fn programs(self) -> &'static [&'static str] {
        match self {
            Self::Deb => &["dpkg-deb", "xz"],
            Self::Tar => &["xz"],
        }
    }
}

pub fn pack(
    order: &Order,
    make: &Make,
    version: &Version,
    release: &str,
    config: &KernelConfig,
    stop: &AtomicBool,
) -> Result<PathBuf, BuildError> {
    let stage = order.work.join("stage");
    if stage.exists() {
        fs::remove_dir_all(&stage).map_err(file_error(&stage))?;
    }
    lay_out(&stage, make, release, config, stop)?;
    let name = format!("linux-image-{release}");
    let arch = debian_arch(order.request.arch);
    let file = match order.format {
        Format::Deb => {
            let file = order.work.join(format!("{name}_{version}-1_{arch}.deb"));
            control(&stage, &name, version, arch, release)?;
            deb(&stage, &file, make.epoch, stop)?;
            file
        }
        Format::Tar => {
            let file = order.work.join(format!("{name}_{arch}.tar.xz"));
            tar(&stage, &file, make.epoch, stop)?;
            file
        }
    };
    fs::remove_dir_all(&stage).map_err(file_error(&stage))?;
    Ok(file)
}

fn lay_out(
    stage: &Path,
    make: &Make,
    release: &str,
    config: &KernelConfig,
    stop: &AtomicBool,
) -> Result<(), BuildError> {
    let boot = stage.join("boot");
    fs::create_dir_all(&boot).map_err(file_error(&boot))?;
    let image = match make.arch {
        // Loaders that start it as an EFI program want it unpacked; a Raspberry Pi's firmware takes both.
        Arch::Arm64 => "arch/arm64/boot/Image".into(),
        _ => make.says("image_name")?,
    };
    let files = [(image.as_str(), "vmlinuz"), (".config", "config"), ("System.map", "System.map")];
    for (from, name) in files {
        let (from, to) = (make.output.join(from), boot.join(format!("{name}-{release}")));
        fs::copy(&from, &to).map_err(file_error(&from))?;
    }
    if config.has("MODULES") == Some(true) {
        let into = format!("INSTALL_MOD_PATH={}", stage.display());
        make.run("make modules_install", &["modules_install", &into, "INSTALL_MOD_STRIP=1"], stop, &mut |_| {})?;
        // They lead into the folders of the build.
        for link in ["build", "source"] {
            let _ = fs::remove_file(stage.join("lib/modules").join(release).join(link));
        }
    }
    if make.arch != Arch::X86 && config.has("OF") == Some(true) {
        let into = format!("INSTALL_DTBS_PATH={}/usr/lib/linux-image-{release}", stage.display());
        make.run("make dtbs_install", &["dtbs_install", &into], stop, &mut |_| {})?;
    }
    readable(stage)
}

/// Everybody may read everything, whatever the umask of who builds.
fn readable(folder: &Path) -> Result<(), BuildError> {
    let set = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).map_err(file_error(path));
    set(folder, 0o755)?;
    for entry in fs::read_dir(folder).map_err(file_error(folder))? {
        let path = entry.map_err(file_error(folder))?.path();
        let kind = fs::symlink_metadata(&path).map_err(file_error(&path))?.file_type();
        match () {
            () if kind.is_dir() => readable(&path)?,
            () if kind.is_file() => set(&path, 0o644)?,
            () => {}
        }
    }
    Ok(())
}

fn debian_arch(arch: Arch) -> &'static str {
    match arch {
        Arch::Arm => "armhf",
        Arch::Arm64 => "arm64",
        Arch::X86 => "amd64",
    }
}

/// What Debian's kernel packages do around themselves: the scripts that make an initramfs and a boot entry.
const SCRIPTS: [&str; 4] = ["preinst", "postinst", "prerm", "postrm"];

fn control(stage: &Path, name: &str, version: &Version, arch: &str, release: &str) -> Result<(), BuildError> {
    let folder = stage.join("DEBIAN");
    fs::create_dir_all(&folder).map_err(file_error(&folder))?;
    // Names of packages are in small letters and have no underscore.
    let name = name.to_lowercase().replace('_', "-");
    let text = format!(
        "Package: {name}\nVersion: {version}-1\nSection: kernel\nPriority: optional\nArchitecture: {arch}\n\
         Maintainer: ontick <root@localhost>\nProvides: linux-image\n\
         Description: Linux {release}, real-time, built by ontick\n It lies beside other kernels under its own name.\n"
    );
    let control = folder.join("control");
    fs::write(&control, text).map_err(file_error(&control))?;
    for script in SCRIPTS {
        let path = folder.join(script);
        let text = format!(
            "#!/bin/sh\nset -e\nexport DEB_MAINT_PARAMS=\"$*\"\nif [ -d /etc/kernel/{script}.d ]; then\n  \
             run-parts --arg={release} --arg=/boot/vmlinuz-{release} /etc/kernel/{script}.d\nfi\n"
        );
        fs::write(&path, text).map_err(file_error(&path))?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).map_err(file_error(&path))?;
    }
    Ok(())
}

fn deb(stage: &Path, file: &Path, epoch: u64, stop: &AtomicBool) -> Result<(), BuildError> {
    let new = file.with_extension("new");
    let mut command = Command::new("dpkg-deb");
    command.args(["--root-owner-group", "-Zxz", "--build"]).arg(stage).arg(&new);
    // How many threads pack it shows in the bytes.
    command.env("SOURCE_DATE_EPOCH", epoch.to_string()).env("DPKG_DEB_THREADS_MAX", "1");
    command::run("dpkg-deb", &mut command, stop, &mut |_| {})?;
    fs::rename(&new, file).map_err(file_error(file))
}

fn tar(stage: &Path, file: &Path, epoch: u64, stop: &AtomicBool) -> Result<(), BuildError> {
    let (plain, new) = (file.with_extension("new"), file.with_extension("new.xz"));
    let mut command = Command::new("tar");
    command.args(["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--format=gnu"]);
    command.arg(format!("--mtime=@{epoch}")).arg("-C").arg(stage).arg("-c").arg("-f").arg(&plain).env("LC_ALL", "C");
    // Without the folders at the top, of which some are links on a system that has merged them.
    for top in ["boot", "lib/modules", "usr/lib"] {
        if stage.join(top).exists() {
            command.arg(top);
        }
    }
    command::run("tar", &mut command, stop, &mut |_| {})?;
    let mut xz = Command::new("xz");
    command::run("xz", xz.args(["-f", "-6", "-T1"]).arg(&plain), stop, &mut |_| {})?;
    fs::rename(&new, file).map_err(file_error(file))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::digest;

    fn stage(folder: &Path) -> PathBuf {
        let stage = folder.join("stage");
        for (path, text) in [("boot/vmlinuz-6", "kernel"), ("lib/modules/6/b.ko", "b"), ("lib/modules/6/a.ko", "a")] {
            let place = stage.join(path);
            fs::create_dir_all(place.parent().unwrap()).unwrap();
            fs::write(place, text).unwrap();
        }
        stage
    }

    #[test]
    fn the_same_files_make_the_same_archive() {
        let stop = AtomicBool::new(false);
        let version = Version { major: 6, minor: 12, patch: 1, extra: String::new() };
        let has = |program: &str| Command::new(program).arg("--version").output().is_ok();
        if !has("xz") || !has("dpkg-deb") {
            return ontick_skip::skipped!("there is no xz, or no dpkg-deb");
        }
        let hashes: Vec<[String; 2]> = (0..2)
            .map(|turn| {
                let folder = tempfile::tempdir().unwrap();
                let stage = stage(folder.path());
                // Written at another time, in another folder, with other rights.
                let mode = if turn == 0 { 0o644 } else { 0o660 };
                fs::set_permissions(stage.join("boot/vmlinuz-6"), fs::Permissions::from_mode(mode)).unwrap();
                readable(&stage).unwrap();
                let (one, two) = (folder.path().join("k.tar.xz"), folder.path().join("k.deb"));
                tar(&stage, &one, 1_700_000_000, &stop).unwrap();
                control(&stage, "linux-image-6_X", &version, "arm64", "6").unwrap();
                deb(&stage, &two, 1_700_000_000, &stop).unwrap();
                [one, two].map(|file| digest::of_file(&file).unwrap())
            })
            .collect();
        assert_eq!(hashes[0], hashes[1]);
    }
}
