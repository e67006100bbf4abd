//! Where chance in tests comes from: one seed, which is the same in each run.

use rand::SeedableRng as _;
use rand::rngs::StdRng;

/// The seed of a run without `HERO_SEED`.
const FIXED: u64 = 8;

/// The seed of this run: always the same, unless `HERO_SEED` gives another, as `make fuzz` does. The output of the test says it.
pub fn seed() -> u64 {
    let seed = std::env::var("HERO_SEED").map_or(FIXED, |seed| seed.parse().expect("HERO_SEED is a number"));
    println!("HERO_SEED={seed}");
    seed
}

/// What a test draws from.
pub fn random() -> StdRng {
    StdRng::seed_from_u64(seed())
}
