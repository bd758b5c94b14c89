//! The table of `rtla osnoise hist`: a column for each CPU, a row for each bucket of noise.

use super::Importer;
use super::rtla::{Tracer, read};

pub(super) const IMPORTER: Importer = Importer {
    name: "rtla-osnoise",
    tool: "rtla osnoise hist",
    wrote: |text| OSNOISE.wrote(text),
    read: |text| read(text, &OSNOISE),
};

const OSNOISE: Tracer = Tracer {
    title: "# RTLA osnoise histogram",
    tool: "rtla osnoise",
    measurement: "noise",
    method: "osnoise",
    figures_of_rows: true,
    kinds: &[("CPU", "")],
};
