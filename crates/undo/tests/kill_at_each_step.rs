//! The harness that kills at each step in turn, on a model of a machine with a journal.

mod kill;

use kill::{Kill, Manner, Step, at_each_step};

/// Values, and a journal of what they were.
#[derive(Debug, Default, Clone, PartialEq)]
struct Model {
    values: [u8; 3],
    journal: Vec<(usize, u8)>,
}

impl Model {
    /// Makes a step as far as the process lives to.
    fn step(&mut self, kill: &Kill, make: impl FnOnce(&mut Self)) {
        if matches!(kill.step(), Step::Made | Step::Last(Manner::After)) {
            make(self);
        }
    }

    /// Sets each value; what it was is written down first, or afterwards.
    fn set(&mut self, kill: &Kill, journal_first: bool) {
        for at in 0..self.values.len() {
            let was = self.values[at];
            let note = |model: &mut Self| model.journal.push((at, was));
            if journal_first {
                self.step(kill, note);
                self.step(kill, |model| model.values[at] = 7);
            } else {
                self.step(kill, |model| model.values[at] = 7);
                self.step(kill, note);
            }
        }
    }

    fn put_back(&mut self) {
        while let Some((at, was)) = self.journal.pop() {
            self.values[at] = was;
        }
    }
}

/// The kills after which not everything came back.
fn left_changed(journal_first: bool) -> Vec<String> {
    let mut left = Vec::new();
    let steps = at_each_step(&Manner::AROUND, |kill| {
        let mut model = Model::default();
        model.set(kill, journal_first);
        model.put_back();
        if model != Model::default() {
            left.push(kill.to_string());
        }
    });
    assert_eq!(steps, 6);
    left
}

#[test]
fn a_journal_before_each_change_survives_every_kill() {
    assert_eq!(left_changed(true), [""; 0]);
}

#[test]
fn a_change_before_its_journal_is_caught_wherever_it_is() {
    let caught = ["Before step 1", "Before step 3", "Before step 5", "After step 0", "After step 2", "After step 4"];
    assert_eq!(left_changed(false), caught.map(|when| format!("killed {when}")));
}

#[test]
fn a_dead_process_makes_no_step() {
    let kill = Kill::at(1, Manner::Within);
    assert_eq!([(); 4].map(|()| kill.step()), [Step::Made, Step::Last(Manner::Within), Step::Dead, Step::Dead]);
    assert!(kill.happened() && !Kill::at(0, Manner::Before).happened());
}
