//! Reading a source allocates nothing, nor does sampling it and handing the sample on.

#[path = "../../rt/tests/counting/mod.rs"]
mod counting;

use std::fs;
use std::path::Path;

use counting::allocations;
use ontick_acquire::source::{iio, open};
use ontick_acquire::{Sampler, Source, Trigger, Turn, ring};
use ontick_gpio::Edges;
use ontick_rt::Phase;

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
fn sampling_at_a_rate_and_at_edges() {
    let chip = format!("no-allocation-sampling-{}", std::process::id());
    let line = |line| ontick_gpio::Name::Sim { chip: chip.clone(), line };
    ontick_gpio::sim::wire(&line(1), &line(2), Default::default()).unwrap();
    let mut out = ontick_gpio::Line::open(&line(1), &ontick_gpio::Request::output(false)).unwrap();
    for trigger in [Trigger::Every(100_000), Trigger::Edge(line(2), Edges::Both)] {
        let sources = vec![open("wave:sine,50Hz").unwrap(), open(&format!("lines:sim:{chip}/8-15")).unwrap()];
        // Half of the samples find the ring full.
        let (writer, mut reader) = ring::new(500, 9);
        let mut sampler = Sampler::new(&trigger, Phase::Chance, sources, writer).unwrap();
        let before = allocations();
        let mut taken = 0;
        for n in 0..1_000 {
            if matches!(trigger, Trigger::Edge(..)) {
                out.write(n % 2 == 0).unwrap();
            }
            if let Turn::Taken { .. } = sampler.turn() {
                sampler.keep();
                taken += 1;
            }
        }
        assert_eq!(allocations() - before, 0, "{trigger:?}");
        assert_eq!((taken, sampler.dropped()), (1_000, 500), "{trigger:?}");
        assert!(reader.pop(|sample| sample.raw.len()) == Some(9));
    }
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
