//! The functions of an ELF file, which may be any program's.
#![no_main]

use ontick_measure::inspect::symbols::elf::Functions;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Some((offset, file)) = bytes.split_first_chunk::<8>() else { return };
    let offset = u64::from_le_bytes(*offset);
    // As it came, and with what every such file begins with.
    let marked = [&b"\x7fELF\x02\x01\x01"[..], file].concat();
    for mut file in [file, &marked[..]] {
        if let Some(functions) = Functions::read(&file) {
            let _ = (functions.is_empty(), functions.at_offset(offset), functions.at_offset(offset & 0xffff));
        }
        file = &[];
        assert!(Functions::read(&file).is_none());
    }
});
