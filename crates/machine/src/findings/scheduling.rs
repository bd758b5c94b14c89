//! Who may take the CPU from a real-time task, and whether this process may have it at all.

use super::{Check, CheckInput, MS, Observation, Remedy, US};
use crate::target::Profile;

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "isolation",
        why: "on a CPU that is not kept apart any task may be put, and its kernel work with it",
        source: "source 000: 99+ % under 3 µs on an isolated core; source 003: 14 ms without, 97 µs with one",
        look: |look| isolation(look).only(),
    },
    Check {
        id: "rt-throttling",
        why: "with throttling a loop that never sleeps loses 50 ms of every second",
        source: "source 000: 50 ms lost every second; kernel: scheduler/sched-rt-group",
        look: |look| {
            let scheduling = &look.facts.scheduling;
            match (scheduling.runtime_us, scheduling.period_us) {
                (Some(-1), _) => Observation::ok("off").only(),
                (Some(runtime), Some(period)) if runtime < period => {
                    let lost = (period - runtime).unsigned_abs() * US;
                    let seen = format!("{runtime} of {period} µs");
                    let should = "off, or a loop that sleeps part of each period";
                    let found = match look.target.profile {
                        Profile::DedicatedCore => Observation::bad(seen, should),
                        _ => Observation::warn(seen, should),
                    };
                    found.costs(lost).knob("rt-throttling").boot(Remedy::AtBoot(None)).only()
                }
                (Some(_), Some(_)) => Observation::ok("off (runtime is the whole period)").only(),
                _ => Observation::unknown("the limit cannot be read", "-1").only(),
            }
        },
    },
    Check {
        id: "fair-server",
        why: "since Linux 6.12 starving normal tasks get their share of a CPU that a real-time task spins on, throttling off or not",
        source: "measured on another machine with Linux 6.18: a spinning FIFO 99 loop lost 54 ms once a second, one that slept 10 % of each period nothing",
        look: |look| fair_server(look).only(),
    },
    Check {
        id: "stalld",
        why: "stalld gives a thread that starves behind a real-time one time by SCHED_DEADLINE, which comes before every priority",
        source: "stalld(8): -c, -t, -r, -p; man 7 sched (SCHED_DEADLINE)",
        look: |look| stalld(look).into_iter().collect(),
    },
    Check {
        id: "rt-group",
        why: "with RT_GROUP_SCHED and version 1 groups a new group has no real-time time, and SCHED_FIFO is refused with EPERM even to root",
        source: "measured on another machine with Linux 6.18; kernel: scheduler/sched-rt-group",
        look: |look| rt_group(look).into_iter().collect(),
    },
    Check {
        id: "deadline-timer",
        why: "without HRTICK SCHED_DEADLINE periods under 2 ms are not kept precisely",
        source: "measured on another machine with Linux 6.18; kernel: kernel/sched/features.h (HRTICK_DL)",
        look: |look| match look.facts.scheduling.hrtick {
            Some(true) => Observation::ok("the kernel has HRTICK").only(),
            Some(false) => Observation::warn("no HRTICK", "SCHED_FIFO for periods under 2 ms").only(),
            None => Vec::new(),
        },
    },
    Check {
        id: "priority-limit",
        why: "without the right to a real-time policy a timed program waits behind every other",
        source: "source 001: poll in → out below 50 µs with FIFO 99, above 500 µs without; man 7 sched",
        look: |look| {
            let limits = &look.facts.limits;
            match (limits.may_set_priority, limits.priority) {
                (true, _) => Observation::ok("any policy and priority (CAP_SYS_NICE)").only(),
                (_, Some(p)) if p >= 99 => Observation::ok(format!("priorities up to {p}")).only(),
                (_, Some(p)) => Observation::bad(format!("real-time priorities up to {p}"), "99, or CAP_SYS_NICE")
                    .costs_elsewhere(500 * US)
                    .now("sudo, or setcap cap_sys_nice,cap_ipc_lock+ep on the program")
                    .boot("\"@realtime - rtprio 99\" in /etc/security/limits.d, or LimitRTPRIO=99 in the unit")
                    .only(),
                _ => Observation::unknown("the limit cannot be read", "99").only(),
            }
        },
    },
    Check {
        id: "memory-limit",
        why: "memory that is not locked is given away, and a page fault costs µs, from a disk ms",
        source: "man 2 mlockall; source 003: the task locked in memory",
        look: |look| {
            let limits = &look.facts.limits;
            match (limits.may_lock, limits.locked_bytes) {
                (true, _) => Observation::ok("any amount may be locked (CAP_IPC_LOCK)").only(),
                (_, Some(u64::MAX)) => Observation::ok("no limit").only(),
                (_, Some(bytes)) => Observation::warn(
                    format!("{} KiB may be locked", bytes >> 10),
                    "no limit, or CAP_IPC_LOCK",
                )
                .now("sudo, or setcap cap_sys_nice,cap_ipc_lock+ep on the program")
                .boot(
                    "\"@realtime - memlock unlimited\" in /etc/security/limits.d, or LimitMEMLOCK=infinity in the unit",
                )
                .only(),
                _ => Observation::unknown("the limit cannot be read", "no limit").only(),
            }
        },
    },
];

fn isolation(look: &CheckInput) -> Observation {
    let facts = look.facts;
    let cpus = &look.target.cpus;
    if facts.cpus.online.len() < 2 {
        let should = "a second CPU, or work that can wait; a BeagleBone has its PRUs for the rest";
        return Observation::bad("this machine has one CPU, shared with everything", should).costs_elsewhere(14 * MS);
    }
    let partition = facts.cgroups.isolated();
    match (cpus.within(&facts.cpus.isolated), cpus.within(&partition)) {
        (true, _) => Observation::ok(format!("CPU {cpus} is isolated at boot")),
        (_, true) => Observation::ok(format!("CPU {cpus} is isolated by a control group")),
        _ => {
            let broken = facts.cgroups.partitions.iter().find(|p| p.state.contains("invalid"));
            let seen = match broken {
                Some(p) => format!("CPU {cpus} is shared; the partition {} is {}", p.folder, p.state),
                None => format!("CPU {cpus} is shared with every task"),
            };
            Observation::bad(seen, "isolated")
                .costs_elsewhere(14 * MS)
                .now(Remedy::Isolate)
                .boot(Remedy::at_boot(format!("isolcpus={cpus}")))
        }
    }
}

fn fair_server(look: &CheckInput) -> Observation {
    let scheduling = &look.facts.scheduling;
    if !scheduling.fair_server {
        return Observation::ok("this kernel has none (it came with Linux 6.12)");
    }
    let advice = "no normal task on that CPU, and a loop that sleeps 10 % of each period";
    let on_aim: Vec<_> = look.target.cpus.iter().filter_map(|cpu| scheduling.fair_servers.get(&cpu)).collect();
    match on_aim.iter().max_by_key(|server| server.runtime_ns) {
        None => Observation::warn("present, and debugfs does not show it here", advice)
            .costs_elsewhere(54 * MS)
            .now(Remedy::Isolate),
        Some(server) if server.runtime_ns == 0 => Observation::ok("switched off"),
        Some(server) => {
            let seen = format!(
                "{} ms of every {} ms for starving normal tasks",
                server.runtime_ns / MS,
                server.period_ns / MS
            );
            Observation::warn(seen, format!("0, or {advice}")).costs(server.runtime_ns).knob("fair-server")
        }
    }
}

fn stalld(look: &CheckInput) -> Option<Observation> {
    let stalld = look.facts.stalld.as_ref()?;
    let cpus = &look.target.cpus;
    if let Some(watched) = stalld.cpus.as_ref().filter(|watched| !watched.meets(cpus)) {
        return Some(Observation::ok(format!("it watches CPU {watched}, not CPU {cpus}")));
    }
    if stalld.log_only {
        return Some(Observation::ok("it only logs threads that starve"));
    }
    let seen = format!(
        "it watches CPU {cpus}: a thread that starves for {} s gets {} µs of every {} ms there",
        stalld.threshold_s,
        stalld.runtime_ns / US,
        stalld.period_ns / MS
    );
    let should = "no other task on that CPU and a loop that sleeps, so that none starves; where the loop never sleeps, a \
                  short -r, as without stalld the kernel's own threads of that CPU starve for good";
    let found = Observation::warn(seen, should).costs(stalld.runtime_ns);
    // Where it stays for the others.
    let others = &look.target.others;
    Some(match look.target.can_dedicate() {
        true => {
            found.now(format!("-c {others} in stalld's options (CLIST in /etc/sysconfig/stalld), if the loop sleeps"))
        }
        false => found,
    })
}

fn rt_group(look: &CheckInput) -> Option<Observation> {
    let scheduling = &look.facts.scheduling;
    let group = scheduling.group.as_ref()?;
    let root = group.root_file.rsplit_once('/').map_or("", |(folder, _)| folder);
    Some(match (group.own_runtime_us, group.root_runtime_us) {
        (Some(0), _) => Observation::bad(
            format!("the group {} of this session has no real-time time", group.own),
            "some, or the root group",
        )
        .now(format!("echo $$ > {root}/tasks, or give the group cpu.rt_runtime_us")),
        (_, Some(runtime)) if runtime >= 0 && scheduling.runtime_us == Some(-1) => {
            Observation::warn(format!("the root group is still limited to {runtime} µs"), "-1, as the sysctl says")
                .knob("rt-group-throttling")
        }
        _ => Observation::ok(format!("the group {} may use real-time policies", group.own)),
    })
}
