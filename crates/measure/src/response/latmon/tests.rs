//! Against a board made of the protocol's description.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use ontick_gpio::{Name, OnExit, sim};
use ontick_rt::cpus;

use super::message::CELLS;
use super::*;

/// A record of the board.
fn bulk(sum_ns: u64, min_ns: u32, max_ns: u32, overruns: u32, samples: u32) -> Vec<u8> {
    let words = [(sum_ns >> 32) as u32, sum_ns as u32, min_ns, max_ns, overruns, samples];
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

fn histogram(counts: &[(usize, u32)]) -> Vec<u8> {
    let mut cells = vec![0u32; CELLS as usize];
    counts.iter().for_each(|(i, n)| cells[*i] = *n);
    cells.iter().flat_map(|cell| cell.to_be_bytes()).collect()
}

fn asked(stream: &mut TcpStream) -> (u32, u32) {
    let mut bytes = [0; 8];
    stream.read_exact(&mut bytes).unwrap();
    let word = |i: usize| u32::from_be_bytes(bytes[i..i + 4].try_into().unwrap());
    (word(0), word(4))
}

/// Measures with a board that does as `board` says.
fn with(
    test: &str,
    patience: Duration,
    board: impl FnOnce(TcpStream) + Send + 'static,
) -> (Result<Series, Error>, String) {
    let chip = format!("latmon-{test}-{}", std::process::id());
    let line = |line| Name::Sim { chip: chip.clone(), line };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("latmon://127.0.0.1:{}", listener.local_addr().unwrap().port()).parse().unwrap();
    let thread = std::thread::spawn(move || board(listener.accept().unwrap().0));
    let pair = Pair { input: line(6), output: line(7), inverse: true, on_exit: OnExit::Low };
    let job = Job { pair, board: address, method: Method::Interrupt, interval_ns: 1_000_000 };
    let (stop, mut look) = (AtomicBool::new(false), |_: &crate::Live| {});
    let mut observer = Observer::new(&stop, &mut look);
    let placement = Placement { cpu: Some(cpus::preferred()), ..Placement::stock() };
    let limits = Limits::new(Length::Duration(20_000_000));
    let series = measure_within("latmon", &job, placement, limits, &mut observer, patience);
    thread.join().unwrap();
    let notes = observer.take_notes().join(" ");
    sim::remove(&chip).unwrap();
    (series, notes)
}

const LONG: Duration = Duration::from_secs(60);
const SHORT: Duration = Duration::from_millis(300);

#[test]
fn a_board_is_asked_as_it_expects_and_its_figures_arrive() {
    let (series, notes) = with("good", LONG, |mut stream| {
        assert_eq!(asked(&mut stream), (1000, 1000));
        stream.write_all(&bulk(90_000, 25_000, 33_000, 2, 3)).unwrap();
        // It is asked to stop whenever the run is over, and sends the rest in pieces.
        assert_eq!(asked(&mut stream), (0, 0));
        stream.write_all(&bulk(71_000, 30_000, 41_000, 0, 2)).unwrap();
        stream.write_all(&bulk(0, u32::MAX, 0, 0, 0)).unwrap();
        for part in histogram(&[(25, 1), (30, 2), (33, 1), (41, 1)]).chunks(1500) {
            stream.write_all(part).unwrap();
        }
    });
    let series = series.unwrap();
    assert_eq!(notes, "");
    let latency = &series.latency;
    assert_eq!((latency.count(), latency.min_ns, latency.max_ns), (5, Some(25_000), Some(41_000)));
    assert_eq!((latency.mean_ns, latency.quantile(0.5), series.missed), (Some(32_200.0), Some(30_999), 2));
    assert!(series.settings.observer.is_some_and(|observer| observer.starts_with("latmon://127.0.0.1:")));
    assert_eq!(series.settings.input_line.as_deref().map(|line| line.ends_with("/6")), Some(true));
}

#[test]
fn a_board_that_falls_silent_is_given_up() {
    let (series, _) = with("mute", SHORT, |mut stream| {
        asked(&mut stream);
        // Until the other side has had enough.
        let _ = stream.read(&mut [0; 8]);
    });
    let error = series.unwrap_err().to_string();
    assert!(error.contains("sent nothing") && error.contains("cables"), "{error}");
}

#[test]
fn a_short_record_and_garbage_are_told_apart() {
    let (series, _) = with("short", LONG, |mut stream| {
        asked(&mut stream);
        stream.write_all(&[0; 11]).unwrap();
    });
    assert!(series.unwrap_err().to_string().contains("closed the connection"));
    let (series, _) = with("garbled", LONG, |mut stream| {
        asked(&mut stream);
        let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
    });
    assert!(series.unwrap_err().to_string().contains("no latmon record"));
}

#[test]
fn what_a_board_reported_before_it_was_lost_is_kept() {
    let (series, notes) = with("lost", LONG, |mut stream| {
        asked(&mut stream);
        stream.write_all(&bulk(90_000, 25_000, 33_000, 0, 3)).unwrap();
    });
    let series = series.unwrap();
    assert!(notes.contains("closed the connection"), "{notes}");
    assert_eq!((series.latency.count(), series.latency.max_ns), (3, Some(33_000)));
}

#[test]
fn a_board_that_does_not_stop_is_given_up_and_what_it_measured_is_kept() {
    let goes_on: [fn(TcpStream); 2] = [
        |mut stream| while stream.write_all(&bulk(90_000, 25_000, 33_000, 0, 3)).is_ok() {},
        // One record, and then no other to its end.
        |mut stream| {
            stream.write_all(&bulk(90_000, 25_000, 33_000, 0, 3)).unwrap();
            while stream.write_all(&[0]).is_ok() {
                std::thread::sleep(SHORT / 6);
            }
        },
    ];
    for (test, goes_on) in ["heedless", "dawdling"].into_iter().zip(goes_on) {
        let (series, notes) = with(test, SHORT, move |mut stream| {
            asked(&mut stream);
            goes_on(stream);
        });
        let series = series.unwrap();
        assert!(notes.contains("had not ended 0.3 s after it was told to stop"), "{test}: {notes}");
        assert!(series.latency.count() >= 3, "{test}");
        assert_eq!((series.latency.min_ns, series.latency.max_ns), (Some(25_000), Some(33_000)), "{test}");
    }
}

#[test]
fn a_board_that_is_not_there_is_named() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let error = connect(&format!("127.0.0.1:{port}").parse().unwrap(), SHORT).unwrap_err().to_string();
    assert!(error.contains(&format!("latmon://127.0.0.1:{port}")) && error.contains("running"), "{error}");
}
