//! The page and the figures behind it, over HTTP: read only, for this machine unless more was asked for.

mod admission;
pub mod answer;
mod beside;
pub(crate) mod compressed;
mod deadline;
mod feed;
mod listen;
pub(crate) mod metrics;
mod query;

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hyper::body::Bytes;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use rustix::net::sockopt::set_tcp_user_timeout;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{oneshot, watch};

use crate::block::seconds_now;
use crate::service::lock;
use crate::state::State;
pub use admission::Admission;
pub use beside::Beside;
use deadline::Deadline;
pub use listen::{Listen, ListenError, Socket};

/// More connections are closed at once.
const MOST_CONNECTIONS: usize = 256;
/// A request whose head takes longer than this is not read to its end.
const HEAD_WITHIN: Duration = Duration::from_secs(10);
/// Who takes nothing for so long is gone.
const GONE_AFTER: Duration = Duration::from_secs(30);
/// No request's head is longer, in bytes.
const LONGEST_HEAD: usize = 16 << 10;

/// A server on a thread of its own; dropped, it ends.
pub struct Server {
    news: watch::Sender<Bytes>,
    state: Arc<Mutex<State>>,
    end: Option<oneshot::Sender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

/// What every connection knows.
#[derive(Clone)]
struct Shared {
    state: Arc<Mutex<State>>,
    news: watch::Receiver<Bytes>,
    admission: Arc<Admission>,
    beside: Arc<Beside>,
    connections: Arc<AtomicUsize>,
}

impl Server {
    /// Begins to answer on a socket.
    pub fn start(socket: Socket, admission: Admission, state: Arc<Mutex<State>>, beside: Beside) -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (news, receiver) = watch::channel(Bytes::new());
        let (end, ended) = oneshot::channel();
        let shared = Shared {
            state: state.clone(),
            news: receiver,
            admission: Arc::new(admission),
            beside: Arc::new(beside),
            connections: Arc::new(AtomicUsize::new(0)),
        };
        let serve = move || {
            // What goes on when this ends, ends with the runtime.
            runtime.block_on(async {
                tokio::spawn(accept(socket, shared));
                let _ = ended.await;
            });
        };
        let thread = std::thread::Builder::new().name("ontick-page".into()).spawn(serve)?;
        let server = Self { news, state, end: Some(end), thread: Some(thread) };
        server.tell();
        Ok(server)
    }

    /// There is something new for those who watch.
    pub fn tell(&self) {
        let now = lock(&self.state).now(seconds_now());
        if let Ok(json) = serde_json::to_string(&now) {
            self.news.send_replace(feed::event(&json));
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

async fn accept(socket: Socket, shared: Shared) {
    match &socket {
        Socket::Tcp(listener) => {
            let Ok(listener) = listener.try_clone().and_then(tokio::net::TcpListener::from_std) else { return };
            loop {
                match listener.accept().await {
                    Ok((stream, _)) => {
                        // The kernel holds a lot for a machine that went without a word.
                        let _ = set_tcp_user_timeout(&stream, GONE_AFTER.as_millis() as u32);
                        connect(stream, &shared);
                    }
                    Err(_) => rest().await,
                }
            }
        }
        Socket::Unix(listener, _) => {
            let Ok(listener) = listener.try_clone().and_then(tokio::net::UnixListener::from_std) else { return };
            loop {
                match listener.accept().await {
                    Ok((stream, _)) => connect(stream, &shared),
                    Err(_) => rest().await,
                }
            }
        }
    }
}

/// Out of descriptors, say: it passes.
async fn rest() {
    tokio::time::sleep(Duration::from_millis(100)).await;
}

fn connect(stream: impl AsyncRead + AsyncWrite + Unpin + 'static + Send, shared: &Shared) {
    if shared.connections.fetch_add(1, Relaxed) >= MOST_CONNECTIONS {
        shared.connections.fetch_sub(1, Relaxed);
        return;
    }
    let shared = shared.clone();
    tokio::spawn(async move {
        let answer = service_fn(|request| {
            let shared = shared.clone();
            async move {
                let beside = shared.beside.clone();
                let switches = match answer::needs_switches(&request, &shared.admission) {
                    // Others' programs are asked: nobody else waits for them.
                    true => tokio::task::spawn_blocking(move || beside.switches()).await.ok().flatten(),
                    false => None,
                };
                let Shared { state, news, admission, beside, .. } = &shared;
                let answer = answer::to(&request, state, news, admission, &beside.signals, switches.as_deref());
                Ok::<_, std::convert::Infallible>(answer)
            }
        });
        let mut builder = http1::Builder::new();
        builder.timer(TokioTimer::new()).header_read_timeout(HEAD_WITHIN).max_buf_size(LONGEST_HEAD);
        let stream = Deadline::new(stream, GONE_AFTER);
        // How a connection ended matters to nobody.
        let _ = builder.serve_connection(TokioIo::new(stream), answer).await;
        shared.connections.fetch_sub(1, Relaxed);
    });
}
