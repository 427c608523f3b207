//! The fingerprint of RSA keys made by a broken library (CVE-2017-15361,
//! "ROCA"): modulo every small prime, such a modulus is a power of 65537.

/// The primes of the published test. A sound modulus passes all of them with a
/// probability below 2^-27.
const PRIMES: [u32; 38] = [
    3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97,
    101, 103, 107, 109, 113, 127, 131, 137, 139, 149, 151, 157, 163, 167,
];

/// Whether a modulus (big-endian) bears the fingerprint.
pub(super) fn fingerprinted(modulus: &[u8]) -> bool {
    PRIMES
        .iter()
        .all(|&prime| power_of_65537(residue(modulus, prime), prime))
}

fn residue(number: &[u8], prime: u32) -> u32 {
    number
        .iter()
        .fold(0, |rest, byte| (rest * 256 + u32::from(*byte)) % prime)
}

fn power_of_65537(residue: u32, prime: u32) -> bool {
    let generator = 65537 % prime;
    let mut power = 1;
    loop {
        if power == residue {
            return true;
        }
        power = power * generator % prime;
        if power == 1 {
            return false;
        }
    }
}
