use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

use flate2::read::GzDecoder;
use ontick_rt::thread::Policy;

use super::message::{ExportMetricsPartialSuccess, ExportMetricsServiceRequest, ExportMetricsServiceResponse};
use super::*;
use crate::block::Job;
use crate::roundtrip::Way;
use crate::switches::tests::switch;

fn endpoint(address: &str) -> Endpoint {
    format!("http://{address}").parse().unwrap()
}

/// What becomes of a request that is answered with these bytes.
fn answered(answer: &[u8]) -> (Result<Taken, SendError>, Vec<u8>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let answer = answer.to_owned();
    let receiver = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let seen = request(&mut stream);
        // Who has heard enough hangs up.
        let _ = stream.write_all(&answer);
        seen
    });
    let result = sent(&endpoint(&address));
    (result, receiver.join().unwrap())
}

/// Head and body, as long as the head says.
fn request(stream: &mut TcpStream) -> Vec<u8> {
    let (mut all, mut part) = (Vec::new(), [0; 4096]);
    loop {
        if let Some(end) = all.windows(4).position(|four| four == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&all[..end]).to_ascii_lowercase();
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse::<usize>().ok());
            if all.len() >= end + 4 + length.expect("it says how long it is") {
                return all;
            }
        }
        let read = stream.read(&mut part).unwrap();
        assert_ne!(read, 0, "the request was cut off");
        all.extend(&part[..read]);
    }
}

fn sent(endpoint: &Endpoint) -> Result<Taken, SendError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(client::send(endpoint, b"packed".to_vec()))
}

fn with_body(head: &str, body: &[u8]) -> Vec<u8> {
    let mut answer = format!("HTTP/1.1 {head}\r\ncontent-length: {}\r\n\r\n", body.len()).into_bytes();
    answer.extend(body);
    answer
}

#[test]
fn what_is_taken_whole_or_in_part_is_known() {
    let (taken, seen) = answered(&with_body("200 OK\r\ncontent-type: application/x-protobuf", b""));
    assert_eq!(taken.unwrap(), Taken::All);
    let seen = String::from_utf8_lossy(&seen).to_ascii_lowercase();
    assert!(seen.starts_with("post /v1/metrics http/1.1\r\n") && seen.ends_with("packed"), "{seen}");
    for head in ["content-type: application/x-protobuf", "content-encoding: gzip", "host: 127.0.0.1:"] {
        assert!(seen.contains(head), "{seen}");
    }
    let partial = |rejected_data_points| {
        let error_message = "too old\n\u{1b}[31m by a day".into();
        let partial_success = Some(ExportMetricsPartialSuccess { rejected_data_points, error_message });
        ExportMetricsServiceResponse { partial_success }.encode_to_vec()
    };
    let answer = |rejected| with_body("200 OK\r\ncontent-type: application/x-protobuf", &partial(rejected));
    let partly = Taken::Partly { rejected: 3, words: "too old [31m by a day".into() };
    assert_eq!(answered(&answer(3)).0.unwrap(), partly);
    assert_eq!(answered(&answer(0)).0.unwrap(), Taken::All, "advice");
    // What cannot be read does not make it a failure.
    let odd = with_body("200 OK\r\ncontent-type: application/x-protobuf", b"\xff\xff\xff");
    assert_eq!(answered(&odd).0.unwrap(), Taken::All);
}

#[test]
fn refusals_pass_or_do_not_and_patience_is_heard() {
    let text = "content-type: text/plain; charset=utf-8";
    for (head, passes, patience) in [
        ("503 Service Unavailable\r\nretry-after: 17", true, Some(17)),
        ("429 Too Many Requests\r\nretry-after: Fri, 31 Dec 1999 23:59:59 GMT", true, None),
        ("502 Bad Gateway", true, None),
        ("500 Internal Server Error", false, None),
        ("400 Bad Request", false, None),
        ("404 Not Found", false, None),
        ("301 Moved Permanently\r\nlocation: http://evil.example/", false, None),
    ] {
        let error = answered(&with_body(&format!("{head}\r\n{text}"), b"no\nway")).0.unwrap_err();
        assert_eq!(error.passes(), passes, "{head}");
        assert_eq!(error.retry_after(), patience.map(Duration::from_secs), "{head}");
        let said = error.to_string();
        assert!(said.starts_with(&format!("it answers {}", &head[..3])) && said.ends_with(": no way"), "{said}");
    }
    let endless = with_body(&format!("400 Bad Request\r\n{text}"), &vec![b'x'; 1 << 20]);
    assert_eq!(answered(&endless).0.unwrap_err().to_string(), "it answers 400 Bad Request");
}

#[test]
fn who_is_away_or_speaks_no_http_is_a_failure_that_may_pass() {
    let away = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let error = sent(&endpoint(&away)).unwrap_err();
    assert!(matches!(error, SendError::Away(_)) && error.passes(), "{error}");
    for odd in [&b"SSH-2.0-OpenSSH_9.2\r\n"[..], b"", b"HTTP/1.1 200 OK\r\ncontent-le"] {
        let error = answered(odd).0.unwrap_err();
        assert!(matches!(error, SendError::Http(_)) && error.passes(), "{error}");
    }
}

fn refused(status: u16, retry_after: Option<u64>) -> Result<Taken, SendError> {
    let retry_after = retry_after.map(Duration::from_secs);
    Err(SendError::Refused { status: hyper::StatusCode::from_u16(status).unwrap(), words: String::new(), retry_after })
}

#[test]
fn waits_grow_to_a_limit_and_begin_anew() {
    let every = Duration::from_secs(60);
    let mut progress = Progress::default();
    let mut seconds = |result: Result<Taken, SendError>, chance| progress.wait(&result, every, chance).as_secs();
    let away = || Err(SendError::Away(io::ErrorKind::ConnectionRefused.into()));
    let waits: Vec<u64> = (0..8).map(|_| seconds(away(), 1.0)).collect();
    assert_eq!(waits, [5, 10, 20, 40, 80, 160, 300, 300]);
    assert_eq!(seconds(away(), 0.0), 150, "machines that failed together do not come back together");
    assert_eq!(seconds(Ok(Taken::All), 1.0), 60);
    assert_eq!(seconds(away(), 1.0), 5);
    assert_eq!(seconds(refused(503, Some(90)), 1.0), 90);
    assert_eq!(seconds(refused(503, Some(1 << 40)), 1.0), 3_600);
    assert_eq!(seconds(refused(400, None), 1.0), 300);
    assert_eq!(seconds(Ok(Taken::Partly { rejected: 1, words: String::new() }), 1.0), 60);
}

#[test]
fn what_goes_on_as_before_is_no_news() {
    let endpoint = endpoint("a:4318");
    let mut progress = Progress::default();
    let mut news = |result| progress.news(&result, &endpoint);
    assert_eq!(news(Ok(Taken::All)), None);
    let (bad, text) = news(refused(503, None)).unwrap();
    let wanted =
        "http://a:4318/v1/metrics does not take figures: it answers 503 Service Unavailable; sending is tried again";
    assert_eq!((bad, &*text), (true, wanted));
    assert_eq!(news(refused(404, None)), None);
    let partly = || Ok(Taken::Partly { rejected: 2, words: "too old".into() });
    let (bad, text) = news(partly()).unwrap();
    assert_eq!((bad, &*text), (true, "http://a:4318/v1/metrics refuses 2 of the figures: too old"));
    assert_eq!(news(partly()), None);
    assert_eq!(news(Ok(Taken::All)).unwrap(), (false, "http://a:4318/v1/metrics takes all figures again".into()));
}

#[test]
fn what_is_sent_has_the_service_the_switches_and_round_trips() {
    let folder = tempfile::tempdir().unwrap();
    let job = Job { interval_ns: 1_000_000, cycles: 20, policy: Policy::Other, outlier_ns: 200_000 };
    let way = Way {
        link: "eth1".into(),
        responder: "02:00:00:00:00:01".into(),
        period_ns: 1_000_000,
        deadline_ns: 1_000_000,
        waiting: "block".into(),
        octets: None,
    };
    let state = Arc::new(Mutex::new(State::open(folder.path(), &[0], &job, &[way], seconds_now()).unwrap()));
    let look = || Switches { switches: vec![switch(12)], unknown: Vec::new() };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = endpoint(&listener.local_addr().unwrap().to_string());
    let switches = Some(Arc::new(SwitchWatch::new(Box::new(look))));
    let _exporter = Exporter::start(endpoint, Duration::from_millis(1), state, switches).unwrap();
    let seen = request(&mut listener.accept().unwrap().0);
    let end = seen.windows(4).position(|four| four == b"\r\n\r\n").unwrap();
    let mut body = Vec::new();
    GzDecoder::new(&seen[end + 4..]).read_to_end(&mut body).unwrap();
    let sent = ExportMetricsServiceRequest::decode(&*body).unwrap();
    let metrics = &sent.resource_metrics[0].scope_metrics[0].metrics;
    let of_round_trips = ["ontick.round_trip", "ontick.round_trip_missed", "ontick.watch.round_trip_up"];
    for name in ["ontick.watch.findings", "ontick.switch_working", "ontick.switch_frames"].iter().chain(&of_round_trips)
    {
        assert!(metrics.iter().any(|metric| metric.name == *name), "{name}: {metrics:?}");
    }
}
