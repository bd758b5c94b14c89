//! A packed kernel: a tar (plain or packed by gzip, xz or zstd) or a Debian package, read twice: once to find
//! out what it holds and that nothing in it is dangerous, once to put its files in place.

mod error;
mod kind;
mod stream;

use std::collections::BTreeSet;
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};

use super::image::{self, Architecture, Image};
pub use error::{PackageError, PackageFault};
pub use kind::Kind;

/// More than any kernel has; a bomb has more.
const MOST_FILES: usize = 200_000;
const MOST_BYTES: u64 = 16 << 30;
/// No initramfs or module is larger.
const LONGEST_FILE: u64 = 1 << 30;
/// No packed kernel is larger, and no kernel's configuration.
const LONGEST_KERNEL: u64 = 256 << 20;
const LONGEST_CONFIG: u64 = 4 << 20;
/// The names of all files together.
const MOST_NAMES: usize = 32 << 20;

/// Takes a file's kind and content.
pub type TakeFile<'a, E> = dyn FnMut(&Kind, Vec<u8>) -> Result<(), E> + 'a;

/// Why a package was not read to its end: itself, or whoever took its files.
enum Ended<E> {
    Fault(PackageFault),
    Taken(E),
}

impl<E> From<PackageFault> for Ended<E> {
    fn from(fault: PackageFault) -> Self {
        Self::Fault(fault)
    }
}

/// What is in a package.
#[derive(Debug)]
pub struct Package {
    file: PathBuf,
    /// The kernel's release, by the name of its modules' folder.
    pub release: String,
    /// What the kernel's image says.
    pub image: Image,
    /// What its modules were built for.
    pub modules_for: Option<Architecture>,
    /// The configuration that it was built with.
    pub config: Option<String>,
    /// Every file that would be put in place, with its length.
    pub files: Vec<(Kind, u64)>,
    /// Files of other kinds, which are left alone.
    pub others: usize,
    /// Whether it brings firmware, which belongs to the system and is left alone, too.
    pub firmware: bool,
}

impl Package {
    /// Looks into a package.
    pub fn open(file: &Path) -> Result<Self, PackageError> {
        let mut survey = Survey::default();
        stream::each(file, &mut |path, size, content| survey.add(path, size, content))
            .and_then(|()| survey.package(file))
            .map_err(|why| PackageError { file: file.into(), why })
    }

    /// Looks into the bytes of an unpacked tar.
    pub fn read(bytes: &[u8]) -> Result<Self, PackageFault> {
        let mut survey = Survey::default();
        stream::unpack(bytes, &mut |path, size, content| survey.add(path, size, content))?;
        survey.package(Path::new("tar"))
    }

    /// Hands every file that is to be put in place on, in the order of the package.
    pub fn each<E: From<PackageError>>(&self, take: &mut TakeFile<E>) -> Result<(), E> {
        let ended = stream::each(&self.file, &mut |path, size, content| match kind::of(&path) {
            Kind::Other | Kind::Firmware => Ok(()),
            kind => take(&kind, whole(&path, size, LONGEST_FILE, content)?).map_err(Ended::Taken),
        });
        ended.map_err(|ended| match ended {
            Ended::Fault(why) => PackageError { file: self.file.clone(), why }.into(),
            Ended::Taken(error) => error,
        })
    }

    /// Names of the device trees, as they lie in the package's folder of them.
    pub fn dtbs(&self) -> impl Iterator<Item = &str> {
        self.files.iter().filter_map(|(kind, _)| match kind {
            Kind::Dtb(name) => Some(name.as_str()),
            _ => None,
        })
    }

    /// Whether a file of this kind is there.
    pub fn has(&self, wanted: impl Fn(&Kind) -> bool) -> bool {
        self.files.iter().any(|(kind, _)| wanted(kind))
    }

    /// Whether an option is built in.
    pub fn built_in(&self, option: &str) -> bool {
        let line = format!("CONFIG_{option}=y");
        self.config.as_ref().is_some_and(|config| config.lines().any(|l| l == line))
    }
}

fn unreadable(path: &str) -> impl FnOnce(io::Error) -> PackageFault + '_ {
    move |error| PackageFault::File { path: path.into(), why: error.to_string() }
}

/// A file's content.
fn whole(path: &str, size: u64, longest: u64, content: &mut dyn Read) -> Result<Vec<u8>, PackageFault> {
    if size > longest {
        return Err(PackageFault::LargeFile { path: path.into(), longest });
    }
    let mut bytes = Vec::with_capacity(size.min(1 << 20) as usize);
    content.take(size).read_to_end(&mut bytes).map_err(unreadable(path))?;
    if bytes.len() as u64 != size {
        return Err(PackageFault::EndsEarly);
    }
    Ok(bytes)
}

/// What was found so far.
#[derive(Default)]
struct Survey {
    releases: BTreeSet<String>,
    kernels: Vec<(String, Vec<u8>)>,
    config: Option<String>,
    modules_for: Option<Architecture>,
    files: Vec<(Kind, u64)>,
    bytes: u64,
    names: usize,
    others: usize,
    firmware: bool,
}

impl Survey {
    fn add(&mut self, path: String, size: u64, content: &mut dyn Read) -> Result<(), PackageFault> {
        self.bytes = self.bytes.saturating_add(size);
        self.names += path.len();
        let many = self.files.len() + self.others >= MOST_FILES || self.names > MOST_NAMES;
        if many || self.bytes > MOST_BYTES {
            return Err(PackageFault::TooMuch);
        }
        let kind = kind::of(&path);
        match &kind {
            Kind::Other => self.others += 1,
            Kind::Firmware => self.firmware = true,
            // Of a second one the name is enough.
            Kind::Kernel if !self.kernels.is_empty() => self.kernels.push((path.clone(), Vec::new())),
            Kind::Kernel => self.kernels.push((path.clone(), whole(&path, size, LONGEST_KERNEL, content)?)),
            Kind::Config => self.config = String::from_utf8(whole(&path, size, LONGEST_CONFIG, content)?).ok(),
            Kind::Module { release, name } => {
                self.releases.insert(release.clone());
                if self.modules_for.is_none() && name.ends_with(".ko") {
                    let mut begin = [0; 64];
                    let read = fill(content, &mut begin).map_err(unreadable(&path))?;
                    self.modules_for = Architecture::of_elf(&begin[..read]);
                }
            }
            _ => {}
        }
        if !matches!(kind, Kind::Other | Kind::Firmware) {
            self.files.push((kind, size));
        }
        Ok(())
    }

    fn package(self, file: &Path) -> Result<Package, PackageFault> {
        let names = |all: &mut dyn Iterator<Item = &String>| all.cloned().collect::<Vec<_>>().join(", ");
        let release = match (self.releases.len(), self.releases.first()) {
            (1, Some(release)) => release.clone(),
            (0, _) => return Err(PackageFault::NoModules),
            _ => return Err(PackageFault::SeveralReleases(names(&mut self.releases.iter()))),
        };
        if !is_release(&release) {
            return Err(PackageFault::BadRelease(release));
        }
        let (path, bytes) = match &self.kernels[..] {
            [one] => one,
            [] => return Err(PackageFault::NoKernel),
            several => {
                let names = names(&mut several.iter().map(|(path, _)| path));
                return Err(PackageFault::SeveralKernels(names));
            }
        };
        let image = image::read(bytes).map_err(|why| PackageFault::Image { path: path.clone(), why })?;
        if let Some(own) = image.release.as_ref().filter(|own| **own != release) {
            return Err(PackageFault::OtherRelease { kernel: own.clone(), modules: release });
        }
        if let (Some(kernel), Some(modules)) = (image.architecture, self.modules_for) {
            if kernel != modules {
                return Err(PackageFault::OtherArchitecture { kernel, modules });
            }
        }
        Ok(Package {
            file: file.into(),
            release,
            image,
            modules_for: self.modules_for,
            config: self.config,
            files: self.files,
            others: self.others,
            firmware: self.firmware,
        })
    }
}

fn fill(content: &mut dyn Read, into: &mut [u8]) -> io::Result<usize> {
    let mut at = 0;
    while at < into.len() {
        match content.read(&mut into[at..])? {
            0 => break,
            n => at += n,
        }
    }
    Ok(at)
}

/// A name that may become part of file names, of boot entries and of command lines.
pub fn is_release(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._+~-".contains(c);
    (1..=64).contains(&name.len()) && name.starts_with(|c: char| c.is_ascii_alphanumeric()) && name.chars().all(plain)
}

/// A path in a package: relative, and never out of the folder that it is unpacked into.
fn safe(path: &Path) -> Result<String, PackageFault> {
    let text = path.to_str().filter(|t| !t.contains(['\0', '\n', '\\'])).ok_or(PackageFault::BadPath)?;
    let mut parts = Vec::new();
    for part in path.components() {
        match part {
            Component::Normal(part) => parts.push(part.to_str().expect("a part of text")),
            Component::CurDir => {}
            _ => return Err(PackageFault::Outside(text.escape_default().to_string())),
        }
    }
    Ok(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_could_do_harm_are_refused() {
        for good in ["6.12.25-rt9", "6.12.25+rpt-rpi-v8-rt", "6.1.0-18-rt-amd64"] {
            assert!(is_release(good), "{good}");
        }
        for bad in ["", "..", ".hidden", "a b", "a/b", "a'b", "a\"", "$(x)", &"9".repeat(65)] {
            assert!(!is_release(bad), "{bad}");
        }
        assert_eq!(safe(Path::new("./boot/./vmlinuz")).unwrap(), "boot/vmlinuz");
        for bad in ["/etc/passwd", "boot/../../etc/passwd", "a\nb"] {
            assert!(safe(Path::new(bad)).is_err(), "{bad}");
        }
    }
}
