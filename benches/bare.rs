//! Rhai alone: what `hero bench --bare` puts beside the engine, to tell what a job and all limits cost.
//!
//! `bare RUNS SCRIPT` compiles a script once, runs it so many times, or for 150 ms, and prints the processor time of one run, µs. Nothing is
//! limited, looked at or counted: no operations, no clock, no memory (this program has the allocator of the system), no stop. There is no
//! job, no constant and no result in JSON. Of the functions that are not Rhai's own it has `join`.
#![expect(clippy::disallowed_macros, reason = "a program of its own, which prints one number")]

use std::error::Error;
use std::time::Duration;

use rhai::packages::{Package, StandardPackage};
use rhai::{Array, Dynamic, Engine, OptimizationLevel};
use rustix::time::{ClockId, clock_gettime};

/// How long a script is run at most.
const MOST: Duration = Duration::from_millis(150);

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let runs: u32 = arguments.next().ok_or("the number of runs is missing")?.parse()?;
    let script = arguments.next().ok_or("the script is missing")?;
    let mut engine = Engine::new_raw();
    StandardPackage::new().register_into_engine(&mut engine);
    engine.set_optimization_level(OptimizationLevel::None).set_max_expr_depths(0, 0).set_max_call_levels(usize::MAX);
    engine.register_fn("join", |array: Array, separator: &str| array.iter().map(ToString::to_string).collect::<Vec<_>>().join(separator));
    let ast = engine.compile(&script)?;
    let (begun, mut taken, mut done) = (processor_time()?, Duration::ZERO, 0);
    while done < runs && taken < MOST {
        drop(engine.eval_ast::<Dynamic>(&ast)?);
        taken = processor_time()?.saturating_sub(begun);
        done += 1;
    }
    println!("{}", taken.as_secs_f64() * 1e6 / f64::from(done.max(1)));
    Ok(())
}

fn processor_time() -> Result<Duration, Box<dyn Error>> {
    Ok(Duration::try_from(clock_gettime(ClockId::ThreadCPUTime))?)
}
