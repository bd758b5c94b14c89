//! What a kernel image says about itself: the architecture, often the release, and whether it is signed for
//! Secure Boot.

use std::io::Read;

use serde::Serialize;

/// An architecture that kernels are built for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Architecture {
    /// 64-bit ARM.
    Arm64,
    /// 32-bit ARM.
    Arm,
    /// 64-bit PC.
    Amd64,
    /// 32-bit PC.
    I386,
    /// 64-bit RISC-V.
    Riscv64,
}

impl Architecture {
    /// As people name it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Arm64 => "64-bit ARM (arm64)",
            Self::Arm => "32-bit ARM (armhf)",
            Self::Amd64 => "64-bit PC (amd64)",
            Self::I386 => "32-bit PC (i386)",
            Self::Riscv64 => "64-bit RISC-V (riscv64)",
        }
    }

    /// By what `uname -m` calls it.
    pub fn of_machine(name: &str) -> Option<Self> {
        Some(match name {
            "aarch64" => Self::Arm64,
            "x86_64" => Self::Amd64,
            "riscv64" => Self::Riscv64,
            "i386" | "i486" | "i586" | "i686" => Self::I386,
            name if name.starts_with("arm") => Self::Arm,
            _ => return None,
        })
    }

    /// What an ELF file (a program, a module) was built for.
    pub fn of_elf(bytes: &[u8]) -> Option<Self> {
        let little = bytes.starts_with(b"\x7fELF") && bytes.get(5) == Some(&1);
        let machine = little.then(|| bytes.get(18..20)).flatten()?;
        Some(match u16::from_le_bytes([machine[0], machine[1]]) {
            3 => Self::I386,
            40 => Self::Arm,
            62 => Self::Amd64,
            183 => Self::Arm64,
            243 => Self::Riscv64,
            _ => return None,
        })
    }

    /// Whether a system whose programs are built for `programs` can run on a kernel of this architecture.
    pub fn runs(self, programs: Self) -> bool {
        self == programs || matches!((self, programs), (Self::Arm64, Self::Arm) | (Self::Amd64, Self::I386))
    }
}

/// What an image says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Image {
    /// What it is for; `None` where it does not say.
    pub architecture: Option<Architecture>,
    /// Its release, where it is written in plain bytes.
    pub release: Option<String>,
    /// Whether it carries a signature.
    pub signed: bool,
}

/// What is wrong with an image; the sentence follows its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ImageError {
    /// It is packed and does not unpack.
    #[error("is damaged: it cannot be unpacked")]
    Damaged,
    /// Something else.
    #[error("is no Linux kernel (neither a PC's nor an Image, zImage or vmlinux)")]
    NoKernel,
}

/// No kernel is larger unpacked; a bomb is.
const LONGEST: u64 = 256 << 20;

/// Reads an image. An error says what is wrong with it.
pub fn read(bytes: &[u8]) -> Result<Image, ImageError> {
    if !is_packed(bytes) {
        return read_plain(bytes);
    }
    let mut unpacked = Vec::new();
    match flate2::read::GzDecoder::new(bytes).take(LONGEST).read_to_end(&mut unpacked) {
        // A second layer is no kernel.
        Ok(_) if !is_packed(&unpacked) => read_plain(&unpacked),
        _ => Err(ImageError::Damaged),
    }
}

fn is_packed(bytes: &[u8]) -> bool {
    bytes.starts_with(&[0x1f, 0x8b])
}

fn read_plain(bytes: &[u8]) -> Result<Image, ImageError> {
    let at = |place: usize, magic: &[u8]| bytes.get(place..place + magic.len()) == Some(magic);
    let signed = is_signed(bytes);
    let image = |architecture, release| Ok(Image { architecture: Some(architecture), release, signed });
    if at(0x38, b"ARM\x64") {
        return image(Architecture::Arm64, banner(bytes));
    }
    if at(0x38, b"RSC\x05") {
        return image(Architecture::Riscv64, banner(bytes));
    }
    if at(0x24, &[0x18, 0x28, 0x6f, 0x01]) {
        return image(Architecture::Arm, None);
    }
    if at(0x202, b"HdrS") {
        let wide = bytes.get(0x236).is_some_and(|flags| flags & 1 == 1);
        return image(if wide { Architecture::Amd64 } else { Architecture::I386 }, pc_release(bytes));
    }
    if let Some(architecture) = Architecture::of_elf(bytes) {
        return image(architecture, banner(bytes));
    }
    // EFI images of arm64 and RISC-V that unpack themselves.
    if at(0, b"MZ") && at(4, b"zimg") {
        return Ok(Image { architecture: pe_architecture(bytes), release: None, signed });
    }
    Err(ImageError::NoKernel)
}

/// `Linux version 6.12.25-rt9 (…`, which every kernel holds.
fn banner(bytes: &[u8]) -> Option<String> {
    const BEGIN: &[u8] = b"Linux version ";
    let mut rest = bytes;
    while let Some(found) = rest.windows(BEGIN.len()).position(|w| w == BEGIN) {
        rest = &rest[found + BEGIN.len()..];
        let word: Vec<u8> = rest.iter().copied().take(80).take_while(u8::is_ascii_graphic).collect();
        // Some kernels hold the format, too.
        let release = String::from_utf8(word).ok().filter(|w| w.starts_with(|c: char| c.is_ascii_digit()));
        if release.is_some() {
            return release;
        }
    }
    None
}

/// The boot protocol's header points at it.
fn pc_release(bytes: &[u8]) -> Option<String> {
    let pointer = bytes.get(0x20e..0x210)?;
    let at = usize::from(u16::from_le_bytes([pointer[0], pointer[1]])) + 0x200;
    let text = bytes.get(at..)?.split(|b| *b == 0 || *b == b' ').next()?;
    String::from_utf8(text.to_vec()).ok().filter(|r| r.starts_with(|c: char| c.is_ascii_digit()))
}

fn number(bytes: &[u8], at: usize) -> Option<usize> {
    let four = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_le_bytes([four[0], four[1], four[2], four[3]]) as usize)
}

/// Where the header of an EFI program lies.
fn pe(bytes: &[u8]) -> Option<usize> {
    let at = number(bytes, 0x3c).filter(|_| bytes.starts_with(b"MZ"))?;
    (bytes.get(at..at + 4) == Some(b"PE\0\0")).then_some(at)
}

fn pe_architecture(bytes: &[u8]) -> Option<Architecture> {
    let at = pe(bytes)?;
    match bytes.get(at + 4..at + 6)? {
        [0x64, 0xaa] => Some(Architecture::Arm64),
        [0x64, 0x86] => Some(Architecture::Amd64),
        [0x64, 0x50] => Some(Architecture::Riscv64),
        _ => None,
    }
}

fn is_signed(bytes: &[u8]) -> bool {
    let length = || {
        let optional = pe(bytes)? + 24;
        let directories = match bytes.get(optional..optional + 2)? {
            [0x0b, 0x02] => optional + 112,
            [0x0b, 0x01] => optional + 96,
            _ => return None,
        };
        // The fifth directory is the table of certificates: where, how long.
        number(bytes, directories + 4 * 8 + 4)
    };
    length().is_some_and(|length| length > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn with(at: usize, magic: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0; 0x1000];
        bytes[at..at + magic.len()].copy_from_slice(magic);
        bytes
    }

    #[test]
    fn each_kind_is_known() {
        let mut arm64 = with(0x38, b"ARM\x64");
        arm64.extend(b"Linux version %s Linux version 6.12.25-rt9 (gcc)");
        let known = read(&arm64).unwrap();
        assert_eq!((known.architecture, known.release.as_deref()), (Some(Architecture::Arm64), Some("6.12.25-rt9")));
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        std::io::Write::write_all(&mut packed, &arm64).unwrap();
        assert_eq!(read(&packed.finish().unwrap()).unwrap(), known);
        let arm = read(&with(0x24, &[0x18, 0x28, 0x6f, 0x01])).unwrap();
        assert_eq!(arm.architecture, Some(Architecture::Arm));
        let mut pc = with(0x202, b"HdrS");
        pc[0x236] = 1;
        pc[0x20e..0x210].copy_from_slice(&0x100u16.to_le_bytes());
        pc[0x300..0x30e].copy_from_slice(b"6.1.0-rt5 (a) ");
        let known = read(&pc).unwrap();
        assert_eq!((known.architecture, known.release.as_deref()), (Some(Architecture::Amd64), Some("6.1.0-rt5")));
        assert!(read(b"#!/bin/sh\n").is_err_and(|e| e.to_string().contains("no Linux kernel")));
        assert!(read(&[0x1f, 0x8b, 8, 0]).is_err_and(|e| e.to_string().contains("unpacked")));
        assert!(Architecture::Arm64.runs(Architecture::Arm) && !Architecture::Arm.runs(Architecture::Arm64));
    }

    #[test]
    fn a_signature_is_seen() {
        let mut pc = with(0x202, b"HdrS");
        pc[..2].copy_from_slice(b"MZ");
        pc[0x3c] = 0x80;
        pc[0x80..0x84].copy_from_slice(b"PE\0\0");
        pc[0x98..0x9a].copy_from_slice(&[0x0b, 0x02]);
        assert!(!read(&pc).unwrap().signed);
        pc[0x98 + 112 + 36] = 8;
        assert!(read(&pc).unwrap().signed);
    }

    proptest! {
        #[test]
        fn any_bytes_are_answered(tail in proptest::collection::vec(any::<u8>(), 0..700), magic in 0..4usize) {
            let begin: &[u8] = [&b"MZ"[..], b"\x7fELF", &[0x1f, 0x8b], b""][magic];
            let _ = read(&[begin, &tail].concat());
        }
    }
}
