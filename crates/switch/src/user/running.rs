//! The cores of a switch on threads of their own, and who looks after them.

mod lane;
mod thread;
mod work;

use std::sync::Arc;

use ontick_rt::cpus;
use ontick_rt::cpus::claim::{ClaimError, Occupancy, claim};
use ontick_rt::thread::Policy;
use ontick_rt::watchdog;

use super::address_table::random_seed;
use super::core::{Command, Part, PortConfig, Stall};
use super::counters::Counters;
use super::ending::Ending;
use super::placement::CorePlacement;
use super::port::Port;
use super::spread::Spread;
use super::time::Distance;
use lane::Lane;
use ontick_tsn::model::Switch;
use thread::CoreThread;
use work::Work;

/// Why the core was not started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// It would take the only CPU.
    #[error("{0}")]
    OnlyCpu(#[from] watchdog::WouldStarve),
    /// Another process has its CPU.
    #[error("{0}")]
    Held(#[from] ClaimError),
    /// There was no thread to be had.
    #[error("no thread for the core could be started: {0}")]
    Thread(std::io::Error),
}

/// A data plane at work. Call [`service`](Self::service) several times a second.
pub struct Running<P> {
    counters: Arc<Counters>,
    spread: Spread,
    /// One for each core.
    lanes: Vec<Lane<P>>,
    /// Of the cores, for all switches that they serve.
    threads: Arc<[CoreThread]>,
    distance: Distance,
}

/// What whoever looks after the core should know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CoreEvent {
    /// The clock was set forward or back, by so many ns.
    ClockSet(i64),
    /// A core hung and was given ordinary scheduling.
    Demoted,
    /// A core has lost its CPU: why, and on which one it is now.
    Moved(String, u32),
    /// A core has ended by itself, which it never should.
    Ended,
}

/// What is left of a data plane.
#[derive(Debug)]
pub struct Stopped {
    /// What was counted.
    pub counters: Arc<Counters>,
    /// How its cores ended.
    pub ending: Ending,
}

impl<P: Port + Send + 'static> Running<P> {
    /// Starts one core; ports are in the order of the model.
    pub fn start(switch: &Switch, attachments: Vec<PortConfig<P>>, place: CorePlacement) -> Result<Self, StartError> {
        let mut one = Self::start_together(vec![(switch, attachments)], &[place])?;
        Ok(one.swap_remove(0))
    }

    /// Starts one core at each place. Several switches they serve by turns, and several cores share out the ports of each.
    /// They end for all switches when the first is stopped.
    pub fn start_together(
        planes: Vec<(&Switch, Vec<PortConfig<P>>)>,
        places: &[CorePlacement],
    ) -> Result<Vec<Self>, StartError> {
        let spinning: Vec<u32> =
            places.iter().filter(|place| place.policy.is_real_time()).filter_map(|at| at.cpu).collect();
        if places.iter().any(|place| place.policy.is_real_time()) {
            watchdog::may_occupy_together(&spinning, &cpus::online())?;
        }
        let mut work: Vec<Vec<Work<P>>> = places.iter().map(|_| Vec::new()).collect();
        let mut switches = Vec::new();
        for (switch, attachments) in planes {
            let counters = Arc::new(Counters::of(switch));
            let distance = Distance::of(crate::clock::id(switch.clock));
            let spread = Spread::over(places.len(), switch);
            let parts = Part::of_each(switch, &spread, random_seed());
            let (lanes, works): (Vec<Lane<P>>, Vec<Work<P>>) = parts
                .into_iter()
                .zip(share_out(attachments, &spread))
                .map(|(part, attachments)| lane::ends(switch, part, attachments, &counters, &distance))
                .unzip();
            work.iter_mut().zip(works).for_each(|(of_core, work)| of_core.push(work));
            switches.push((counters, spread, lanes, distance));
        }
        let start = |(work, place): (Vec<Work<P>>, &CorePlacement)| {
            let cpu = place.cpu.filter(|_| place.policy.is_real_time());
            let held = cpu.map(|cpu| claim(cpu, Occupancy::Spins)).transpose()?;
            CoreThread::start(work, *place, held)
        };
        // A core without any port would spin for nothing.
        let busy = work.into_iter().zip(places).filter(|(work, _)| !work.is_empty());
        let threads: Arc<[CoreThread]> = busy.map(start).collect::<Result<Vec<_>, StartError>>()?.into();
        let running = switches.into_iter().map(|(counters, spread, mut lanes, distance)| {
            lanes.iter_mut().zip(threads.iter()).for_each(|(lane, thread)| lane.watch(thread));
            Self { counters, spread, lanes, threads: threads.clone(), distance }
        });
        Ok(running.collect())
    }

    /// What was counted so far.
    pub fn counters(&self) -> &Arc<Counters> {
        &self.counters
    }

    /// Which core has which port.
    pub fn spread(&self) -> &Spread {
        &self.spread
    }

    /// The policy that the first core obtained.
    pub fn policy(&self) -> Policy {
        self.threads[0].policy
    }

    /// What was asked of the system for the cores, and refused.
    pub fn refused(&self) -> Vec<String> {
        let mut refused: Vec<String> = self.threads.iter().flat_map(|thread| thread.refused.clone()).collect();
        refused.dedup();
        refused
    }

    /// Whether the cores sleep now and then, so that others have their CPUs too.
    pub fn rests(&self) -> bool {
        self.threads.iter().any(|thread| thread.rests)
    }

    /// Other CPUs than their own on which the cores were found.
    pub fn strayed_to(&self) -> Vec<u32> {
        let mut strayed: Vec<u32> = self.lanes.iter().flat_map(|lane| lane.strayed_to().to_vec()).collect();
        strayed.sort_unstable();
        strayed.dedup();
        strayed
    }

    /// The first core's thread, as the kernel numbers it.
    pub fn tid(&self) -> i32 {
        self.threads[0].tid
    }

    /// How far the switch's clock is from the monotonic one, in ns.
    pub fn distance_ns(&self) -> i64 {
        self.distance.ns()
    }

    /// Stalls since this was last asked, at most as many as fit.
    pub fn stalls(&mut self) -> impl Iterator<Item = Stall> {
        self.lanes.iter_mut().flat_map(Lane::stalls)
    }

    /// Sends something to the core of its port; it is given back while too much is on its way already.
    pub fn send(&mut self, command: Command<P>) -> Result<(), Command<P>> {
        let core = self.core_of(&command);
        self.lanes[core].send(command)
    }

    /// The core of the port that a command is about, or the first one.
    pub fn core_of(&self, command: &Command<P>) -> usize {
        command.port().map_or(0, |port| self.spread.core_of(port))
    }

    /// Sends all of these, each for a core, or none of them while too much is on its way already; whether they were sent.
    pub fn send_all(&mut self, commands: Vec<(usize, Command<P>)>) -> bool {
        let asked = |of: usize| commands.iter().filter(|(core, _)| *core == of).count();
        if self.lanes.iter().enumerate().any(|(core, lane)| lane.room() < asked(core)) {
            return false;
        }
        for (core, command) in commands {
            let _ = self.lanes[core].send(command);
        }
        true
    }

    /// What every core is sent, one for each.
    pub fn to_each(&self, mut command: impl FnMut() -> Command<P>) -> Vec<(usize, Command<P>)> {
        (0..self.lanes.len()).map(|core| (core, command())).collect()
    }

    /// Whether the cores have taken all that they were sent.
    pub fn have_taken_all(&self) -> bool {
        self.lanes.iter().all(Lane::has_taken_all)
    }

    /// Frees what the cores gave back, follows the clock, and sees that the cores are alive.
    pub fn service(&mut self) -> Vec<CoreEvent> {
        self.lanes.iter_mut().for_each(Lane::free);
        let mut noticed: Vec<CoreEvent> = self.distance.follow().map(CoreEvent::ClockSet).into_iter().collect();
        if self.threads.iter().any(CoreThread::is_over) {
            noticed.push(CoreEvent::Ended);
            return noticed;
        }
        noticed.extend(self.lanes.iter_mut().flat_map(Lane::look));
        noticed
    }

    /// Ends the cores, and closes their ports.
    pub fn stop(mut self) -> Stopped {
        let ending = self.end();
        Stopped { counters: self.counters.clone(), ending }
    }
}

impl<P> Running<P> {
    /// Of several switches, the first has ended the cores for all.
    fn end(&mut self) -> Ending {
        self.threads.iter().for_each(CoreThread::ask_to_end);
        let endings: Vec<Ending> = self.threads.iter().map(CoreThread::end).collect();
        endings.into_iter().max().unwrap_or(Ending::ByItself)
    }
}

impl<P> Drop for Running<P> {
    fn drop(&mut self) {
        self.end();
    }
}

/// For each core the attachments of its ports, and of the others what has no port.
fn share_out<P>(attachments: Vec<PortConfig<P>>, spread: &Spread) -> Vec<Vec<PortConfig<P>>> {
    let mut shares: Vec<Vec<PortConfig<P>>> = (0..spread.cores()).map(|_| Vec::new()).collect();
    for (index, at) in attachments.into_iter().enumerate() {
        let absent = || PortConfig { port: None, rate: at.rate, schedule: None };
        shares.iter_mut().for_each(|share| share.push(absent()));
        shares[spread.core_of(index)][index] = at;
    }
    shares
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Sender, channel};
    use std::time::Duration;

    use super::*;
    use crate::user::port::{Received, Sent};

    /// A port that reports the CPUs that its thread may run on when it is closed.
    struct Closing(Sender<Vec<u32>>);

    impl Port for Closing {
        fn receive(&mut self, _slot: &mut [u8]) -> Received {
            Received::Nothing
        }

        fn send(&mut self, _frame: &[u8]) -> Sent {
            Sent::Done
        }

        fn overflowed(&mut self) -> u64 {
            0
        }
    }

    impl Drop for Closing {
        fn drop(&mut self) {
            let _ = self.0.send(cpus::allowed());
        }
    }

    /// Closing waits for RCU, and so for every CPU: one that another core does not leave, too.
    #[test]
    fn a_core_has_left_its_cpu_before_it_closes_its_ports() {
        let [first, _, ..] = cpus::allowed()[..] else { return ontick_skip::skipped!("this needs two CPUs") };
        let (closing, closed) = channel();
        let attach = |closing| PortConfig { port: Some(Closing(closing)), rate: 1_000_000_000, schedule: None };
        let switch = ontick_tsn::config::read(TWO_PORTS).unwrap().switch;
        let place = CorePlacement { cpu: Some(first), policy: Policy::Other, never_rest: false };
        let running = Running::start(&switch, vec![attach(closing.clone()), attach(closing)], place).unwrap();
        // Only asked to end: nobody else moves it.
        running.threads[0].ask_to_end();
        assert!(closed.recv_timeout(Duration::from_secs(60)).unwrap().len() > 1);
        assert_eq!(running.stop().ending, Ending::ByItself);
    }

    const TWO_PORTS: &str = "[switch]\nname = \"cell\"\nplane = \"user\"\n[[class]]\nname = \"all\"\nqueue = 0\n\
                             [[port]]\nname = \"a\"\nrate = \"1Gbit\"\n[[port]]\nname = \"b\"\nrate = \"1Gbit\"\n";
}
