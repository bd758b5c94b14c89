//! Loading the module, or telling why it does not load.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::{Error, call};

/// Loads the installed module. The same as `modprobe ontick`, but the kernel's reason is known.
pub fn load() -> Result<(), Error> {
    let release = rustix::system::uname().release().to_string_lossy().into_owned();
    let folder = Path::new("/lib/modules").join(&release);
    let Some(file) = installed(&folder) else {
        return Err(match folder.join("build").is_dir() {
            true => Error::NotInstalled { release },
            false => Error::NoHeaders { release },
        });
    };
    let compressed = file.extension().is_none_or(|extension| extension != "ko");
    let loaded = File::open(&file).and_then(|module| call::load(&module, compressed));
    loaded.or_else(|error| explain(error, &file, release))
}

/// The module among those that the kernel's list of modules names.
fn installed(folder: &Path) -> Option<PathBuf> {
    let list = fs::read_to_string(folder.join("modules.dep")).ok()?;
    let names = list.lines().filter_map(|line| line.split_once(':')).map(|(name, _)| name);
    let is_ours = |name: &&str| {
        let file = name.rsplit('/').next().unwrap_or(name);
        matches!(file, "ontick.ko" | "ontick.ko.xz" | "ontick.ko.zst" | "ontick.ko.gz")
    };
    names.into_iter().find(is_ours).map(|name| folder.join(name))
}

fn explain(error: io::Error, file: &Path, release: String) -> Result<(), Error> {
    let file = file.display().to_string();
    Err(match error.raw_os_error() {
        // Somebody else loaded it meanwhile.
        Some(libc::EEXIST) => return Ok(()),
        Some(libc::EKEYREJECTED) => Error::Untrusted { file },
        Some(libc::ENOEXEC) => Error::OtherKernel { file, release },
        Some(libc::EPERM | libc::EACCES) if !rustix::process::geteuid().is_root() => Error::NotLoaded,
        // A kernel that is locked down.
        Some(libc::EPERM) => Error::Untrusted { file },
        _ => Error::LoadFailed { file, error },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_module_is_found_where_the_kernels_list_has_it() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(installed(folder.path()), None);
        let list = "kernel/drivers/notick.ko: kernel/lib/x.ko\nupdates/dkms/ontick.ko.xz:\n";
        fs::write(folder.path().join("modules.dep"), list).unwrap();
        assert_eq!(installed(folder.path()), Some(folder.path().join("updates/dkms/ontick.ko.xz")));
    }

    #[test]
    fn refusals_say_what_to_do() {
        let reported = |errno| {
            let refused =
                explain(io::Error::from_raw_os_error(errno), Path::new("/lib/modules/1/ontick.ko"), "1".into());
            refused.map_err(|error| error.to_string())
        };
        assert!(reported(libc::EEXIST).is_ok());
        assert!(reported(libc::EKEYREJECTED).unwrap_err().contains("mokutil"));
        assert!(reported(libc::ENOEXEC).unwrap_err().contains("another kernel than 1"));
        assert!(reported(libc::ENOMEM).unwrap_err().contains("dmesg"));
    }
}
