//! Makes of a linked firmware what a Pico takes: `image LINKED ELF UF2`.

mod elf;
mod uf2;

use std::path::Path;
use std::process::ExitCode;

use crc::{CRC_32_MPEG_2, Crc};

/// The second stage of the boot loader, without its checksum.
const BOOT2: usize = 252;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [linked, elf, uf2] = &arguments[..] else {
        eprintln!("name three files: the linked firmware, the ELF file to write, and the UF2 file");
        return ExitCode::from(2);
    };
    match make(linked.as_ref(), elf.as_ref(), uf2.as_ref()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("{linked}: {problem}");
            ExitCode::from(2)
        }
    }
}

fn make(linked: &Path, elf: &Path, uf2: &Path) -> Result<(), String> {
    let mut file = std::fs::read(linked).map_err(|error| error.to_string())?;
    fill_in_checksum(&mut file)?;
    let segments = elf::segments(&file)?;
    let write = |path: &Path, bytes: &[u8]| {
        std::fs::write(path, bytes).map_err(|error| format!("{} cannot be written: {error}", path.display()))
    };
    write(uf2, &uf2::image(&segments))?;
    write(elf, &file)
}

/// The boot ROM runs the second stage only if the last of its words is right (RP2040 datasheet, 2.8.1.3.1).
fn fill_in_checksum(file: &mut [u8]) -> Result<(), String> {
    let first = elf::segments(file)?.into_iter().find(|segment| segment.address == uf2::FLASH);
    let at = first.filter(|segment| segment.bytes.len() > BOOT2).ok_or("it has nothing at the beginning of flash")?.at;
    let checksum = Crc::<u32>::new(&CRC_32_MPEG_2).checksum(&file[at..at + BOOT2]);
    file[at + BOOT2..at + BOOT2 + 4].copy_from_slice(&checksum.to_le_bytes());
    Ok(())
}
