//! What comes by the link is what was sent, from the first message on and in order.

/// A numbered message.
pub fn message(number: u64) -> String {
    format!("message {number:07}\n")
}

const OCTETS: usize = 16;

/// One transfer of numbered messages.
#[derive(Debug, Default)]
pub struct Messages {
    pub sent: u64,
    pub received: u64,
    /// The beginning of a message whose rest has not come.
    rest: Vec<u8>,
    pub wrong: Option<String>,
}

impl Messages {
    /// Takes what came.
    pub fn take(&mut self, bytes: &[u8]) {
        self.rest.extend_from_slice(bytes);
        while self.rest.len() >= OCTETS {
            let came: Vec<u8> = self.rest.drain(..OCTETS).collect();
            if came != message(self.received).as_bytes() || self.received >= self.sent {
                let text = came.escape_ascii();
                self.wrong.get_or_insert_with(|| format!("{text} came where message {} was due", self.received));
            }
            self.received += 1;
        }
    }

    /// How many did not arrive, of a transfer that is over; an error if one that ended well lacks any.
    pub fn lost(&self, ended_well: bool) -> Result<u64, String> {
        let lost = self.sent.saturating_sub(self.received);
        match ended_well && (lost > 0 || !self.rest.is_empty()) {
            true => Err(format!("both ends report success, and {lost} of {} messages did not arrive", self.sent)),
            false => Ok(lost),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn transfer(sent: u64, came: &[u64]) -> Messages {
        let mut messages = Messages { sent, ..Messages::default() };
        came.iter().for_each(|number| messages.take(message(*number).as_bytes()));
        messages
    }

    #[test]
    fn a_lost_a_doubled_and_an_invented_message_are_found() {
        assert_eq!(transfer(3, &[0, 1, 2]).wrong, None);
        assert_eq!(transfer(3, &[0, 1, 2]).lost(true), Ok(0));
        assert!(transfer(3, &[0, 2]).wrong.unwrap().ends_with("came where message 1 was due"));
        assert!(transfer(3, &[0, 0]).wrong.is_some() && transfer(1, &[0, 1]).wrong.is_some());
        assert_eq!(transfer(3, &[0, 1]).lost(false), Ok(1));
        assert!(transfer(3, &[0, 1]).lost(true).is_err());
        let mut cut = transfer(1, &[]);
        cut.take(&message(0).as_bytes()[..9]);
        assert!(cut.lost(true).is_err() && cut.wrong.is_none());
    }
}
