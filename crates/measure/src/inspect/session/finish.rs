//! What came of it: the threads that counted, their problems, and what the reader must know besides.

use ontick_record::inspection::{Evidence, Inspection, SCHEMA};

use super::super::inspected::Inspected;
use super::super::program::{ThreadState, memory};
use super::super::{Select, document, fault_cost, rules};
use super::Session;
use super::threads::MOST_THREADS;

impl Session<'_> {
    pub(super) fn finish(mut self) -> Inspection {
        let calls = self.evidence == Evidence::Events;
        let mut chosen: Vec<Inspected> = Vec::new();
        let (mut early, mut late, mut others) = (Vec::new(), Vec::new(), 0);
        self.expect(&[]);
        for (_, thread) in std::mem::take(&mut self.threads) {
            match (self.is_wanted(&thread.state), thread.counted_ns() > 0) {
                (true, true) => chosen.push(thread),
                (true, false) if self.there.contains(&(thread.state.tid, thread.state.started)) => {
                    late.push(thread.state.name);
                }
                (true, false) => early.push(thread.state.name),
                (false, _) => others += 1,
            }
        }
        let not_counted = late.len();
        for (why, mut names) in
            [("they ended too early", early), ("they began, or changed their policy, too shortly before the end", late)]
        {
            names.dedup();
            if !names.is_empty() {
                names.truncate(4);
                self.note(format!("not counted, as {why}: {}", names.join(", ")));
            }
        }
        if others > 0 && self.real_time && self.options.select == Select::RealTime {
            let threads = if others == 1 { "1 thread".into() } else { format!("{others} threads") };
            self.note(format!("not inspected, without a real-time policy: {threads}"));
        }
        match (self.left_out, self.not_looked_at) {
            (0, 0) => {}
            (0, n) => self.note(format!("there are {n} more threads than the {MOST_THREADS} that were looked at")),
            (n, _) => self.note(format!("{n} threads were not inspected: there is room for {MOST_THREADS}")),
        }
        let fault = fault_cost::fault_cost();
        let mut inspection = Inspection {
            schema: SCHEMA.into(),
            program: self.name.clone(),
            pid: self.pid,
            observed_ns: self.ended_ns - self.began_ns,
            after_ns: self.after_ns(),
            evidence: self.evidence,
            lost: self.lost,
            unseen_ns: self.unseen_ns,
            left_out: (self.left_out + not_counted) as u64,
            ..Inspection::default()
        };
        for thread in &mut chosen {
            thread.finish(calls, self.evidence != Evidence::Proc);
            inspection.threads.push(document::thread(thread));
            inspection.problems.extend(document::problems(thread, &self.symbols, fault));
            let standing = [rules::policy(&thread.state), rules::timer_slack(&thread.state)];
            let remote = self.nodes.as_ref().zip(memory::node_of(thread.state.cpu));
            let remote = remote.and_then(|(nodes, node)| rules::remote_memory(nodes, node));
            let standing = standing.into_iter().flatten().chain(remote);
            inspection.problems.extend(standing.map(|breach| document::standing(breach, &thread.state)));
        }
        if let Some(breach) = self.unlocked.as_ref().and_then(rules::memory_lock).filter(|_| !chosen.is_empty()) {
            let program = ThreadState { tid: self.pid, name: self.name.clone(), ..ThreadState::default() };
            inspection.problems.push(document::standing(breach, &program));
        }
        inspection.notes = self.notes;
        inspection.sort();
        inspection
    }
}
