//! Runs made by a fixed recipe, so that tests have something realistic and always the same to show.
#![allow(dead_code, reason = "each test file uses a part")]

use ontick_record::run::{Block, Conditions, Contamination, Judged, Outlier, Settings};
use ontick_record::switching::{Class, Lost, Stall, Switching, Trial, Violation};
use ontick_record::{Case, Environment, Run, Series};

/// A small generator with a fixed seed: the same samples on every machine.
pub struct Chance(u64);

impl Chance {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// Evenly spread from 0 to 1, the ends left out.
    fn even(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }

    /// Log-normal around `median` with the given spread.
    fn around(&mut self, median: f64, spread: f64) -> f64 {
        let sum: f64 = (0..12).map(|_| self.even()).sum::<f64>() - 6.0;
        median * (spread * sum).exp()
    }
}

/// How latencies of a series are spread: mostly around the median, now and then far out.
#[derive(Clone, Copy)]
pub struct Shape {
    pub median_ns: f64,
    pub spread: f64,
    /// Share of the samples that lie in the tail.
    pub tail: f64,
    /// Where the tail begins, and how steeply it falls (larger is steeper).
    pub tail_ns: f64,
    pub steepness: f64,
    pub limit_ns: f64,
}

impl Shape {
    fn draw(&self, chance: &mut Chance) -> u64 {
        let value = if chance.even() < self.tail {
            self.tail_ns * chance.even().powf(-1.0 / self.steepness)
        } else {
            chance.around(self.median_ns, self.spread)
        };
        value.min(self.limit_ns).max(12.0) as u64
    }
}

/// The bucket of ontick's recorder: 128 per doubling, so at most 1 % wide.
fn bucket(ns: u64) -> (u64, u64) {
    let shift = (64 - ns.leading_zeros()).saturating_sub(8);
    ((ns >> shift) << shift, 1 << shift)
}

/// A series of `seconds` at 1 kHz.
pub fn series(name: &str, shape: Shape, seconds: u32, seed: u64) -> Series {
    let mut chance = Chance::new(seed);
    let mut s = Series { name: name.into(), ..Default::default() };
    let (mut min, mut max, mut sum) = (u64::MAX, 0, 0.0);
    s.maxima.step_ns = 1_000_000_000;
    for second in 0..seconds {
        let mut worst = 0;
        for cycle in 0..1_000 {
            let ns = shape.draw(&mut chance);
            let (low, width) = bucket(ns);
            s.latency.add(low, width, 1);
            worst = worst.max(ns);
            (min, max, sum) = (min.min(ns), max.max(ns), sum + ns as f64);
            s.missed += ns / 1_000_000;
            if ns > 100_000 {
                s.outlier_count += 1;
                s.outliers.push(Outlier {
                    at_ns: u64::from(second * 1_000 + cycle) * 1_000_000,
                    latency_ns: ns,
                    cause: None,
                });
            }
        }
        s.maxima.max_ns.push(worst);
    }
    s.latency.min_ns = Some(min);
    s.latency.max_ns = Some(max);
    s.latency.mean_ns = Some(sum / s.latency.count() as f64);
    s.settings = Settings {
        method: "hybrid".into(),
        interval_ns: 1_000_000,
        cpu: Some(3),
        policy: "fifo:99".into(),
        memory_locked: true,
        phase_ns: Some(480_000),
        phase_choice: "auto".into(),
        margin_ns: Some(61_000),
        spin_duty: Some(0.06),
        clock: "monotonic (cntvct)".into(),
        load: "none".into(),
        outlier_threshold_ns: 100_000,
        ..Default::default()
    };
    s.contamination = Contamination { voluntary_switches: u64::from(seconds) * 1_000, ..Default::default() };
    s.conditions = Conditions {
        load_average: Some([0.62, 0.48, 0.30]),
        steal_ns: 20_000_000,
        idle_ns: 31_000_000_000,
        interrupts: [("arch_timer".into(), 4_211), ("mmc0".into(), 37)].into(),
        cpu_khz: Some((600_000, 1_400_000)),
        rivals: Vec::new(),
    };
    s
}

pub fn environment() -> Environment {
    Environment {
        machine: "Raspberry Pi 3 Model B Plus Rev 1.3".into(),
        processor: "Cortex-A53".into(),
        architecture: "aarch64".into(),
        system: "Debian GNU/Linux 12 (bookworm)".into(),
        kernel: "6.12.34+rpt-rpi-v8".into(),
        kernel_build: "#1 SMP PREEMPT Debian 1:6.12.34-1+rpt1".into(),
        preemption: "full".into(),
        cpus_online: 4,
        governor: "ondemand".into(),
        clocksource: "arch_sys_counter".into(),
        tick_hz: Some(250),
        rt_throttling: "950000/1000000".into(),
        kernel_arguments: "console=tty1 root=PARTUUID=5e3da3da-02 rootwait".into(),
        ..Default::default()
    }
}

const STOCK: Shape =
    Shape { median_ns: 58e3, spread: 0.11, tail: 0.012, tail_ns: 90e3, steepness: 1.6, limit_ns: 21e6 };
const ONTICK: Shape =
    Shape { median_ns: 410.0, spread: 0.17, tail: 0.0011, tail_ns: 1_300.0, steepness: 1.2, limit_ns: 41e3 };

/// `prove`: four series of 15 s, three interleaved blocks each.
pub fn prove() -> Run {
    let mut run = Run::new("ontick 0.1.0", "prove");
    run.started = "2026-03-14T09:26:53Z".into();
    run.duration_ns = 60_000_000_000;
    run.environment = Some(environment());
    let stock_loaded = Shape { median_ns: 71e3, spread: 0.2, tail: 0.03, steepness: 0.9, ..STOCK };
    let ontick_loaded = Shape { median_ns: 520.0, spread: 0.22, tail: 0.004, steepness: 0.95, ..ONTICK };
    for (i, (name, shape)) in [
        ("stock, idle", STOCK),
        ("ontick, idle", ONTICK),
        ("stock, loaded", stock_loaded),
        ("ontick, loaded", ontick_loaded),
    ]
    .into_iter()
    .enumerate()
    {
        let mut s = series(name, shape, 15, 11 + i as u64);
        s.case = Case::of_name(&run.measurement, name).unwrap();
        if name.starts_with("stock") {
            stock_settings(&mut s);
        }
        if name.ends_with("loaded") {
            s.settings.load = "cpu: stress-ng --cpu 4".into();
            s.conditions.load_average = Some([4.1, 2.2, 1.0]);
        }
        s.blocks = blocks(&s, i as u32);
        run.series.push(s);
    }
    run.requirements = vec![
        Judged {
            requirement: "99% < 3us".into(),
            series: "ontick, loaded".into(),
            observed: "99.7733% < 3us".into(),
            met: true,
            unproven: false,
        },
        Judged {
            requirement: "max < 30us".into(),
            series: "ontick, loaded".into(),
            observed: "max 41.0us".into(),
            met: false,
            unproven: false,
        },
    ];
    run.notes = vec!["/dev/cpu_dma_latency could not be opened: the CPU may fall into deep sleep between cycles; run as root to hold it awake.".into()];
    run
}

fn stock_settings(s: &mut Series) {
    s.settings = Settings {
        method: "nanosleep".into(),
        policy: "other".into(),
        interval_ns: 1_000_000,
        clock: "monotonic (vdso)".into(),
        load: "none".into(),
        outlier_threshold_ns: 100_000,
        ..Default::default()
    };
    s.contamination.involuntary_switches = 214;
    s.contamination.minor_faults = 3;
}

/// ABBA: stock, ontick, ontick, stock; idle blocks first, then loaded ones.
fn blocks(s: &Series, index: u32) -> Vec<Block> {
    let places: [u32; 3] = if index % 2 == 0 { [0, 3, 4] } else { [1, 2, 5] };
    let (p50, p99) = (s.latency.quantile(0.5).unwrap(), s.latency.quantile(0.99).unwrap());
    let drift = [1.0, 1.08, 0.95];
    let block = |(i, place): (usize, u32)| Block {
        order: place + 6 * (index / 2),
        samples: 5_000,
        p50_ns: (p50 as f64 * drift[i]) as u64,
        p99_ns: (p99 as f64 * drift[2 - i] * drift[i]) as u64,
        max_ns: *s.maxima.max_ns[i * 5..i * 5 + 5].iter().max().unwrap(),
        steal_ns: 10_000_000 * i as u64,
        load_average: 0.4 + f64::from(index / 2) * 3.6,
    };
    places.into_iter().enumerate().map(block).collect()
}

/// `timer --explain`: causes of many outliers, and two described in full.
pub fn explained() -> Run {
    use ontick_record::run::{Cause, Explained, Happening, Tracing};
    let mut run = single();
    let s = &mut run.series[0];
    let named = [
        ("device interrupt", "mmc0", 5),
        ("timer tick", "", 19),
        ("another task", "a kernel worker with a long name/3:1H-events_highpri (other)", 4),
        ("outside the kernel", "", 3),
    ];
    s.causes = named
        .into_iter()
        .chain((0..7).map(|_| ("softirq", "NET_RX", 1)))
        .map(|(cause, detail, count)| Cause {
            cause: cause.into(),
            detail: detail.into(),
            count,
            share: count as f64 / 38.0,
            p50_ns: 12_000 * count,
            max_ns: 41_000 * count,
            sum_ns: 14_000 * count * count,
        })
        .collect();
    let happening = |from_ns, length_ns, what: &str| Happening { from_ns, length_ns, what: what.into() };
    s.explained = vec![Explained {
        at_ns: 5_000_000_000,
        latency_ns: 205_000,
        cause: "device interrupt".into(),
        detail: "mmc0".into(),
        happened: vec![happening(-4_000, 6_000, "the thread"), happening(2_000, 203_000, "interrupt mmc0")],
        stack: Vec::new(),
        stack_of: String::new(),
    }];
    s.tracing = Some(Tracing { events: 120_000, lost: 0, event_cost_ns: 240, outliers: 38, ..Tracing::default() });
    run
}

/// `timer --method all`: one series per way of waiting, 4 s each.
pub fn methods() -> Run {
    let mut run = Run::new("ontick 0.1.0", "timer");
    run.started = "2026-03-14T10:00:00Z".into();
    run.environment = Some(environment());
    let methods = [
        ("clock_nanosleep", 17e3),
        ("nanosleep", 72e3),
        ("timerfd", 24e3),
        ("posix-timer", 26e3),
        ("setitimer", 33e3),
        ("select", 19e3),
        ("poll", 140e3),
        ("epoll-timerfd", 25e3),
        ("futex", 18e3),
        ("io_uring", 21e3),
        ("spin", 150.0),
        ("hybrid", 180.0),
    ];
    for (i, (name, median_ns)) in methods.into_iter().enumerate() {
        let shape = Shape { median_ns, tail_ns: median_ns * 2.0, ..ONTICK };
        let mut s = series(name, Shape { limit_ns: 3e6, ..shape }, 4, 31 + i as u64);
        s.settings.method = name.into();
        s.settings.margin_ns = None;
        s.settings.spin_duty = None;
        run.series.push(s);
    }
    run.duration_ns = 48_000_000_000;
    run
}

/// One series of `timer`, with the machine left out as an import does.
pub fn single() -> Run {
    let mut run = Run::new("ontick 0.1.0", "timer");
    run.series.push(series("hybrid", ONTICK, 10, 5));
    run.duration_ns = 10_000_000_000;
    run
}

/// Source 004's switch with gates and without: blue has four fifths of the millisecond, red the rest.
pub fn switch() -> Run {
    let mut run = Run::new("ontick 0.1.0", "switch demo");
    run.environment = Some(environment());
    run.simulated = Some("virtual Ethernet (veth) between network namespaces of this machine".into());
    run.duration_ns = 6_000_000_000;
    let mut chance = Chance::new(17);
    let trials = vec![trial(true, &mut chance), trial(false, &mut chance)];
    run.series = trials[0]
        .classes
        .iter()
        .map(|class| Series { name: class.name.clone(), latency: class.first.clone(), ..Series::default() })
        .collect();
    run.switch = Some(Switching {
        name: "demo".into(),
        plane: "user".into(),
        about: "user data plane, CPU 3, fifo:99".into(),
        from: "port1".into(),
        to: "port2".into(),
        rate: 1_000_000_000,
        clock: "tai".into(),
        link: "modelled at 1 Gb/s".into(),
        stamps: "kernel".into(),
        cycle_ns: 1_000_000,
        guard_ns: 1_000,
        closed_ns: 0,
        trials,
    });
    run
}

fn trial(gates: bool, chance: &mut Chance) -> Trial {
    let class = |name: &str, queue, open: (u64, u64), chance: &mut Chance| {
        let within = |share: f64| {
            if gates { open.0 + (share * open.1 as f64) as u64 } else { (share * 1e6) as u64 }
        };
        let mut class = Class {
            name: name.into(),
            queue,
            octets: 1518,
            offered: Some(48_000),
            windows: vec![open],
            sent: 240_000,
            received: 239_990,
            dropped: 7,
            judged: 239_990,
            outside: if gates { 3 } else { 48_000 },
            folded: vec![0; 1_000],
            ..Class::default()
        };
        for _ in 0..20_000 {
            class.folded[(within(chance.even()) / 1_000).min(999) as usize] += 1;
        }
        for cycle in 0..4 {
            class.arrivals.extend((0..40).map(|nth| cycle * 1_000_000 + within(f64::from(nth) / 40.0)));
        }
        for _ in 0..4_000 {
            for (histogram, median) in
                [(&mut class.first, 700.0), (&mut class.delay, 90_000.0), (&mut class.jitter, 3_000.0)]
            {
                let (low, width) = bucket(chance.around(median, 0.4) as u64);
                histogram.add(low, width, 1);
            }
        }
        class
    };
    let classes = vec![class("blue", 0, (0, 800_000), chance), class("red", 1, (800_000, 200_000), chance)];
    let violation = Violation {
        class: "blue".into(),
        at_ns: 1_200_000_000,
        frames: 6,
        by_ns: 5_100_000,
        ends: false,
        late: true,
        cause: gates.then(|| "the switch did not run for 5.21ms".into()),
    };
    Trial {
        name: if gates { "gates on" } else { "gates off" }.into(),
        gates,
        duration_ns: 5_000_000_000,
        kept_cycles: 4,
        classes,
        elsewhere: vec![Lost { place: "ring of port port1".into(), frames: 6 }],
        violations: vec![violation],
        more_violations: 0,
        stalls: vec![Stall { at_ns: 1_199_000_000, length_ns: 5_210_000, cause: Some("outside the kernel".into()) }],
        more_stalls: 0,
    }
}

/// A switch whose record makes no sense: names that break, windows and places beyond the cycle, nothing to show.
pub fn hostile_switch() -> Run {
    let mut run = switch();
    let evil = "</script><script>alert(1)</script> \u{1b}[2J \u{0}\n";
    let switch = run.switch.as_mut().unwrap();
    (switch.name, switch.about, switch.plane) = (evil.into(), evil.into(), evil.into());
    (switch.cycle_ns, switch.rate) = (0, 0);
    let trial = &mut switch.trials[0];
    (trial.name, trial.kept_cycles) = (evil.into(), u32::MAX);
    trial.classes[0].name = evil.into();
    trial.classes[0].windows = vec![(u64::MAX, u64::MAX), (7, 0)];
    trial.classes[0].arrivals = vec![u64::MAX, 0];
    trial.classes[0].folded = vec![u64::MAX; 3];
    trial.classes[1].folded = Vec::new();
    (trial.classes[0].sent, trial.classes[1].sent) = (u64::MAX, u64::MAX);
    trial.elsewhere[0].place = evil.into();
    trial.violations[0].cause = Some(evil.into());
    run
}

/// Strings that break what does not escape.
pub fn hostile() -> Run {
    let mut run = single();
    let evil = "</script><script>alert(1)</script> & \"q\" 'a' \\ \u{1b}[2J \u{0} {x=\"y\"}\n# EOF";
    run.environment = Some(environment());
    let e = run.environment.as_mut().unwrap();
    (e.machine, e.kernel, e.governor) = (evil.into(), evil.into(), evil.into());
    (run.tool, run.started) = (evil.into(), evil.into());
    run.notes.push(evil.into());
    run.simulated = Some(evil.into());
    run.series[0].name = evil.into();
    run.series[0].settings.method = evil.into();
    run.series[0].settings.refused.push(evil.into());
    run.series[0].conditions.interrupts.insert(evil.into(), 3);
    run.series[0].causes =
        vec![ontick_record::run::Cause { cause: evil.into(), detail: evil.into(), count: 1, ..Default::default() }];
    run.series[0].explained = vec![ontick_record::run::Explained {
        cause: evil.into(),
        happened: vec![ontick_record::run::Happening { what: evil.into(), ..Default::default() }],
        ..Default::default()
    }];
    run.requirements.push(Judged {
        requirement: evil.into(),
        series: evil.into(),
        observed: evil.into(),
        ..Judged::default()
    });
    run
}

/// Samples of a sine with holes in it.
pub fn signal() -> Run {
    let mut run = single();
    run.measurement = "sample".into();
    let value = |i: u32| (f64::from(i) * std::f64::consts::TAU / 20.0).sin();
    let values = (0..400).map(|i| (!(50..53).contains(&i)).then(|| value(i))).collect();
    run.signal = Some(ontick_record::run::Signal {
        channel: "sine".into(),
        unit: "V".into(),
        step_ns: Some(1_000_000),
        values,
        missed_late: 3,
        missed_full: 0,
    });
    run
}
