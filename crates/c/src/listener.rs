//! Receives the streams of a station of a planned network.

use std::ffi::{CString, c_char, c_int, c_void};
use std::net::SocketAddr;
use std::ptr::null;
use std::time::Duration;

use ontick_network::endpoint::{StationListener, WholeMessage};

use crate::fork;
use crate::handle::{Handle, borrow, close, look_at, open};
use crate::input::{self, Options, check_room, give, initialise, unused};
use crate::station::{Named, list, optional, refused};
use crate::status::{self, Failure, ONTICK_ERROR_ARGUMENT, ONTICK_NONE, ONTICK_OK, guard};

/// What a listener receives, and by what. ontick_listener_options_init() fills it, all but network,
/// plan, station and interfaces or udp.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ontick_listener_options {
    /// sizeof(ontick_listener_options)
    pub size: u32,
    /// 0.
    pub reserved: i32,
    /// The file that describes the network.
    pub network: *const c_char,
    /// Its plan, as `ontick network plan --out` writes it.
    pub plan: *const c_char,
    /// The station that this program is.
    pub station: *const c_char,
    /// The interface of its cable; of a station with several cables one for each, in the order of the
    /// file, with commas between.
    pub interfaces: *const c_char,
    /// Addresses at which datagrams are received: "0.0.0.0:5000", with commas between.
    pub udp: *const c_char,
    /// What the plan is for ("user", "kernel", ...); NULL (set by init): what the calibration is of, or
    /// else the user data plane.
    pub target: *const c_char,
    /// The file of a calibration that the plan was made with, or NULL (set by init).
    pub calibration: *const c_char,
}

// SAFETY: it begins with its size, and its fields are integers and pointers that are read as C text.
unsafe impl Options for ontick_listener_options {
    fn defaults() -> Self {
        let size = size_of::<Self>() as u32;
        let none: *const c_char = null();
        Self {
            size,
            reserved: 0,
            network: none,
            plan: none,
            station: none,
            interfaces: none,
            udp: none,
            target: none,
            calibration: none,
        }
    }
}

/// A message that came. This structure never changes.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ontick_message {
    /// The stream's name.
    pub stream: *const c_char,
    /// The message's number, from 0 when its talker began: one that is missing was lost.
    pub number: u64,
    /// When it was to be sent, in ns of TAI.
    pub planned_ns: u64,
    /// When its last frame came, in ns of TAI, by the interface's stamp or the kernel's.
    pub arrived_ns: u64,
    /// What its talker had it carry; valid until the next call for a message of this listener.
    pub payload: *const c_void,
    /// Its length in bytes.
    pub length: usize,
}

/// What became of the messages of a stream.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct ontick_listener_figures {
    /// Messages that came whole.
    pub received: u64,
    /// Messages between the first that came and the newest that did not come whole.
    pub lost: u64,
    /// Messages that came after their deadline.
    pub late: u64,
    /// Frames that came behind one that was sent after them.
    pub out_of_order: u64,
    /// Frames that came twice.
    pub duplicates: u64,
    /// The longest time from the beginning of the period until a message was there, in ns.
    pub max_latency_ns: u64,
    /// No more than this did 99 in 100 take, in ns.
    pub p99_latency_ns: u64,
}

/// What came besides messages in good order, of all streams.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct ontick_listener_strays {
    /// Frames of a talker with another plan or another network: give both the same files.
    pub other_plan: u64,
    /// Frames of streams that are for others.
    pub other_streams: u64,
    /// Frames with another VLAN tag or priority than is planned, or without one.
    pub retagged: u64,
    /// Frames that came and found no room: this program took them too slowly.
    pub overflowed: u64,
    /// Frames planned more than an hour from when they came: both machines need one time.
    pub other_time: u64,
}

/// A listener, for one thread at a time.
pub struct ontick_listener {
    generation: u32,
    listener: StationListener,
    names: Vec<CString>,
    last: Option<WholeMessage>,
}

impl Handle for ontick_listener {
    fn generation(&self) -> u32 {
        self.generation
    }
}

impl ontick_listener_options {
    /// # Safety
    /// Its pointers are NULL or strings that end with a zero byte.
    unsafe fn open(&self) -> Result<ontick_listener, Failure> {
        let Self { reserved, network, plan, station, target, calibration, .. } = *self;
        unused(reserved)?;
        // SAFETY: as the caller promises.
        let (files, interfaces, udp) = unsafe {
            (
                Named { network, plan, station, target, calibration }.files()?,
                list(self.interfaces, "the interface")?,
                list(self.udp, "the datagrams' addresses")?,
            )
        };
        let interfaces: Vec<String> = interfaces.into_iter().map(str::to_owned).collect();
        let address = |text: &str| {
            let wrong = || format!("\"{text}\" is no address of datagrams: write ADDRESS:PORT, as in 0.0.0.0:5000");
            text.parse::<SocketAddr>().map_err(|_| Failure::argument(wrong()))
        };
        let udp = udp.into_iter().map(address).collect::<Result<Vec<_>, _>>()?;
        let listener = StationListener::open(&files, &interfaces, &udp).map_err(|error| refused(&error))?;
        let names = listener.streams().iter().map(|of| status::c_string(of.name.clone())).collect();
        Ok(ontick_listener { generation: fork::generation(), listener, names, last: None })
    }
}

/// Fills the options; `size` is sizeof(ontick_listener_options).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ontick_listener_options_init(options: *mut ontick_listener_options, size: usize) -> c_int {
    guard(|| {
        // SAFETY: the caller's structure has that size.
        unsafe { initialise(options, size) }?;
        Ok(ONTICK_OK)
    })
}

/// Reads network and plan, refuses a plan that does not fit, and opens the interfaces. From now on what
/// comes is kept, some 30000 frames for each interface, until the program takes it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ontick_listener_open(
    options: *const ontick_listener_options,
    listener: *mut *mut ontick_listener,
) -> c_int {
    // SAFETY: as the header asks.
    unsafe { open(listener, || input::options(options, "ontick_listener_options_init()")?.open()) }
}

/// The name of a stream that comes to the station, from 0; NULL past the last. It stays valid until the
/// listener is closed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ontick_listener_stream(listener: *const ontick_listener, index: c_int) -> *const c_char {
    let mut name = null();
    guard(|| {
        // SAFETY: as the header asks.
        let listener = unsafe { look_at(listener) }?;
        let found = usize::try_from(index).ok().and_then(|index| listener.names.get(index));
        name = found.map_or(null(), |found| found.as_ptr());
        Ok(ONTICK_OK)
    });
    name
}

/// Waits for the next message of any stream until `deadline_ns` of ontick_now_ns() (0: not at all);
/// ONTICK_NONE where none came.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ontick_listener_next(
    listener: *mut ontick_listener,
    deadline_ns: u64,
    message: *mut ontick_message,
) -> c_int {
    guard(|| {
        // SAFETY: as the header asks.
        let (listener, place) = unsafe { (borrow(listener)?, message.as_mut()) };
        let place = place.ok_or(const { Failure::fixed(ONTICK_ERROR_ARGUMENT, c"the message is NULL") })?;
        let at_most = deadline_ns.saturating_sub(ontick_rt::clock::ClockId::Monotonic.now_ns());
        let next = listener.listener.next(Duration::from_nanos(at_most)).map_err(|error| refused(&error))?;
        let Some(next) = next else { return Ok(ONTICK_NONE) };
        let WholeMessage { stream, number, planned_ns, arrived_ns, ref payload } = *listener.last.insert(next);
        *place = ontick_message {
            stream: listener.names[stream].as_ptr(),
            number,
            planned_ns,
            arrived_ns,
            payload: payload.as_ptr().cast(),
            length: payload.len(),
        };
        Ok(ONTICK_OK)
    })
}

/// Fills figures of a stream, or of all where that is NULL, of what was taken so far; `size` is
/// sizeof(ontick_listener_figures).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ontick_listener_get_figures(
    listener: *const ontick_listener,
    stream: *const c_char,
    figures: *mut ontick_listener_figures,
    size: usize,
) -> c_int {
    guard(|| {
        // SAFETY: as the header asks.
        let (listener, stream) = unsafe { (look_at(listener)?, optional(stream, "the stream's name")?) };
        check_room(figures, size, "the figures", "ontick_listener_figures")?;
        let of = match stream {
            Some(stream) => listener.listener.place(stream).map(|place| place..place + 1),
            None => Ok(0..listener.names.len()),
        };
        let mut sum = ontick_listener_figures::default();
        for of in of.map_err(|error| refused(&error))?.filter_map(|place| listener.listener.figures(place)) {
            sum.received += of.received;
            sum.lost += of.lost;
            sum.late += of.late;
            sum.out_of_order += of.out_of_order;
            sum.duplicates += of.duplicates;
            sum.max_latency_ns = sum.max_latency_ns.max(of.latency.max_ns.unwrap_or(0));
            sum.p99_latency_ns = sum.p99_latency_ns.max(of.latency.quantile(0.99).unwrap_or(0));
        }
        // SAFETY: the caller's structure has that size.
        unsafe { give(&sum, figures, size) };
        Ok(ONTICK_OK)
    })
}

/// Fills what came besides messages in good order; `size` is sizeof(ontick_listener_strays).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ontick_listener_get_strays(
    listener: *mut ontick_listener,
    strays: *mut ontick_listener_strays,
    size: usize,
) -> c_int {
    guard(|| {
        // SAFETY: as the header asks.
        let listener = unsafe { borrow(listener) }?;
        check_room(strays, size, "the strays", "ontick_listener_strays")?;
        let of = listener.listener.strays();
        let all = ontick_listener_strays {
            other_plan: of.other_plan,
            other_streams: of.other_streams,
            retagged: of.retagged,
            overflowed: of.overflowed,
            other_time: of.other_time,
        };
        // SAFETY: the caller's structure has that size.
        unsafe { give(&all, strays, size) };
        Ok(ONTICK_OK)
    })
}

/// Closes the interfaces and sets *listener to NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ontick_listener_close(listener: *mut *mut ontick_listener) -> c_int {
    // SAFETY: as the header asks.
    unsafe { close(listener, drop) }
}
