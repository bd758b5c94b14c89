//! Software interrupts: datagrams that another CPU sends and the timed one delivers.
//!
//! In a network namespace of its own, so that no setting of the machine is touched: its loopback hands packets
//! to the timed CPU (receive packet steering), which delivers each to many sockets in one NET_RX.

use std::fs;
use std::net::{Ipv4Addr, SocketAddrV4, UdpSocket};
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use ontick_rt::thread::{Policy, Setup};
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen};
use rustix::net::{AddressFamily, SocketType, bind, socket, sockopt};

use super::truth::{Making, judged};
use super::{now_ns, sleep};

const RECEIVERS: usize = 500;
/// Full sockets drop early, and the software interrupt would be short.
const SENT_BEFORE_DRAINING: u32 = 40;

/// Sends until `done`; a making ends when the last socket has got the datagram. Empty where the kernel does
/// not steer packets.
pub fn broadcast(cpu: u32, done: &AtomicBool) -> Vec<Making> {
    let mut makings = Vec::new();
    if let Err(error) = steer_to(cpu) {
        eprintln!("network: packets cannot be steered here: {error}");
        return makings;
    }
    let other = ontick_rt::cpus::online().into_iter().find(|other| *other != cpu).expect("another CPU");
    let _ready = Setup::new().cpu(other).policy(Policy::Fifo(1)).best_effort();
    let first = shared_socket(0);
    let port = first.local_addr().expect("an address").port();
    let mut receivers = vec![first];
    receivers.extend((1..RECEIVERS).map(|_| shared_socket(port)));
    let sender = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    sender.set_broadcast(true).expect("broadcasts");
    while !done.load(Relaxed) {
        for _ in 0..SENT_BEFORE_DRAINING {
            sleep(3_700);
            let from = now_ns();
            sender.send_to(&[0; 32], ("127.255.255.255", port)).expect("a datagram is sent");
            // They are served in the order in which they were bound, or the other way round.
            for last in [&receivers[0], &receivers[RECEIVERS - 1]] {
                while last.recv(&mut [0; 64]).is_err() && !done.load(Relaxed) {}
            }
            makings.push(Making::timed(from, now_ns()));
        }
        receivers.iter().for_each(|receiver| while receiver.recv(&mut [0; 64]).is_ok() {});
    }
    judged(makings)
}

/// Gives the calling thread a network of its own whose loopback delivers on this CPU.
fn steer_to(cpu: u32) -> std::io::Result<()> {
    let check = |result: libc::c_int| match result {
        0 => Ok(()),
        _ => Err(std::io::Error::last_os_error()),
    };
    // SAFETY: only the network of this thread is replaced.
    check(unsafe { libc::unshare(libc::CLONE_NEWNET) })?;
    let any = UdpSocket::bind("0.0.0.0:0")?;
    // SAFETY: an ifreq holds integers and an array of them, for which zero is a value.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    request.ifr_name[..2].copy_from_slice(&[b'l' as libc::c_char, b'o' as libc::c_char]);
    request.ifr_ifru.ifru_flags = libc::IFF_UP as libc::c_short;
    // SAFETY: the request is valid, and the socket is open.
    check(unsafe { libc::ioctl(any.as_raw_fd(), libc::SIOCSIFFLAGS as _, &request) })?;
    // The sysfs that is mounted shows another network's devices.
    let context = fsopen("sysfs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_create(&context)?;
    let sysfs = fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, MountAttrFlags::empty())?;
    let steering = format!("/proc/self/fd/{}/class/net/lo/queues/rx-0/rps_cpus", sysfs.as_raw_fd());
    let groups = (0..cpu / 32).map(|_| ",00000000");
    fs::write(steering, format!("{:x}{}", 1u32 << (cpu % 32), groups.collect::<String>()))
}

fn shared_socket(port: u16) -> UdpSocket {
    let fd = socket(AddressFamily::INET, SocketType::DGRAM, None).expect("a socket");
    sockopt::set_socket_reuseaddr(&fd, true).expect("a shared address");
    bind(&fd, &SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, port)).expect("the address");
    let socket = UdpSocket::from(fd);
    socket.set_nonblocking(true).expect("no waiting");
    socket
}
