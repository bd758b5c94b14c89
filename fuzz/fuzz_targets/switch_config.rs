//! The file that describes a switch.
#![no_main]

use ontick_tsn::config;

/// When the file is read, in ns: base times are judged by it.
const NOW_NS: u64 = 1_795_000_000_000_000_000;

libfuzzer_sys::fuzz_target!(|text: &str| {
    let lines = text.matches('\n').count() + 1;
    match config::read_at(text, NOW_NS) {
        Ok(parsed) => {
            assert!(parsed.warnings.iter().all(|warning| (1..=lines).contains(&warning.line)));
            let written = config::write(&parsed.switch);
            assert_eq!(config::read_at(&written, NOW_NS).map(|again| again.switch), Ok(parsed.switch), "{written}");
        }
        Err(errors) => {
            assert!(!errors.problems.is_empty());
            assert!(errors.problems.iter().all(|problem| (1..=lines).contains(&problem.line)), "{errors}");
        }
    }
});
