//! When samples are taken.

use ontick_gpio::{Edges, Name, NameError};

/// What a sample is taken at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trigger {
    /// Every so many ns.
    Every(u64),
    /// At edges of a line: `gpiochip0:17`, `gpiochip0:17:rising`.
    Edge(Name, Edges),
}

impl Trigger {
    /// Reads `LINE`, `LINE:rising`, `LINE:falling` or `LINE:both`; rising where it does not say.
    pub fn edge(text: &str) -> Result<Self, NameError> {
        let split = text.rsplit_once(':').and_then(|(line, edges)| Some((line, edges.parse().ok()?)));
        let (line, edges) = split.unwrap_or((text, Edges::Rising));
        Ok(Trigger::Edge(line.parse()?, edges))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_may_say_which_edges() {
        let trigger = |text: &str| Trigger::edge(text).unwrap();
        let name = |text: &str| text.parse::<Name>().unwrap();
        assert_eq!(trigger("sim:bench/4"), Trigger::Edge(name("sim:bench/4"), Edges::Rising));
        assert_eq!(trigger("gpiochip0:17:both"), Trigger::Edge(name("gpiochip0:17"), Edges::Both));
        assert_eq!(trigger("GPIO17:falling"), Trigger::Edge(name("GPIO17"), Edges::Falling));
        assert!(Trigger::edge("sim:bench").is_err());
    }
}
