//! Many records of many machines ([`Survey`]) as text and as a page.

mod html;
mod profiles;
mod text;
mod words;

use ontick_record::fleet::Survey;

use crate::Style;

/// The survey as text: what it is of, the ranking of each job, what changed, which machines stand apart.
pub fn text(survey: &Survey, style: &Style) -> String {
    text::all(survey, style)
}

/// The survey as one page, which fetches nothing.
pub fn html(survey: &Survey) -> String {
    html::all(survey)
}

/// The survey as JSON, for programs.
pub fn json(survey: &Survey) -> String {
    let mut text = serde_json::to_string(survey).expect("a survey is always representable as JSON");
    text.push('\n');
    text
}
