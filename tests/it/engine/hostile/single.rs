//! Scripts that would break an engine without limits. Each is stopped, and the same engine continues.

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
async fn memory_is_limited_as_a_whole() {
    let mut bench = Bench::with(capped()).await;
    for script in [
        // One value after another, each within its own limit.
        "let a = []; a.pad(10000, 0); let b = a.map(|x| { let c = []; c.pad(10000, 1); c }); b.len()",
        "let s = \"x\"; s.pad(90000, 'x'); let f = |x| x; for i in 0..15000 { let t = s + i; f = f.curry(t); }",
        "let s = \"x\"; s.pad(90000, 'x'); let m = #{}; for i in 0..200000 { m[\"k\" + i] = s + i; }",
        "let m = #{}; for i in 0..10000000 { m[\"key number \" + i] = i; }",
        "fn f(n) { let a = []; a.pad(9000, n); let b = a; let c = a; let d = a; let e = a; let g = a; let h = a; let i = a; let j = a; let k = a; \
         let l = a; let m = a; let o = a; let p = a; let q = a; let r = a; let s = a; let t = a; let u = a; let v = a; f(n + 1) } f(0)",
    ] {
        let error = bench.error(script).await;
        assert_eq!(error.kind, ErrorKind::Limit, "{script}: {error:?}");
        assert_eq!(bench.text("40 + 2").await, "42");
    }
    assert!(bench.child.is_alive());
}

#[tokio::test]
async fn no_single_value_grows_without_bound() {
    let mut bench = Bench::with(capped()).await;
    for script in [
        "let s = \"x\"; loop { s += s; }",
        "let s = \"\"; s.pad(1000000000, 'x')",
        "let a = [1]; loop { a += a; }",
        "let a = []; a.pad(1000000000, 1)",
        "blob(1000000000)",
        "let a = \"a\"; a.pad(90000, 'a'); let b = a; a.replace(\"a\", b); a.len()",
        "let a = \"a\"; a.pad(90000, 'a'); let b = a; a.replace('a', b); a.len()",
        "let a = \"a\"; a.pad(200000, 'a'); a.replace(\"a\", 'é'); a.len()",
        "let a = \"a\"; a.pad(200000, 'a'); a.replace('a', 'é'); a.len()",
        "let a = \"a\"; a.pad(90000, 'a'); a.replace(\"\", a); a.len()",
        "let s = \"x\"; s.pad(250000, 'x'); let m = #{}; for i in 0..9000 { m[\"k\" + i] = s; } m.to_json().len()",
    ] {
        bench.hits(Limit::Memory, script).await;
    }
}

#[tokio::test]
async fn texts_of_large_values_are_cut_before_they_are_made() {
    let mut bench = Bench::with(capped()).await;
    // Setting a property is not checked, and the string is shared: 2 GB of text for next to no memory.
    let large = "let s = \"x\"; s.pad(250000, 'x'); let a = #{}; for i in 0..9000 { a[\"k\" + i] = s; }";
    for use_of_it in
        ["print(a)", "debug(a)", "a.to_string()", "a.to_debug()", "print(#{a: a})", "print([a])", "log_info(a)", "[a].to_string()"]
    {
        bench.hits(Limit::Memory, &format!("{large} {use_of_it}; 1 + 1")).await;
    }
    assert_eq!(bench.text("let a = [1]; let f = || a; a = [f, a]; let s = a.to_string(); s.len() > 0").await, "true");
}

#[tokio::test]
async fn a_map_above_its_limits_becomes_part_of_no_text() {
    let mut bench = Bench::start().await;
    // Without a bound Rhai would write two gigabytes of its own.
    for text in ["`${a}`", "\"\" + a", "a + \"\"", "let t = \"\"; t += a;", "`${[1, a]}`"] {
        let large = "let s = \"x\"; s.pad(250000, 'x'); let a = #{}; for i in 0..9000 { a[\"k\" + i] = s; }";
        bench.hits(Limit::Memory, &format!("{large} {text}; 1 + 1")).await;
    }
    assert!(bench.child.is_alive());
}

#[tokio::test]
async fn padding_pads_ends_and_counts_what_functions_have_curried() {
    let mut bench = Bench::start().await;
    for (script, padded) in [
        ("let s = `a`; s.pad(10, ``); s", "a"),
        ("let s = `a`; s.pad(6, `xyz`); s", "axyzxy"),
        ("let s = `aé`; s.pad(5, `éü`); s", "aééüé"),
        ("let s = `abc`; s.pad(2, `x`); s.pad(-1, `x`); s", "abc"),
        ("let a = [1]; a.pad(3, [0]); a", "[1,[0],[0]]"),
        ("let a = [1, 2]; a.pad(1, 0); a.pad(-9223372036854775807, 0); a", "[1,2]"),
    ] {
        assert_eq!(bench.text(script).await, padded, "{script}");
    }
    let curried = "fn g(x) { x } let v = []; v.pad(9000, 1); let f = Fn(`g`).curry(v); let a = [];";
    bench.hits(Limit::Memory, &format!("{curried} a.pad(10000, f);")).await;
    bench.hits(Limit::Memory, "let row = []; row.pad(1000, 1); let a = []; a.pad(10000, row);").await;
    assert_eq!(bench.text(&format!("{curried} a.pad(10, f); a.len()")).await, "10");
    assert!(bench.child.is_alive());
}

#[tokio::test]
async fn an_operation_that_copies_much_does_not_hide_the_end_of_its_job() {
    let mut settings = settings();
    settings.grace = Duration::from_secs(3);
    let mut bench = Bench::with(settings).await;
    let large = "let a = []; a.pad(9000, 0); let v = []; v.pad(9000, 1); let m = #{}; for i in 0..150 { m[`k${i}`] = v; }";
    for search in ["m in a", "a.contains(m)", "a.index_of(m)", "loop { let n = m; n = 0; }"] {
        let mut job = job(&format!("{large} {search}"));
        job.timeout = Duration::from_millis(300);
        let ended = bench.run_job(&job).await;
        assert_eq!(ended.result.unwrap_err().kind, ErrorKind::Timeout, "{search}");
        // Its engine says so itself: nobody had to kill it.
        assert!(ended.usage.operations > 0 && bench.child.is_alive(), "{search}");
    }
}

#[tokio::test]
async fn replace_still_replaces() {
    let mut bench = Bench::start().await;
    assert_eq!(
        bench
            .text("let s = \"hello\"; s.replace(\"l\", \"LL\"); s.replace('h', 'H'); s.replace(\"o\", '0'); s.replace('e', \"\"); s")
            .await,
        "HLLLL0"
    );
    assert!(bench.error("const S = \"abc\"; S.replace('a', 'b')").await.message.contains("constant"));
}

#[tokio::test]
async fn what_overflows_the_stack_elsewhere_does_no_harm() {
    // To drop a long chain takes a while on a busy machine, after the end of its job.
    let mut settings = settings();
    settings.grace = Duration::from_secs(20);
    let mut bench = Bench::with(settings).await;
    for script in [
        "let a=0; let f=||a; loop { let g=f; f=||g; }",
        "let a=0; let f=||a; let x=[f]; loop { let y=x; let f=||y; x=[f]; }",
        "let a=[]; loop { a=[a]; }",
        "let a=#{}; loop { a=#{a: a}; }",
        "let a=0; let f=||a; for i in 0..100000 { let g=f; f=||g; }",
        "let f=||0; let x=[]; for i in 0..20000 { let y=x; x=[y]; f=||x; }",
        "let a=0; let f=||a; let x=[f]; for i in 0..20000 { let y=x; let f=||y; x=[f]; }",
        "fn g(x) { x } let f = Fn(\"g\"); for i in 0..20000 { f = Fn(\"g\").curry(f); }",
        "let a=[]; for i in 0..2000 { a=[a]; } let b=a; a==b",
        "let a=[]; for i in 0..2000 { a=[a]; } `${a}`.len()",
        "let a=[]; for i in 0..2000 { a=[a]; } a",
        "fn f(x) { f(x + 1) } f(0)",
        "fn f(x) { [1].map(|y| f(y)) } f(0)",
        "fn f(n) { switch n { 0 => 0, _ => { if true { switch n { 0 => 1, _ => f(n - 1) } } } } } f(100)",
    ] {
        let mut job = job(script);
        job.timeout = Duration::from_secs(1);
        let ended = bench.child.run(&job, &mut bench.log, &bench.stop).await;
        let ended = ended.unwrap_or_else(|died| panic!("{script}: {died}"));
        if let Err(error) = ended.result {
            assert!(matches!(error.kind, ErrorKind::Limit | ErrorKind::Timeout), "{script}: {error:?}");
        }
        assert_eq!(bench.text("40 + 2").await, "42");
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
async fn panics_become_errors_and_values_that_hold_themselves_have_no_text() {
    let mut bench = Bench::with(capped()).await;
    for script in [
        "let m = #{}; let f = || m; m.f = f; m.to_json()",
        "let a = []; let f = || a; a = [f]; a",
        "let a = []; let f = || a; a.push(f); a",
        "let a = []; let f = |x| a.push(x); f.call(a); a",
        "let m = #{a: 1}; let f = || m.b = m; f.call(); m",
    ] {
        let ended = bench.run(script).await;
        if let Err(error) = ended.result {
            assert!(matches!(error.kind, ErrorKind::Script | ErrorKind::Limit), "{script}: {error:?}");
        }
        assert_eq!(bench.text("40 + 2").await, "42");
    }
}

#[tokio::test]
async fn nothing_is_loaded_or_compiled_at_run_time() {
    let mut bench = Bench::start().await;
    for script in [
        "import \"../../../../etc/passwd\" as x; x",
        "import \"/etc/passwd\" as x; x",
        "import \"x\" as x; x",
        "eval(\"40 + 2\")",
        "call(Fn(\"eval\"), \"40 + 2\")",
        "Fn(\"eval\").call(\"40 + 2\")",
        "\"40 + 2\".eval()",
        "let name = \"ev\" + \"al\"; Fn(name).call(\"40 + 2\")",
    ] {
        assert_eq!(bench.error(script).await.kind, ErrorKind::Script, "{script}");
    }
    // Also where it would never come to it, and in words that say what to do instead.
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
async fn deep_and_large_sources_are_refused_without_harm() {
    let mut bench = Bench::start().await;
    let n = 15_000;
    for source in [
        "(".repeat(n),
        "[".repeat(n),
        "#{a:".repeat(n),
        "{".repeat(n),
        "!".repeat(n),
        format!("1{}", "+1".repeat(n)),
        format!("a{}", ".b".repeat(n)),
        format!("a{}", "[0]".repeat(n)),
        "if true {".repeat(n / 3),
        "`${".repeat(n),
        "||".repeat(n),
        "f(".repeat(n),
        (0..100).map(|n| format!("fn f{n}() {{}}")).collect(),
    ] {
        let error = bench.error(&source).await;
        assert!(matches!(error.kind, ErrorKind::Script | ErrorKind::Limit), "{error:?}");
        assert!(error.message.len() <= 2048);
    }
    assert_eq!(bench.text(&"{}".repeat(30_000)).await, "");
    assert_eq!(
        bench.text(&format!("switch 1 {{ {} _ => 7 }}", (0..4000).map(|n| format!("{} => {n},", n + 10)).collect::<String>())).await,
        "7"
    );
    bench.hits(Limit::Source, &" ".repeat((64 << 10) + 1)).await;
    bench.hits(Limit::Source, &(0..100).map(|n| format!("fn f{n}() {{}}")).collect::<String>()).await;
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
async fn results_are_limited_in_size_and_depth() {
    let mut bench = Bench::start().await;
    bench.hits(Limit::Result, "let s = \"x\"; s.pad(200000, 'x'); let m = #{}; for i in 0..6 { m[\"k\" + i] = s; } m").await;
    bench.hits(Limit::Result, "let a = []; for i in 0..65 { a = [a]; } a").await;
    assert_eq!(bench.text("let a = []; for i in 0..63 { a = [a]; } a").await.len(), 128);
}

#[tokio::test]
async fn sleep_ends_with_the_job_and_takes_any_number() {
    let mut bench = Bench::start().await;
    assert_eq!(bench.text("sleep(0); sleep(-1); sleep(-1.5); sleep(0.0); sleep(0.0 / 0.0); sleep(0.001); 1").await, "1");
    for script in
        ["sleep(1000)", "sleep(1e300)", "sleep(1.0 / 0.0)", "sleep(9223372036854775807)", "try { sleep(1000) } catch { } sleep(1000)"]
    {
        bench.times_out(script).await;
    }
    assert!(bench.child.is_alive());
}

#[tokio::test]
async fn a_timeout_ends_loops_and_native_functions_with_callbacks() {
    let mut bench = Bench::start().await;
    for script in [
        "loop {}",
        "let a = []; a.pad(9000, 0); loop { a.sort(|x, y| 0); }",
        "let a = []; a.pad(9000, 0); for i in 0..100000 { let b = a; b.push(i); }",
        "loop { try { throw 1 } catch { } }",
    ] {
        bench.times_out(script).await;
    }
    assert!(bench.child.is_alive());
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
    bench.hits(Limit::Memory, &"!!pad.start x 262144\n".repeat(2_500)).await;
    for script in
        [format!("!!a.b {}", "k:".repeat(30_000)), format!("!!sum {}", "[".repeat(60_000)), format!("!!sum '{}", "'".repeat(60_000))]
    {
        assert_eq!(bench.error(&script).await.kind, ErrorKind::Script, "{}", &script[..20]);
    }
}
