//! Several cores of one switch: together they do what one does.

use super::*;
use crate::user::spread::Spread;

/// A switch whose ports several cores share out, and what commands each of them.
struct Cores<'c> {
    cores: Vec<Core<'c, Near, Clock>>,
    commands: Vec<Producer<Command<Near>>>,
    spread: Spread,
    _ends: Vec<(Consumer<Discarded<Near>>, Consumer<Stall>)>,
}

impl<'c> Cores<'c> {
    fn new(bench: &'c Bench, switch: &Switch, cores: usize) -> Self {
        let spread = Spread::over(cores, switch);
        let (mut commands, mut ends) = (Vec::new(), Vec::new());
        let of_core = |(own, part): (usize, Part)| {
            let (send, to_core) = RingBuffer::new(8);
            let (discarded, freed) = RingBuffer::new(8);
            let (stalls, reported) = RingBuffer::new(8);
            commands.push(send);
            ends.push((freed, reported));
            let attach = |(port, far): (usize, &Far)| {
                let near = || Near(far.clone(), bench.clock.clone());
                let port = (spread.core_of(port) == own).then(near);
                PortConfig { port, rate: GIGABIT, schedule: None }
            };
            let ports = bench.far.iter().enumerate().map(attach).collect();
            let channels = Channels { commands: to_core, discarded, stalls };
            Core::of_part(switch, part, ports, bench.clock.clone(), &bench.counters, channels, 3)
        };
        let cores = Part::of_each(switch, &spread, 3).into_iter().enumerate().map(of_core).collect();
        Self { cores, commands, spread, _ends: ends }
    }

    fn turns(&mut self, count: usize) {
        (0..count).for_each(|_| self.cores.iter_mut().for_each(Core::turn));
    }

    fn command(&mut self, command: Command<Near>) {
        let core = self.spread.core_of(command.port().unwrap());
        assert!(self.commands[core].push(command).is_ok());
        self.cores[core].housekeeping();
    }
}

fn come(bench: &Bench, port: usize, frame: Vec<u8>) {
    bench.far[port].0.borrow_mut().coming.push_back(frame);
}

/// One counter of each port.
fn each(bench: &Bench, counter: impl Fn(&crate::user::counters::PortCounters) -> u64) -> Vec<u64> {
    bench.counters.ports.iter().map(counter).collect()
}

proptest! {
    #[test]
    fn several_cores_do_what_one_does(
        frames in prop::collection::vec((0usize..4, 1u8..7, 1u8..7, prop::sample::select(vec![0u8, 5, 7])), 1..60),
        cores in 2usize..5,
        together: bool,
    ) {
        let done = |cores: usize| {
            let bench = Bench::new(4);
            let mut all = Cores::new(&bench, &switch(4, 64), cores);
            // Where all come together, who is where is known before: learning depends on which core is first.
            for (port, station) in (0..4).zip(1..).filter(|_| together) {
                come(&bench, port, frame(station, 90, 0, 0, 60));
                all.turns(10);
            }
            for (number, (port, from, to, pcp)) in frames.iter().copied().enumerate() {
                let from = if together { port as u8 + 1 } else { from };
                come(&bench, port, frame(from, to, pcp, number as u32, 60));
                all.turns(if together { 0 } else { 30 });
            }
            all.turns(2_000);
            assert!(all.cores.iter().all(Core::is_idle));
            // In the order of each way and class; what comes by several ways may overtake.
            let mut left: Vec<Vec<Vec<u8>>> = bench.far.iter().map(gone).collect();
            left.iter_mut().filter(|_| together).for_each(|of| of.sort_by_key(|frame| (frame[11], pcp(frame))));
            let received = each(&bench, |port| port.received.get());
            let sent = each(&bench, |port| port.queues.iter().map(|queue| queue.sent.get()).sum());
            let dropped = each(&bench, |port| port.not_forwarded().iter().map(|(_, n)| n).sum());
            (left, received, sent, dropped, each(&bench, |port| port.flooded.get()))
        };
        prop_assert_eq!(done(cores), done(1));
    }
}

#[test]
fn what_finds_no_room_between_the_cores_is_counted() {
    let bench = Bench::new(2);
    let mut all = Cores::new(&bench, &switch(2, 1_000), 2);
    (0..600).for_each(|n| come(&bench, 0, frame(1, 2, 0, n, 60)));
    // The other core is held up.
    (0..1_000).for_each(|_| all.cores[0].turn());
    assert_eq!(each(&bench, |port| port.not_crossed.get()), [600 - 512, 0]);
    all.turns(5_000);
    let numbers: Vec<u32> = gone(&bench.far[1]).iter().map(|frame| number(frame)).collect();
    assert_eq!(numbers, (0..512).collect::<Vec<_>>());
    // Their boxes are free again.
    (600..1_100).for_each(|n| come(&bench, 0, frame(1, 2, 0, n, 60)));
    all.turns(5_000);
    assert_eq!((gone(&bench.far[1]).len(), each(&bench, |port| port.not_crossed.get())), (1_012, vec![88, 0]));
}

#[test]
fn a_link_that_goes_is_forgotten_by_all_cores_and_counted_by_its_own() {
    let bench = Bench::new(3);
    let mut all = Cores::new(&bench, &switch(3, 8), 3);
    come(&bench, 1, frame(2, 9, 0, 0, 60));
    all.turns(20);
    come(&bench, 0, frame(1, 2, 0, 1, 60));
    all.turns(20);
    assert_eq!((gone(&bench.far[1]).len(), gone(&bench.far[2]).len()), (1, 1), "it is known where station 2 is");
    all.command(Command::Link(1, false));
    come(&bench, 0, frame(1, 2, 0, 2, 60));
    all.turns(20);
    assert_eq!((gone(&bench.far[1]).len(), gone(&bench.far[2]).len()), (1, 2), "now nobody knows");
    assert_eq!(bench.counters.ports[1].queues[0].down.get(), 1);
    all.command(Command::Link(1, true));
    come(&bench, 0, frame(1, 2, 0, 3, 60));
    all.turns(20);
    assert_eq!(gone(&bench.far[1]).len(), 2);
}

#[test]
fn a_probe_that_comes_in_at_another_core_is_a_loop() {
    let bench = Bench::new(2);
    let mut all = Cores::new(&bench, &switch(2, 8), 2);
    // The core that sends is a round ahead of the one that hears.
    assert!(all.commands[0].push(Command::Probe).is_ok());
    all.cores[0].housekeeping();
    let probe = gone(&bench.far[0]).remove(0);
    come(&bench, 1, probe);
    all.turns(20);
    assert_eq!(each(&bench, |port| port.looped.get()), [0, 1]);
    assert_eq!(gone(&bench.far[0]).len(), 1, "it goes no further");
}

#[test]
fn the_time_between_the_cores_is_time_in_the_switch() {
    let bench = Bench::new(2);
    let mut switch = switch(2, 8);
    switch.transparent_clock = true;
    let mut all = Cores::new(&bench, &switch, 2);
    // Sync of PTP over Ethernet, with no correction.
    let mut sync = vec![1, 0x1b, 0x19, 0, 0, 0, 2, 0, 0, 0, 0, 1, 0x88, 0xf7, 0x00, 0x02, 0, 44];
    sync.resize(60, 0);
    come(&bench, 0, sync);
    all.cores[0].turn();
    bench.clock.pass(50_000);
    (0..20).for_each(|_| all.cores[1].turn());
    let sent = gone(&bench.far[1]).remove(0);
    let correction_ns = i64::from_be_bytes(*sent[14 + 8..].first_chunk().unwrap()) >> 16;
    assert!((50_000..60_000).contains(&correction_ns), "{correction_ns}");
}
