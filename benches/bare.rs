//! Rhai alone: the baseline for `hero bench --bare`, which shows the cost of a job and of all limits.
//!
//! `bare --limits SCRIPT` measures the cost of limits: those that Rhai enforces for the engine, and the work of the
//! engine at each operation, which this file repeats. It prints the ratio of the medians of 1,000 runs with and without
//! limits. The runs alternate, so that a slow machine slows both.
//!
//! `bare RUNS SCRIPT` compiles a script once, runs it RUNS times, or for 150 ms, and prints the processor time of one
//! run, µs. It enforces and counts nothing: no operations, no clock, no stop, no memory (but the allocator is hero's,
//! which counts for itself). There is no job, no constant and no result in JSON. `join` is its only function besides
//! those of Rhai.
#![expect(clippy::disallowed_macros, reason = "a program of its own, which prints one number")]

use std::cell::Cell;
use std::error::Error;
use std::time::{Duration, Instant};

use rhai::packages::{Package, StandardPackage};
use rhai::{AST, Array, Dynamic, Engine, OptimizationLevel};
use rustix::time::{ClockId, clock_gettime};

/// The maximum time that a script runs.
const MOST: Duration = Duration::from_millis(150);
/// The number of runs with limits.
const TURNS: usize = 1000;
/// The number of operations between two reads of the clock, as in the engine.
const CLOCK_EVERY: u64 = 128;

thread_local! {
    /// Replaces the count of bytes that a thread has allocated, which only the engine knows.
    static ALLOCATED: (Cell<u64>, Cell<u64>) = const { (Cell::new(0), Cell::new(0)) };
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let first = arguments.next().ok_or("the number of runs is missing")?;
    let script = arguments.next().ok_or("the script is missing")?;
    let figure = if first == "--limits" { ratio(&script)? } else { alone(first.parse()?, &script)? };
    println!("{figure}");
    Ok(())
}

/// The processor time of one run, µs.
fn alone(runs: u32, script: &str) -> Result<f64, Box<dyn Error>> {
    let engine = unlimited();
    let ast = engine.compile(script)?;
    let (mut taken, mut done) = (Duration::ZERO, 0);
    while done < runs && taken < MOST {
        taken += run(&engine, &ast)?;
        done += 1;
    }
    Ok(taken.as_secs_f64() * 1e6 / f64::from(done.max(1)))
}

/// The ratio of the time that a script takes with limits to the time without.
fn ratio(script: &str) -> Result<f64, Box<dyn Error>> {
    let engines = [unlimited(), limited()];
    let asts = [engines[0].compile(script)?, engines[1].compile(script)?];
    let mut taken = [Vec::new(), Vec::new()];
    for _ in 0..TURNS {
        for at in 0..engines.len() {
            taken[at].push(run(&engines[at], &asts[at])?);
        }
    }
    let [without, with] = taken.map(|mut taken| {
        taken.sort_unstable();
        taken[TURNS / 2].as_secs_f64()
    });
    Ok(with / without)
}

fn unlimited() -> Engine {
    let mut engine = Engine::new_raw();
    StandardPackage::new().register_into_engine(&mut engine);
    engine.set_optimization_level(OptimizationLevel::None).set_max_expr_depths(0, 0).set_max_call_levels(usize::MAX);
    engine.register_fn("join", |array: Array, separator: &str| array.iter().map(ToString::to_string).collect::<Vec<_>>().join(separator));
    engine
}

/// Sets the limits that the engine sets by default.
fn limited() -> Engine {
    let (mut engine, limits) = (unlimited(), hero::engine::Limits::default());
    engine.set_max_call_levels(limits.call_levels).set_max_expr_depths(limits.expression_depth, limits.expression_depth);
    engine.set_max_variables(limits.variables).set_max_functions(limits.functions).set_max_modules(0).set_max_operations(0);
    let (operations, closer, began) = (Cell::new(0_u64), Cell::new(CLOCK_EVERY), Instant::now());
    engine.on_progress(move |_| {
        let count = operations.get() + 1;
        operations.set(count);
        let (now, made) = ALLOCATED.with(|(now, made)| (now.get(), made.get()));
        if count < closer.get() && now <= limits.memory && made <= limits.memory {
            return None;
        }
        closer.set(count + CLOCK_EVERY);
        (began.elapsed() > Duration::from_secs(3600)).then_some(Dynamic::UNIT)
    });
    engine
}

/// The processor time of one run.
fn run(engine: &Engine, ast: &AST) -> Result<Duration, Box<dyn Error>> {
    let begun = processor_time()?;
    drop(engine.eval_ast::<Dynamic>(ast)?);
    Ok(processor_time()?.saturating_sub(begun))
}

fn processor_time() -> Result<Duration, Box<dyn Error>> {
    Ok(Duration::try_from(clock_gettime(ClockId::ThreadCPUTime))?)
}
