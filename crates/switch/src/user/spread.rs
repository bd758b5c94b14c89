//! Which core has which ports, where several do the work of one switch.

use ontick_tsn::model::{Stream, Switch};

/// The core of each port, in the order of the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spread {
    of: Vec<usize>,
    cores: usize,
}

impl Spread {
    /// Over as many cores, or fewer where there is no work for so many. What a stream keeps from frame to frame (a meter, a
    /// gate, numbers) one core has: the ports that it may come in by stay together.
    pub fn over(cores: usize, switch: &Switch) -> Self {
        let groups = groups(switch);
        let cores = cores.clamp(1, groups.len().max(1));
        let mut spread = Self { of: vec![0; switch.ports.len()], cores };
        let mut load = vec![0; cores];
        for group in groups {
            let least = (0..cores).min_by_key(|core| load[*core]).unwrap_or(0);
            load[least] += group.len();
            group.into_iter().for_each(|port| spread.of[port] = least);
        }
        spread
    }

    /// How many cores there are.
    pub fn cores(&self) -> usize {
        self.cores
    }

    /// The core that has a port.
    pub fn core_of(&self, port: usize) -> usize {
        self.of[port]
    }

    /// Of each port the core, if it is another one than this.
    pub fn others_of(&self, own: usize) -> Vec<Option<usize>> {
        self.of.iter().map(|core| (*core != own).then_some(*core)).collect()
    }

    /// The first stream that may come in by ports of several cores, which none of them could police.
    pub fn torn<'a>(&self, streams: &'a [Stream]) -> Option<&'a Stream> {
        let all: Vec<usize> = (0..self.of.len()).collect();
        streams.iter().find(|stream| {
            let ports = stream.ingress.as_ref().unwrap_or(&all);
            ports.iter().any(|port| self.of[*port] != self.of[ports[0]])
        })
    }
}

/// Why a switch gives no work to so many cores.
pub fn unfit(switch: &Switch) -> Option<String> {
    let (asked, most) = (switch.cpus.len(), groups(switch).len());
    if asked <= most {
        return None;
    }
    let why = match switch.streams.iter().find(|stream| stream.ingress.is_none()) {
        Some(stream) => format!(
            "stream {} may come in by any port, which one core must see: name its ports (ingress = [\"…\"])",
            stream.name
        ),
        None if most < switch.ports.len() => "ports that one stream may come in by belong to one core".into(),
        None => "each core needs a port".into(),
    };
    Some(format!("cpus names {asked} CPUs, and there is work for {most} at most: {why}, or name fewer CPUs"))
}

/// Ports that must be one core's, the largest groups first.
fn groups(switch: &Switch) -> Vec<Vec<usize>> {
    let mut first: Vec<usize> = (0..switch.ports.len()).collect();
    let all = first.clone();
    for stream in &switch.streams {
        let ports = stream.ingress.as_ref().unwrap_or(&all);
        let joined: Vec<usize> = ports.iter().map(|port| first[*port]).collect();
        let Some(least) = joined.iter().min().copied() else { continue };
        first.iter_mut().filter(|of| joined.contains(of)).for_each(|of| *of = least);
    }
    let members = |root: &usize| (0..first.len()).filter(|port| first[*port] == *root).collect::<Vec<_>>();
    let mut groups: Vec<Vec<usize>> = all.iter().map(members).filter(|group| !group.is_empty()).collect();
    groups.sort_by_key(|group| std::cmp::Reverse(group.len()));
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Four ports, and streams that may come in by some of them.
    fn switch(cpus: &str, streams: &[&str]) -> Switch {
        let port = |name| format!("[[port]]\nname = \"{name}\"\nrate = \"1Gbit\"\n");
        let stream = |(n, ingress): (usize, &&str)| {
            format!("[[stream]]\nname = \"s{n}\"\nto = \"02:00:00:00:00:0{n}\"\nmax-sdu = 100\n{ingress}\n")
        };
        let ports: String = ["a", "b", "c", "d"].map(port).concat();
        let streams: String = streams.iter().enumerate().map(stream).collect();
        let text = format!(
            "[switch]\nname = \"cell\"\nplane = \"user\"\ncpus = \"{cpus}\"\n[[class]]\nname = \"all\"\nqueue = 0\n{ports}{streams}"
        );
        ontick_tsn::config::read(&text).unwrap_or_else(|e| panic!("{e}: {text}")).switch
    }

    fn cores(spread: &Spread) -> Vec<usize> {
        (0..4).map(|port| spread.core_of(port)).collect()
    }

    #[test]
    fn ports_are_shared_out_and_those_of_a_stream_stay_together() {
        let free = switch("1-3", &[]);
        assert_eq!(cores(&Spread::over(3, &free)), [0, 1, 2, 0]);
        assert_eq!(cores(&Spread::over(1, &free)), [0; 4]);
        assert_eq!(Spread::over(9, &free).cores(), 4);
        let two_ways = switch("1-2", &["ingress = [\"b\", \"d\"]", "ingress = [\"a\"]"]);
        let spread = Spread::over(2, &two_ways);
        assert_eq!(cores(&spread), [1, 0, 1, 0]);
        assert_eq!(spread.torn(&two_ways.streams), None);
        let joined = switch("1-2", &["ingress = [\"a\", \"b\"]"]);
        assert_eq!(spread.torn(&joined.streams).unwrap().name, "s0");
        // Two streams join three ports.
        let chain = switch("1-2", &["ingress = [\"c\", \"b\"]", "ingress = [\"a\", \"c\"]"]);
        assert_eq!(cores(&Spread::over(4, &chain)), [0, 0, 0, 1]);
    }

    #[test]
    fn more_cores_than_have_work_are_refused_with_the_reason() {
        assert_eq!(unfit(&switch("1-4", &[])), None);
        let why = |cpus, streams: &[&str]| unfit(&switch(cpus, streams)).unwrap();
        assert!(why("1-5", &[]).contains("5 CPUs, and there is work for 4 at most: each core needs a port"));
        assert!(why("1-4", &["ingress = [\"a\", \"b\"]"]).contains("for 3 at most: ports that one stream"));
        assert!(why("1-2", &[""]).contains("for 1 at most: stream s0 may come in by any port"));
    }
}
