//! Two sides in turn under a load, A B, B A, …: what drifts meanwhile favours neither.

use ontick_measure::Load;

use crate::versus::load_name;

/// Measures pairs of blocks; `block` measures one, of the first side where it is given `true`. The first side comes first
/// in each pair that is returned.
pub fn in_pairs<T>(
    load: &Load,
    pairs: u32,
    mut block: impl FnMut(bool) -> Result<T, String>,
) -> Result<Vec<(T, T)>, String> {
    let running = load.start().map_err(|e| e.to_string())?;
    let mut measured = Vec::new();
    for pair in 0..pairs {
        let first = pair % 2 == 0;
        let (a, b) = (block(first)?, block(!first)?);
        measured.push(if first { (a, b) } else { (b, a) });
        if let Some(status) = running.ended() {
            return Err(format!("the load {} ended before the blocks did ({status})", load_name(load)));
        }
    }
    Ok(measured)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_side_comes_first_in_half_of_the_pairs() {
        let mut order = Vec::new();
        let pairs = in_pairs(&Load::None, 2, |first| {
            order.push(first);
            Ok(if first { 'a' } else { 'b' })
        });
        assert_eq!(pairs.unwrap(), [('a', 'b'), ('a', 'b')]);
        assert_eq!(order, [true, false, false, true]);
    }
}
