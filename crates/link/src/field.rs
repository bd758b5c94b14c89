//! GF(2^8) with the polynomial x^8 + x^4 + x^3 + x^2 + 1 (0x11d), the usual one of Reed–Solomon codes.

const POLYNOMIAL: u16 = 0x11d;

/// Powers of 2, twice round so that sums of two logarithms need no remainder.
const POWERS: [u8; 510] = {
    let (mut powers, mut n, mut power) = ([0; 510], 0, 1u16);
    while n < 510 {
        powers[n] = power as u8;
        power <<= 1;
        if power > 255 {
            power ^= POLYNOMIAL;
        }
        n += 1;
    }
    powers
};

/// Their exponents; that of 0 is never used.
const LOGARITHMS: [u8; 256] = {
    let (mut logarithms, mut n) = ([0; 256], 0);
    while n < 255 {
        logarithms[POWERS[n] as usize] = n as u8;
        n += 1;
    }
    logarithms
};

/// The product.
pub fn mul(a: u8, b: u8) -> u8 {
    if a == 0 || b == 0 {
        return 0;
    }
    POWERS[usize::from(LOGARITHMS[usize::from(a)]) + usize::from(LOGARITHMS[usize::from(b)])]
}

/// 1 divided by something that is not 0.
pub fn inverse(a: u8) -> u8 {
    POWERS[255 - usize::from(LOGARITHMS[usize::from(a)])]
}

/// Adds `factor` times `other` to a row.
pub fn add_times(row: &mut [u8], factor: u8, other: &[u8]) {
    if factor != 0 {
        row.iter_mut().zip(other).for_each(|(byte, other)| *byte ^= mul(factor, *other));
    }
}

/// The polynomial whose roots are so many powers of 2, from 1 on: its coefficients, the highest first.
pub fn generator(roots: usize) -> Vec<u8> {
    let mut polynomial = vec![1];
    for power in &POWERS[..roots] {
        let lower = polynomial.clone();
        polynomial.push(0);
        add_times(&mut polynomial[1..], *power, &lower);
    }
    polynomial
}

/// Solves `matrix · x = right`, of as many rows as columns; each row of `right` is one of `x` afterwards. `None` if there
/// is no single solution.
pub fn solve(mut matrix: Vec<Vec<u8>>, mut right: Vec<Vec<u8>>) -> Option<Vec<Vec<u8>>> {
    for n in 0..matrix.len() {
        let pivot = (n..matrix.len()).find(|row| matrix[*row][n] != 0)?;
        matrix.swap(n, pivot);
        right.swap(n, pivot);
        let factor = inverse(matrix[n][n]);
        matrix[n].iter_mut().chain(&mut right[n]).for_each(|byte| *byte = mul(factor, *byte));
        let (own, own_right) = (matrix[n].clone(), right[n].clone());
        for row in (0..matrix.len()).filter(|row| *row != n) {
            let factor = matrix[row][n];
            add_times(&mut matrix[row], factor, &own);
            add_times(&mut right[row], factor, &own_right);
        }
    }
    Some(right)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_but_nothing_has_an_inverse() {
        assert!((1..=255).all(|a| mul(a, inverse(a)) == 1));
        assert!((0..=255).all(|a| mul(a, 0) == 0 && mul(a, 1) == a));
        // (x^7)·x = x^8 = x^4 + x^3 + x^2 + 1.
        assert_eq!(mul(0x80, 2), 0x1d);
    }

    #[test]
    fn generators_are_those_of_the_usual_code() {
        assert_eq!(generator(0), [1]);
        assert_eq!(generator(4), [1, 15, 54, 120, 64]);
        assert_eq!(generator(8), [1, 255, 11, 81, 54, 239, 173, 200, 24]);
    }

    #[test]
    fn a_solution_solves_and_there_may_be_none() {
        let matrix = vec![vec![0, 7, 1], vec![3, 7, 200], vec![1, 1, 1]];
        let right = vec![vec![9, 1], vec![0, 4], vec![77, 255]];
        let x = solve(matrix.clone(), right.clone()).unwrap();
        for (row, right) in matrix.iter().zip(right) {
            let mut sum = vec![0; 2];
            row.iter().zip(&x).for_each(|(factor, x)| add_times(&mut sum, *factor, x));
            assert_eq!(sum, right);
        }
        assert_eq!(solve(vec![vec![1, 2], vec![2, 4]], vec![vec![1], vec![1]]), None);
    }
}
