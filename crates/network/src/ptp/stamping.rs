//! What stamps a node's PTP messages: the clocks of its network cards, or the kernel.

use ontick_switch::ports::{self, Stamps};

/// What stamps a node's messages. ptp4l has one way for all its ports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stamping {
    /// The clock of each card: the numbers of all of them, each once (`/dev/ptpN`).
    Hardware(Vec<u32>),
    /// The driver, by the system's clock. Names those interfaces for which it is so.
    Software(Vec<String>),
}

/// An interface cannot take part.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StampingError {
    /// They cannot be listed.
    #[error("the interfaces of this machine cannot be listed: {0}")]
    Unlisted(String),
    /// There is none of this name.
    #[error("there is no interface {0} on this machine")]
    Missing(String),
    /// Its driver stamps nothing.
    #[error(
        "the driver of {0} stamps no frames that it sends, neither by hardware nor by software: PTP needs one of them"
    )]
    None(String),
}

impl Stamping {
    /// Whether cards do.
    pub fn is_hardware(&self) -> bool {
        matches!(self, Self::Hardware(_))
    }
}

/// What stamps the messages of these interfaces.
pub fn stamping(interfaces: &[String]) -> Result<Stamping, StampingError> {
    let here = ports::all().map_err(|error| StampingError::Unlisted(error.to_string()))?;
    if let Some(missing) = interfaces.iter().find(|name| !here.iter().any(|one| one.name == **name)) {
        return Err(StampingError::Missing(missing.clone()));
    }
    of(interfaces.iter().map(|name| (name.as_str(), ports::stamps(name))))
}

fn of<'a>(ports: impl Iterator<Item = (&'a str, Stamps)>) -> Result<Stamping, StampingError> {
    let (mut clocks, mut by_software) = (Vec::new(), Vec::new());
    let mut unable = None;
    for (name, stamps) in ports {
        match stamps.clock.filter(|_| stamps.hardware_send && stamps.hardware_receive) {
            Some(clock) if clocks.contains(&clock) => {}
            Some(clock) => clocks.push(clock),
            None => by_software.push(name.to_owned()),
        }
        if !stamps.software_send {
            unable = unable.or(Some(name.to_owned()));
        }
    }
    match unable {
        _ if by_software.is_empty() => Ok(Stamping::Hardware(clocks)),
        Some(name) => Err(StampingError::None(name)),
        None => Ok(Stamping::Software(by_software)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_port_without_hardware_has_all_stamped_by_software() {
        let card = |clock| Stamps { hardware_send: true, hardware_receive: true, software_send: true, clock };
        let plain = Stamps { software_send: true, ..Stamps::default() };
        let all = |ports: &[(&'static str, Stamps)]| of(ports.iter().copied());
        assert_eq!(
            all(&[("a", card(Some(0))), ("b", card(Some(1))), ("c", card(Some(0)))]),
            Ok(Stamping::Hardware(vec![0, 1]))
        );
        assert_eq!(all(&[("a", card(Some(0))), ("b", plain)]), Ok(Stamping::Software(vec!["b".into()])));
        // Stamps without a clock that could be set are of no use.
        assert_eq!(all(&[("a", card(None))]), Ok(Stamping::Software(vec!["a".into()])));
        let neither = Stamps::default();
        assert_eq!(all(&[("a", card(Some(0))), ("b", neither)]), Err(StampingError::None("b".into())));
        let without_software = Stamps { software_send: false, ..card(Some(0)) };
        assert_eq!(all(&[("a", without_software)]), Ok(Stamping::Hardware(vec![0])));
    }

    #[test]
    fn an_interface_that_is_not_here_is_named() {
        assert_eq!(stamping(&["nowhere9".into()]), Err(StampingError::Missing("nowhere9".into())));
    }
}
