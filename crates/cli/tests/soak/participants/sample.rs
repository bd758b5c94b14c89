//! `sample` with four clients: TCP, UNIX, a file, and one over TCP that hangs or resets its connection.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::net::sockopt::{set_socket_linger, set_socket_recv_buffer_size};
use rustix::process::Signal;

use super::{Count, PATIENCE, Participant};
use crate::oracle::samples::Samples;
use crate::site::{Killed, Site};

const RATE: &str = "500Hz";

pub struct Sampling {
    site: Rc<Site>,
    life: Option<Life>,
    count: Count,
}

struct Life {
    process: Killed,
    address: String,
    clients: Vec<Client>,
    /// The one that hangs or resets its connection.
    unsteady: Client,
}

/// A reader of a stream, on a thread of its own.
struct Client {
    name: &'static str,
    samples: Arc<Mutex<Samples>>,
    hangs: Arc<AtomicBool>,
    reader: JoinHandle<()>,
    /// Of its connection, to reset it.
    socket: Option<TcpStream>,
}

impl Client {
    fn read(name: &'static str, stream: impl Read + Send + 'static, socket: Option<TcpStream>) -> Self {
        let samples: Arc<Mutex<Samples>> = Arc::default();
        let hangs: Arc<AtomicBool> = Arc::default();
        let (to, waits) = (samples.clone(), hangs.clone());
        let reader = std::thread::spawn(move || {
            let mut stream = BufReader::new(stream);
            let mut line = String::new();
            // The last line of one that is killed may be half a line, and a reset ends reading by an error.
            while stream.read_line(&mut line).is_ok_and(|octets| octets > 0) && line.ends_with('\n') {
                to.lock().expect("no reader panics").take(line.trim_end());
                line.clear();
                while waits.load(Relaxed) {
                    std::thread::sleep(Duration::from_millis(10));
                }
            }
        });
        Self { name, samples, hangs, reader, socket }
    }

    fn over_tcp(name: &'static str, address: &str) -> std::io::Result<Self> {
        let socket = TcpStream::connect(address)?;
        let other = socket.try_clone()?;
        Ok(Self::read(name, socket, Some(other)))
    }

    fn wrong(&self) -> Option<String> {
        let wrong = self.samples.lock().expect("no reader panics").wrong.take();
        wrong.map(|why| format!("sample: the {} client: {why}", self.name))
    }

    /// Waits until its stream is over.
    fn end(self) -> Samples {
        self.hangs.store(false, Relaxed);
        let _ = self.reader.join();
        std::mem::take(&mut self.samples.lock().expect("no reader panics"))
    }

    /// As one that is killed while the kernel has data for it (tcp(7): a reset).
    fn reset(self) -> Samples {
        if let Some(socket) = &self.socket {
            let _ = set_socket_linger(socket, Some(Duration::ZERO));
            let _ = socket.shutdown(std::net::Shutdown::Read);
        }
        let Self { samples, hangs, reader, socket, .. } = self;
        drop(socket);
        hangs.store(false, Relaxed);
        let _ = reader.join();
        std::mem::take(&mut samples.lock().expect("no reader panics"))
    }
}

impl Sampling {
    pub fn new(site: &Rc<Site>) -> Self {
        Self { site: site.clone(), life: None, count: Count { of: "samples at four clients", ..Count::default() } }
    }

    fn file(&self) -> PathBuf {
        self.site.path("samples.ontick")
    }

    fn socket(&self) -> PathBuf {
        self.site.path("samples.socket")
    }

    /// The fourth client takes nothing, or goes on.
    pub fn hang(&self, hangs: bool) {
        if let Some(life) = &self.life {
            life.unsteady.hangs.store(hangs, Relaxed);
        }
    }

    /// The fourth client goes without a word, and another comes.
    pub fn reset(&mut self) -> Vec<String> {
        let Some(mut life) = self.life.take() else { return Vec::new() };
        let next = Client::over_tcp("unsteady", &life.address);
        let findings = match next {
            Ok(next) => {
                let samples = std::mem::replace(&mut life.unsteady, next).reset();
                self.add(samples)
            }
            Err(error) => vec![format!("sample: no further client may come: {error}")],
        };
        self.life = Some(life);
        findings
    }

    fn add(&mut self, samples: Samples) -> Vec<String> {
        self.count.delivered += samples.delivered;
        self.count.missed += samples.missed;
        samples.wrong.map(|why| format!("sample: {why}")).into_iter().collect()
    }

    /// What all clients have of a life that is over, and what the file has.
    fn judge(&mut self, life: Life, ended_well: bool) -> Vec<String> {
        let mut findings = Vec::new();
        let mut lasts = Vec::new();
        for client in life.clients.into_iter().chain([life.unsteady]) {
            let name = client.name;
            let samples = client.end();
            lasts.push((name, samples.last()));
            findings.extend(self.add(samples));
        }
        match self.site.read(&["sample", "--read"], &self.file()) {
            Ok(text) => {
                let mut samples = Samples::default();
                text.lines().for_each(|line| samples.take(line));
                if ended_well {
                    // Both that take all have the same end.
                    for (name, last) in lasts.iter().filter(|(name, _)| *name != "unsteady") {
                        if *last != samples.last() {
                            findings.push(format!("sample: {name} ends at {last:?}, the file at {:?}", samples.last()));
                        }
                    }
                }
                findings.extend(self.add(samples));
            }
            Err(why) => findings.push(format!("sample: {why}")),
        }
        let _ = fs::remove_file(self.file());
        findings
    }
}

impl Participant for Sampling {
    fn name(&self) -> &'static str {
        "sample"
    }

    fn start(&mut self) {
        let (file, socket) =
            (format!("file:{}", self.file().display()), format!("unix:{},format=csv", self.socket().display()));
        let job = ["sample", "--rate", RATE, "--source", "wave:ramp", "--policy", "other", "--cpu", "any"];
        let words = [&job[..], &["--to", "tcp:127.0.0.1:0,format=csv", "--to", &socket, "--to", &file]].concat();
        let process = self.site.start("sample", &mut self.site.command(true, &[], &words));
        let mut address = String::new();
        crate::wait_until("sample listens", || {
            let said = self.site.last_words("sample");
            address = said
                .split_once("listening on tcp ")
                .and_then(|(_, at)| at.split(' ').next())
                .unwrap_or_default()
                .into();
            !address.is_empty() && UnixStream::connect(self.socket()).is_ok()
        });
        let steady = Client::over_tcp("TCP", &address).expect("it listens");
        let unsteady = TcpStream::connect(&address).expect("it listens");
        // So that little waits for it in the system.
        let _ = set_socket_recv_buffer_size(&unsteady, 4096);
        let other = unsteady.try_clone().expect("a descriptor");
        let unsteady = Client::read("unsteady", unsteady, Some(other));
        let unix = Client::read("UNIX", UnixStream::connect(self.socket()).expect("it listens"), None);
        self.life = Some(Life { process, address, clients: vec![steady, unix], unsteady });
        self.count.lives += 1;
    }

    fn processes(&self) -> Vec<(&'static str, u32)> {
        self.life.iter().map(|life| ("sample", life.process.0.id())).collect()
    }

    fn check(&mut self) -> Vec<String> {
        let Some(life) = &mut self.life else { return Vec::new() };
        let ended = life.process.0.try_wait().expect("a child");
        let ended =
            ended.map(|status| format!("sample: ended by itself, {status}: {}", self.site.last_words("sample")));
        life.clients.iter().chain([&life.unsteady]).filter_map(Client::wrong).chain(ended).collect()
    }

    fn kill(&mut self) -> Vec<String> {
        let Some(mut life) = self.life.take() else { return Vec::new() };
        let _ = life.process.0.kill();
        let _ = life.process.0.wait();
        self.judge(life, false)
    }

    fn end(&mut self) -> Vec<String> {
        let Some(mut life) = self.life.take() else { return Vec::new() };
        let began = Instant::now();
        life.process.signal(Signal::INT);
        let status = life.process.status_within(PATIENCE);
        let mut findings = self.judge(life, true);
        if status != Some(0) {
            let after = began.elapsed().as_secs();
            findings
                .push(format!("sample: Ctrl-C: status {status:?} after {after} s: {}", self.site.last_words("sample")));
        }
        if self.socket().exists() {
            findings.push("sample: its socket is left".into());
        }
        findings
    }

    fn count(&self) -> Count {
        self.count.clone()
    }
}
