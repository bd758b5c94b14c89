//! Listeners: any number of clients, who come and go as they like.

use std::fs;
use std::io::{self, ErrorKind, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::JoinHandle;
use std::time::Instant;

use super::{Clients, FAREWELL, PATIENCE, writer};
use crate::Error;
use crate::format::Format;
use crate::hub::Stream;

/// Clients that one listener serves at a time.
const MOST_CLIENTS: usize = 256;

type Listening = (Vec<JoinHandle<()>>, Vec<String>);

/// Listens on a TCP port; port 0 is any that is free.
pub fn tcp(
    address: &str,
    format: Format,
    stream: Arc<Stream>,
    clients: Arc<Clients>,
    stop: Arc<AtomicBool>,
) -> Result<Listening, Error> {
    let system = |error| Error::System { what: format!("tcp {address}"), error };
    let address = address.strip_prefix(':').map(|port| format!("[::]:{port}")).unwrap_or(address.into());
    let listener = TcpListener::bind(&address).map_err(system)?;
    listener.set_nonblocking(true).map_err(system)?;
    let at = format!("tcp {}", listener.local_addr().map_err(system)?);
    let accept = move || {
        let (socket, from) = listener.accept()?;
        socket.set_nodelay(true)?;
        // Who came by IPv4 to a listener of both is known by that address.
        Ok((socket, SocketAddr::new(from.ip().to_canonical(), from.port()).to_string()))
    };
    let thread = serve(at.clone(), accept, format, stream, clients, stop).map_err(system)?;
    Ok((vec![thread], vec![at]))
}

/// Listens on a UNIX socket. One that a killed run left behind is replaced; anything else is not.
pub fn unix(
    path: &Path,
    format: Format,
    stream: Arc<Stream>,
    clients: Arc<Clients>,
    stop: Arc<AtomicBool>,
) -> Result<Listening, Error> {
    let system = |error| Error::System { what: format!("unix {}", path.display()), error };
    let taken = |why: &str| Error::Asked { what: "sink", text: format!("unix:{}", path.display()), why: why.into() };
    match fs::symlink_metadata(path) {
        Ok(meta) if !meta.file_type().is_socket() => {
            return Err(taken("something that is no socket is there (remove it, or choose another path)"));
        }
        Ok(_) => match UnixStream::connect(path) {
            Ok(_) => return Err(taken("somebody listens there already (end that program, or choose another path)")),
            Err(_) => fs::remove_file(path).map_err(system)?,
        },
        Err(_) => {}
    }
    let listener = UnixListener::bind(path).map_err(system)?;
    listener.set_nonblocking(true).map_err(system)?;
    let at = format!("unix {}", path.display());
    let (mut count, own) = (0, Own(path.into()));
    let accept = move || {
        let _own = &own;
        let (socket, _) = listener.accept()?;
        count += 1;
        Ok((socket, format!("client {count}")))
    };
    let thread = serve(at.clone(), accept, format, stream, clients, stop).map_err(system)?;
    Ok((vec![thread], vec![at]))
}

/// The socket's file, which goes with the listener.
struct Own(std::path::PathBuf);

impl Drop for Own {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// A connection that can be told how long to wait.
trait Connection: Write + Send + 'static {
    fn prepare(&self) -> io::Result<()>;
}

impl Connection for TcpStream {
    fn prepare(&self) -> io::Result<()> {
        self.set_nonblocking(false)?;
        self.set_write_timeout(Some(PATIENCE))
    }
}

impl Connection for UnixStream {
    fn prepare(&self) -> io::Result<()> {
        self.set_nonblocking(false)?;
        self.set_write_timeout(Some(PATIENCE))
    }
}

fn serve<C: Connection>(
    at: String,
    mut accept: impl FnMut() -> io::Result<(C, String)> + Send + 'static,
    format: Format,
    stream: Arc<Stream>,
    clients: Arc<Clients>,
    stop: Arc<AtomicBool>,
) -> io::Result<JoinHandle<()>> {
    let run = move || {
        let mut threads: Vec<JoinHandle<()>> = Vec::new();
        while !stop.load(Relaxed) {
            threads.retain(|thread| !thread.is_finished());
            match accept() {
                Ok((socket, from)) if threads.len() < MOST_CLIENTS => {
                    let (stream, clients, stop) = (stream.clone(), clients.clone(), stop.clone());
                    let name = format!("{at} {from}");
                    let talk = move || talk(socket, &name, format, &stream, &clients, &stop);
                    threads.extend(std::thread::Builder::new().name("ontick-client".into()).spawn(talk));
                }
                // One too many: the socket closes.
                Ok(_) => {}
                Err(_) => std::thread::sleep(PATIENCE / 10),
            }
        }
        threads.into_iter().for_each(|thread| drop(thread.join()));
    };
    std::thread::Builder::new().name("ontick-listen".into()).spawn(run)
}

fn talk<C: Connection>(
    mut socket: C,
    name: &str,
    format: Format,
    stream: &Stream,
    clients: &Clients,
    stop: &AtomicBool,
) {
    let place = stream.backlog.now();
    let client = clients.join(name.into(), place);
    let mut end = None;
    let prepared = socket.prepare();
    let write = |bytes: &[u8]| {
        write_all(&mut socket, bytes, || {
            if !stop.load(Relaxed) {
                return true;
            }
            *end.get_or_insert_with(|| Instant::now() + FAREWELL) > Instant::now()
        })
    };
    let fed = prepared.and_then(|()| match format {
        #[cfg(feature = "arrow")]
        Format::Arrow => {
            writer::feed(stream, place, &client, &mut super::arrow::Messages::new(&stream.channels, write))
        }
        _ => writer::feed(stream, place, &client, &mut writer::Plain(write)),
    });
    client.leave(fed.err().filter(|error| !is_farewell(error)).map(|error| said(&error)));
}

/// Why a client got no more.
fn said(error: &io::Error) -> String {
    match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::TimedOut => {
            format!("it took nothing more for {} s after the end", FAREWELL.as_secs())
        }
        _ => error.to_string(),
    }
}

/// Whether a client just went, as clients may at any time.
fn is_farewell(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset | ErrorKind::ConnectionAborted)
}

/// Writes all, asking now and then whether to go on trying.
fn write_all(socket: &mut impl Write, mut bytes: &[u8], mut go_on: impl FnMut() -> bool) -> io::Result<()> {
    while !bytes.is_empty() {
        match socket.write(bytes) {
            Ok(0) => return Err(ErrorKind::BrokenPipe.into()),
            Ok(written) => bytes = &bytes[written..],
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) && go_on() => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
