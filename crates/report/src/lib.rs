//! A `Run` (or several) as terminal text, HTML, SVG, PNG and OpenMetrics.
