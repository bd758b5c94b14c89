//! The stages of a race: each candidate alone; those that help together; each member taken out again.

use ontick_record::search::Verdict;

use super::quartet::Comparison;
use super::race::Race;
use super::track::Track;

/// The part of all cost that candidates alone may have while there is a set to be tried.
const FIRST: f64 = 0.6;

impl Race {
    /// What is compared next, where anything is to be.
    pub(super) fn next_comparison(&self) -> Option<Comparison> {
        let helping = self.helping();
        let (alone, sets) = self.spent_on();
        let first = (self.plan.most as f64 * FIRST) as u64;
        if helping.len() < 2 || alone < first {
            if let Some(open) = self.open() {
                return Some(open);
            }
        }
        self.next_of_sets(&helping).or_else(|| {
            // What is left may show another that helps; then a new set must be tried in the time of the last.
            let left = self.plan.most.saturating_sub(self.spent);
            self.open().filter(|_| left > sets + sets / 4)
        })
    }

    /// An open candidate: all have a turn in each round, in an order by chance.
    fn open(&self) -> Option<Comparison> {
        let turn = |track: &&Track| {
            let number = ((track.quartets() as u64 + 1) << 32) + track.comparison.trial[0] as u64;
            (track.quartets(), self.random(number).uniform().to_bits())
        };
        self.tracks_open().min_by_key(turn).map(|track| track.comparison.clone())
    }

    fn tracks_open(&self) -> impl Iterator<Item = &Track> {
        let is_open = |track: &&Track| track.settled.is_none() && !self.is_unusable(&track.comparison.trial);
        self.tracks.iter().filter(|track| track.comparison.is_alone()).filter(is_open)
    }

    /// Every open candidate.
    pub(super) fn open_alone(&self) -> Vec<Comparison> {
        self.tracks_open().map(|track| track.comparison.clone()).collect()
    }

    /// Candidates that help and can be set together, the least gain first. Where some of them cannot be used together, the
    /// best alone: which of them could be is not known.
    fn helping(&self) -> Vec<usize> {
        let helps = |track: &&Track| track.comparison.is_alone() && track.settled == Some(Verdict::Helps);
        let mut helping: Vec<(f64, usize)> = self
            .tracks
            .iter()
            .filter(helps)
            .map(|track| (track.middle(), track.comparison.trial[0]))
            .filter(|(_, n)| self.plan.candidates[*n].combines && !self.is_unusable(&[*n]))
            .collect();
        helping.sort_by(|a, b| a.0.total_cmp(&b.0));
        let helping: Vec<usize> = helping.into_iter().map(|(_, n)| n).collect();
        match self.is_unusable(&helping) {
            true => helping.last().copied().into_iter().collect(),
            false => helping,
        }
    }

    /// The cost of candidates alone, and of sets.
    fn spent_on(&self) -> (u64, u64) {
        let spent = |alone| self.tracks.iter().filter(|t| t.comparison.is_alone() == alone).map(|t| t.spent).sum();
        (spent(true), spent(false))
    }

    /// What is compared of a set, in order, each with the verdict of those before it.
    fn plan_of(&self, helping: &[usize]) -> Vec<(Comparison, Option<usize>)> {
        let mut set = helping.to_vec();
        set.sort_unstable();
        if set.len() < 2 {
            return Vec::new();
        }
        let mut plan = vec![(Comparison::of(set.clone()), None)];
        for member in helping {
            // Alone it was compared already.
            if set.len() < 2 {
                break;
            }
            let comparison = Comparison::member(&set, *member);
            let settled = self.track(&comparison).and_then(|track| track.settled);
            plan.push((comparison, Some(*member)));
            if matches!(settled, Some(Verdict::Hurts | Verdict::NoEffect)) {
                set.retain(|other| other != member);
            }
        }
        if set.len() >= 2 && set.len() < helping.len() {
            plan.push((Comparison::of(set), None));
        }
        plan
    }

    fn next_of_sets(&self, helping: &[usize]) -> Option<Comparison> {
        let plan = self.plan_of(helping);
        let (alone, _) = self.spent_on();
        let all = self.plan.most.saturating_sub(alone);
        let known = self.tracks.iter().filter(|track| !track.comparison.is_alone()).count();
        let room = Self::most_of_sets(self.plan.candidates.len()).saturating_sub(known);
        let mut used = 0;
        for (n, (comparison, _)) in plan.iter().enumerate() {
            let track = self.track(comparison);
            used += track.map_or(0, |track| track.spent);
            // What those before it did not use is for those after it.
            let until = all / plan.len() as u64 * (n as u64 + 1);
            let open = track.is_none_or(|track| track.settled.is_none());
            if open && used < until && (track.is_some() || room > 0) {
                return Some(comparison.clone());
            }
        }
        None
    }

    /// The set that was found: all that help, without those that add nothing to the others.
    pub(super) fn set(&self) -> Vec<usize> {
        let helping = self.helping();
        let mut set = helping.clone();
        set.sort_unstable();
        for (comparison, member) in self.plan_of(&helping) {
            let settled = self.track(&comparison).and_then(|track| track.settled);
            if let (Some(member), Some(Verdict::Hurts | Verdict::NoEffect)) = (member, settled) {
                set.retain(|other| *other != member);
            }
        }
        set
    }

    /// What was measured of the set as a whole, the last that was, and of each member.
    pub(super) fn set_tracks(&self) -> (Option<&Track>, Vec<(usize, &Track)>) {
        let (mut whole, mut members) = (None, Vec::new());
        for (comparison, member) in self.plan_of(&self.helping()) {
            match (self.track(&comparison), member) {
                (Some(track), None) => whole = Some(track),
                (Some(track), Some(member)) => members.push((member, track)),
                (None, _) => {}
            }
        }
        (whole, members)
    }

    fn track(&self, comparison: &Comparison) -> Option<&Track> {
        self.tracks.iter().find(|track| track.comparison == *comparison)
    }
}
