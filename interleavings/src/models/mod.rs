//! What must hold.

mod addresses;
mod calls;
pub mod kernel;
mod lines;
mod newest;
mod once;
mod recorder;

use crate::explore::Model;

const fn model(name: &'static str, run: fn(), holds: &'static str) -> Model {
    Model { name, holds, interrupted: None, run }
}

const fn interrupted(most: usize, model: Model) -> Model {
    Model { interrupted: Some(most), ..model }
}

pub static ALL: [Model; 27] = [
    interrupted(2, model("recorder-squares", recorder::squares, "a sum of 128 bits is read whole, and never falls")),
    model("recorder-extremes", recorder::extremes, "a sample that is counted is in the sums and the extremes"),
    interrupted(
        3,
        model("recorder-seconds", recorder::seconds, "each second's largest latency comes once, whole, in order"),
    ),
    interrupted(
        3,
        model("samples", once::samples, "each sample comes once and whole, or is counted as dropped, also at the end"),
    ),
    model("intervals", once::intervals, "an interval that is counted is whole"),
    model("first-pulses", once::first_pulses, "a pulse that is counted is whole"),
    model("causes", once::causes, "an edge comes with its own time"),
    model("causes-lapped", once::causes_lapped, "one that is overwritten meanwhile is not taken for another"),
    model("payload", newest::payload, "a payload is whole and newer than the one before; the last one stays"),
    model("clock-steps", newest::clock_steps, "who sees a step counted sees its size, or that of one after it"),
    model("frames-sent", newest::frames_sent, "who sees a frame counted sees when it ended, or when one after it did"),
    model("wake-up-calls", calls::wake_up_calls, "each call is answered once or counted as left out"),
    model("leave", calls::leave, "nobody is measured while resting"),
    interrupted(
        3,
        model("line-edges", lines::edges, "no edge is lost, invented or taken for another, however many write"),
    ),
    interrupted(2, model("line-lapped", lines::lapped, "a late writer puts no old edge over a newer one")),
    interrupted(
        2,
        model("line-counted", lines::counted, "edges are counted beyond the word that counts them, however many write"),
    ),
    model("line-sleeper", lines::sleeper, "an edge wakes whoever sleeps until it"),
    model("line-owners", lines::owners, "of two that claim a line, one has it, and the other is told who"),
    interrupted(
        3,
        model(
            "line-left",
            lines::left,
            "who lets go of a line that was left driven does not stop another that begins to drive",
        ),
    ),
    interrupted(3, model("lines-at-once", lines::at_once, "levels that are read at once were there at once")),
    interrupted(
        3,
        model(
            "xdp-received",
            kernel::xdp_received,
            "each descriptor of a frame that came is read whole, once and in order",
        ),
    ),
    interrupted(
        3,
        model(
            "xdp-sent",
            kernel::xdp_sent,
            "the kernel reads each descriptor of a frame to send whole, once and in order",
        ),
    ),
    interrupted(
        2,
        model("addresses", addresses::learned, "no core reads the port of another address, whatever others learn"),
    ),
    model("packet-ring", kernel::packet_ring, "each frame is read whole, once and in order"),
    interrupted(2, model("bpf-records", kernel::bpf_records, "each record is read whole, once and in order")),
    interrupted(
        2,
        model("bpf-lapped", kernel::bpf_lapped, "one that is written over is lost, counted, and not read in parts"),
    ),
    interrupted(
        3,
        model(
            "perf-records",
            kernel::perf_records,
            "all that was recorded is read once and in order, also in two parts",
        ),
    ),
];
