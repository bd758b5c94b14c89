//! Requests to `ontick watch`: paths, queries and heads of any kind, with a token or without.
#![no_main]

use std::sync::{Mutex, OnceLock};

use hyper::{HeaderMap, Method, Request, StatusCode, header};
use ontick_rt::thread::Policy;
use ontick_watch::block::Job;
use ontick_watch::serve::{Admission, answer};
use ontick_watch::signals::Signals;
use ontick_watch::state::State;
use tokio::runtime::{Builder, Runtime};

const TOKEN: &str = "0123456789abcdef";

struct Service {
    state: Mutex<State>,
    open: Admission,
    guarded: Admission,
    signals: Signals,
    runtime: Runtime,
}

fn service() -> &'static Service {
    static SERVICE: OnceLock<Service> = OnceLock::new();
    SERVICE.get_or_init(|| {
        let job = Job { interval_ns: 1_000_000, cycles: 200, policy: Policy::Other, outlier_ns: 200_000 };
        let listen = "127.0.0.1:9119".parse().unwrap();
        Service {
            state: Mutex::new(State::open(&ontick_fuzz::folder(), &[0, 1], &job, &[], 7).unwrap()),
            open: Admission::new(&listen, &["box.lan".into()], None),
            guarded: Admission::new(&listen, &["box.lan".into()], Some(TOKEN.into())),
            signals: Signals::default(),
            runtime: Builder::new_current_thread().enable_all().build().unwrap(),
        }
    })
}

/// A method, a target, and a head a line.
fn request(text: &str) -> Option<Request<()>> {
    let mut lines = text.lines();
    let (method, target) = lines.next()?.split_once(' ')?;
    let mut request = Request::builder().method(Method::from_bytes(method.as_bytes()).ok()?).uri(target);
    for line in lines {
        let (name, value) = line.split_once(':')?;
        request = request.header(name, value.trim());
    }
    request.body(()).ok()
}

/// Whether one of these is the token, as it is meant to be brought.
fn brings_token(headers: &HeaderMap) -> bool {
    let has = |name, form: &str| {
        headers
            .get_all(name)
            .iter()
            .any(|value| value.as_bytes().windows(form.len()).any(|part| part == form.as_bytes()))
    };
    has(header::AUTHORIZATION, &format!("Bearer {TOKEN}")) || has(header::COOKIE, &format!("ontick_token={TOKEN}"))
}

libfuzzer_sys::fuzz_target!(|text: &str| {
    let Some(request) = request(text) else { return };
    let service = service();
    let (news, receiver) = tokio::sync::watch::channel(hyper::body::Bytes::new());
    for (admission, guarded) in [(&service.open, false), (&service.guarded, true)] {
        let answer = service.runtime.block_on(async {
            let answer = answer::to(&request, &service.state, &receiver, admission, &service.signals, None);
            tokio::task::yield_now().await;
            answer
        });
        let heads = answer.headers();
        assert!(heads["content-security-policy"].to_str().unwrap().starts_with("default-src 'none'"));
        assert_eq!(
            (&heads["x-content-type-options"], &heads["cache-control"]),
            (&"nosniff".parse().unwrap(), &"no-store".parse().unwrap())
        );
        let status = answer.status();
        assert!(status != StatusCode::INTERNAL_SERVER_ERROR, "{text}");
        if status.is_success() || status == StatusCode::BAD_REQUEST || status == StatusCode::NOT_FOUND {
            let host = request.headers().get(header::HOST).unwrap().to_str().unwrap().to_ascii_lowercase();
            let names = ["localhost", "127.0.0.1", "[::1]", "box.lan"];
            assert!(names.iter().any(|name| host == *name || host.starts_with(&format!("{name}:"))), "{host}");
            assert!(!guarded || brings_token(request.headers()), "{text}");
            assert!([Method::GET, Method::HEAD].contains(request.method()));
        }
        if let Some(cookie) = heads.get(header::SET_COOKIE) {
            assert!(guarded && request.uri().query().unwrap_or_default().contains(&format!("token={TOKEN}")));
            assert!(cookie.to_str().unwrap().contains("HttpOnly"));
        }
    }
    drop(news);
    service.runtime.block_on(tokio::task::yield_now());
});
