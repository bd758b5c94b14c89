//! Server-sent events: each watcher gets the newest there is, as fast as it takes it.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::body::{Body, Bytes, Frame};
use tokio::sync::{mpsc, watch};

use super::GONE_AFTER;

/// A comment this often keeps connections and proxies awake.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// The body of an answer that goes on.
pub struct Feed(mpsc::Receiver<Bytes>);

impl Feed {
    /// Sends what is there and whatever comes, until the watcher is gone or there will be nothing more.
    pub fn start(mut news: watch::Receiver<Bytes>) -> Self {
        // One event under way: whoever is slow skips those between.
        let (sender, receiver) = mpsc::channel(1);
        tokio::spawn(async move {
            loop {
                let event = news.borrow_and_update().clone();
                if !is_taken(&sender, event).await {
                    return;
                }
                loop {
                    match tokio::time::timeout(KEEP_ALIVE, news.changed()).await {
                        Ok(Ok(())) => break,
                        Ok(Err(_)) => return,
                        Err(_) if !is_taken(&sender, Bytes::from_static(b": still here\n\n")).await => return,
                        Err(_) => {}
                    }
                }
            }
        });
        Self(receiver)
    }
}

async fn is_taken(sender: &mpsc::Sender<Bytes>, bytes: Bytes) -> bool {
    matches!(tokio::time::timeout(GONE_AFTER, sender.send(bytes)).await, Ok(Ok(())))
}

impl Body for Feed {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0.poll_recv(context).map(|bytes| bytes.map(|bytes| Ok(Frame::data(bytes))))
    }
}

/// An event of server-sent events whose data is one line.
pub fn event(data: &str) -> Bytes {
    Bytes::from(format!("data: {data}\n\n"))
}
