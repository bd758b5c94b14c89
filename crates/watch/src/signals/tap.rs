//! One sampler, listened to while somebody looks: a connection like that of any reader, which the sampler does not wait for.

use std::io::{self, BufReader, ErrorKind, Read};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::address::Address;
use super::reader;
use super::sampler_state::{Link, SamplerState};

/// Nobody looks any more when nobody asked for so long.
const WANTED_FOR: Duration = Duration::from_secs(10);
/// A sampler that is not there, or ended, is tried again.
const RETRY: Duration = Duration::from_secs(1);
/// What comes is read so often: each read costs as much as many samples do.
const GATHER: Duration = Duration::from_millis(20);
/// Bytes that are read at once.
const AT_ONCE: usize = 64 << 10;

/// A sampler that may be listened to. It ends with this.
pub struct Tap {
    shared: Arc<Shared>,
}

struct Shared {
    address: Address,
    wanted: Mutex<Wanted>,
    changed: Condvar,
    sampler: Mutex<SamplerState>,
}

#[derive(Default)]
struct Wanted {
    asked: Option<Instant>,
    ended: bool,
}

impl Wanted {
    fn goes_on(&self) -> bool {
        !self.ended && self.asked.is_some_and(|at| at.elapsed() < WANTED_FOR)
    }
}

impl Tap {
    /// Begins, and does nothing until somebody asks.
    pub fn start(address: Address) -> io::Result<Self> {
        let shared = Arc::new(Shared {
            address,
            wanted: Mutex::default(),
            changed: Condvar::new(),
            sampler: Mutex::new(SamplerState::default()),
        });
        let own = shared.clone();
        std::thread::Builder::new().name("ontick-tap".into()).spawn(move || own.listen())?;
        Ok(Self { shared })
    }

    /// Whose it is.
    pub fn address(&self) -> &Address {
        &self.shared.address
    }

    /// Somebody looks; what is known of it.
    pub fn ask(&self) -> MutexGuard<'_, SamplerState> {
        let mut wanted = held(&self.shared.wanted);
        wanted.asked = Some(Instant::now());
        self.shared.changed.notify_all();
        drop(wanted);
        held(&self.shared.sampler)
    }
}

impl Drop for Tap {
    fn drop(&mut self) {
        held(&self.shared.wanted).ended = true;
        self.shared.changed.notify_all();
    }
}

fn held<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    fn listen(&self) {
        while self.wait_until_wanted() {
            let ended = match self.address.connect() {
                Ok(stream) => {
                    held(&self.sampler).begin();
                    let stream = BufReader::with_capacity(AT_ONCE, Patient { stream, shared: self, waits: false });
                    match reader::read(stream, &mut &self.sampler) {
                        Ok(()) => Link::Lost("the sampler ended".into()),
                        Err(error) => Link::Lost(error.to_string()),
                    }
                }
                Err(error) => Link::Lost(format!("no sampler: {error}")),
            };
            let wanted = held(&self.wanted);
            held(&self.sampler).link = if wanted.goes_on() { ended } else { Link::Idle };
            if wanted.goes_on() {
                let _ = self.changed.wait_timeout_while(wanted, RETRY, |wanted| !wanted.ended);
            }
        }
    }

    /// Until somebody asks; whether it goes on at all.
    fn wait_until_wanted(&self) -> bool {
        let wanted = held(&self.wanted);
        let wanted = self.changed.wait_while(wanted, |wanted| !wanted.ended && !wanted.goes_on());
        !wanted.unwrap_or_else(PoisonError::into_inner).ended
    }

    fn goes_on(&self) -> bool {
        held(&self.wanted).goes_on()
    }
}

/// Reads until nobody wants to know any more, which is the end.
struct Patient<'a, R> {
    stream: R,
    shared: &'a Shared,
    /// The last read took all there was.
    waits: bool,
}

impl<R: Read> Read for Patient<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.waits {
            std::thread::sleep(GATHER);
        }
        loop {
            if !self.shared.goes_on() {
                return Ok(0);
            }
            match self.stream.read(buffer) {
                Err(error)
                    if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted) => {
                }
                read => {
                    self.waits = read.as_ref().is_ok_and(|read| *read < buffer.len());
                    return read;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::net::UnixListener;

    use super::*;

    fn until(what: &str, tap: &Tap, holds: impl Fn(&SamplerState) -> bool) {
        let began = Instant::now();
        while !holds(&tap.ask()) {
            assert!(began.elapsed() < Duration::from_secs(30), "{what}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Nobody connects unasked; a sampler that ends and comes back is read again.
    #[test]
    fn a_sampler_is_read_while_somebody_asks_and_again_when_it_comes_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s");
        let tap = Tap::start(Address::Unix(path.clone())).unwrap();
        until(
            "that there is none",
            &tap,
            |sampler| matches!(&sampler.link, Link::Lost(why) if why.contains("no sampler")),
        );
        for turn in 1..=2u64 {
            let listener = UnixListener::bind(&path).unwrap();
            let (mut stream, _) = listener.accept().unwrap();
            stream.write_all(b"{\"channels\":[{\"name\":\"a\",\"unit\":\"V\"}]}\n").unwrap();
            for n in 0..10 {
                let at_ns = turn * 1_000_000_000 + n * 1_000_000;
                writeln!(stream, "{{\"monotonic_ns\":{at_ns},\"latency_ns\":5,\"values\":{{\"a\":{n}}}}}").unwrap();
            }
            until("its samples", &tap, |sampler| sampler.link == Link::Up && sampler.samples == 10);
            assert_eq!(tap.ask().newest_ns, turn * 1_000_000_000 + 9_000_000);
            drop((stream, listener));
            std::fs::remove_file(&path).unwrap();
            until("its end", &tap, |sampler| matches!(sampler.link, Link::Lost(_)));
        }
    }
}
