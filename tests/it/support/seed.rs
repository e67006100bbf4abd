//! The source of randomness in tests: one seed, the same in each run.

use rand::SeedableRng as _;
use rand::rngs::StdRng;

/// The seed of a run without `HERO_SEED`.
const FIXED: u64 = 8;

/// The seed of this run: always the same, unless `HERO_SEED` sets another, as `make fuzz` does. The output of the test
/// shows it.
pub fn seed() -> u64 {
    let seed = std::env::var("HERO_SEED").map_or(FIXED, |seed| seed.parse().expect("HERO_SEED is a number"));
    println!("HERO_SEED={seed}");
    seed
}

/// The random number generator of a test.
pub fn random() -> StdRng {
    StdRng::seed_from_u64(seed())
}
