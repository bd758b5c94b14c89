//! The picture of a run, as files.

use std::path::PathBuf;

use clap::Args;
use ontick_record::{Run, store};
use ontick_report::{Plot, plot};

use crate::attempts::Attempts;
use crate::failure::Failure;

/// Files for the picture of a run.
#[derive(Args, Debug, Clone, Default)]
pub struct PictureFlags {
    /// Write the picture of the run as SVG to this file
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Write the picture of the run as PNG to this file
    #[cfg(feature = "png")]
    #[arg(long, value_name = "FILE")]
    png: Option<PathBuf>,
}

impl PictureFlags {
    /// The files that were asked for.
    pub fn files(&self) -> impl Iterator<Item = &PathBuf> {
        #[cfg(feature = "png")]
        let png = self.png.as_ref();
        #[cfg(not(feature = "png"))]
        let png = None;
        self.svg.iter().chain(png)
    }

    /// Whether any file was asked for.
    pub fn wanted(&self) -> bool {
        self.files().next().is_some()
    }

    /// Draws the plot that says most of the run.
    pub fn draw(&self, run: &Run) -> Result<(), Failure> {
        self.draw_plot(run, Plot::of(run))
    }

    /// Writes each file, whatever became of the other.
    pub fn draw_plot(&self, run: &Run, plot: Plot) -> Result<(), Failure> {
        if !self.wanted() {
            return Ok(());
        }
        let mut attempts = Attempts::default();
        let picture = plot::svg(run, plot);
        if let Some(path) = &self.svg {
            attempts.note(store::write_whole(path, picture.as_bytes()));
        }
        #[cfg(feature = "png")]
        if let Some(path) = &self.png {
            attempts.note(match ontick_report::png(&picture, 2.0) {
                Ok(picture) => store::write_whole(path, &picture).map_err(Failure::from),
                Err(error) => Err(error.into()),
            });
        }
        attempts.end()
    }
}
