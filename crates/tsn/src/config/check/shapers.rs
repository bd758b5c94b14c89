//! That a port can keep the idle slopes of its classes.

use super::super::class::Draft as Class;
use super::super::defaults;
use super::super::port::Draft as Port;
use super::super::problem::Report;
use crate::model::Role;
use crate::shaper;

pub(super) fn shapers(port: &Port, classes: &[Class], report: &mut Report) {
    let (Ok(whole), Ok(slopes)) = (port.port(), &port.idle_slopes) else { return };
    let Ok(classes) = classes.iter().map(Class::class).collect::<Result<Vec<_>, _>>() else { return };
    let switch = defaults().switch(String::new(), Role::Station, classes, vec![whole]);
    let whole = &switch.ports[0];
    let reasons = shaper::unfit(&switch, whole, whole.rate);
    if reasons.is_empty() {
        shaper::doubtful(&switch, whole, whole.rate).into_iter().for_each(|doubt| report.warn(slopes.span(), doubt));
    }
    for reason in reasons {
        report.error(slopes.span(), reason);
    }
}
