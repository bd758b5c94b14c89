//! Samples through real sockets and files to their readers.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::net::{TcpStream, UdpSocket};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use ontick_acquire::Channel;
use ontick_acquire::format::{Entry, Format};
use ontick_acquire::hub::{self, Passed, Stream};
use ontick_acquire::recording::read;
use ontick_acquire::ring::{self, Writer};
use ontick_acquire::sink::{self, Clients, OpenSinks, Sink};

/// A hub with one stream per sink, fed by the test.
struct Chain {
    ring: Option<Writer>,
    hub: Option<std::thread::JoinHandle<()>>,
    passed: Arc<Passed>,
    clients: Arc<Clients>,
    open: Vec<OpenSinks>,
    next: u64,
    left_out: u64,
}

impl Chain {
    fn new(sinks: &[&str], backlog: usize) -> Self {
        let channels = [Channel { name: "n".into(), unit: String::new(), scale: 1.0, offset: 0.0 }];
        let (ring, reader) = ring::new(100_000, 1);
        let (passed, clients) = (Arc::new(Passed::default()), Arc::new(Clients::default()));
        let sinks: Vec<Sink> = sinks.iter().map(|text| text.parse().unwrap()).collect();
        let streams: Vec<_> = sinks.iter().map(|sink| Stream::new(sink.format, &channels, backlog)).collect();
        let open = sinks.iter().zip(&streams).map(|(sink, stream)| sink::open(sink, stream.clone(), clients.clone()));
        let open = open.collect::<Result<_, _>>().unwrap();
        let hub = std::thread::spawn({
            let passed = passed.clone();
            move || hub::run(reader, &channels, &streams, &passed)
        });
        Self { ring: Some(ring), hub: Some(hub), passed, clients, open, next: 0, left_out: 0 }
    }

    fn address(&self, sink: usize) -> String {
        self.open[sink].addresses[0].split(' ').nth(1).unwrap().into()
    }

    fn push(&mut self, samples: u64) {
        let ring = self.ring.as_mut().unwrap();
        for _ in 0..samples {
            ring.push(self.next, 5_000 + self.next, 7, &[self.next as i64]);
            self.next += 1;
        }
        while self.passed.samples.load(Relaxed) + self.left_out < self.next {
            std::thread::yield_now();
        }
    }

    /// So many slots were missed.
    fn leave_out(&mut self, samples: u64) {
        self.next += samples;
        self.left_out += samples;
    }

    fn wait_for_clients(&self, count: usize) {
        while self.clients.all().len() < count {
            std::thread::yield_now();
        }
    }

    fn end(&mut self) {
        self.ring = None;
        self.hub.take().unwrap().join().unwrap();
        OpenSinks::close_all(self.open.drain(..));
    }
}

/// Numbers of the samples in a binary stream, and of those that a slow client missed; every gap is reported.
fn numbers(from: impl Read) -> (Vec<u64>, u64) {
    let (numbers, [late, full, slow]) = numbers_and_gaps(from);
    assert_eq!((late, full), (0, 0));
    (numbers, slow)
}

/// The same, by each reason.
fn numbers_and_gaps(from: impl Read) -> (Vec<u64>, [u64; 3]) {
    let mut recording = read(from).unwrap();
    let (mut numbers, mut missed) = (Vec::new(), [0; 3]);
    let mut next = None;
    while let Some(entry) = recording.next().unwrap() {
        match entry {
            Entry::Gap(gap) => {
                missed[gap.why as usize] += gap.missed;
                next = next.map(|next| next + gap.missed);
            }
            Entry::Sample(sample) => {
                assert_eq!(next.unwrap_or(sample.number), sample.number, "a gap that was not reported");
                assert_eq!(sample.raw, [sample.number as i64]);
                numbers.push(sample.number);
                next = Some(sample.number + 1);
            }
        }
    }
    (numbers, missed)
}

#[test]
fn clients_come_at_any_time_and_each_gets_all_from_then_on() {
    let mut chain = Chain::new(&["tcp:127.0.0.1:0,format=binary"], 1 << 24);
    let address = chain.address(0);
    let first = TcpStream::connect(&address).unwrap();
    chain.wait_for_clients(1);
    chain.push(100);
    let second = TcpStream::connect(&address).unwrap();
    chain.wait_for_clients(2);
    let gone = TcpStream::connect(&address).unwrap();
    chain.wait_for_clients(3);
    drop(gone);
    chain.push(100);
    let readers = [first, second].map(|socket| std::thread::spawn(move || numbers(socket)));
    chain.end();
    let [first, second] = readers.map(|reader| reader.join().unwrap());
    assert_eq!(first, ((0..200).collect(), 0));
    assert_eq!(second, ((100..200).collect(), 0));
}

#[test]
fn a_client_that_does_not_read_holds_nobody_up_and_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("samples");
    let unix = format!("unix:{},format=binary", path.display());
    let mut chain = Chain::new(&[&unix], 1 << 20);
    let slow = UnixStream::connect(&path).unwrap();
    let quick = UnixStream::connect(&path).unwrap();
    chain.wait_for_clients(2);
    let quick = std::thread::spawn(move || numbers(quick));
    // Until the slow one's socket and backlog are full and samples were forgotten.
    let pushed = 200_000;
    (0..100).for_each(|_| chain.push(pushed / 100));
    let slow = std::thread::spawn(move || numbers(slow));
    chain.end();
    let (got, missed) = slow.join().unwrap();
    assert!(missed > 0);
    assert_eq!(got.len() as u64 + missed, pushed);
    let (got, missed) = quick.join().unwrap();
    assert_eq!(got.len() as u64 + missed, pushed);
    assert!(!path.exists(), "the socket's file goes with the listener");
}

#[test]
fn a_slow_client_is_told_of_late_samples_too() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("samples");
    let mut chain = Chain::new(&[&format!("unix:{},format=binary", path.display())], 1 << 18);
    let slow = UnixStream::connect(&path).unwrap();
    chain.wait_for_clients(1);
    (0..100).for_each(|_| {
        chain.push(1_000);
        chain.leave_out(3);
    });
    chain.push(1);
    let slow = std::thread::spawn(move || numbers_and_gaps(slow));
    chain.end();
    let (got, [late, full, slow]) = slow.join().unwrap();
    assert_eq!((late, full, got.len() as u64 + slow), (300, 0, 100_001));
    assert!(slow > 0);
    assert_eq!(chain.clients.all()[0].missed.load(Relaxed), slow);
}

#[test]
fn files_rotate_at_whole_records_and_nothing_is_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("samples.csv");
    fs::write(folder.path().join("samples.csv.2"), "mine").unwrap();
    let sink = format!("file:{},rotate=4096", path.display());
    let mut chain = Chain::new(&[&sink], 1 << 24);
    (0..10).for_each(|_| chain.push(50));
    chain.end();
    let mut files = vec![path.clone()];
    files.extend((1..20).filter(|n| *n != 2).map(|n| folder.path().join(format!("samples.csv.{n}"))));
    let mut numbers = Vec::new();
    for file in files.iter().filter(|file| file.exists()) {
        let text = fs::read_to_string(file).unwrap();
        let mut lines = text.lines();
        assert_eq!(lines.next(), Some("number,monotonic_ns,tai_ns,latency_ns,n"));
        numbers.extend(lines.map(|line| line.split(',').next().unwrap().parse::<u64>().unwrap()));
    }
    numbers.sort_unstable();
    assert_eq!(numbers, (0..500).collect::<Vec<u64>>());
    assert!(files[1].exists() && files[2].exists(), "it was begun anew at least twice");
    assert_eq!(fs::read_to_string(folder.path().join("samples.csv.2")).unwrap(), "mine");

    let clients = Arc::new(Clients::default());
    let again = sink::open(&sink.parse().unwrap(), Stream::new(Format::Csv, &[], 1), clients);
    assert!(again.err().unwrap().to_string().contains("exists"));
}

#[test]
fn datagrams_are_sent_and_lines_are_json() {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let mut chain = Chain::new(&[&format!("udp:{}", socket.local_addr().unwrap())], 1 << 24);
    chain.push(3);
    let mut packet = [0; 2000];
    let length = socket.recv(&mut packet).unwrap();
    for line in BufReader::new(&packet[..length]).lines() {
        let value: serde_json::Value = serde_json::from_str(&line.unwrap()).unwrap();
        assert_eq!(value["values"]["n"].as_f64(), value["number"].as_f64());
    }
    chain.end();
}

#[test]
fn a_port_in_use_is_reported() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let sink: Sink = format!("tcp:{}", taken.local_addr().unwrap()).parse().unwrap();
    let opened = sink::open(&sink, Stream::new(Format::Csv, &[], 1), Arc::new(Clients::default()));
    assert!(opened.err().unwrap().to_string().starts_with("tcp 127.0.0.1:"));
}
