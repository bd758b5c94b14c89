//! Listeners: clients come and go as they like, within bounds of memory, places and patience.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{Shutdown, shutdown, sockopt};

use super::writer::{self, Output};
use super::{Clients, FAREWELL, PATIENCE};
use crate::Error;
use crate::format::Format;
use crate::hub::Stream;
use crate::socket_file::{ListenError, SocketFile};

/// What the clients of one listener may take.
#[derive(Debug, Clone, Copy)]
struct Bounds {
    /// Clients at a time.
    clients: usize,
    /// Of these, of one host.
    of_one_host: usize,
    /// Who takes nothing of what is there for so long is sent away.
    stalled: Duration,
}

const BOUNDS: Bounds = Bounds { clients: 256, of_one_host: 128, stalled: Duration::from_secs(10) };
/// The stack of a client's thread, in bytes. Where memory is locked, all of it is.
const STACK: usize = 128 << 10;
/// What the kernel keeps for a client at most, in bytes; it takes twice that with its own.
const SEND_BUFFER: usize = 128 << 10;
/// Most bytes of one write: of more, each part may wait for as long as a write may.
const PIECE: usize = 64 << 10;
/// Whether an idle client is still there is looked at so often.
const IDLE: Duration = Duration::from_secs(1);

/// A listener at work.
pub struct Listening {
    pub thread: JoinHandle<()>,
    /// Where it listens.
    pub address: String,
    /// What whoever started it should know.
    pub notice: Option<String>,
}

/// Listens on a TCP port, of this machine alone where no address is named; port 0 is any that is free.
pub fn tcp(
    address: &str,
    format: Format,
    stream: Arc<Stream>,
    clients: Arc<Clients>,
    stop: Arc<AtomicBool>,
) -> Result<Listening, Error> {
    let system = |error| Error::System { what: format!("tcp {address}"), error };
    let address = address.strip_prefix(':').map(|port| format!("127.0.0.1:{port}")).unwrap_or(address.into());
    let listener = TcpListener::bind(&address).map_err(system)?;
    listener.set_nonblocking(true).map_err(system)?;
    let local = listener.local_addr().map_err(system)?;
    let at = format!("tcp {local}");
    let accept = move || {
        let (socket, from) = listener.accept()?;
        // Who came by IPv4 to a listener of both is known by that address.
        let from = SocketAddr::new(from.ip().to_canonical(), from.port());
        Ok((socket, Some(host(from.ip())), from.to_string()))
    };
    let notice = (!local.ip().is_loopback()).then(|| {
        format!("everyone who reaches {at} gets the samples (tcp::{} is for this machine alone)", local.port())
    });
    let thread = serve(at.clone(), accept, format, stream, clients, stop, BOUNDS).map_err(system)?;
    Ok(Listening { thread, address: at, notice })
}

/// Listens on a UNIX socket, whose file gets these permissions whatever the umask. One that a killed run left behind is
/// replaced; anything else is not.
pub fn unix(
    path: &Path,
    mode: u32,
    format: Format,
    stream: Arc<Stream>,
    clients: Arc<Clients>,
    stop: Arc<AtomicBool>,
) -> Result<Listening, Error> {
    let system = |error| Error::System { what: format!("unix {}", path.display()), error };
    let (listener, own) = SocketFile::listen(path, mode).map_err(|error| match error {
        ListenError::System(error) => system(error),
        taken => Error::Invalid { what: "sink", text: format!("unix:{}", path.display()), why: taken.to_string() },
    })?;
    listener.set_nonblocking(true).map_err(system)?;
    let at = format!("unix {}", path.display());
    let mut count = 0;
    let accept = move || {
        let _own = &own;
        let (socket, _) = UnixListener::accept(&listener)?;
        count += 1;
        Ok((socket, None, format!("client {count}")))
    };
    let thread = serve(at.clone(), accept, format, stream, clients, stop, BOUNDS).map_err(system)?;
    Ok(Listening { thread, address: at, notice: None })
}

/// A connection whose waits have a limit.
trait Connection: AsFd + Read + Send + Sync + 'static {
    fn prepare(&self) -> io::Result<()>;
    fn write(&self, bytes: &[u8]) -> io::Result<usize>;
}

impl Connection for TcpStream {
    fn prepare(&self) -> io::Result<()> {
        self.set_nonblocking(false)?;
        self.set_nodelay(true)?;
        self.set_write_timeout(Some(PATIENCE))?;
        sockopt::set_socket_send_buffer_size(self, SEND_BUFFER)?;
        // A host that went without a word is noticed within two minutes.
        sockopt::set_socket_keepalive(self, true)?;
        sockopt::set_tcp_keepidle(self, Duration::from_secs(60))?;
        sockopt::set_tcp_keepintvl(self, Duration::from_secs(15))?;
        Ok(sockopt::set_tcp_keepcnt(self, 4)?)
    }

    fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        Write::write(&mut &*self, bytes)
    }
}

impl Connection for UnixStream {
    fn prepare(&self) -> io::Result<()> {
        self.set_nonblocking(false)?;
        self.set_write_timeout(Some(PATIENCE))
    }

    fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        Write::write(&mut &*self, bytes)
    }
}

/// What one host's addresses have in common: a host has all addresses of an IPv6 network's 64 bits (RFC 4291, 2.5.1).
fn host(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
        address => address,
    }
}

/// A client and its thread.
struct Served<C> {
    socket: Arc<C>,
    host: Option<IpAddr>,
    thread: JoinHandle<()>,
}

fn serve<C: Connection>(
    at: String,
    mut accept: impl FnMut() -> io::Result<(C, Option<IpAddr>, String)> + Send + 'static,
    format: Format,
    stream: Arc<Stream>,
    clients: Arc<Clients>,
    stop: Arc<AtomicBool>,
    bounds: Bounds,
) -> io::Result<JoinHandle<()>> {
    let run = move || {
        let mut served: Vec<Served<C>> = Vec::new();
        while !stop.load(Relaxed) {
            served.retain(|client| !client.thread.is_finished());
            let has_place = |host| {
                let of_host = served.iter().filter(|client| client.host == host).count();
                served.len() < bounds.clients && (host.is_none() || of_host < bounds.of_one_host)
            };
            match accept() {
                Ok((socket, host, from)) if has_place(host) => {
                    let socket = Arc::new(socket);
                    let (stream, clients, stop) = (stream.clone(), clients.clone(), stop.clone());
                    let (name, connection) = (format!("{at} {from}"), socket.clone());
                    let talk = move || talk(&*connection, &name, format, &stream, &clients, &stop, bounds.stalled);
                    let thread = std::thread::Builder::new().name("ontick-client".into()).stack_size(STACK);
                    served.extend(thread.spawn(talk).ok().map(|thread| Served { socket, host, thread }));
                }
                // One too many: the socket closes. Those who hung up lose their places, so that the next one has one.
                Ok(_) => served.iter().filter(|client| has(&*client.socket, PollFlags::RDHUP)).for_each(|client| {
                    let _ = shutdown(&*client.socket, Shutdown::Both);
                }),
                Err(_) => std::thread::sleep(PATIENCE / 10),
            }
        }
        served.into_iter().for_each(|client| drop(client.thread.join()));
    };
    std::thread::Builder::new().name("ontick-listen".into()).stack_size(STACK).spawn(run)
}

/// Whether this is true of a socket now.
fn has(socket: &impl AsFd, what: PollFlags) -> bool {
    let mut polled = [PollFd::new(socket, what & PollFlags::RDHUP)];
    matches!(poll(&mut polled, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })), Ok(1..))
        && polled[0].revents().intersects(what)
}

fn talk<C: Connection>(
    socket: &C,
    name: &str,
    format: Format,
    stream: &Stream,
    clients: &Clients,
    stop: &AtomicBool,
    stalled: Duration,
) {
    let place = stream.backlog.now();
    let client = clients.join(name.into(), place);
    let mut end = None;
    let prepared = socket.prepare();
    let write = |bytes: &[u8]| {
        write_all(socket, bytes, stalled, || {
            if !stop.load(Relaxed) {
                return true;
            }
            *end.get_or_insert_with(|| Instant::now() + FAREWELL) > Instant::now()
        })
    };
    let fed = prepared.and_then(|()| match format {
        #[cfg(feature = "arrow")]
        Format::Arrow => {
            let messages = super::arrow::Messages::new(&stream.channels, write);
            writer::feed(stream, place, &client, &mut Present { socket, output: messages })
        }
        _ => writer::feed(stream, place, &client, &mut Present { socket, output: writer::Plain(write) }),
    });
    client.leave(fed.err().filter(|error| !is_farewell(error)).map(|error| said(&error)));
}

/// An output to a client who may go while there is nothing to send.
struct Present<'a, C, O> {
    socket: &'a C,
    output: O,
}

impl<C: Connection, O: Output> Output for Present<'_, C, O> {
    const PATIENCE: Duration = if O::PATIENCE.as_millis() < IDLE.as_millis() { O::PATIENCE } else { IDLE };

    fn begin(&mut self, begin: &[u8]) -> io::Result<()> {
        self.output.begin(begin)
    }

    fn write(&mut self, records: &[u8]) -> io::Result<()> {
        self.output.write(records)
    }

    fn flush(&mut self) -> io::Result<()> {
        // Not RDHUP: who only reads may have said that it writes nothing.
        match has(self.socket, PollFlags::HUP | PollFlags::ERR) {
            true => Err(ErrorKind::ConnectionReset.into()),
            false => self.output.flush(),
        }
    }

    fn end(&mut self) -> io::Result<()> {
        self.output.end()
    }

    fn written(&self) -> Option<u64> {
        self.output.written()
    }
}

/// Why a client got no more.
fn said(error: &io::Error) -> String {
    match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::TimedOut => {
            format!("it had not taken all of it {} s after the end", FAREWELL.as_secs())
        }
        _ => error.to_string(),
    }
}

/// Whether a client just went, as clients may at any time.
fn is_farewell(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset | ErrorKind::ConnectionAborted)
}

/// Writes all, asking before each piece whether to go on.
fn write_all<C: Connection>(
    socket: &C,
    mut bytes: &[u8],
    stalled: Duration,
    mut go_on: impl FnMut() -> bool,
) -> io::Result<()> {
    let mut took = Instant::now();
    while !bytes.is_empty() {
        if !go_on() {
            return Err(ErrorKind::TimedOut.into());
        }
        match socket.write(&bytes[..bytes.len().min(PIECE)]) {
            Ok(0) => return Err(ErrorKind::BrokenPipe.into()),
            Ok(written) => (bytes, took) = (&bytes[written..], Instant::now()),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                if took.elapsed() >= stalled {
                    return Err(io::Error::other(format!("it took nothing for {} s", stalled.as_secs_f64())));
                }
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use rustix::net;

    use super::*;
    use crate::Channel;

    const FEW: Bounds = Bounds { clients: 2, of_one_host: 2, stalled: Duration::from_millis(200) };

    /// A listener with few places, and what its clients get.
    struct Bench {
        stream: Arc<Stream>,
        clients: Arc<Clients>,
        stop: Arc<AtomicBool>,
        address: SocketAddr,
        thread: Option<JoinHandle<()>>,
    }

    impl Bench {
        fn new() -> Self {
            Self::with(FEW)
        }

        fn with(bounds: Bounds) -> Self {
            let channels = [Channel { name: "n".into(), unit: String::new(), scale: 1.0, offset: 0.0 }];
            let stream = Stream::new(Format::Ndjson, &channels, 65 << 20);
            let (clients, stop) = (Arc::new(Clients::default()), Arc::new(AtomicBool::new(false)));
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            listener.set_nonblocking(true).unwrap();
            let address = listener.local_addr().unwrap();
            let accept =
                move || listener.accept().map(|(socket, from)| (socket, Some(host(from.ip())), from.to_string()));
            let served =
                serve("tcp".into(), accept, Format::Ndjson, stream.clone(), clients.clone(), stop.clone(), bounds);
            Self { stream, clients, stop, address, thread: served.ok() }
        }

        /// A client who was let in.
        fn join(&self) -> TcpStream {
            let before = self.clients.all().len();
            let socket = TcpStream::connect(self.address).unwrap();
            until("a client", || self.clients.all().len() > before);
            socket
        }

        fn end(&mut self) {
            self.stop.store(true, Relaxed);
            self.stream.backlog.end();
            if let Some(thread) = self.thread.take() {
                thread.join().unwrap();
            }
        }

        fn present(&self) -> usize {
            self.clients.all().iter().filter(|client| client.present.load(Relaxed)).count()
        }
    }

    impl Drop for Bench {
        fn drop(&mut self) {
            self.end();
        }
    }

    fn until(what: &str, mut done: impl FnMut() -> bool) {
        let began = Instant::now();
        while !done() {
            assert!(began.elapsed() < Duration::from_secs(60), "waited in vain for {what}");
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    #[test]
    fn who_takes_nothing_is_sent_away_and_leaves_a_place() {
        let bench = Bench::new();
        let idle = [bench.join(), bench.join()];
        // More than all buffers on the way hold.
        (0..64).for_each(|_| bench.stream.backlog.push(&vec![b'x'; 1 << 20], 1, [0; 2]));
        until("both places", || bench.present() == 0);
        let why: Vec<_> = bench.clients.all().iter().map(|client| client.problem()).collect();
        assert_eq!(why, vec![Some("it took nothing for 0.2 s".to_string()); 2]);
        bench.join();
        drop(idle);
    }

    #[test]
    fn who_takes_a_little_now_and_then_does_not_keep_a_run_from_its_end() {
        let mut bench = Bench::with(BOUNDS);
        let mut slow = bench.join();
        let client = bench.clients.all().remove(0);
        (0..64).for_each(|_| bench.stream.backlog.push(&vec![b'x'; 1 << 20], 1, [0; 2]));
        // All of it would take it 20 s at least.
        let reader = std::thread::spawn(move || {
            let mut room = vec![0; 64 << 10];
            while matches!(slow.read(&mut room), Ok(1..)) {
                std::thread::sleep(Duration::from_millis(20));
            }
        });
        let began = Instant::now();
        bench.end();
        assert!(began.elapsed() < FAREWELL * 4, "{:?}", began.elapsed());
        assert_eq!(client.problem().as_deref(), Some("it had not taken all of it 2 s after the end"));
        reader.join().unwrap();
    }

    #[test]
    fn who_went_while_nothing_was_sent_leaves_a_place() {
        let bench = Bench::new();
        let gone = [bench.join(), bench.join()];
        drop(gone);
        // The next one finds no place, but makes room for others.
        until("a place", || {
            let _ = TcpStream::connect(bench.address);
            bench.clients.all().len() > 2
        });
        assert!(bench.clients.all().iter().take(2).all(|client| client.problem().is_none()));
    }

    #[test]
    fn one_host_does_not_take_all_places() {
        let bench = Bench::with(Bounds { clients: 3, of_one_host: 2, ..FEW });
        let greedy = [bench.join(), bench.join()];
        let mut refused = TcpStream::connect(bench.address).unwrap();
        assert_eq!(refused.read(&mut [0]).unwrap(), 0, "the third of one host is sent away");
        assert_eq!(bench.present(), 2);
        // Every address of 127.0.0.0/8 is this machine's (RFC 1122, 3.2.1.3).
        let other = net::socket(net::AddressFamily::INET, net::SocketType::STREAM, None).unwrap();
        net::bind(&other, &SocketAddr::from(([127, 0, 0, 2], 0))).unwrap();
        net::connect(&other, &bench.address).unwrap();
        until("another host's client", || bench.present() == 3);
        drop(greedy);
    }

    #[test]
    fn addresses_of_one_network_are_one_host() {
        let [a, b, c]: [IpAddr; 3] =
            ["2001:db8::1", "2001:db8::2:0:0:1", "2001:db8:0:1::1"].map(|text| text.parse().unwrap());
        assert_eq!(host(a), host(b));
        assert_ne!(host(a), host(c));
        assert_ne!(host("192.0.2.1".parse().unwrap()), host("192.0.2.2".parse().unwrap()));
    }

    #[test]
    fn who_only_reads_keeps_its_place_though_it_said_so() {
        let bench = Bench::new();
        let mut reader = bench.join();
        reader.shutdown(std::net::Shutdown::Write).unwrap();
        std::thread::sleep(IDLE + IDLE / 5);
        bench.stream.backlog.push(b"late\n", 1, [0; 2]);
        let mut came = vec![0; bench.stream.begin.len() + 5];
        reader.read_exact(&mut came).unwrap();
        assert!(came.ends_with(b"late\n"));
    }
}
