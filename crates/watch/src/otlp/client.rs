//! One request and its answer, over a connection of its own.

use std::time::Duration;

use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Bytes;
use hyper::header::{CONNECTION, CONTENT_ENCODING, CONTENT_TYPE, HOST, HeaderMap, RETRY_AFTER, USER_AGENT};
use hyper::{Request, StatusCode};
use hyper_util::rt::TokioIo;
use prost::Message;
use tokio::net::TcpStream;

use super::endpoint::Endpoint;
use super::message::ExportMetricsServiceResponse;

/// All of it, from the name to the last byte of the answer, takes no longer.
const WITHIN: Duration = Duration::from_secs(10);
/// No more of an answer is read, in bytes.
const LONGEST_ANSWER: usize = 64 << 10;
/// No more of what a receiver says is repeated, in characters.
const LONGEST_WORDS: usize = 200;
const PROTOBUF: &str = "application/x-protobuf";

/// What became of figures that arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Taken {
    /// All were taken.
    All,
    /// Some were not, and why.
    Partly {
        /// How many data points were refused.
        rejected: i64,
        /// In the receiver's words.
        words: String,
    },
}

/// Why they were not taken.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SendError {
    /// The receiver is not there.
    #[error("{0}")]
    Away(std::io::Error),
    /// It is too slow.
    #[error("it did not answer within {} s", WITHIN.as_secs())]
    Slow,
    /// What it says is no HTTP, or ends too early.
    #[error("{0}")]
    Http(hyper::Error),
    /// It refuses.
    #[error("it answers {status}{}{words}", if words.is_empty() { "" } else { ": " })]
    Refused {
        /// What it answers.
        status: StatusCode,
        /// What it says beside that, if it is text.
        words: String,
        /// How long it asks for patience.
        retry_after: Option<Duration>,
    },
}

impl SendError {
    /// Whether the same might be taken a little later.
    pub fn passes(&self) -> bool {
        match self {
            Self::Away(_) | Self::Slow | Self::Http(_) => true,
            Self::Refused { status, .. } => matches!(status.as_u16(), 429 | 502 | 503 | 504),
        }
    }

    /// How long the receiver asks for patience.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Refused { retry_after, .. } => *retry_after,
            _ => None,
        }
    }
}

/// Sends a request that is packed by gzip.
pub async fn send(endpoint: &Endpoint, packed: Vec<u8>) -> Result<Taken, SendError> {
    tokio::time::timeout(WITHIN, exchange(endpoint, packed)).await.unwrap_or(Err(SendError::Slow))
}

async fn exchange(endpoint: &Endpoint, packed: Vec<u8>) -> Result<Taken, SendError> {
    let stream = TcpStream::connect((&*endpoint.host, endpoint.port)).await.map_err(SendError::Away)?;
    let handshake = hyper::client::conn::http1::handshake(TokioIo::new(stream));
    let (mut sender, connection) = handshake.await.map_err(SendError::Http)?;
    let connection = tokio::spawn(connection);
    let answer = ask(&mut sender, endpoint, packed).await;
    connection.abort();
    answer
}

async fn ask(
    sender: &mut hyper::client::conn::http1::SendRequest<Full<Bytes>>,
    endpoint: &Endpoint,
    packed: Vec<u8>,
) -> Result<Taken, SendError> {
    let mut request = Request::new(Full::new(Bytes::from(packed)));
    *request.method_mut() = hyper::Method::POST;
    // An endpoint was read as a URI, so its parts are sound.
    *request.uri_mut() = endpoint.path.parse().unwrap_or_default();
    let agent = concat!("ontick-watch/", env!("CARGO_PKG_VERSION"));
    let heads = [
        (HOST, &*endpoint.authority),
        (CONTENT_TYPE, PROTOBUF),
        (CONTENT_ENCODING, "gzip"),
        (USER_AGENT, agent),
        (CONNECTION, "close"),
    ];
    for (name, value) in heads {
        if let Ok(value) = value.parse() {
            request.headers_mut().insert(name, value);
        }
    }
    let (head, body) = sender.send_request(request).await.map_err(SendError::Http)?.into_parts();
    // What is too long or cut off is not understood; the status says enough.
    let body = Limited::new(body, LONGEST_ANSWER).collect().await.map(|body| body.to_bytes()).unwrap_or_default();
    let is = |kind: &[u8]| head.headers.get(CONTENT_TYPE).is_some_and(|value| value.as_bytes().starts_with(kind));
    if !head.status.is_success() {
        let text = is(b"text/plain") || is(b"application/json");
        let words = if text { words(&String::from_utf8_lossy(&body)) } else { String::new() };
        return Err(SendError::Refused { status: head.status, words, retry_after: patience(&head.headers) });
    }
    let answer = if is(PROTOBUF.as_bytes()) { ExportMetricsServiceResponse::decode(body).ok() } else { None };
    Ok(match answer.and_then(|answer| answer.partial_success) {
        // A message without a refusal is advice.
        Some(partly) if partly.rejected_data_points > 0 => {
            Taken::Partly { rejected: partly.rejected_data_points, words: words(&partly.error_message) }
        }
        _ => Taken::All,
    })
}

/// Seconds; a date is not read.
fn patience(heads: &HeaderMap) -> Option<Duration> {
    heads.get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok().map(Duration::from_secs)
}

/// On one line and not too many of them.
fn words(text: &str) -> String {
    let one_line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    one_line.chars().filter(|c| !c.is_control()).take(LONGEST_WORDS).collect()
}
