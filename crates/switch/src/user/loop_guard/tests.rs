use super::*;

const TURN: Duration = Duration::from_millis(100);

/// Ports at segments of a network; those at the same one are joined.
struct Outside {
    segments: Vec<u32>,
    looped: Vec<u64>,
    moved: u64,
    closed: Vec<bool>,
    now: Duration,
}

impl Outside {
    fn new(segments: &[u32]) -> Self {
        let ports = segments.len();
        Self { segments: segments.into(), looped: vec![0; ports], moved: 0, closed: vec![false; ports], now: TURN }
    }

    /// Whether broadcasts go round: two open ports at one segment.
    fn storms(&self) -> bool {
        let open = |at: &usize| !self.closed[*at];
        let ports: Vec<usize> = (0..self.segments.len()).filter(open).collect();
        ports.iter().any(|a| ports.iter().any(|b| a < b && self.segments[*a] == self.segments[*b]))
    }

    /// As the core counts: a probe leaves by open ports, and the higher of the two has made the loop.
    fn probe(&mut self) {
        for out in (0..self.segments.len()).filter(|out| !self.closed[*out]) {
            for into in (0..self.segments.len()).filter(|into| *into != out) {
                if self.segments[into] == self.segments[out] {
                    self.looped[into.max(out)] += 1;
                }
            }
        }
    }

    /// A tenth of a second; what was done.
    fn turn(&mut self, guard: &mut LoopGuard) -> Vec<Action> {
        self.now += TURN;
        if self.storms() {
            self.moved += 1_000;
        }
        let actions = guard.poll(self.now, &self.looped, self.moved);
        for action in &actions {
            match *action {
                Action::Probe => self.probe(),
                Action::Close(port) => self.closed[port] = true,
                Action::Reopen(port) => self.closed[port] = false,
            }
        }
        actions
    }

    fn run(&mut self, guard: &mut LoopGuard, time: Duration) {
        (0..time.as_millis() / TURN.as_millis()).for_each(|_| drop(self.turn(guard)));
    }
}

#[test]
fn of_a_loop_one_port_is_closed_at_once_and_the_other_kept() {
    let mut outside = Outside::new(&[1, 2, 3]);
    let mut guard = LoopGuard::new(3, outside.now, 7);
    outside.run(&mut guard, Duration::from_secs(60));
    assert_eq!(outside.closed, [false; 3]);
    outside.segments[2] = 1;
    outside.run(&mut guard, Duration::from_millis(800));
    assert_eq!(outside.closed, [false, false, true], "within a second");
    outside.run(&mut guard, Duration::from_secs(600));
    assert_eq!(outside.closed, [false, false, true], "for as long as the loop is there");
    outside.segments[2] = 3;
    outside.run(&mut guard, QUIET + SLOT * SLOTS as u32 + Duration::from_secs(1));
    assert_eq!(outside.closed, [false; 3], "and opened soon after");
}

#[test]
fn of_several_ports_at_one_network_the_first_is_kept() {
    let mut outside = Outside::new(&[1, 1, 2, 1]);
    let mut guard = LoopGuard::new(4, outside.now, 7);
    outside.run(&mut guard, Duration::from_secs(2));
    assert_eq!(outside.closed, [false, true, false, true]);
    // Its cable is pulled: the next takes its place.
    outside.segments[0] = 9;
    assert!(!guard.link_changed(0));
    outside.run(&mut guard, QUIET + SLOT * SLOTS as u32 + Duration::from_secs(3));
    assert!(outside.closed.iter().zip(&outside.segments).any(|(closed, segment)| *segment == 1 && !closed));
    assert!(!outside.storms());
}

#[test]
fn a_link_that_changed_is_tried_and_probed_at_once() {
    let mut outside = Outside::new(&[1, 1]);
    let mut guard = LoopGuard::new(2, outside.now, 7);
    outside.run(&mut guard, Duration::from_secs(2));
    assert!(guard.is_closed(1) && !guard.is_closed(0));
    assert!(guard.link_changed(1));
    outside.closed[1] = false;
    assert!(outside.turn(&mut guard).contains(&Action::Probe));
    outside.turn(&mut guard);
    assert!(guard.is_closed(1) && outside.closed[1]);
}

/// Two switches and the cables between them: the port of the one, and of the other.
struct Two {
    guards: [LoopGuard; 2],
    cables: Vec<[usize; 2]>,
    looped: [Vec<u64>; 2],
    closed: [Vec<bool>; 2],
    moved: u64,
    now: Duration,
    /// Probes come back so much later, and of so many one comes through a storm.
    way: Duration,
    one_of: u64,
    chance: u64,
    /// When they come, and where.
    under_way: Vec<(Duration, usize, usize)>,
}

impl Two {
    fn new(cables: &[[usize; 2]], seed: u64, way: Duration, one_of: u64) -> Self {
        let (ports, now) = (cables.len(), TURN);
        Self {
            guards: [0, 1].map(|n| LoopGuard::new(ports, now, 2 * seed + n)),
            cables: cables.into(),
            looped: [vec![0; ports], vec![0; ports]],
            closed: [vec![false; ports], vec![false; ports]],
            moved: 0,
            now,
            way,
            one_of,
            chance: seed,
            under_way: Vec::new(),
        }
    }

    fn comes_through(&mut self) -> bool {
        self.chance = self.chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.carry() < 2 || (self.chance >> 33) % self.one_of == 0
    }

    /// Cables that carry frames.
    fn carry(&self) -> usize {
        self.cables.iter().filter(|cable| (0..2).all(|side| !self.closed[side][cable[side]])).count()
    }

    /// A probe of one goes over each cable, through the other, and back over each further one; a closed port hears it.
    fn probe(&mut self, side: usize) {
        let open = |side: usize, cable: &[usize; 2]| !self.closed[side][cable[side]];
        let there = self.cables.iter().filter(|cable| open(0, cable) && open(1, cable));
        let pairs = there.flat_map(|there| self.cables.iter().map(move |back| (there, back)));
        let back = pairs.filter(|(there, back)| there != back && open(1 - side, back));
        let ports: Vec<usize> = back.map(|(there, back)| there[side].max(back[side])).collect();
        for port in ports {
            if self.comes_through() {
                self.under_way.push((self.now + self.way, side, port));
            }
        }
    }

    /// A tenth of a second, half of which lies between their looks.
    fn turn(&mut self) {
        for side in 0..2 {
            self.now += TURN / 2;
            self.moved += if self.carry() > 1 { 1_000 } else { 0 };
            let now = self.now;
            let looped = &mut self.looped;
            self.under_way.retain(|(comes, side, port)| {
                looped[*side][*port] += u64::from(*comes <= now);
                *comes > now
            });
            for action in self.guards[side].poll(self.now, &self.looped[side], self.moved) {
                match action {
                    Action::Probe => self.probe(side),
                    Action::Close(port) => self.closed[side][port] = true,
                    Action::Reopen(port) => self.closed[side][port] = false,
                }
            }
        }
    }

    /// For how many tenths of a second nothing passed, and frames went round.
    fn run(&mut self, time: Duration) -> (u32, u32) {
        let (mut none, mut round) = (0, 0);
        for _ in 0..time.as_millis() / TURN.as_millis() {
            self.turn();
            match self.carry() {
                0 => none += 1,
                1 => {}
                _ => round += 1,
            }
        }
        (none, round)
    }
}

#[test]
fn two_switches_come_to_leave_one_of_their_cables() {
    let cables = [&[[0, 0], [1, 1]][..], &[[0, 1], [1, 0]], &[[0, 0], [1, 1], [2, 2]], &[[0, 2], [1, 1], [2, 0]]];
    let (slow, soon) = (Duration::from_millis(200), Duration::ZERO);
    // How long nothing passed, and how long frames went round, in tenths of a second.
    for (way, one_of, without, storm) in [(soon, 1, 150, 60), (slow, 1, 150, 60), (soon, 10, 150, 120)] {
        let (mut most_none, mut most_round) = (0, 0);
        for (cables, seed) in cables.iter().flat_map(|cables| (0..50).map(move |seed| (cables, seed))) {
            let mut two = Two::new(cables, seed, way, one_of);
            let (none, round) = two.run(Duration::from_secs(120));
            assert_eq!(two.run(Duration::from_secs(120)), (0, 0), "{cables:?} {seed}: {:?}", two.closed);
            (most_none, most_round) = (most_none.max(none), most_round.max(round));
        }
        assert!(most_none < without && most_round < storm, "{way:?} {one_of}: {most_none} {most_round}");
    }
}

/// A probe goes while the gate of its class is open: here once in each of these times.
#[test]
fn a_loop_that_is_back_is_broken_also_where_probes_come_seldom() {
    for (every, seed) in [1, 5, 10].into_iter().flat_map(|every| (0..100).map(move |seed| (TURN * every, seed))) {
        let mut guard = LoopGuard::new(2, TURN, seed);
        let (mut now, mut looped) = (TURN, [0; 2]);
        // Whether the port is open, a tenth of a second later.
        let mut turn = |is_loop: bool| {
            now += TURN;
            looped[1] += u64::from(is_loop && now.as_millis() % every.as_millis() == 0);
            guard.poll(now, &looped, 0);
            !guard.is_closed(1)
        };
        while turn(true) {}
        while !turn(false) {}
        let storm = (0..100).take_while(|_| turn(true)).count() as u32 * TURN;
        assert!(storm <= SLOT * SLOTS as u32 + every * 2, "{every:?} {seed}: {storm:?}");
        assert!((0..300).all(|_| !turn(true)), "{every:?} {seed}: it is open again");
    }
}
