//! IIO sources on a machine made of ordinary files, with a pipe for the device's node.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

use ontick_acquire::Source;
use ontick_acquire::source::iio::open_under;
use proptest::prelude::*;
use rustix::fs::{CWD, FileType, Mode, OFlags, mknodat};
use rustix::io::Errno;
use tempfile::TempDir;

/// A machine with a converter of three channels and a clock, and two triggers.
struct Machine {
    root: TempDir,
}

const DEVICE: &str = "sys/bus/iio/devices/iio:device0";

impl Machine {
    fn new() -> Self {
        let machine = Self { root: tempfile::tempdir().unwrap() };
        for (file, text) in [
            ("name", "adc"),
            ("in_voltage0_raw", "1000"),
            ("in_voltage1_raw", "-5"),
            ("in_voltage0-voltage1_raw", "7"),
            ("in_voltage_scale", "0.5"),
            ("in_voltage1_scale", "2"),
            ("in_voltage1_offset", "10"),
            ("in_temp_input", "23500.5"),
            ("in_count0_raw", "99"),
            ("buffer/enable", "0"),
            ("buffer/length", "2"),
            ("trigger/current_trigger", ""),
            ("scan_elements/in_voltage0_en", "0"),
            ("scan_elements/in_voltage0_index", "0"),
            ("scan_elements/in_voltage0_type", "le:u12/16>>4"),
            ("scan_elements/in_voltage1_en", "1"),
            ("scan_elements/in_voltage1_index", "1"),
            ("scan_elements/in_voltage1_type", "be:s24/32>>8"),
            ("scan_elements/in_temp_en", "1"),
            ("scan_elements/in_temp_index", "2"),
            ("scan_elements/in_temp_type", "le:s8/8>>0"),
            ("scan_elements/in_timestamp_en", "0"),
            ("scan_elements/in_timestamp_index", "3"),
            ("scan_elements/in_timestamp_type", "le:s64/64>>0"),
        ] {
            machine.write(&format!("{DEVICE}/{file}"), text);
        }
        machine.write("sys/bus/iio/devices/trigger0/name", "timer0");
        machine.write("sys/bus/iio/devices/trigger1/name", "other");
        fs::create_dir(machine.path("dev")).unwrap();
        mknodat(CWD, machine.path("dev/iio:device0"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        machine
    }

    fn path(&self, file: &str) -> PathBuf {
        self.root.path().join(file)
    }

    fn write(&self, file: &str, text: &str) {
        let path = self.path(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("{text}\n")).unwrap();
    }

    fn attribute(&self, file: &str) -> String {
        fs::read_to_string(self.path(DEVICE).join(file)).unwrap().trim().into()
    }

    /// Everything that a source could have changed.
    fn state(&self) -> BTreeMap<String, String> {
        let elements = ["voltage0", "voltage1", "temp", "timestamp"].map(|name| format!("scan_elements/in_{name}_en"));
        let others = ["buffer/enable", "buffer/length", "trigger/current_trigger"].map(String::from);
        elements.into_iter().chain(others).map(|file| (file.clone(), self.attribute(&file))).collect()
    }

    fn open(&self, text: &str) -> Box<dyn Source> {
        open_under(self.root.path(), text).unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    fn refusal(&self, text: &str) -> String {
        open_under(self.root.path(), text).err().unwrap_or_else(|| panic!("{text} was opened")).to_string()
    }

    /// The end of the pipe that the driver would write to; there must be a reader.
    fn driver(&self) -> File {
        let flags = OFlags::NONBLOCK.bits() as i32;
        OpenOptions::new().write(true).custom_flags(flags).open(self.path("dev/iio:device0")).unwrap()
    }
}

fn read(source: &mut dyn Source) -> Result<Vec<i64>, Errno> {
    let mut values = vec![0; source.channels().len()];
    source.read(0, &mut values).map(|()| values)
}

/// A scan of voltage0, voltage1 and the time stamp: at 0, 4 and 8.
fn scan(voltage0: u16, voltage1: i32, time_ns: i64) -> Vec<u8> {
    let mut bytes = vec![0xaa; 16];
    bytes[..2].copy_from_slice(&(voltage0 << 4 | 0xf).to_le_bytes());
    bytes[4..8].copy_from_slice(&(voltage1 << 8 | 0x55).to_be_bytes());
    bytes[8..].copy_from_slice(&time_ns.to_le_bytes());
    bytes
}

#[test]
fn single_readings_follow_the_attributes() {
    let machine = Machine::new();
    let mut source = machine.open("adc/voltage0,voltage1,voltage0-voltage1,temp,count0");
    let raw = read(&mut *source).unwrap();
    assert_eq!(raw, [1000, -5, 7, 23_500_500_000, 99]);
    let shown: Vec<(f64, &str)> =
        source.channels().iter().zip(&raw).map(|(channel, raw)| (channel.value(*raw), channel.unit.as_str())).collect();
    let wanted = [(0.5, "V"), (0.01, "V"), (0.0035, "V"), (23.5005, "°C"), (99.0, "")];
    for ((value, unit), (wanted, wanted_unit)) in shown.iter().zip(wanted) {
        assert!((value - wanted).abs() < 1e-9 && *unit == wanted_unit, "{shown:?}");
    }
    machine.write(&format!("{DEVICE}/in_voltage0_raw"), "-2047");
    assert_eq!(read(&mut *source).unwrap()[0], -2047);
    machine.write(&format!("{DEVICE}/in_voltage0_raw"), "nonsense");
    assert_eq!(read(&mut *source), Err(Errno::IO));
}

#[test]
fn a_buffer_gives_the_newest_scan_and_counts_the_others() {
    let machine = Machine::new();
    let mut source = machine.open("iio:device0/timestamp,voltage0,voltage1,trigger=timer0,length=16");
    let names: Vec<&str> = source.channels().iter().map(|channel| channel.name.as_str()).collect();
    assert_eq!(names, ["timestamp", "voltage0", "voltage1", "skipped"]);
    let mut driver = machine.driver();
    driver.write_all(&scan(0xfff, -3, 1_000)).unwrap();
    assert_eq!(read(&mut *source), Ok(vec![1_000, 0xfff, -3, 0]));
    for n in 0..200 {
        driver.write_all(&scan(n, n.into(), n.into())).unwrap();
    }
    assert_eq!(read(&mut *source), Ok(vec![199, 199, 199, 199]), "more than are read at once");
}

#[test]
fn a_sample_waits_for_a_scan_and_a_begun_one_is_kept() {
    let machine = Machine::new();
    let mut source = machine.open("adc/voltage0,voltage1,timestamp,trigger=timer0");
    let mut driver = machine.driver();
    let bytes = [scan(1, 2, 3), scan(4, 5, 6)].concat();
    driver.write_all(&bytes[..20]).unwrap();
    assert_eq!(read(&mut *source), Ok(vec![1, 2, 3, 0]));
    std::thread::scope(|scope| {
        scope.spawn(|| driver.write_all(&bytes[20..]).unwrap());
        assert_eq!(read(&mut *source), Ok(vec![4, 5, 6, 0]));
    });
    assert_eq!(read(&mut *source), Err(Errno::TIMEDOUT), "the trigger comes no more");
    drop(driver);
    assert_eq!(read(&mut *source), Err(Errno::NODEV), "the device is gone");
}

#[test]
fn everything_is_set_and_set_back() {
    let machine = Machine::new();
    let before = machine.state();
    let source = machine.open("adc/voltage0,timestamp,trigger=timer0,length=64");
    let during = machine.state();
    let values: Vec<&str> = during.values().map(String::as_str).collect();
    assert_eq!(during["trigger/current_trigger"], "timer0");
    assert_eq!(values.len(), 7);
    for (file, value) in [
        ("buffer/enable", "1"),
        ("buffer/length", "64"),
        ("scan_elements/in_voltage0_en", "1"),
        ("scan_elements/in_voltage1_en", "0"),
        ("scan_elements/in_temp_en", "0"),
        ("scan_elements/in_timestamp_en", "1"),
    ] {
        assert_eq!(during[file], value, "{file}");
    }
    drop(source);
    assert_eq!(machine.state(), before);
}

#[test]
fn a_set_up_that_fails_half_way_is_set_back() {
    let machine = Machine::new();
    let before = machine.state();
    machine.write(&format!("{DEVICE}/scan_elements/in_voltage1_type"), "le:what");
    assert!(machine.refusal("adc/voltage0,voltage1,trigger=timer0").contains("no scan type"));
    assert_eq!(machine.state(), before);
    fs::remove_file(machine.path("dev/iio:device0")).unwrap();
    assert!(machine.refusal("adc/voltage0,trigger=timer0").contains("dev/iio:device0"));
    assert_eq!(machine.state(), before);
}

#[test]
fn what_a_machine_has_not_is_named() {
    let machine = Machine::new();
    for (text, why) in [
        ("dac/voltage0", "only adc (iio:device0)"),
        ("adc/voltage9", "voltage0, voltage0-voltage1, voltage1"),
        ("adc/voltage9,buffer", "only temp, timestamp, voltage0, voltage1"),
        ("adc/voltage0,buffer", "say trigger=NAME (there is timer0, other)"),
        ("adc/voltage0,trigger=timer9", "no trigger \"timer9\""),
    ] {
        let refusal = machine.refusal(text);
        assert!(refusal.contains(why), "{text}: {refusal}");
    }
    machine.write(&format!("{DEVICE}/buffer/enable"), "1");
    assert!(machine.refusal("adc/voltage0,trigger=timer0").contains("in use"));
    fs::remove_dir_all(machine.path(DEVICE).join("buffer")).unwrap();
    assert!(machine.refusal("adc/voltage0,buffer").contains("no buffer"));
    machine.write("sys/bus/iio/devices/iio:device1/name", "adc");
    assert!(machine.refusal("adc/voltage0").contains("iio:device0, iio:device1"));
    fs::remove_dir_all(machine.path("sys")).unwrap();
    assert!(machine.refusal("adc/voltage0").contains("no IIO device"));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20, failure_persistence: None, ..ProptestConfig::default() })]

    /// However the bytes arrive, scans come out whole and in order, and none is missing from the count.
    #[test]
    fn scans_are_whole_however_they_arrive(cuts in proptest::collection::vec(1usize..100, 1..40)) {
        let machine = Machine::new();
        let mut source = machine.open("adc/voltage0,voltage1,timestamp,trigger=timer0");
        let mut driver = machine.driver();
        let bytes: Vec<u8> = (1..=200).flat_map(|n| scan(n, -i32::from(n), n.into())).collect();
        let (mut written, mut seen) = (0, 0);
        for cut in cuts {
            let end = (written + cut).min(bytes.len());
            driver.write_all(&bytes[written..end]).unwrap();
            written = end;
            if written / 16 > seen {
                let values = read(&mut *source).unwrap();
                seen += 1 + values[3] as usize;
                prop_assert_eq!(seen, written / 16);
                prop_assert_eq!(&values[..3], &[seen as i64, -(seen as i64), seen as i64]);
            }
        }
    }
}
