//! Scripts that are compiled but not run.

use std::time::Duration;

use hero::actor::ScriptChecker;
use hero::engine::Names;
use hero::model::{ErrorKind, JobError, Limit};
use hero::process::Spawner;

use super::child::freeze;
use super::{Bench, exists, settings};

/// Longer than any test may take.
const PATIENCE: Duration = Duration::from_secs(60);

fn place(error: Option<JobError>) -> Option<(ErrorKind, Option<u32>, Option<u32>)> {
    error.map(|error| (error.kind, error.line, error.column))
}

#[tokio::test]
async fn an_engine_compiles_a_script_without_running_it() {
    let mut bench = Bench::start().await;
    for _ in 0..2 {
        assert_eq!(bench.child.check("print(1); loop {}", Names::Any, PATIENCE).await.unwrap(), None);
        let error = bench.child.check("let y = 1;\nlet x = ;", Names::Any, PATIENCE).await.unwrap();
        assert_eq!(place(error), Some((ErrorKind::Script, Some(2), Some(9))));
        assert_eq!(bench.text("40 + 2").await, "42");
    }
    assert!(bench.log.0.is_empty());
    for script in [" ".repeat((64 << 10) + 1), "(".repeat(20_000), "fn f() {}".repeat(100)] {
        let error = bench.child.check(&script, Names::Any, PATIENCE).await.unwrap().unwrap();
        assert!(error.limit == Some(Limit::Source) || error.kind == ErrorKind::Script, "{error:?}");
    }
    assert_eq!(bench.text("40 + 2").await, "42");
}

#[tokio::test]
async fn unknown_functions_are_told_where_names_are_checked_also_of_a_script_that_was_compiled_before() {
    let mut bench = Bench::start().await;
    for (script, said) in [
        ("let x = 1;\npront(x)", "Function not found: pront"),
        ("osis::gett(\"a\")", "osis::gett"),
        ("let m = #{items: [1, 5], min: 2}; m.items.retain(|x| x > m.min)", "let min = m.min"),
    ] {
        assert_eq!(bench.child.check(script, Names::Any, PATIENCE).await.unwrap(), None, "{script}");
        for _ in 0..2 {
            let error = bench.child.check(script, Names::Checked, PATIENCE).await.unwrap().unwrap();
            assert!(error.message.contains(said) && error.line.is_some(), "{script}: {error:?}");
        }
    }
}

#[tokio::test]
async fn an_engine_that_does_not_answer_a_check_is_killed() {
    let mut bench = Bench::start().await;
    let pid = bench.child.pid();
    freeze(pid).await;
    assert!(bench.child.check("1", Names::Any, Duration::from_millis(50)).await.is_err());
    assert!(!bench.child.is_alive() && !exists(pid));
    assert!(bench.child.check("1", Names::Any, PATIENCE).await.is_err());
}

#[tokio::test]
async fn a_checker_says_nothing_of_what_it_cannot_know() {
    let spawner = Spawner::start().unwrap();
    let checker = ScriptChecker::new(spawner.clone(), settings());
    // On a machine that is too busy for an engine to start in time nothing is known; then another try.
    let mut wrong = None;
    for _ in 0..20 {
        wrong = checker.check("let x = ;", Names::Any).await;
        if wrong.is_some() {
            break;
        }
    }
    assert_eq!(place(wrong), Some((ErrorKind::Script, Some(1), Some(9))));
    assert_eq!(checker.check("40 + 2", Names::Any).await, None);
    let mut settings = settings();
    settings.hero = "/nonexistent/hero".into();
    assert_eq!(ScriptChecker::new(spawner, settings).check("let x = ;", Names::Any).await, None);
}
