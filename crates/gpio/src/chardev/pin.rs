//! An open line of a character device.

use std::fs::File;
use std::time::Duration;

use gpiocdev_uapi::v2::{
    self as uapi, LineConfig, LineEdgeEvent, LineEdgeEventKind, LineFlags, LineRequest, LineValues,
};
use ontick_rt::clock::ClockId;
use rustix::fs::OFlags;
use rustix::io::Errno;

use super::chip::Chip;
use super::errno;
use super::holder::holder;
use crate::{Backend, Bias, Direction, Edge, Edges, Error, Gone, Name, Request};

/// What the line is taken as, for others to see.
const CONSUMER: &str = "ontick";
/// The most that any kernel keeps of a request's edges.
const KEPT: u32 = 1024;
/// 64-bit words of one edge.
const WORDS: usize = size_of::<LineEdgeEvent>() / 8;
/// Edges that are read at once.
const AT_ONCE: usize = 16;

/// A line of a character device that this program has. The kernel gives it up with the file.
#[derive(Debug)]
pub struct Pin {
    file: File,
    bias: LineFlags,
    /// Edges that were read already, as the kernel wrote them; from `next` to `filled` nobody took yet.
    buffer: Box<[u64; WORDS * AT_ONCE]>,
    next: usize,
    filled: usize,
    /// The number of the last edge that was taken.
    sequence: u32,
}

impl Pin {
    /// Takes the line, which is asked for in terms of the wire.
    pub fn open(name: &Name, chip_name: &str, line: u32, request: &Request) -> Result<Self, Error> {
        request.check(name, Backend::Chardev)?;
        let chip = Chip::open(chip_name).map_err(|refused| refused.about(name))?;
        if line >= chip.info.num_lines {
            let last = chip.info.num_lines.saturating_sub(1);
            return Err(Error::NoSuchLine { name: name.clone(), chip: chip_name.into(), last });
        }
        let taken = uapi::get_line(&chip.file, asked(&[line], request)).map_err(errno::of);
        let file = taken.map_err(|errno| refusal(name, chip_name, &chip, line, request, errno))?;
        // Read without waiting; a wait is a poll, which can end at a time.
        rustix::fs::fcntl_setfl(&file, OFlags::NONBLOCK).map_err(|errno| Error::System {
            name: name.clone(),
            doing: "taking the line".into(),
            error: errno.into(),
        })?;
        Ok(Self { file, bias: bias(request), buffer: Box::new([0; WORDS * AT_ONCE]), next: 0, filled: 0, sequence: 0 })
    }

    /// Drives the line no more.
    pub fn let_go(&mut self) -> Result<(), Gone> {
        let config = LineConfig { flags: LineFlags::INPUT | self.bias, ..LineConfig::default() };
        uapi::set_line_config(&self.file, config).map_err(gone)
    }

    #[inline]
    pub fn write(&mut self, level: bool) -> Result<(), Gone> {
        uapi::set_line_values(&self.file, &LineValues { bits: level.into(), mask: 1 }).map_err(gone)
    }

    #[inline]
    pub fn read(&mut self) -> Result<bool, Gone> {
        let mut values = LineValues { bits: 0, mask: 1 };
        uapi::get_line_values(&self.file, &mut values).map_err(gone)?;
        Ok(values.bits & 1 == 1)
    }

    /// The next edge till `deadline_ns`; 0: one that is there already.
    pub fn edge(&mut self, deadline_ns: u64) -> Result<Option<Edge>, Gone> {
        while self.next == self.filled {
            match uapi::read_event(&self.file, &mut self.buffer[..]).map_err(errno::of) {
                Ok(words) => (self.next, self.filled) = (0, words / WORDS),
                Err(Errno::AGAIN) if !self.wait(deadline_ns)? => return Ok(None),
                Err(Errno::AGAIN | Errno::INTR) => {}
                Err(errno) => return Err(Gone(errno)),
            }
        }
        self.take().map(Some)
    }

    /// Waits until there may be an edge; `false` when it is too late to wait.
    fn wait(&self, deadline_ns: u64) -> Result<bool, Gone> {
        let now_ns = if deadline_ns == 0 { 0 } else { ClockId::Monotonic.now_ns() };
        if now_ns >= deadline_ns {
            return Ok(false);
        }
        match uapi::wait_event(&self.file, Duration::from_nanos(deadline_ns - now_ns)).map_err(errno::of) {
            Ok(_) | Err(Errno::INTR) => Ok(true),
            Err(errno) => Err(Gone(errno)),
        }
    }

    fn take(&mut self) -> Result<Edge, Gone> {
        let words = &self.buffer[self.next * WORDS..self.filled * WORDS];
        let event = LineEdgeEvent::from_slice(words).map_err(gone)?;
        let edge = Edge {
            rising: event.kind == LineEdgeEventKind::RisingEdge as u32,
            time_ns: event.timestamp_ns,
            lost: event.line_seqno.wrapping_sub(self.sequence).wrapping_sub(1),
        };
        (self.sequence, self.next) = (event.line_seqno, self.next + 1);
        Ok(edge)
    }
}

pub(super) fn gone(error: gpiocdev_uapi::Error) -> Gone {
    Gone(errno::of(error))
}

/// The request in the kernel's terms.
pub(super) fn asked(lines: &[u32], request: &Request) -> LineRequest {
    let mut asked = LineRequest { num_lines: lines.len() as u32, consumer: CONSUMER.into(), ..LineRequest::default() };
    for (n, line) in lines.iter().enumerate() {
        asked.offsets.set(n, *line);
    }
    asked.config.flags = bias(request)
        | match request.edges {
            Edges::None => LineFlags::empty(),
            Edges::Rising => LineFlags::EDGE_RISING,
            Edges::Falling => LineFlags::EDGE_FALLING,
            Edges::Both => LineFlags::EDGE_RISING | LineFlags::EDGE_FALLING,
        };
    match request.direction {
        Direction::AsIs => {}
        Direction::Input => asked.config.flags |= LineFlags::INPUT,
        Direction::Output(value) => {
            asked.config.flags |= LineFlags::OUTPUT;
            asked.config.add_values(&LineValues { bits: value.into(), mask: 1 });
        }
    }
    if let Some(debounce) = request.debounce {
        asked.config.add_debounce(debounce.us(), u64::MAX >> (u64::BITS as usize - lines.len().max(1)));
    }
    if request.edges != Edges::None {
        asked.event_buffer_size = KEPT;
    }
    asked
}

pub(super) fn bias(request: &Request) -> LineFlags {
    match request.bias {
        Bias::AsIs => LineFlags::empty(),
        Bias::Disabled => LineFlags::BIAS_DISABLED,
        Bias::PullUp => LineFlags::BIAS_PULL_UP,
        Bias::PullDown => LineFlags::BIAS_PULL_DOWN,
    }
}

/// Why the kernel refused the line.
pub(super) fn refusal(name: &Name, chip_name: &str, chip: &Chip, line: u32, request: &Request, errno: Errno) -> Error {
    let name = name.clone();
    let unsupported =
        |what: &str| Error::Unsupported { name: name.clone(), backend: Backend::Chardev, what: what.into() };
    let info = chip.line(line);
    let consumer = info.as_ref().map(|info| String::from(&info.consumer)).unwrap_or_default();
    let notifies_output = request.edges != Edges::None && matches!(request.direction, Direction::Output(_));
    match errno {
        Errno::BUSY => Error::InUse { name, by: holder(chip_name, line, &consumer) },
        Errno::INVAL if notifies_output => unsupported("notify edges of an output: open a second line as the input"),
        Errno::INVAL | Errno::NOTTY if info.is_err() => unsupported("be had from a kernel older than Linux 5.10"),
        Errno::INVAL | Errno::RANGE if request.debounce.is_some() => {
            let time = request.debounce.map(|debounce| debounce.to_string()).unwrap_or_default();
            unsupported(&format!("be debounced for {time} here: the chip's driver refuses that"))
        }
        // The kernel filters where the chip does not, by the line's interrupt.
        Errno::NXIO | Errno::NODEV | Errno::OPNOTSUPP if request.debounce.is_some() && info.is_ok() => unsupported(
            "be debounced on this chip, which has neither a filter nor an interrupt for the line: read it in a loop instead",
        ),
        // The chip still answers, so it is not gone: it is the interrupt that is missing.
        Errno::NXIO | Errno::NODEV | Errno::OPNOTSUPP | Errno::INVAL
            if request.edges != Edges::None && info.is_ok() =>
        {
            unsupported("notify edges on this chip, which has no interrupt for the line: read it in a loop instead")
        }
        errno => Error::System { name, doing: "taking the line".into(), error: errno.into() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Debounce;

    fn pin_with(events: &[(u32, LineEdgeEventKind)]) -> Pin {
        let mut buffer = Box::new([0; WORDS * AT_ONCE]);
        for (n, (sequence, kind)) in events.iter().enumerate() {
            let words = &mut buffer[n * WORDS..];
            // As in struct gpio_v2_line_event: time, then pairs of 32-bit fields.
            words[0] = 1_000 + n as u64;
            words[1] = pair(*kind as u32, 17);
            words[2] = pair(*sequence, *sequence);
        }
        let file = File::open("/dev/null").unwrap();
        Pin { file, bias: LineFlags::empty(), buffer, next: 0, filled: events.len(), sequence: 0 }
    }

    fn pair(first: u32, second: u32) -> u64 {
        let mut bytes = [0; 8];
        bytes[..4].copy_from_slice(&first.to_ne_bytes());
        bytes[4..].copy_from_slice(&second.to_ne_bytes());
        u64::from_ne_bytes(bytes)
    }

    #[test]
    fn gaps_in_the_kernels_numbers_are_lost_edges() {
        use LineEdgeEventKind::{FallingEdge, RisingEdge};
        let mut pin = pin_with(&[(3, RisingEdge), (4, FallingEdge), (1004, RisingEdge)]);
        let mut taken = || pin.edge(0).unwrap().unwrap();
        assert_eq!(taken(), Edge { rising: true, time_ns: 1_000, lost: 2 });
        assert_eq!(taken(), Edge { rising: false, time_ns: 1_001, lost: 0 });
        assert_eq!(taken(), Edge { rising: true, time_ns: 1_002, lost: 999 });
    }

    #[test]
    fn numbers_wrap() {
        let mut pin = pin_with(&[(1, LineEdgeEventKind::RisingEdge)]);
        pin.sequence = u32::MAX - 1;
        assert_eq!(pin.edge(0).unwrap().unwrap().lost, 2, "the last number and zero");
    }

    #[test]
    fn what_is_asked_for_is_what_the_kernel_gets() {
        let request = Request::input().edges(Edges::Both).bias(Bias::PullUp);
        let asked_for = asked(&[5], &request);
        let flags = LineFlags::INPUT | LineFlags::EDGE_RISING | LineFlags::EDGE_FALLING | LineFlags::BIAS_PULL_UP;
        assert_eq!((asked_for.config.flags, asked_for.event_buffer_size), (flags, KEPT));
        assert_eq!((asked_for.offsets.get(0), asked_for.num_lines), (5, 1));
        assert_eq!(asked_for.consumer.as_os_str(), "ontick");
        assert_eq!(asked_for.config.num_attrs, 0);
        let asked_for = asked(&[5], &request.debounce(Some(Debounce::from_ns(10_000_000).unwrap())));
        let debounced = asked_for.config.attr(0);
        let wanted = uapi::LineAttributeValue::DebouncePeriod(10_000);
        assert_eq!((debounced.mask, debounced.attr.to_value(), asked_for.config.num_attrs), (1, Some(wanted), 1));
        let group = asked(&[4, 9, 2], &Request::input());
        assert_eq!((group.num_lines, [0, 1, 2].map(|n| group.offsets.get(n))), (3, [4, 9, 2]));

        let asked_for = asked(&[0], &Request::output(false).active_low(true).on_the_wire());
        assert_eq!((asked_for.config.flags, asked_for.event_buffer_size), (LineFlags::OUTPUT, 0));
        let values = asked_for.config.attr(0);
        assert_eq!((values.mask, values.attr.to_value()), (1, Some(uapi::LineAttributeValue::Values(1))));
    }

    #[test]
    fn a_chip_that_is_not_there_is_named_with_those_that_are() {
        let name: Name = "gpiochip4000:1".parse().unwrap();
        let error = Pin::open(&name, "gpiochip4000", 1, &Request::input()).unwrap_err();
        assert!(matches!(error, Error::NotFound { .. }), "{error}");
        assert!(error.to_string().starts_with("line gpiochip4000:1: th"), "{error}");
    }
}
