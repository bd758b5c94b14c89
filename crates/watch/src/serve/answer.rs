//! One answer to one request.

use std::convert::Infallible;
use std::sync::Mutex;

use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::header::{
    ACCEPT, ACCEPT_ENCODING, ALLOW, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, HeaderName, HeaderValue, LOCATION,
    SET_COOKIE, WWW_AUTHENTICATE,
};
use hyper::{Method, Request, Response, StatusCode};
use serde::Serialize;
use tokio::sync::watch;

use super::admission::{Admission, COOKIE_NAME, Turned};
use super::compressed;
use super::feed::Feed;
use super::metrics;
use super::query::{Stretch, span_ms, value};
use crate::Row;
use crate::block::seconds_now;
use crate::series::SeriesId;
use crate::service::lock;
use crate::signals::Signals;
use crate::state::State;
use crate::switches::Switches;

/// What is sent back.
pub type Answer = Response<UnsyncBoxBody<Bytes, Infallible>>;

const SCRIPT: &str = "text/javascript; charset=utf-8";

/// Headers of every answer: nothing is loaded from elsewhere, framed, guessed or kept.
const SAFE: [(&str, &str); 6] = [
    (
        "content-security-policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; \
         base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-resource-policy", "same-origin"),
    ("cache-control", "no-store"),
];

/// Whether the answer to a request has switches in it.
pub fn needs_switches<B>(request: &Request<B>, admission: &Admission) -> bool {
    matches!(request.uri().path(), "/api/switches" | "/metrics") && admission.check(request.headers()).is_ok()
}

/// Answers a request, whatever it brings: nothing is read of its body. `news` goes to those who watch, on a runtime.
pub fn to<B>(
    request: &Request<B>,
    state: &Mutex<State>,
    news: &watch::Receiver<Bytes>,
    admission: &Admission,
    signals: &Signals,
    switches: Option<&Switches>,
) -> Answer {
    let (path, query) = (request.uri().path(), request.uri().query().unwrap_or_default());
    let mut answer = match admission.check(request.headers()) {
        Err(Turned::Host) => plain(StatusCode::MISDIRECTED_REQUEST, "this is not the host that was asked for\n"),
        // The way in for a browser: the token once in the address, then in a cookie.
        Err(Turned::Token) if path == "/" && value(query, "token").is_some_and(|token| admission.is_token(token)) => {
            let_in(value(query, "token").unwrap_or_default())
        }
        Err(Turned::Token) => {
            let mut answer =
                plain(StatusCode::UNAUTHORIZED, "a token is needed: /?token=… or Authorization: Bearer …\n");
            answer.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            answer
        }
        Ok(()) if request.method() != Method::GET && request.method() != Method::HEAD => {
            let mut answer = plain(StatusCode::METHOD_NOT_ALLOWED, "nothing can be changed here\n");
            answer.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
            answer
        }
        Ok(()) => found(request, state, news, signals, switches),
    };
    for (name, value) in SAFE {
        answer.headers_mut().insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    answer
}

/// A head of the request; empty where it has none.
fn asked<B>(request: &Request<B>, head: HeaderName) -> &str {
    request.headers().get(head).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

fn found<B>(
    request: &Request<B>,
    state: &Mutex<State>,
    news: &watch::Receiver<Bytes>,
    signals: &Signals,
    switches: Option<&Switches>,
) -> Answer {
    let (path, query) = (request.uri().path(), request.uri().query().unwrap_or_default());
    let now = seconds_now();
    match path {
        "/" => content("text/html; charset=utf-8", include_str!("../page/index.html")),
        "/page.css" => content("text/css; charset=utf-8", include_str!("../page/page.css")),
        "/page.js" => content(SCRIPT, include_str!("../page/page.js")),
        "/draw.js" => content(SCRIPT, include_str!("../page/draw.js")),
        "/signals.js" => content(SCRIPT, include_str!("../page/signals.js")),
        "/switches.js" => content(SCRIPT, include_str!("../page/switches.js")),
        "/api/now" => json(&lock(state).now(now)),
        "/api/history" => match Stretch::read(query, now) {
            Some(stretch) => {
                let rows = {
                    let state = lock(state);
                    let rows = state.history(stretch.from, stretch.to, stretch.points, now);
                    rows.map(|rows| rows.iter().map(|row| shown(row, &state)).collect::<Vec<_>>())
                };
                match rows {
                    Ok(rows) => json(&rows),
                    Err(error) => plain(StatusCode::INTERNAL_SERVER_ERROR, &format!("{error}\n")),
                }
            }
            None => plain(StatusCode::BAD_REQUEST, "write it as ?from=SECONDS&to=SECONDS&points=1…5000\n"),
        },
        "/api/events" => match Stretch::read(query, now) {
            Some(stretch) => json(&lock(state).events(stretch.from, stretch.to, stretch.points as usize)),
            None => plain(StatusCode::BAD_REQUEST, "write it as ?from=SECONDS&to=SECONDS&points=1…5000\n"),
        },
        "/api/findings" => json(&lock(state).seen()),
        "/api/record" => json(lock(state).run()),
        "/api/switches" => json(&switches.unwrap_or(&Switches::default())),
        "/api/signals" => match span_ms(query).and_then(|span| signals.now(span)) {
            Some(samplers) => json(&samplers),
            None => plain(StatusCode::BAD_REQUEST, "write it as ?span=100, 1000, 10000 or 60000 (milliseconds)\n"),
        },
        "/metrics" => {
            let (kind, metrics) = metrics::answer(&lock(state), now, switches, asked(request, ACCEPT));
            let gzip = compressed::is_accepted(asked(request, ACCEPT_ENCODING));
            match gzip.then(|| compressed::packed(&metrics)) {
                Some(Ok(bytes)) => {
                    let mut answer = content(kind, bytes);
                    answer.headers_mut().insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
                    answer
                }
                _ => content(kind, metrics),
            }
        }
        "/stream" => {
            let mut answer = Response::new(Feed::start(news.clone()).boxed_unsync());
            answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
            answer
        }
        _ => plain(StatusCode::NOT_FOUND, "there is no such page here\n"),
    }
}

/// What a row is of: the number of a CPU, or the name of round trips.
#[derive(Serialize)]
#[serde(untagged)]
enum Of {
    Cpu(u16),
    RoundTrip(String),
}

/// A row as a list: time, series, samples, missed, p50, p99, maximum (ns), steal (ms).
fn shown(row: &Row, state: &State) -> (u32, Of, u32, u32, u32, u32, u64, u32) {
    let of = match row.series {
        SeriesId::Cpu(cpu) => Of::Cpu(cpu),
        SeriesId::RoundTrip(_) => Of::RoundTrip(state.name(row.series)),
    };
    (row.at, of, row.samples, row.missed, row.p50_ns, row.p99_ns, row.max_ns, row.steal_ms)
}

fn body(text: impl Into<Bytes>) -> UnsyncBoxBody<Bytes, Infallible> {
    Full::new(text.into()).boxed_unsync()
}

fn content(kind: &'static str, text: impl Into<Bytes>) -> Answer {
    let mut answer = Response::new(body(text));
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    answer
}

fn plain(status: StatusCode, text: &str) -> Answer {
    let mut answer = content("text/plain; charset=utf-8", text.to_owned());
    *answer.status_mut() = status;
    answer
}

fn json(value: &impl Serialize) -> Answer {
    match serde_json::to_string(value) {
        Ok(text) => content("application/json", text),
        Err(error) => plain(StatusCode::INTERNAL_SERVER_ERROR, &format!("{error}\n")),
    }
}

fn let_in(token: &str) -> Answer {
    let mut answer = plain(StatusCode::SEE_OTHER, "");
    let cookie = format!("{COOKIE_NAME}={token}; Path=/; HttpOnly; SameSite=Strict");
    answer.headers_mut().insert(LOCATION, HeaderValue::from_static("/"));
    if let Ok(cookie) = HeaderValue::from_str(&cookie) {
        answer.headers_mut().insert(SET_COOKIE, cookie);
    }
    answer.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    answer
}
