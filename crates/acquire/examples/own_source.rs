//! A source of one's own (the machine's load) beside a built-in one, printed as they come.
//! `cargo run -p ontick-acquire --example own_source`

use std::error::Error;
use std::fs::File;
use std::os::unix::fs::FileExt;

use ontick_acquire::{Channel, Sampler, Source, Trigger, Turn, ring, source};
use ontick_rt::Phase;
use rustix::io::Errno;

/// The load average of the last minute, in hundredths.
struct Load {
    file: File,
    channels: [Channel; 1],
}

impl Load {
    fn open() -> std::io::Result<Self> {
        let channel = Channel { name: "load".into(), unit: String::new(), scale: 0.01, offset: 0.0 };
        Ok(Self { file: File::open("/proc/loadavg")?, channels: [channel] })
    }
}

impl Source for Load {
    fn channels(&self) -> &[Channel] {
        &self.channels
    }

    /// Runs on the timed thread: it reads into an array and allocates nothing.
    fn read(&mut self, _now_ns: u64, values: &mut [i64]) -> Result<(), Errno> {
        let mut text = [0; 16];
        let length =
            self.file.read_at(&mut text, 0).map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
        let digits = text[..length].iter().take_while(|byte| **byte != b' ').filter(|byte| byte.is_ascii_digit());
        values[0] = digits.fold(0, |value, digit| value * 10 + i64::from(digit - b'0'));
        Ok(())
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let sources: Vec<Box<dyn Source>> = vec![Box::new(Load::open()?), source::open("wave:ramp,2Hz")?];
    let channels: Vec<_> = sources.iter().flat_map(|source| source.channels().to_vec()).collect();
    let (writer, mut reader) = ring::new(100, channels.len());
    let mut sampler = Sampler::new(&Trigger::Every(100_000_000), Phase::Chance, sources, writer)?;
    for _ in 0..5 {
        if let Turn::Failed { errno, .. } = sampler.turn() {
            return Err(errno.into());
        }
        sampler.keep();
        reader.pop(|sample| {
            let values = channels.iter().zip(sample.raw).map(|(channel, raw)| (&channel.name, channel.value(*raw)));
            let values: Vec<String> = values.map(|(name, value)| format!("{name} = {value:.3}")).collect();
            println!("sample {}: {}", sample.number, values.join(", "));
        });
    }
    Ok(())
}
