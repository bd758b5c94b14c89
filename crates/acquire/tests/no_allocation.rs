//! Reading a source allocates nothing.

#[path = "../../rt/tests/counting/mod.rs"]
mod counting;

use std::fs;
use std::path::Path;

use counting::allocations;
use ontick_acquire::Source;
use ontick_acquire::source::{iio, open};

fn reads_without_allocating(what: &str, source: &mut dyn Source) {
    let mut values = vec![0; source.channels().len()];
    let before = allocations();
    for n in 0..1_000 {
        source.read(n, &mut values).unwrap();
    }
    assert_eq!(allocations() - before, 0, "{what}");
}

#[test]
fn a_wave_and_lines() {
    reads_without_allocating("wave", &mut *open("wave:sine,50Hz").unwrap());
    let chip = format!("no-allocation-{}", std::process::id());
    reads_without_allocating("lines", &mut *open(&format!("lines:sim:{chip}/0-53")).unwrap());
    ontick_gpio::sim::remove(&chip).unwrap();
}

#[test]
fn an_iio_device() {
    let root = tempfile::tempdir().unwrap();
    let write = |file: &str, bytes: &[u8]| {
        let path = root.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    };
    let device = Path::new("sys/bus/iio/devices/iio:device0");
    for (file, text) in [
        ("name", "adc"),
        ("in_voltage0_raw", "1000"),
        ("in_temp_input", "23500.5"),
        ("buffer/enable", "0"),
        ("buffer/length", "2"),
        ("scan_elements/in_voltage0_en", "0"),
        ("scan_elements/in_voltage0_index", "0"),
        ("scan_elements/in_voltage0_type", "le:u16/16>>0"),
    ] {
        write(device.join(file).to_str().unwrap(), text.as_bytes());
    }
    // A file for the node: all of its scans are there at once.
    write("dev/iio:device0", &vec![7; 2 * 64 * 1_100]);
    let open = |text| iio::open_under(root.path(), text).unwrap();
    reads_without_allocating("readings", &mut *open("adc/voltage0,temp"));
    let mut buffer = open("adc/voltage0,buffer");
    let mut values = [0; 2];
    let before = allocations();
    buffer.read(0, &mut values).unwrap();
    assert_eq!(allocations() - before, 0, "buffer");
    assert_eq!(values, [0x0707, 64 * 1_100 - 1]);
}
