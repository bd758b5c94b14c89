//! Output to a terminal.

use ontick_record::findings::Severity;

use super::{Breach, Ended, Rule};
use crate::inspect::calls::OpenFile;

const RULE: Rule = Rule {
    id: "terminal",
    severity: Severity::Bad,
    what: "output to a terminal",
    why: "whoever shows it (a serial line, sshd, a window) decides when the call goes on; stopped output (Ctrl-S) holds it for ever",
    mend: "give the text to a thread of normal priority, over a ring without a lock, and let that thread print it",
    source: "write(2), termios(3), console(4)",
};

pub fn terminal(ended: &Ended) -> Option<Breach> {
    let Some(OpenFile::Terminal(path)) = &ended.call.file else { return None };
    let writes = ended.call.is(&["write", "writev", "pwrite64", "ioctl", "fsync"]);
    writes.then(|| Breach::new(&RULE, format!("{} to {path}", ended.call.name().unwrap_or_default())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inspect::calls::Call;
    use crate::inspect::calls::tests::call;
    use crate::inspect::rules::tests::judged;

    #[test]
    fn a_terminal_is_not_written_to() {
        let file = Some(OpenFile::Terminal("/dev/pts/3".into()));
        let breach = judged(&Call { file: file.clone(), ..call("write", [1, 0, 0, 0, 0, 0]) }).unwrap();
        assert_eq!((breach.rule.id, breach.detail.as_str()), ("terminal", "write to /dev/pts/3"));
        assert_eq!(judged(&Call { file, ..call("read", [0; 6]) }), None);
    }
}
