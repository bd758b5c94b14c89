//! The list.

use rustix::thread::CapabilitySet as Set;

use super::{Kept, Privileges, Root};

const NONE: Set = Set::empty();
/// Any real-time policy, and memory that stays where it is.
const TIMED: Set = Set::SYS_NICE.union(Set::IPC_LOCK);
/// Ports, bridges, disciplines; and frames as they are.
const NETWORK: Set = Set::NET_ADMIN.union(Set::NET_RAW);
/// Files in folders of the user who called sudo.
const FILES: Set = Set::CHOWN.union(Set::DAC_OVERRIDE).union(Set::FOWNER);
/// Why settings take the user root.
const PROC_SYS: &str = "the kernel lets the user root alone write `/proc/sys` (test_perm in fs/proc/proc_sysctl.c), whatever its capabilities";
/// What a switch is set up with beside them: a trial in a network namespace, `modprobe br_netfilter`, XDP.
const SETTING_UP: Set = Set::SYS_ADMIN.union(Set::SYS_MODULE).union(Set::BPF);

/// Measurements, and what is made or transferred on time.
pub const MEASURING: Privileges = Privileges {
    commands: &["latency", "prove", "pulse", "gpio pwm", "gpio play", "link"],
    needs: NONE,
    uses: TIMED,
    root: Root::NotAsked,
    keeps: Some(Kept {
        capabilities: TIMED.union(FILES),
        why: "the threads of each series take their policy and lock memory anew; records, reports and simulated lines may be \
              files of the user who called sudo; with lines `reg:N` also `CAP_SYS_RAWIO`, for `/dev/mem`. With `--load` of a \
              command or of pings, `--explain`, `--split`, `--hwlat`, an instrument as `--observer`, the kernel module or a PRU it \
              keeps all",
    }),
};

/// The kernel's own tracer.
pub const HWLAT: Privileges = Privileges {
    commands: &["latency noise --hwlat"],
    needs: NONE,
    uses: NONE,
    root: Root::Needed("the kernel's trace file system, in which its tracer works, is root's"),
    keeps: None,
};

/// A round trip whose both ends are here.
pub const ROUND_TRIP: Privileges = Privileges {
    commands: &["latency roundtrip"],
    needs: NETWORK.union(Set::SYS_ADMIN),
    uses: TIMED,
    root: Root::NotAsked,
    keeps: Some(Kept {
        capabilities: TIMED.union(FILES),
        why: "both ends are in network namespaces of their own, which are there then; the rest is as for `latency`",
    }),
};

/// The same by datagrams.
pub const ROUND_TRIP_UDP: Privileges = Privileges {
    commands: &["latency roundtrip --udp"],
    needs: Set::NET_ADMIN.union(Set::SYS_ADMIN),
    uses: TIMED,
    root: Root::NotAsked,
    keeps: Some(Kept { capabilities: TIMED.union(FILES), why: "as above" }),
};

/// The same, once settings were changed for it.
pub const PROVE_TUNED: Privileges = Privileges {
    commands: &["prove --tune"],
    needs: NONE,
    uses: NONE,
    root: Root::Needed(PROC_SYS),
    keeps: Some(Kept { capabilities: TIMED.union(FILES), why: "its guardian keeps all, and puts the settings back" }),
};

/// Edges as they come.
pub const GPIO_WATCH: Privileges = Privileges {
    commands: &["gpio watch"],
    needs: NONE,
    uses: NONE,
    root: Root::NotAsked,
    keeps: Some(Kept { capabilities: NONE, why: "its lines are open" }),
};

/// Samples.
pub const SAMPLE: Privileges = Privileges {
    commands: &["sample"],
    needs: NONE,
    uses: TIMED.union(Set::BPF).union(Set::PERFMON).union(Set::NET_BIND_SERVICE),
    root: Root::NotAsked,
    keeps: Some(Kept {
        capabilities: TIMED.union(Set::BPF).union(Set::PERFMON).union(Set::NET_BIND_SERVICE).union(FILES),
        why: "a listener may have a port below 1024; the timed thread sets itself up last, and counts who wants its CPU; the memory stays locked; sinks and the record \
              write files of the user who called sudo. With `--load` of a command or of pings, or `--explain`, it keeps all",
    }),
};

/// The watch.
pub const WATCH: Privileges = Privileges {
    commands: &["watch"],
    needs: NONE,
    uses: TIMED.union(NETWORK),
    root: Root::NotAsked,
    keeps: Some(Kept {
        capabilities: TIMED.union(NETWORK).union(FILES),
        why: "a thread for each block of measurements takes its policy anew, `--roundtrip` opens its socket anew, with \
              `busy-poll` too, and `--state` may name a folder of the user who called sudo. With `--explain` it keeps all",
    }),
};

/// A CPU that is watched for half a second.
pub const WATCHED_CPU: Privileges =
    Privileges { commands: &["network base-time"], needs: NONE, uses: TIMED, root: Root::NotAsked, keeps: None };

/// Frames of a station.
pub const FRAMES: Privileges = Privileges {
    commands: &["network talk", "latency roundtrip --interface"],
    needs: Set::NET_RAW,
    uses: TIMED,
    root: Root::NotAsked,
    keeps: Some(Kept {
        capabilities: TIMED.union(FILES),
        why: "its sockets are open; the timed thread sets itself up last, and the rest is as for `latency`",
    }),
};

/// Datagrams of a station.
pub const DATAGRAMS: Privileges = Privileges {
    commands: &["network talk --udp", "latency roundtrip --to HOST:PORT", "latency roundtrip --respond --udp"],
    needs: NONE,
    uses: TIMED.union(Set::NET_RAW),
    root: Root::NotAsked,
    keeps: Some(Kept {
        capabilities: TIMED.union(FILES),
        why: "as above; a priority above 6 (SO_PRIORITY) takes `CAP_NET_RAW`, or `CAP_NET_ADMIN` before Linux 5.17, and \
              `network talk` sends without it; a stream without `--udp` leaves by an interface",
    }),
};

/// Frames that come to a station.
pub const LISTENING: Privileges = Privileges {
    commands: &["network listen"],
    needs: Set::NET_RAW,
    uses: Set::NET_ADMIN,
    root: Root::NotAsked,
    keeps: Some(Kept {
        capabilities: Set::NET_ADMIN.union(FILES),
        why: "its sockets are open; the stamps of the interface are set back at the end, and records may be files of the user \
              who called sudo",
    }),
};

/// Datagrams that come to a station, and no frames.
pub const LISTENING_UDP: Privileges = Privileges {
    commands: &["network listen --udp"],
    needs: NONE,
    uses: Set::NET_ADMIN,
    root: Root::NotAsked,
    keeps: Some(Kept { capabilities: Set::NET_ADMIN.union(FILES), why: "as above, without `--interface`" }),
};

/// A switch at work.
pub const SWITCH_RUN: Privileges = Privileges {
    commands: &["switch run"],
    needs: NETWORK,
    uses: TIMED.union(SETTING_UP),
    root: Root::NotAsked,
    keeps: Some(Kept {
        capabilities: NETWORK.union(TIMED).union(Set::BPF).union(FILES),
        why: "ports that return are set up again, with XDP too, and all is reverted at the end; the core takes its policy and \
              locks its memory; `--metrics` may name a file of another user, and so may Open vSwitch its socket. The thread that carries frames (`ontick-switch`) keeps `CAP_IPC_LOCK` alone",
    }),
};

/// A switch that is set up.
pub const SWITCH_APPLY: Privileges = Privileges {
    commands: &["switch apply", "network apply"],
    needs: NETWORK,
    uses: TIMED.union(SETTING_UP),
    root: Root::NotAsked,
    keeps: None,
};

/// A switch that is changed or taken away.
pub const SWITCH_CHANGE: Privileges = Privileges {
    commands: &["switch revert", "network revert", "switch netconf"],
    needs: Set::NET_ADMIN,
    uses: NONE,
    root: Root::NotAsked,
    keeps: None,
};

/// Switches and networks in namespaces of this machine.
pub const NAMESPACES: Privileges = Privileges {
    commands: &["switch demo", "switch verify", "switch calibrate", "network prove --in namespaces"],
    needs: NETWORK.union(Set::SYS_ADMIN),
    uses: TIMED.union(Set::BPF),
    root: Root::NotAsked,
    keeps: None,
};

/// The network's time, with clocks set.
pub const NETWORK_TIME: Privileges = Privileges {
    commands: &["network time run"],
    needs: NETWORK.union(Set::NET_BIND_SERVICE).union(Set::SYS_TIME),
    uses: NONE,
    root: Root::NotAsked,
    keeps: Some(Kept { capabilities: NONE, why: "linuxptp's programs have them; ontick reads ptp4l's answers" }),
};

/// The network's time, only measured.
pub const NETWORK_TIME_FREE: Privileges = Privileges {
    commands: &["network time run --free-running"],
    needs: NETWORK.union(Set::NET_BIND_SERVICE),
    uses: NONE,
    root: Root::NotAsked,
    keeps: Some(Kept { capabilities: NONE, why: "as above" }),
};

/// What a program that becomes another user's is started with.
const STARTING: Set = Set::SYS_RESOURCE.union(Set::SETUID).union(Set::SETGID);

/// Any program, on time. A limit (RLIMIT_RTPRIO) does as well as the capability, so that the kernel is asked, not this row.
pub const RUN: Privileges =
    Privileges { commands: &["run"], needs: Set::SYS_NICE, uses: STARTING, root: Root::NotAsked, keeps: None };

/// Any program, as any other is scheduled.
pub const RUN_OTHER: Privileges = Privileges {
    commands: &["run --policy other"],
    needs: NONE,
    uses: STARTING.union(Set::SYS_NICE),
    root: Root::NotAsked,
    keeps: None,
};

/// Settings of the machine.
pub const SETTINGS: Privileges = Privileges {
    commands: &["tune apply", "tune revert", "tune search", "run --isolate"],
    needs: NONE,
    uses: NONE,
    root: Root::Needed(PROC_SYS),
    keeps: None,
};

/// Kernels.
pub const KERNELS: Privileges = Privileges {
    commands: &["kernel install", "kernel keep", "kernel rollback", "tune apply --boot"],
    needs: NONE,
    uses: NONE,
    root: Root::Needed("boot files, modules and `/var/lib/ontick` are root's"),
    keeps: None,
};

/// The kernel's trace.
pub const TRACING: Privileges = Privileges {
    commands: &["inspect"],
    needs: NONE,
    uses: NONE,
    root: Root::DoesMore(
        "the kernel's trace file system is root's, as it is for `--explain`; without it they say less, and why",
    ),
    keeps: None,
};

/// All of them, as the page shows them.
pub const ALL: [&Privileges; 24] = [
    &MEASURING,
    &HWLAT,
    &ROUND_TRIP,
    &ROUND_TRIP_UDP,
    &GPIO_WATCH,
    &SAMPLE,
    &WATCH,
    &WATCHED_CPU,
    &FRAMES,
    &DATAGRAMS,
    &LISTENING,
    &LISTENING_UDP,
    &SWITCH_RUN,
    &SWITCH_APPLY,
    &SWITCH_CHANGE,
    &NAMESPACES,
    &NETWORK_TIME,
    &NETWORK_TIME_FREE,
    &RUN,
    &RUN_OTHER,
    &SETTINGS,
    &PROVE_TUNED,
    &KERNELS,
    &TRACING,
];
