//! Measurements of timing, each returned as a `Run`.
