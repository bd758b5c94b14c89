//! Session files of sigrok (`.sr`): an archive with the settings of the capture and its samples in chunks.

use std::io::{Read, Seek};

use super::clock::Clock;
use super::listener::{Channel, Header, Level, Listener};
use super::zip::Archive;
use super::{CaptureError, Rate};

/// More settings than any session has.
const LONGEST_METADATA: u64 = 1 << 20;
/// Samples are taken out so many bytes at a time.
const PIECE: usize = 1 << 18;
/// Bytes of a sample: 512 channels.
const LARGEST_UNIT: usize = 64;

/// What the settings tell.
#[derive(Debug, PartialEq, Eq)]
struct Metadata {
    tool: String,
    capture_file: String,
    rate: Rate,
    unit: usize,
    /// Bit of the sample and name.
    channels: Vec<(usize, String)>,
}

pub(super) fn read<const N: usize>(
    input: impl Read + Seek,
    rate: Option<Rate>,
    listener: &mut impl Listener<N>,
) -> Result<(), CaptureError> {
    let mut archive = Archive::open(input)?;
    let mut version = String::new();
    archive.file("version")?.take(16).read_to_string(&mut version).map_err(|e| part("version", &e))?;
    if !matches!(version.trim(), "1" | "2") {
        return Err(CaptureError::part(
            "version",
            format!("is \"{}\": sessions of version 1 and 2 are read", version.trim()),
        ));
    }
    let mut text = Vec::new();
    archive.file("metadata")?.take(LONGEST_METADATA).read_to_end(&mut text).map_err(|e| part("metadata", &e))?;
    let metadata = metadata(&String::from_utf8_lossy(&text))?;
    let channels = metadata.channels.iter().map(|(_, name)| Channel::named(name.clone())).collect();
    let clock = Clock::of_samples(rate.unwrap_or(metadata.rate));
    let chosen = listener.begin(Header { tool: metadata.tool, channels, clock })?;
    let bits: Vec<usize> = chosen.iter().map(|place| metadata.channels[*place].0).collect();
    let mut samples = Samples::new(metadata.unit, &bits);
    for chunk in chunks(&archive, &metadata.capture_file)? {
        let mut file = archive.file(&chunk)?;
        while samples.fill(&mut file).map_err(|e| part(&chunk, &e))? {
            samples.scan(listener);
        }
    }
    samples.end(listener, &metadata.capture_file)
}

fn part(name: &str, error: &std::io::Error) -> CaptureError {
    CaptureError::part(name, error.to_string())
}

/// The files with the samples, in order: one, or `logic-1-1`, `logic-1-2`, ….
fn chunks(archive: &Archive<impl Read + Seek>, capture_file: &str) -> Result<Vec<String>, CaptureError> {
    if archive.has(capture_file) {
        return Ok(vec![capture_file.into()]);
    }
    let prefix = format!("{capture_file}-");
    let mut numbers: Vec<u64> =
        archive.names().filter_map(|name| name.strip_prefix(&prefix)?.parse::<u64>().ok()).collect();
    numbers.sort_unstable();
    let gap = (1..).zip(&numbers).find(|(expected, found)| expected != *found);
    match gap {
        Some((expected, _)) => Err(CaptureError::part(
            &format!("{prefix}{expected}"),
            "is missing though later samples are there: save the capture again",
        )),
        None if numbers.is_empty() => {
            Err(CaptureError::part(capture_file, "is missing: the session holds no samples of logic channels"))
        }
        None => Ok(numbers.into_iter().map(|number| format!("{prefix}{number}")).collect()),
    }
}

/// Reads the settings: groups of `key=value`.
fn metadata(text: &str) -> Result<Metadata, CaptureError> {
    let lacks = |what: &str| {
        CaptureError::part("metadata", format!("does not say {what}: this is no capture of logic channels"))
    };
    let (mut tool, mut capture_file, mut rate, mut unit) = (None, None, None, None);
    let (mut channels, mut device) = (Vec::new(), false);
    for (line, text) in (1..).zip(text.lines().map(str::trim)) {
        let wrong = |problem: &str| CaptureError::part("metadata", format!("line {line}: {problem}"));
        if text.starts_with('[') {
            if text.starts_with("[device") && std::mem::replace(&mut device, true) {
                return Err(wrong("a second device: save one capture a file"));
            }
            continue;
        }
        let Some((key, value)) = text.split_once('=').map(|(key, value)| (key.trim(), value.trim())) else { continue };
        match key {
            "sigrok version" => tool = Some(format!("sigrok {value}")),
            "capturefile" => capture_file = Some(value.to_owned()),
            "samplerate" => {
                rate = Some(value.parse::<Rate>().map_err(|e| wrong(&format!("samplerate \"{value}\": {e}")))?);
            }
            "unitsize" => {
                let bytes = value.parse().ok().filter(|bytes| (1..=LARGEST_UNIT).contains(bytes));
                unit =
                    Some(bytes.ok_or_else(|| {
                        wrong(&format!("unitsize \"{value}\" is not a number from 1 to {LARGEST_UNIT}"))
                    })?);
            }
            _ => {
                if let Some(number) = key.strip_prefix("probe").and_then(|number| number.parse::<usize>().ok()) {
                    let bit = number.checked_sub(1).ok_or_else(|| wrong("probes are counted from 1"))?;
                    channels.push((bit, value.to_owned()));
                }
            }
        }
    }
    let unit: usize = unit.ok_or_else(|| lacks("how large a sample is (unitsize)"))?;
    if let Some((bit, name)) = channels.iter().find(|(bit, _)| *bit >= unit * 8) {
        return Err(CaptureError::part(
            "metadata",
            format!("probe{} ({name}) has no room in samples of {unit} bytes", bit + 1),
        ));
    }
    if channels.is_empty() {
        return Err(lacks("which channels there are (probe1)"));
    }
    Ok(Metadata {
        tool: tool.unwrap_or_else(|| "sigrok".into()),
        capture_file: capture_file.ok_or_else(|| lacks("where the samples are (capturefile)"))?,
        rate: rate.ok_or_else(|| lacks("at which rate was sampled (samplerate)"))?,
        unit,
        channels,
    })
}

/// Samples, and the levels of some bits of each.
struct Samples {
    unit: usize,
    /// Byte of the sample and its bit, for each that is watched.
    bits: Vec<(usize, u8)>,
    /// The watched bits, in as many samples as eight bytes hold; nothing where these are no whole number.
    mask: Option<[u8; 8]>,
    held: Vec<u8>,
    filled: usize,
    /// Samples that were scanned.
    count: u64,
    /// The last one.
    last: Vec<u8>,
}

impl Samples {
    fn new(unit: usize, bits: &[usize]) -> Self {
        let bits: Vec<(usize, u8)> = bits.iter().map(|bit| (bit / 8, 1 << (bit % 8))).collect();
        let mask = (8 % unit == 0).then(|| {
            let mut mask = [0; 8];
            (0..8).for_each(|i| {
                mask[i] = bits.iter().filter(|(byte, _)| *byte == i % unit).fold(0, |m, (_, bit)| m | bit)
            });
            mask
        });
        Self { unit, bits, mask, held: vec![0; PIECE], filled: 0, count: 0, last: Vec::new() }
    }

    /// Takes more in; whether there was more. A sample may begin in one file and end in the next.
    fn fill(&mut self, input: &mut impl Read) -> std::io::Result<bool> {
        let read = loop {
            match input.read(&mut self.held[self.filled..]) {
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                other => break other?,
            }
        };
        self.filled += read;
        Ok(read > 0)
    }

    fn scan<const N: usize>(&mut self, listener: &mut impl Listener<N>) {
        let whole = self.filled - self.filled % self.unit;
        let mut at = 0;
        while at < whole {
            if let (Some(mask), true) = (self.mask, !self.last.is_empty()) {
                at += self.same_as_last(mask, &self.held[at..whole]);
                if at >= whole {
                    break;
                }
            }
            let sample = &self.held[at..at + self.unit];
            let differs = |(byte, bit): &(usize, u8)| (self.last[*byte] ^ sample[*byte]) & bit != 0;
            if self.last.is_empty() || self.bits.iter().any(differs) {
                let mut levels = [Level::Unknown; N];
                for (level, (byte, bit)) in levels.iter_mut().zip(&self.bits) {
                    *level = Level::of(sample[*byte] & bit != 0);
                }
                listener.levels(self.count + (at / self.unit) as u64, levels);
                self.last.clear();
                self.last.extend_from_slice(sample);
            }
            at += self.unit;
        }
        self.count += (whole / self.unit) as u64;
        self.held.copy_within(whole..self.filled, 0);
        self.filled -= whole;
    }

    /// How many bytes from the beginning on are samples whose watched bits are as before.
    fn same_as_last(&self, mask: [u8; 8], bytes: &[u8]) -> usize {
        let mut last = [0; 8];
        (0..8).for_each(|i| last[i] = self.last[i % self.unit]);
        let (mask, last) = (u64::from_ne_bytes(mask), u64::from_ne_bytes(last));
        let words = bytes.chunks_exact(8).map(|word| u64::from_ne_bytes(word.try_into().unwrap_or_default()));
        8 * words.take_while(|word| (word ^ last) & mask == 0).count()
    }

    fn end<const N: usize>(self, listener: &mut impl Listener<N>, name: &str) -> Result<(), CaptureError> {
        if self.filled > 0 {
            return Err(CaptureError::part(
                name,
                format!("ends within a sample of {} bytes: save the capture again", self.unit),
            ));
        }
        listener.end(self.count.saturating_sub(1));
        Ok(())
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::zip::tests::packed;
    use super::*;

    const METADATA: &str = "[global]\nsigrok version=0.5.2\n\n[device 1]\ncapturefile=logic-1\ntotal probes=4\n\
        samplerate=24 MHz\ntotal analog=0\nprobe1=D0\nprobe2=D1\nprobe4=D3\nunitsize=1\n";

    /// A session of samples of one byte, in chunks of this size.
    pub fn session(rate: Rate, samples: &[u8], chunk: usize) -> Vec<u8> {
        let metadata = METADATA.replace("24 MHz", &rate.to_string());
        let chunks: Vec<(String, &[u8])> =
            (1..).zip(samples.chunks(chunk)).map(|(i, bytes)| (format!("logic-1-{i}"), bytes)).collect();
        let mut files: Vec<(&str, &[u8])> = vec![("version", b"2"), ("metadata", metadata.as_bytes())];
        files.extend(chunks.iter().map(|(name, bytes)| (name.as_str(), *bytes)));
        packed(&files)
    }

    #[derive(Default)]
    struct All {
        chosen: Vec<usize>,
        levels: Vec<(u64, [Level; 2])>,
        end: u64,
    }

    impl Listener for All {
        fn begin(&mut self, _: Header) -> Result<Vec<usize>, CaptureError> {
            Ok(self.chosen.clone())
        }
        fn levels(&mut self, tick: u64, levels: [Level; 2]) {
            self.levels.push((tick, levels));
        }
        fn end(&mut self, tick: u64) {
            self.end = tick;
        }
    }

    #[test]
    fn the_settings_say_which_bit_is_which_channel() {
        let read = metadata(METADATA).unwrap();
        assert_eq!((read.tool.as_str(), read.rate.hertz(), read.unit), ("sigrok 0.5.2", 24_000_000, 1));
        assert_eq!(read.channels, [(0, "D0".into()), (1, "D1".into()), (3, "D3".into())]);
        for (from, to, word) in [
            ("samplerate=24 MHz\n", "", "at which rate"),
            ("24 MHz", "fast", "samplerate \"fast\""),
            ("unitsize=1\n", "", "unitsize"),
            ("unitsize=1\n", "unitsize=0\n", "number from 1 to 64"),
            ("unitsize=1\n", "unitsize=1\n[device 2]\n", "second device"),
            ("probe4", "probe9", "no room in samples of 1 bytes"),
            ("probe4", "probe0", "counted from 1"),
            ("capturefile=logic-1\n", "", "where the samples are"),
        ] {
            let error = metadata(&METADATA.replacen(from, to, 1)).unwrap_err().to_string();
            assert!(error.starts_with("metadata: ") && error.contains(word), "{to}: {error}");
        }
        assert!(metadata("").unwrap_err().to_string().contains("unitsize"));
    }

    #[test]
    fn each_change_of_a_watched_bit_is_found_and_no_other() {
        let mut samples = vec![0b0000u8; 100];
        (20..43).for_each(|i| samples[i] |= 0b1000);
        (43..44).for_each(|i| samples[i] |= 0b0001);
        (50..90).for_each(|i| samples[i] |= 0b0100);
        for chunk in [1, 7, 8, 64, 100] {
            let mut all = All { chosen: vec![2, 0], ..All::default() };
            let file = session(Rate::new(1_000_000), &samples, chunk);
            read(std::io::Cursor::new(file), None, &mut all).unwrap();
            let expected = [(0, [false, false]), (20, [true, false]), (43, [false, true]), (44, [false, false])];
            assert_eq!(all.levels, expected.map(|(at, levels)| (at, levels.map(Level::of))), "chunks of {chunk}");
            assert_eq!(all.end, 99);
        }
    }

    #[test]
    fn samples_of_several_bytes_may_be_split_between_chunks() {
        for unit in [2usize, 3, 4, 8, 9] {
            let mut bytes = vec![0u8; unit * 40];
            (10..25).for_each(|i| bytes[i * unit + unit - 1] = 0x80);
            let metadata = METADATA
                .replace("unitsize=1", &format!("unitsize={unit}"))
                .replace("probe4", &format!("probe{}", unit * 8));
            let (a, b) = bytes.split_at(unit * 12 + 1);
            let file =
                packed(&[("version", b"2"), ("metadata", metadata.as_bytes()), ("logic-1-1", a), ("logic-1-2", b)]);
            let mut all = All { chosen: vec![2], ..All::default() };
            read(std::io::Cursor::new(file), None, &mut all).unwrap();
            let levels: Vec<_> = all.levels.iter().map(|(at, levels)| (*at, levels[0])).collect();
            assert_eq!(levels, [(0, Level::Low), (10, Level::High), (25, Level::Low)], "{unit}");
        }
    }

    #[test]
    fn what_is_missing_is_named() {
        let with = |files: &[(&str, &[u8])]| {
            let all = [&[("version", &b"2"[..]), ("metadata", METADATA.as_bytes())], files].concat();
            let mut listener = All { chosen: vec![0], ..All::default() };
            read(std::io::Cursor::new(packed(&all)), None, &mut listener).map_err(|e| e.to_string())
        };
        assert_eq!(with(&[("logic-1", b"\0\x01")]), Ok(()));
        assert!(with(&[]).unwrap_err().starts_with("logic-1: is missing"));
        assert!(with(&[("logic-1-1", b"\0"), ("logic-1-3", b"\0")]).unwrap_err().starts_with("logic-1-2: is missing"));
        let version = |text: &[u8]| read(std::io::Cursor::new(packed(&[("version", text)])), None, &mut All::default());
        assert!(version(b"3").unwrap_err().to_string().contains("version 1 and 2"));
        assert!(version(b"2").unwrap_err().to_string().starts_with("metadata: is not in the archive"));
    }
}
