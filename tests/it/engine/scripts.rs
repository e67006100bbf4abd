use hero::model::{ErrorKind, LogLevel, OutputFormat};
use serde_json::{Value, json};

use super::{Bench, job};

#[tokio::test]
async fn results_of_every_type_have_their_text_and_format() {
    let mut bench = Bench::start().await;
    for (script, text, format) in [
        ("40 + 2", "42", OutputFormat::Json),
        ("ping", "pong", OutputFormat::Text),
        ("  ping\n", "pong", OutputFormat::Text),
        ("", "", OutputFormat::Empty),
        ("()", "", OutputFormat::Empty),
        ("let x = 1;", "", OutputFormat::Empty),
        ("return 1; 2", "1", OutputFormat::Json),
        ("exit(3); 4", "3", OutputFormat::Json),
        ("fn f() { [1, 2].map(|x| exit(x + 2)); } f(); 4", "3", OutputFormat::Json),
        ("\"a\\\"b\"", "a\"b", OutputFormat::Text),
        ("'c'", "c", OutputFormat::Text),
        ("1.0", "1.0", OutputFormat::Json),
        ("-0.5e10", "-5000000000.0", OutputFormat::Json),
        ("9223372036854775807", "9223372036854775807", OutputFormat::Json),
        ("true", "true", OutputFormat::Json),
        ("[1, 2.5, \"x\", 'y', (), [#{}]]", r#"[1,2.5,"x","y",null,[{}]]"#, OutputFormat::Json),
        ("#{b: 1, a: \"é\\n\"}", r#"{"a":"é\n","b":1}"#, OutputFormat::Json),
        ("let b = blob(3); b[1] = 255; b", "[0,255,0]", OutputFormat::Json),
        ("let x = 1; let f = || x += 1; f.call(); [x]", "[2]", OutputFormat::Json),
    ] {
        let output = bench.run(script).await.result.unwrap_or_else(|error| panic!("{script}: {error:?}"));
        assert_eq!((output.text.as_str(), output.format), (text, format), "{script}");
    }
}

#[tokio::test]
async fn a_result_that_json_cannot_say_is_an_error_that_names_it() {
    let mut bench = Bench::start().await;
    for (script, word) in [
        ("0.0 / 0.0", "NaN"),
        ("[1.0 / 0.0]", "inf"),
        ("|x| x", "a closure"),
        ("fn f() {} #{a: Fn(\"f\")}", "the function f"),
        ("timestamp()", "timestamp"),
        ("0..3", "Range"),
    ] {
        let error = bench.error(script).await;
        assert_eq!(error.kind, ErrorKind::Script, "{script}");
        assert!(error.message.contains(word), "{script}: {}", error.message);
    }
}

#[tokio::test]
async fn a_script_sees_its_job() {
    let mut bench = Bench::start().await;
    let mut job = job("#{job: JOB_ID, caller: CALLER_ID, context: CONTEXT_ID, args: args, lang: env.LANG, other: env.HOME}");
    let args = json!({ "n": 1, "f": 1.5, "big": 1e19, "list": [null, true, "x"] });
    job.args = Some(args.into());
    let output = bench.run_job(&job).await.result.unwrap();
    let seen: Value = serde_json::from_str(&output.text).unwrap();
    assert_eq!(
        seen,
        json!({ "job": job.job_id.as_str(), "caller": "alice", "context": 7, "lang": "de", "other": null,
            "args": { "n": 1, "f": 1.5, "big": 1e19, "list": [null, true, "x"] } })
    );
    assert_eq!(bench.text("type_of(args)").await, "map");
    assert!(bench.error("CONTEXT_ID = 0").await.message.contains("constant"));
    job.script = "args.n = 1".into();
    assert!(bench.run_job(&job).await.result.unwrap_err().message.contains("constant"));
}

#[tokio::test]
async fn nothing_of_one_job_is_seen_by_the_next() {
    let mut bench = Bench::start().await;
    bench.text("let secret = 1; fn hidden() { 2 } secret + hidden()").await;
    assert!(bench.error("secret").await.message.contains("secret"));
    assert!(bench.error("hidden()").await.message.contains("hidden"));
}

#[tokio::test]
async fn errors_say_where_and_through_which_functions() {
    let mut bench = Bench::start().await;
    let error = bench.error("let x = 1;\n\n  x.nothing();").await;
    assert_eq!((error.kind, error.line, error.column), (ErrorKind::Script, Some(3), Some(5)));
    assert!(error.message.contains("nothing") && !error.message.contains("line"), "{}", error.message);

    let error = bench.error("fn inner(x) { throw #{code: x} }\nfn outer(x) { inner(x + 1) }\nouter(1)").await;
    assert_eq!(error.stack, ["inner", "outer"]);
    assert_eq!((error.line, error.message.as_str()), (Some(1), "#{\"code\": 2}"));

    let error = bench.error("throw \"my words\"").await;
    assert_eq!((error.message.as_str(), error.line, error.column), ("my words", Some(1), Some(1)));
    assert_eq!(bench.error("[1].map(|x| x.y())").await.stack.first().map(String::as_str), Some("closure"));

    let error = bench.error("let x = ;").await;
    assert_eq!((error.kind, error.line, error.column), (ErrorKind::Script, Some(1), Some(9)));

    let error = bench.error(&format!("throw \"{}\"", "é".repeat(30_000))).await;
    assert!(error.message.len() <= 2048 && error.message.ends_with('…'));
}

#[tokio::test]
async fn what_a_script_logs_arrives_in_order_with_its_level() {
    let mut bench = Bench::start().await;
    bench
        .text(r#"print("a"); print(1); debug("b"); log_info([1, "x"]); log_warn("w"); log_error(#{a: 1}); sleep(0.01); print("last");"#)
        .await;
    let log: Vec<_> = bench.log.0.iter().map(|record| (record.level, record.text.as_str())).collect();
    assert_eq!(
        log,
        [
            (LogLevel::Info, "a"),
            (LogLevel::Info, "1"),
            (LogLevel::Debug, "\"b\""),
            (LogLevel::Info, "[1, \"x\"]"),
            (LogLevel::Warn, "w"),
            (LogLevel::Error, "#{\"a\": 1}"),
            (LogLevel::Info, "last"),
        ]
    );
}

#[tokio::test]
async fn what_a_failed_script_logged_arrives_too() {
    let mut bench = Bench::start().await;
    bench.error("print(\"before\"); throw 1").await;
    assert_eq!(bench.log.texts(), ["before"]);
}

#[tokio::test]
async fn usage_says_what_the_job_took() {
    let mut bench = Bench::start().await;
    bench.text("1").await;
    let usage = bench.run("let s = \"\"; for i in 0..1000 { s += \"0123456789\"; } sleep(0.02); s.len()").await.usage;
    assert!(usage.operations > 2000, "{usage:?}");
    assert!((10_000..1 << 20).contains(&usage.peak_memory), "{usage:?}");
    assert!(usage.run_ms >= 20, "{usage:?}");
    assert!(usage.cpu_us > 0, "{usage:?}");
    // Who sleeps takes no processor.
    let usage = bench.run("sleep(0.3)").await.usage;
    assert!(usage.run_ms >= 300 && usage.cpu_us < 150_000, "{usage:?}");
}

#[tokio::test]
async fn a_script_runs_again_from_the_cache() {
    let mut bench = Bench::start().await;
    let script = format!("let x = args; fn f(n) {{ n * 2 }} f(x) // {}", "x".repeat(20_000));
    for n in 0..50 {
        let mut job = job(&script);
        job.args = Some(n.into());
        assert_eq!(bench.run_job(&job).await.result.unwrap().text, (n * 2).to_string());
    }
    // More scripts than the cache holds.
    for n in 0..80 {
        assert_eq!(bench.text(&format!("{n} // {}", "x".repeat(30_000))).await, n.to_string());
    }
    assert_eq!(bench.text(&format!("0 // {}", "x".repeat(30_000))).await, "0");
}

#[tokio::test]
async fn what_a_script_throws_is_data_unless_it_is_a_text() {
    let mut bench = Bench::start().await;
    for (script, message, data) in [
        ("throw `no`", "no", None),
        ("throw ()", "the script threw an error", None),
        (
            "throw #{ code: 7, message: `no price`, items: [1, `a`] }",
            "no price",
            Some(json!({ "code": 7, "message": "no price", "items": [1, "a"] })),
        ),
        ("throw #{ code: 7 }", "#{\"code\": 7}", Some(json!({ "code": 7 }))),
        ("throw #{ message: 5 }", "#{\"message\": 5}", Some(json!({ "message": 5 }))),
        ("throw [1, 2]", "[1, 2]", Some(json!([1, 2]))),
        ("throw 404", "404", Some(json!(404))),
        (
            "throw #{ n: parse_decimal(`123456789012345678901234.50`) }",
            "#{\"n\": 123456789012345678901234.50}",
            Some(json!({ "n": "123456789012345678901234.50" })),
        ),
        ("fn f() { throw #{ code: 1 } } f()", "#{\"code\": 1}", Some(json!({ "code": 1 }))),
        // What JSON cannot say, or what is too large, stays in the message.
        ("throw #{ f: |x| x, message: `odd` }", "odd", None),
        ("let big = ``; big.pad(70_000, `x`); throw #{ big: big, message: `large` }", "large", None),
    ] {
        let error = bench.error(script).await;
        assert_eq!((error.message.as_str(), error.kind), (message, ErrorKind::Script), "{script}");
        assert_eq!(error.data.map(|data| data.to_value().unwrap()), data, "{script}");
    }
}

/// Rhai locks a variable while one of its methods runs, and shares it with closures that use it.
#[tokio::test]
async fn a_closure_may_use_the_variable_whose_method_runs_it() {
    let mut bench = Bench::start().await;
    for (script, text) in [
        ("let m = #{items: [1, 5], min: 2}; m.items.filter(|x| x > m.min)", "[5]"),
        ("let a = [1, 2, 3]; a.filter(|x| x != a[0])", "[2,3]"),
        ("let m = #{items: [1, 5], min: 2}; m.items.filter(|x| x > m.min).map(|x| x + m.min).len() + m.items.len()", "3"),
        ("fn f(m) { m.items.map(|x| x * m.min) } f(#{items: [1, 5], min: 2})", "[2,10]"),
        ("let ms = [#{items: [1, 5], min: 2}]; ms[0].items.find(|x| x > ms[0].min)", "5"),
        ("let m = #{a: [[1], [2]], k: 1}; m.a.map(|row| row.filter(|x| x > m.k))", "[[],[2]]"),
        ("let m = #{a: [1, 2], k: 1}; [3].map(|y| m.a.map(|x| x + y + m.k))", "[[5,6]]"),
        ("let m = #{items: [1, 5], min: 2}; let out = `${m.items.all(|x| x > m.min)}`; out", "false"),
        // Both use the one that is there.
        ("let m = #{items: [1, 5], min: 2}; m.min = 0; let n = m.items.filter(|x| x > m.min); m.items.push(n.len()); m.items", "[1,5,2]"),
        // What a closure changes is what the script sees.
        ("let m = #{items: [1, 5], n: 0}; m.items.map(|x| { m.n += x; x }); m.n", "6"),
        ("args.list.filter(|x| x > args.min)", "[3]"),
        ("let args = #{list: [1, 3], min: 2}; args.list.filter(|x| x > args.min)", "[3]"),
    ] {
        let mut job = job(script);
        job.args = Some(json!({"list": [1, 3], "min": 2}).into());
        let ended = bench.run_job(&job).await;
        assert_eq!(ended.result.unwrap_or_else(|error| panic!("{script}: {error:?}")).text, text, "{script}");
    }
}

#[tokio::test]
async fn a_method_that_changes_what_its_closure_uses_is_told_with_its_place_and_what_to_write() {
    let mut bench = Bench::start().await;
    for (script, method, place) in [
        ("let m = #{items: [1, 5], min: 2};\nm.items.retain(|x| x > m.min)", "retain", (2, 9)),
        ("let a = [1, 2];\na.drain(|x| x > a[0]).filter(|x| x > a[0])", "drain", (2, 3)),
        ("fn filter(a, f) { a.push(1); a }\nlet m = #{a: [1], k: 0};\nm.a.filter(|x| x > m.k)", "filter", (3, 5)),
    ] {
        let error = bench.error(script).await;
        assert_eq!((error.kind, error.line, error.column), (ErrorKind::Script, Some(place.0), Some(place.1)), "{script}: {error:?}");
        assert!(error.message.contains(&format!(".{method}(…)")) && error.message.contains("such as `let min = "), "{script}: {error:?}");
        let found = hero::engine::check(script, hero::engine::Names::Checked).unwrap_err();
        assert_eq!((found.line, found.column, &found.message), (error.line, error.column, &error.message), "{script}");
    }
    // Which is no error as long as nothing comes there.
    assert_eq!(bench.text("let a = [1]; if a.len() > 1 { a.retain(|x| x > a[0]); } a").await, "[1]");
    assert_eq!(bench.text("let a = [1]; let x = 0; try { a.retain(|x| x > a[0]); } catch { x = 7; } x").await, "7");
}
