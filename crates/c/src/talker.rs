//! Sends the streams of a station of a planned network.

use std::ffi::{CString, c_char, c_int, c_void};
use std::ptr::null;

use ontick_network::endpoint::{Datagrams, StationTalker, TalkerOptions, WaysOut};
use ontick_rt::thread::Policy;
use ontick_rt::timed_section::SectionCpu;

use crate::fork;
use crate::handle::{Handle, borrow, close, look_at, open};
use crate::input::{self, Options, check_room, give, initialise, text};
use crate::station::{Named, list, refused};
use crate::status::{self, Failure, ONTICK_OK, guard};
use crate::thread::{ONTICK_CPU_AUTO, ONTICK_CPU_KEEP};

/// What a talker sends, and how. ontick_talker_options_init() fills it, all but network, plan, station
/// and either interfaces or udp.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ontick_talker_options {
    /// sizeof(ontick_talker_options)
    pub size: u32,
    /// The CPU of the thread that sends: a number, ONTICK_CPU_AUTO (set by init) or ONTICK_CPU_KEEP.
    pub cpu: i32,
    /// The file that describes the network.
    pub network: *const c_char,
    /// Its plan, as `ontick network plan --out` writes it.
    pub plan: *const c_char,
    /// The station that this program is.
    pub station: *const c_char,
    /// The interface of its cable; of a station with several cables one for each, in the order of the
    /// file, with commas between.
    pub interfaces: *const c_char,
    /// Streams that leave as datagrams instead: "setpoint=192.0.2.7:5000", with commas between.
    pub udp: *const c_char,
    /// What the plan is for ("user", "kernel", ...); NULL (set by init): what the calibration is of, or
    /// else the user data plane.
    pub target: *const c_char,
    /// The file of a calibration that the plan was made with, or NULL (set by init).
    pub calibration: *const c_char,
    /// Scheduling of the thread that sends: "fifo:90" (set by init), "rr:50", "other".
    pub policy: *const c_char,
    /// When the first periods begin, in ns of TAI; 0 (set by init): with a whole second, about a second
    /// from now.
    pub base_time_ns: u64,
}

// SAFETY: it begins with its size, and its fields are integers and pointers that are read as C text.
unsafe impl Options for ontick_talker_options {
    fn defaults() -> Self {
        Self {
            size: size_of::<Self>() as u32,
            cpu: ONTICK_CPU_AUTO,
            network: null(),
            plan: null(),
            station: null(),
            interfaces: null(),
            udp: null(),
            target: null(),
            calibration: null(),
            policy: c"fifo:90".as_ptr(),
            base_time_ns: 0,
        }
    }
}

/// What became of the messages of a stream, or of all.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct ontick_talker_figures {
    /// Messages that were handed to the kernel.
    pub sent: u64,
    /// Messages that the kernel did not take: no link, no room.
    pub refused: u64,
    /// Messages that were left out, as their period was over.
    pub left_out: u64,
    /// How late a message was handed over at most, of all streams, in ns.
    pub max_late_ns: u64,
    /// No more than this were 99 in 100 of them, in ns.
    pub p99_late_ns: u64,
    /// How often the machine's clock was set meanwhile: messages followed it.
    pub clock_steps: u64,
}

/// A talker, for one thread at a time.
pub struct ontick_talker {
    generation: u32,
    talker: StationTalker,
    names: Vec<CString>,
    refused: Vec<CString>,
}

impl Handle for ontick_talker {
    fn generation(&self) -> u32 {
        self.generation
    }
}

impl ontick_talker_options {
    /// # Safety
    /// Its pointers are NULL or strings that end with a zero byte.
    unsafe fn open(&self) -> Result<ontick_talker, Failure> {
        let Self { network, plan, station, target, calibration, .. } = *self;
        // SAFETY: as the caller promises.
        let (files, interfaces, udp, policy) = unsafe {
            (
                Named { network, plan, station, target, calibration }.files()?,
                list(self.interfaces, "the interface")?,
                list(self.udp, "the datagrams' addresses")?,
                text(self.policy, "the policy")?,
            )
        };
        let udp = udp.into_iter().map(str::parse::<Datagrams>).collect::<Result<_, _>>().map_err(Failure::argument)?;
        let cpu = match self.cpu {
            ONTICK_CPU_KEEP => SectionCpu::Keep,
            ONTICK_CPU_AUTO => SectionCpu::Auto,
            number => SectionCpu::One(u32::try_from(number).map_err(|_| {
                Failure::argument(format!("cpu is {number}: it must be a number, ONTICK_CPU_AUTO or ONTICK_CPU_KEEP"))
            })?),
        };
        let options = TalkerOptions {
            ways: WaysOut {
                interfaces: interfaces.into_iter().map(str::to_owned).collect(),
                udp,
                launch_time_ns: None,
            },
            base_ns: Some(self.base_time_ns).filter(|ns| *ns > 0),
            cpu,
            policy: policy.parse::<Policy>().map_err(Failure::argument)?,
        };
        let talker = StationTalker::open(&files, &options).map_err(|error| refused(&error))?;
        let names = talker.streams().iter().map(|of| status::c_string(of.planned.name.clone())).collect();
        Ok(ontick_talker { generation: fork::generation(), talker, names, refused: Vec::new() })
    }
}

/// Fills the options; `size` is sizeof(ontick_talker_options).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ontick_talker_options_init(options: *mut ontick_talker_options, size: usize) -> c_int {
    guard(|| {
        // SAFETY: the caller's structure has that size.
        unsafe { initialise(options, size) }?;
        Ok(ONTICK_OK)
    })
}

/// Reads network and plan, refuses a plan that does not fit, and opens the interfaces. Nothing is sent yet.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ontick_talker_open(
    options: *const ontick_talker_options,
    talker: *mut *mut ontick_talker,
) -> c_int {
    // SAFETY: as the header asks.
    unsafe { open(talker, || input::options(options, "ontick_talker_options_init()")?.open()) }
}

/// The name of a stream that the station sends, from 0; NULL past the last. It stays valid until the
/// talker is closed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ontick_talker_stream(talker: *const ontick_talker, index: c_int) -> *const c_char {
    // SAFETY: as the header asks.
    unsafe { entry(talker, index, |talker| &talker.names) }
}

/// # Safety
/// As for [`look_at`].
unsafe fn entry(
    talker: *const ontick_talker,
    index: c_int,
    list: impl FnOnce(&ontick_talker) -> &Vec<CString>,
) -> *const c_char {
    let mut found = null();
    guard(|| {
        // SAFETY: as the caller promises.
        let talker = unsafe { look_at(talker) }?;
        let entry = usize::try_from(index).ok().and_then(|index| list(talker).get(index));
        found = entry.map_or(null(), |entry| entry.as_ptr());
        Ok(ONTICK_OK)
    });
    found
}

/// How many bytes a message of the stream carries at most.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ontick_talker_room(
    talker: *const ontick_talker,
    stream: *const c_char,
    bytes: *mut usize,
) -> c_int {
    guard(|| {
        // SAFETY: as the header asks.
        let (talker, stream, place) = unsafe { (look_at(talker)?, text(stream, "the stream's name")?, bytes.as_mut()) };
        let place = place.ok_or_else(|| Failure::argument("the place for the number of bytes is NULL"))?;
        let of = talker.talker.place(stream).map_err(|error| refused(&error))?;
        *place = talker.talker.streams()[of].planned.room();
        Ok(ONTICK_OK)
    })
}

/// What the stream's next message carries, and those after it until the next call. It is copied, and
/// taken 50 us before the message leaves. A listener gets exactly these bytes. Before the first call
/// messages are empty. It waits for nothing and allocates nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ontick_talker_set_payload(
    talker: *mut ontick_talker,
    stream: *const c_char,
    bytes: *const c_void,
    length: usize,
) -> c_int {
    guard(|| {
        // SAFETY: as the header asks.
        let (talker, stream) = unsafe { (borrow(talker)?, text(stream, "the stream's name")?) };
        let payload = match (bytes.is_null(), length) {
            (_, 0) => &[],
            (true, _) => return Err(Failure::argument("the payload is NULL")),
            // SAFETY: the caller has so many bytes there.
            (false, length) => unsafe { std::slice::from_raw_parts(bytes.cast::<u8>(), length) },
        };
        let place = talker.talker.place(stream).map_err(|error| refused(&error))?;
        talker.talker.set_payload(place, payload).map_err(|error| refused(&error))?;
        Ok(ONTICK_OK)
    })
}

/// Starts the thread that sends each message at its time, once. What the system refuses of its set-up
/// is told by ontick_talker_refusal(): it sends all the same, but may be late.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ontick_talker_begin(talker: *mut ontick_talker) -> c_int {
    guard(|| {
        // SAFETY: as the header asks.
        let talker = unsafe { borrow(talker) }?;
        let refusals = talker.talker.begin().map_err(|error| refused(&error))?;
        talker.refused = refusals.into_iter().map(status::c_string).collect();
        Ok(ONTICK_OK)
    })
}

/// A refusal, from 0: what was asked for the thread, why it was refused, and what to do; NULL past the
/// last. It stays valid until the talker is closed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ontick_talker_refusal(talker: *const ontick_talker, index: c_int) -> *const c_char {
    // SAFETY: as the header asks.
    unsafe { entry(talker, index, |talker| &talker.refused) }
}

/// Fills figures of a stream, or of all where that is NULL, while it sends or after it; `size` is
/// sizeof(ontick_talker_figures).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ontick_talker_get_figures(
    talker: *const ontick_talker,
    stream: *const c_char,
    figures: *mut ontick_talker_figures,
    size: usize,
) -> c_int {
    guard(|| {
        // SAFETY: as the header asks.
        let (talker, stream) = unsafe { (look_at(talker)?, crate::station::optional(stream, "the stream's name")?) };
        check_room(figures, size, "the figures", "ontick_talker_figures")?;
        let of = stream.map(|stream| talker.talker.place(stream)).transpose().map_err(|error| refused(&error))?;
        let talked = talker.talker.talked();
        let counts = talked.counts.iter().enumerate().filter(|(place, _)| of.is_none_or(|of| of == *place));
        let sum = counts.fold((0, 0, 0), |sum, (_, of)| (sum.0 + of.0, sum.1 + of.1, sum.2 + of.2));
        let all = ontick_talker_figures {
            sent: sum.0,
            refused: sum.1,
            left_out: sum.2,
            max_late_ns: talked.lateness.max_ns.unwrap_or(0),
            p99_late_ns: talked.lateness.quantile(0.99).unwrap_or(0),
            clock_steps: talked.clock_steps,
        };
        // SAFETY: the caller's structure has that size.
        unsafe { give(&all, figures, size) };
        Ok(ONTICK_OK)
    })
}

/// Ends the thread, which takes up to 20 ms: nothing is sent afterwards. The figures can still be read.
/// Once more does nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ontick_talker_end(talker: *mut ontick_talker) -> c_int {
    guard(|| {
        // SAFETY: as the header asks.
        unsafe { borrow(talker) }?.talker.end().map_err(|error| refused(&error))?;
        Ok(ONTICK_OK)
    })
}

/// Ends it, closes the interfaces, and sets *talker to NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ontick_talker_close(talker: *mut *mut ontick_talker) -> c_int {
    // SAFETY: as the header asks.
    unsafe { close(talker, drop) }
}
