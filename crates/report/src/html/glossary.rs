//! What each figure means, in plain words with its formula.

use crate::compare::Named;
use crate::figures::spins;
use crate::markup::Markup;

/// A term, what it means, and its formula where it has one.
type Entry = (&'static str, &'static str, &'static str);

const ALWAYS: [Entry; 9] = [
    (
        "latency",
        "How late the thread acted: the moment at which it ran minus the moment at which it should have run. Small is good; what matters is the rare large one.",
        "L = t(ran) − t(due)",
    ),
    (
        "p50, p99, p99.9, p99.99",
        "The latency that this share of the samples does not exceed; p50 is the median. Of n samples in ascending order it is the one of rank ⌈q·n⌉, given as the upper edge of its bucket, which is at most 1 % wide: it never flatters.",
        "p(q) = x(⌈q·n⌉),  x(1) ≤ x(2) ≤ … ≤ x(n)",
    ),
    (
        "mean",
        "The sum of all latencies by their number, exact; a dash where a record does not hold it. It says little of a job that must never be late: a mean is small although some samples are far too late.",
        "mean = Σ x(i) ∕ n",
    ),
    (
        "stddev",
        "How far the latencies lie from their mean, as a rule: the standard deviation, exact; with ~ where the record holds only bins. Latencies are not normally distributed, so it bounds nothing: the percentiles do.",
        "σ = √( Σ (x(i) − mean)² ∕ n )",
    ),
    (
        "max",
        "The largest latency of the run, exact. It only says what happened in this run: a longer run can find a larger one, and on a virtual machine it is often the hypervisor’s.",
        "max = x(n)",
    ),
    (
        "< 3 µs",
        "The share of all cycles, missed ones included, that were acted on less than 3 µs late, rounded down: 100 % means every single one.",
        "S = |{ i : x(i) < 3 µs }| ∕ n",
    ),
    (
        "95 % sure",
        "From n samples of which k were late, the exact one-sided bound of Clopper and Pearson on how often late ones occur. Without any late one it is close to 3 ∕ n, the rule of three. It takes samples as independent; outliers in bursts leave more doubt than it says.",
        "Σ C(n,i)·pⁱ·(1−p)ⁿ⁻ⁱ for i = 0…k equals 0.05;  with k = 0: p = 1 − 0.05^(1∕n)",
    ),
    (
        "missed",
        "Periods that passed without being acted on at all, because the thread was late by more than a period.",
        "missed = Σ ⌊L(i) ∕ interval⌋",
    ),
    (
        "page faults, CPU taken away",
        "Events in the timed section that a clean run does not have. Where they are not zero, part of the latency is the program’s own and not the machine’s.",
        "",
    ),
];

const SPINS: Entry = (
    "hybrid, spin",
    "A thread that sleeps until it is woken shows the machine’s wake latency. A hybrid wait sleeps to a margin before the deadline and then watches the clock: it shows the error against the deadline, and pays for it with the CPU time that it spins.",
    "t(wake) = t(due) − margin;  duty = time spun ∕ time in all",
);

const BLOCKS: Entry = (
    "blocks",
    "The two sides were measured in short blocks in the order A B B A, so that a machine that becomes slower or busier during the run affects both alike.",
    "",
);

/// What two of them mean of messages over a network; no thread acts on them.
const MESSAGES: [Entry; 2] = [
    (
        "latency",
        "How long after the beginning of its period a message was there with its last bit, by the listener’s clock: the wait of its talker is in it. It is late if that is longer than its deadline.",
        "L = t(there) − t(period)",
    ),
    (
        "< 3 µs",
        "The share of all messages that were there less than 3 µs after their period began, rounded down. Each stream’s own promise says more.",
        "S = |{ i : x(i) < 3 µs }| ∕ n",
    ),
];

/// What messages over a network do not have.
const OF_THREADS: [&str; 2] = ["missed", "page faults, CPU taken away"];

pub(super) fn glossary(body: &mut Markup, runs: &[Named]) {
    let mut entries: Vec<Entry> = ALWAYS.to_vec();
    if runs.iter().all(|n| n.run.network.is_some()) {
        entries.retain(|(term, ..)| !OF_THREADS.contains(term));
        for entry in &mut entries {
            *entry = MESSAGES.into_iter().find(|of| of.0 == entry.0).unwrap_or(*entry);
        }
    }
    if runs.iter().any(|n| n.run.series.iter().any(spins)) {
        entries.push(SPINS);
    }
    if runs.iter().any(|n| n.run.series.iter().any(|s| !s.blocks.is_empty())) {
        entries.push(BLOCKS);
    }
    body.leaf("h2", &[], "What the figures mean").open("dl", &[("class", &"glossary")]);
    for (term, meaning, formula) in entries {
        body.leaf("dt", &[], term).open("dd", &[]).words(meaning);
        if !formula.is_empty() {
            body.leaf("span", &[("class", &"formula")], formula);
        }
        body.close();
    }
    body.close();
}

#[cfg(test)]
mod tests {
    use std::slice;

    use ontick_record::network::NetworkProof;
    use ontick_record::{Measurement, Run};

    use super::*;

    fn of(runs: &[Run]) -> String {
        let runs: Vec<Named> = runs.iter().map(|run| Named { name: "a", run }).collect();
        let mut body = Markup::default();
        glossary(&mut body, &runs);
        body.finish()
    }

    #[test]
    fn latencies_of_messages_are_not_explained_as_those_of_a_thread() {
        let thread = Run::new("ontick", Measurement::Timer);
        let network = Run { network: Some(NetworkProof::default()), ..Run::new("ontick", Measurement::NetworkProve) };
        let (of_thread, of_network) = (of(slice::from_ref(&thread)), of(slice::from_ref(&network)));
        assert!(of_thread.contains("How late the thread acted") && of_thread.contains("page faults"));
        assert!(of_network.contains("by the listener’s clock") && of_network.contains("p99.9"));
        for not in ["the thread acted", "acted on", "page faults", "missed"] {
            assert!(!of_network.contains(not), "{not}: {of_network}");
        }
        // Side by side the general meaning stands.
        assert!(of(&[thread, network]).contains("How late the thread acted"));
    }
}
