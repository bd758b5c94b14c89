//! Real-time kernels: whether one's configuration is fit, which are to be had, how one is configured, built
//! and installed beside the one that is there. Nothing here prints.
#![forbid(unsafe_code)]
#![deny(clippy::print_stdout, clippy::print_stderr, clippy::dbg_macro)]

pub mod base;
pub mod board;
pub mod build;
pub mod check;
pub mod command;
pub mod configure;
pub mod fragment;
pub mod install;
pub mod kconfig;
pub mod make;
mod null_device;
pub mod options;
mod other_makers;
pub mod packages;
pub mod rt_patches;
pub mod source;
pub mod steps;
pub mod tools;
pub mod unmet_options;
