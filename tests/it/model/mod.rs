//! Random operations on many jobs, run twice: by the real functions on a real Redis, and by a plain model.
//!
//! `HERO_SEED` selects another run, `HERO_MODEL_STEPS` a longer one. A failure is shrunk before it is reported.

mod cycle;
mod plain;
mod step;
mod town;
mod walk;

use std::cell::{Cell, RefCell};
use std::panic::AssertUnwindSafe;

use futures_util::FutureExt;
use proptest::collection::vec;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};
use step::Step;
use town::Town;

use crate::support::{Redis, seed};

/// The most steps of one life.
const STEPS: usize = 60;

thread_local! {
    /// Whether panics of this thread are part of the search for the smallest failure, and not to be shown.
    static SEARCHES: Cell<bool> = const { Cell::new(false) };
}

async fn live(town: &mut Town<'_>, steps: &[Step]) {
    town.clear().await;
    for (at, step) in steps.iter().enumerate() {
        let taken = AssertUnwindSafe(async {
            town.take(step).await;
            town.check().await;
            if at % 8 == 7 || at + 1 == steps.len() {
                town.walk().await;
            }
        });
        if let Err(panic) = taken.catch_unwind().await {
            let text = panic.downcast_ref::<String>().cloned().or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string));
            panic!("step {at}, {step:?}: {}", text.unwrap_or_default());
        }
    }
}

#[test]
fn random_lives_go_as_the_model_says_and_leave_nothing_behind() {
    let seed = seed();
    let steps: usize = std::env::var("HERO_MODEL_STEPS").map_or(10_000, |steps| steps.parse().expect("HERO_MODEL_STEPS is a number"));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let redis = runtime.block_on(Redis::start());
    let town = RefCell::new(runtime.block_on(Town::found(&redis)));
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let config = Config {
        // On average a life has half as many.
        cases: (2 * steps).div_ceil(STEPS).try_into().unwrap(),
        max_shrink_iters: 400,
        failure_persistence: None,
        ..Config::default()
    };
    let show = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !SEARCHES.get() {
            show(panic);
        }
    }));
    SEARCHES.set(true);
    let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &bytes));
    let lived = runner.run(&vec(step::step(), 1..=STEPS), |steps| {
        let life = std::panic::catch_unwind(AssertUnwindSafe(|| runtime.block_on(live(&mut town.borrow_mut(), &steps))));
        life.map_err(|panic| {
            let text = panic.downcast_ref::<String>().cloned().unwrap_or_default();
            println!("{} steps: {}", steps.len(), &text[..text.len().min(1500)]);
            TestCaseError::fail(text)
        })
    });
    SEARCHES.set(false);
    if let Err(error) = lived {
        panic!("HERO_SEED={seed}: {error}");
    }
}
