//! Attacks on a single engine: they need settings that no server has by itself, or show what no job tells. All others
//! are files of `tests/hostile`.

use std::time::Duration;

use hero::engine::EngineSettings;
use hero::model::{ErrorKind, Limit};

use crate::engine::{Bench, job, settings};

/// An engine with a cap on operations, for attacks that would otherwise only end with their timeout.
fn capped() -> EngineSettings {
    let mut settings = settings();
    settings.limits.operations = Some(1_000_000);
    settings
}

#[tokio::test]
async fn operations_are_counted_inside_native_callbacks() {
    let mut bench = Bench::with(capped()).await;
    for script in [
        "loop {}",
        "let a = []; a.pad(5000, 0); a.map(|x| { for i in 0..1000 {} })",
        "let a = []; a.pad(5000, 0); a.filter(|x| { for i in 0..1000 {} true })",
        "let a = []; a.pad(5000, 0); a.sort(|x, y| { for i in 0..1000 {} 0 })",
        "try { loop {} } catch { 1 }",
        "fn f() { try { loop {} } catch { } f() } f()",
    ] {
        let error = bench.hits(Limit::Operations, script).await;
        assert!(error.message.contains("1000000"), "{script}: {}", error.message);
    }
}

#[tokio::test]
async fn call_depth_is_limited() {
    let mut bench = Bench::start().await;
    let error = bench.hits(Limit::Operations, "fn f(x) { f(x + 1) } f(0)").await;
    assert!(error.message.contains("32 levels"), "{}", error.message);
    assert!(error.stack.len() <= 33 && error.stack.iter().all(|name| name == "f"), "{:?}", error.stack);
}

#[tokio::test]
async fn what_loads_or_compiles_is_refused_where_it_stands_with_what_to_do_instead() {
    let mut bench = Bench::start().await;
    for (script, said) in [
        ("let a = 1;\nif false { import \"x\" as x; }", "scripts cannot import: there are no modules; write the functions into the script"),
        ("let a = 1;\nif false { eval(\"40 + 2\") }", "scripts have no eval: texts are not run"),
    ] {
        let error = bench.error(script).await;
        assert_eq!((error.line, error.column), (Some(2), Some(12)), "{error:?}");
        assert!(error.message.starts_with(said), "{error:?}");
    }
}

#[tokio::test]
async fn a_log_flood_stays_within_its_cap() {
    let mut bench = Bench::with(capped()).await;
    bench.hits(Limit::Operations, "let s = \"x\"; s.pad(90000, 'x'); loop { print(s); }").await;
    bench.hits(Limit::Operations, "loop { print(\"\"); }").await;
    let logged: usize = bench.log.0.iter().map(|record| record.text.len()).sum();
    assert!(logged <= 2 << 20 && bench.log.0.len() <= 1 << 17, "{logged} bytes in {} lines", bench.log.0.len());
}

#[tokio::test]
async fn a_script_whose_time_is_over_while_it_is_compiled_does_not_run_and_its_engine_lives() {
    let mut bench = Bench::start().await;
    let mut job = job(&format!("if false {{ {} }}", "1;".repeat(30_000)));
    job.timeout = Duration::from_millis(1);
    let ended = bench.run_job(&job).await;
    assert_eq!(ended.result.unwrap_err().kind, ErrorKind::Timeout);
    assert_eq!(ended.usage.operations, 0);
    assert!(bench.child.is_alive());
    job.timeout = Duration::from_secs(30);
    assert_eq!(bench.run_job(&job).await.result.unwrap().text, "");
}

#[tokio::test]
async fn regular_expressions_neither_take_memory_before_they_are_compiled_nor_time_after_the_end_of_their_job() {
    let mut bench = Bench::start().await;
    for pattern in ["\\w", "\\pL", "(?i)k", "((", "a{1000}", "[^x]", ".*"] {
        let script = format!("let p = ``; p.pad(4_000, `{pattern}`); try {{ regex_is_match(`x`, p); }} catch {{}} 42");
        assert_eq!(bench.text(&script).await, "42", "{pattern}");
    }
    // A place in the text for each group and state would take half a gigabyte.
    let groups = "let p = ``; p.pad(3_800, `()`); p += `[ab]{0,2000}`; let t = ``; t.pad(400, `a`); regex_captures(t, p)";
    assert!(bench.error(groups).await.message.contains("the pattern is too large"));
    let groups = groups.replace("3_800", "64");
    bench.run(&groups).await.result.unwrap();
    // The reason stands behind the pattern, and is told however long that is.
    let error = bench.error("let p = ``; p.pad(4_000, `(a)b`); regex_is_match(`x`, p + `(`)").await;
    assert!(error.message.starts_with("the pattern is wrong: unclosed group"), "{}", error.message);
    // Each match looks at all that follows.
    for call in ["regex_replace(s, p, `x`)", "regex_find_all(s, p)", "regex_split(s, p)"] {
        let mut job = job(&format!("let s = ``; s.pad(250_000, `A`); let p = `.*[^A-Z]|[A-Z]`; {call}"));
        job.timeout = Duration::from_millis(200);
        let error = bench.run_job(&job).await.result.unwrap_err();
        assert!(matches!(error.kind, ErrorKind::Timeout | ErrorKind::Limit), "{call}: {error:?}");
        assert!(bench.child.is_alive(), "{call}");
    }
}

#[tokio::test]
async fn what_is_read_and_filled_in_takes_a_time_that_grows_with_its_length() {
    let mut bench = Bench::start().await;
    let fill = "let t = ``; for i in 0..12 { t += `{{a}}`; } for i in 0..12 { t += t; } template(t, #{ a: 1, b: [1, 2] }).len()";
    assert_eq!(bench.text(fill).await, (12 << 12).to_string());
    // A value whose text is short however large it is.
    let large = "fn g() {} let a = []; a.pad(9000, 1); let f = Fn(`g`); for i in 0..20 { f = f.curry(a); } let t = ``; t.pad(50_000, `{{a}}`); \
        template(t, #{ a: f }).len()";
    assert_eq!(bench.text(large).await, "50000");
    for script in [
        format!("!!sum 1{}", "\n".repeat(60_000)),
        format!("!!sum 1{}", "\n  ".repeat(20_000)),
        format!("!!log.info{}x", "\n ".repeat(20_000)),
        format!("// {}\n!!sum 1", "c".repeat(60_000)),
        "!!uuid\n".repeat(8_000),
        format!("!!sum {}", "1,".repeat(20_000) + "1"),
        format!("!!log.info '{}'", "''".repeat(30_000)),
        format!("!!log.info '{}'", "\n  x".repeat(15_000)),
        format!("let {} = 1;", "for".repeat(21_000)),
    ] {
        let mut job = job(&script);
        job.timeout = Duration::from_secs(2);
        bench.run_job(&job).await.result.unwrap_or_else(|error| panic!("{}: {error:?}", &script[..20]));
    }
    for script in
        [format!("!!a.b {}", "k:".repeat(30_000)), format!("!!sum {}", "[".repeat(60_000)), format!("!!sum '{}", "'".repeat(60_000))]
    {
        assert_eq!(bench.error(&script).await.kind, ErrorKind::Script, "{}", &script[..20]);
    }
}
