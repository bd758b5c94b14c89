use super::*;

/// Numbers without a pattern (xorshift64; Marsaglia 2003).
struct Chance(u64);

impl Chance {
    fn below(&mut self, most: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % most
    }
}

/// What the program says of pulses of 100 us every ms, each up to so much late.
fn pulses(count: u64, jitter_ns: u64) -> Vec<Interval> {
    let mut chance = Chance(88_172_645_463_325_252);
    let mut pulse = |i: u64| Interval {
        from_ns: 5_000_000_000 + i * 1_000_000 + chance.below(jitter_ns.max(1)),
        ns: 100_000 + chance.below(jitter_ns.max(1)),
        rising: true,
    };
    (0..count).map(&mut pulse).collect()
}

/// An instrument, with faults that are known.
struct Instrument {
    offset_ns: f64,
    ppm: f64,
    sample_ns: u64,
    ends_ns: u64,
}

const ANALYSER: Instrument = Instrument { offset_ns: 1_234_567_890.0, ppm: 40.0, sample_ns: 40, ends_ns: u64::MAX };

impl Instrument {
    fn time(&self, own_ns: u64) -> u64 {
        let ns = self.offset_ns + (own_ns as f64 - 5e9) * (1.0 + self.ppm / 1e6);
        (ns / self.sample_ns as f64).ceil() as u64 * self.sample_ns
    }

    /// The capture of these edges, in one channel or two.
    fn capture(&self, channels: &[Vec<Edge>]) -> Recorded {
        let edges: Vec<Vec<Edge>> = channels
            .iter()
            .map(|edges| {
                let seen = edges.iter().map(|edge| Edge { at_ns: self.time(edge.at_ns), ..*edge });
                seen.filter(|edge| edge.at_ns <= self.ends_ns).collect()
            })
            .collect();
        let last_ns = edges.iter().flatten().map(|edge| edge.at_ns).max().unwrap_or(0);
        Recorded {
            tool: "stand-in".into(),
            channels: ["D0", "D1"][..channels.len()].iter().map(|name| name.to_string()).collect(),
            ends_ns: self.ends_ns.min(last_ns + 50_000_000),
            instrument: crate::run::Instrument {
                resolution_ps: self.sample_ns * 1_000,
                edges: edges.iter().map(|edges| edges.len() as u64).sum(),
                ..Default::default()
            },
            edges,
        }
    }
}

fn edges(own: &[Interval]) -> Vec<Edge> {
    let mut all = [Between::begins(own), Between::Pulse.ends(own)].concat();
    all.sort_by_key(|edge| edge.at_ns);
    all
}

fn aligned(own: &[Interval], recorded: &Recorded) -> InstrumentCheck {
    let check = check("stand-in", own, Between::Pulse, recorded);
    assert!(check.alignment.is_some(), "{:?}", check.unaligned);
    check
}

fn why_not(own: &[Interval], recorded: &Recorded) -> String {
    check("stand-in", own, Between::Pulse, recorded).unaligned.expect("no alignment")
}

#[test]
fn offset_and_drift_are_found_and_the_figures_are_in_this_machines_time() {
    for (ppm, count) in [(40.0, 500), (-650.0, 9_000), (0.0, 60)] {
        let own = pulses(count, 3_000);
        let check = aligned(&own, &Instrument { ppm, ..ANALYSER }.capture(&[edges(&own)]));
        let alignment = check.alignment.unwrap();
        let first_ns = ANALYSER.offset_ns + (own[0].from_ns as f64 - 5e9);
        assert!((alignment.offset_ns - first_ns).abs() < 100.0, "{alignment:?}");
        let (found, sure) = (alignment.rate_ppm.unwrap(), alignment.rate_uncertainty_ppm.unwrap());
        assert!((found - ppm).abs() <= sure.max(0.05) * 2.0 && sure < 1.0, "{ppm}: {alignment:?}");
        assert_eq!((alignment.matched, alignment.missing.count, alignment.extra.count), (2 * count, 0, 0));
        assert_eq!((alignment.uncovered, alignment.outside), (0, 0));
        let [width, period] = &check.quantities[..] else { panic!("{:?}", check.quantities) };
        assert_eq!((width.quantity, width.count, period.count), (Quantity::Width, count, count - 1));
        // No edge is off by more than a sample.
        for quantity in [width, period] {
            assert!(quantity.difference.max_ns <= 40.5 && quantity.difference.min_ns >= -40.5, "{quantity:?}");
        }
        assert_eq!(width.own.max_ns, own.iter().map(|pulse| pulse.ns).max().unwrap() as f64);
    }
}

#[test]
fn each_missing_and_each_extra_edge_is_found() {
    let own = pulses(400, 2_000);
    let mut seen = edges(&own);
    // Pulse 350 is not seen, and within pulse 100 and after pulse 200 there are two edges that nobody made.
    seen.drain(700..702);
    let glitch = |at_ns, rising| Edge { at_ns, rising };
    let (within_ns, after_ns) = (own[100].from_ns + 30_000, own[200].from_ns + 400_000);
    seen.extend([glitch(within_ns, false), glitch(within_ns + 900, true)]);
    seen.extend([glitch(after_ns, true), glitch(after_ns + 5_000, false)]);
    // And long before and after the run.
    seen.extend([glitch(own[0].from_ns - 60_000_000, true), glitch(own[0].from_ns - 50_000_000, false)]);
    seen.sort_by_key(|edge| edge.at_ns);
    let check = aligned(&own, &ANALYSER.capture(&[seen]));
    let alignment = check.alignment.unwrap();
    assert_eq!((alignment.matched, alignment.outside, alignment.uncovered), (798, 2, 0));
    let zero_ns = own[0].from_ns;
    let lost = [own[350].from_ns - zero_ns, own[350].from_ns + own[350].ns - zero_ns];
    assert_eq!((alignment.missing.count, &alignment.missing.first_ns[..]), (2, &lost[..]));
    assert_eq!(alignment.extra.count, 4);
    let nobodys = [within_ns, within_ns + 900, after_ns, after_ns + 5_000].map(|at_ns| at_ns - zero_ns);
    for (found_ns, at_ns) in alignment.extra.first_ns.iter().zip(nobodys) {
        assert!(found_ns.abs_diff(at_ns) < 120, "{found_ns} for {at_ns}");
    }
    assert_eq!((check.quantities[0].count, check.quantities[1].count), (399, 397));
}

#[test]
fn an_error_of_the_programs_own_figures_is_the_difference() {
    let own = pulses(300, 500);
    // The program says nothing of 7 us by which pulse 42 was longer.
    let mut real = own.clone();
    real[42].ns += 7_000;
    let check = aligned(&own, &ANALYSER.capture(&[edges(&real)]));
    let difference = check.quantities[0].difference;
    assert!((difference.max_ns - 7_000.0).abs() <= 41.0 && difference.p50_ns.abs() <= 41.0, "{difference:?}");
}

#[test]
fn even_pulses_are_aligned_by_what_is_left_over_or_not_at_all() {
    let own = pulses(200, 1);
    let whole = aligned(&own, &ANALYSER.capture(&[edges(&own)])).alignment.unwrap();
    assert_eq!((whole.matched, whole.extra.count), (400, 0));
    // A capture that ends amid the run, and one that begins there too.
    let ends_ns = ANALYSER.time(own[150].from_ns + 500_000);
    let short = Instrument { ends_ns, ..ANALYSER }.capture(&[edges(&own)]);
    let alignment = aligned(&own, &short).alignment.unwrap();
    assert_eq!((alignment.matched, alignment.uncovered, alignment.missing.count), (302, 98, 0));
    let late = Instrument { ends_ns: ends_ns - 1_200_000_000, offset_ns: ANALYSER.offset_ns - 1.2e9, ..ANALYSER };
    let edges_after = edges(&own).split_off(100);
    let cut = late.capture(&[edges_after]);
    let began_ns = cut.edges[0][0].at_ns - 500_000;
    let begins_late = Recorded {
        ends_ns: cut.ends_ns - began_ns,
        edges: vec![cut.edges[0].iter().map(|e| Edge { at_ns: e.at_ns - began_ns, ..*e }).collect()],
        ..cut
    };
    let why = why_not(&own, &begins_late);
    assert!(why.contains("several alignments fit, ") && why.contains("ms apart"), "{why}");
    // With pulses that vary there is one answer.
    let uneven = pulses(200, 3_000);
    let varied = late.capture(&[edges(&uneven).split_off(100)]);
    let shifted = Recorded {
        ends_ns: varied.ends_ns - began_ns,
        edges: vec![varied.edges[0].iter().map(|e| Edge { at_ns: e.at_ns - began_ns, ..*e }).collect()],
        ..varied
    };
    let alignment = aligned(&uneven, &shifted).alignment.unwrap();
    assert_eq!((alignment.matched, alignment.uncovered), (202, 198), "{alignment:?}");
}

#[test]
fn what_cannot_be_aligned_is_said() {
    let own = pulses(200, 2_000);
    let capture = |seen: Vec<Edge>| ANALYSER.capture(&[seen]);
    assert!(why_not(&own, &capture(edges(&own[..3]))).contains("channel D0 has 3 edges in the capture, too few"));
    assert!(why_not(&own[..5], &capture(edges(&own))).contains("made 5 edges that could be aligned"));
    let coarse = Instrument { sample_ns: 400_000, ..ANALYSER }.capture(&[edges(&own)]);
    assert!(why_not(&own, &coarse).contains("too coarse to tell the edges apart: a sample is 400us"));
    // A square wave, of another period or much faster.
    for period_ns in [730_000, 313_000, 1_240_000, 9_000] {
        let square = |i: u64| Edge { at_ns: 5_000_000_000 + i * period_ns / 2, rising: i % 2 == 0 };
        let why = why_not(&own, &capture((0..400_000_000 / period_ns).map(square).collect()));
        assert!(why.contains("another pattern"), "{period_ns}: {why}");
    }
    let mut chance = Chance(2_463_534_242);
    let mut at_ns = 5_000_000_000;
    let noise: Vec<Edge> = (0..400)
        .map(|i| {
            at_ns += 1_000 + chance.below(1_000_000);
            Edge { at_ns, rising: i % 2 == 0 }
        })
        .collect();
    assert!(why_not(&own, &capture(noise)).contains("another pattern"));
}

#[test]
fn answers_are_compared_between_two_channels() {
    let mut chance = Chance(1_181_783_497_276_652_981);
    let mut from_ns = 5_000_000_000;
    let own: Vec<Interval> = (0..300)
        .map(|i| {
            from_ns += 500_000 + chance.below(1_000_000);
            Interval { from_ns, ns: 2_000 + chance.below(9_000), rising: i % 2 == 0 }
        })
        .collect();
    for inverse in [false, true] {
        let between = Between::Response { inverse };
        // The observer's own way to the answer is 300 ns that no pin shows.
        let answers = between.ends(&own).into_iter().map(|edge| Edge { at_ns: edge.at_ns - 300, ..edge }).collect();
        let recorded = ANALYSER.capture(&[Between::begins(&own), answers]);
        let check = check("stand-in", &own, between, &recorded);
        let alignment = check.alignment.expect("an alignment");
        assert_eq!((alignment.matched, alignment.missing.count, alignment.extra.count), (600, 0, 0));
        let [response] = &check.quantities[..] else { panic!("{:?}", check.quantities) };
        assert_eq!((response.quantity, response.count), (Quantity::Response, 300));
        assert!((response.difference.p50_ns + 300.0).abs() <= 41.0, "{:?}", response.difference);
    }
}
