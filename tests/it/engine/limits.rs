//! Limit errors name the limit and the setting that changes it.

use hero::model::{ErrorKind, Limit, LogLevel};

use super::{Bench, settings};

#[tokio::test]
async fn a_limit_that_is_hit_says_its_number_and_its_setting() {
    let mut settings = settings();
    settings.limits.operations = Some(2_000_000);
    settings.limits.memory = 4 << 20;
    settings.limits.result = 100_000;
    let mut bench = Bench::with(settings).await;
    let many = |what: &str, count: usize| (0..count).map(|n| what.replace('#', &n.to_string())).collect::<String>();
    for (script, limit, message) in [
        ("loop {}", Limit::Operations, "the script took more than 2000000 operations (script_operations)"),
        (
            "let m = #{}; for i in 0..10000000 { m[\"key number \" + i] = i; }",
            Limit::Memory,
            "the script held more than 4 MB of memory (script_memory)",
        ),
        ("let s = \"x\"; s.pad(150000, 'x'); s", Limit::Result, "the result has more than 100000 bytes (script_result)"),
        ("let a = []; for i in 0..65 { a = [a]; } a", Limit::Result, "the result is nested deeper than 64 (a fixed limit)"),
        ("fn f() { f() } f()", Limit::Operations, "functions call each other more than 32 levels deep (a fixed limit)"),
        (&"(".repeat(500), Limit::Source, "an expression is nested deeper than 32 (a fixed limit)"),
        (&many("fn f#() {}", 65), Limit::Source, "more than 64 functions (a fixed limit)"),
        (&many("let v# = 1;", 130), Limit::Memory, "more than 128 variables (a fixed limit)"),
        (&" ".repeat((64 << 10) + 1), Limit::Source, "the script has 65537 bytes, more than 64 KB (script_source)"),
    ] {
        assert_eq!(bench.hits(limit, script).await.message, message, "{}", &script[..script.len().min(60)]);
    }
    assert_eq!(bench.text(&(many("fn f#() { # }", 64) + "f63()")).await, "63");
}

#[tokio::test]
async fn a_log_above_its_limit_is_cut_with_a_line_that_says_so_and_the_script_goes_on() {
    let mut settings = settings();
    settings.limits.log = 64 << 10;
    let mut bench = Bench::with(settings).await;
    let flood = "let s = \"é\"; s.pad(10000, 'é'); for i in 0..10 { print(s); } sleep(0.01); log_error(\"after\"); 40 + 2";
    assert_eq!(bench.text(flood).await, "42");
    let log = std::mem::take(&mut bench.log.0);
    let (last, lines) = log.split_last().unwrap();
    let told = "the log is cut here: the script logged more than 64 KB (script_log), of which each line takes 32 bytes and its text";
    assert_eq!((last.level, last.text.as_str()), (LogLevel::Warn, told));
    // No part of a line: masks would not see a secret that is cut.
    assert!(lines.len() == 3 && lines.iter().all(|line| line.text.len() == 20_000), "{} lines", lines.len());
    // Each job has its own.
    assert_eq!(bench.text("print(\"mine\"); 1").await, "1");
    assert_eq!(bench.log.texts(), ["mine"]);
}

#[tokio::test]
async fn a_log_of_empty_lines_is_cut_too_and_its_script_ends_with_its_time() {
    let mut bench = Bench::start().await;
    let mut job = super::job("loop { print(\"\"); }");
    job.timeout = std::time::Duration::from_millis(500);
    let error = bench.run_job(&job).await.result.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Timeout);
    assert!(bench.log.0.len() <= 1 << 16, "{}", bench.log.0.len());
    assert_eq!(bench.text("40 + 2").await, "42");
}

#[tokio::test]
async fn what_a_map_does_not_have_is_nothing_or_an_error_as_the_setting_says() {
    let mut bench = Bench::start().await;
    assert_eq!(bench.text("let m = #{ a: 1 }; [m.b, m[\"b\"], args.limit ?? 10].to_json()").await, "[null,null,10]");
    let mut settings = settings();
    settings.limits.strict = true;
    let mut bench = Bench::with(settings).await;
    for script in ["let m = #{ a: 1 }; m.b", "let m = #{ a: 1 }; m[\"b\"]", "args.limit ?? 10", "fn f() { args.limit } f()"] {
        let error = bench.error(script).await;
        assert_eq!(error.kind, ErrorKind::Script, "{script}");
        assert!(error.message.contains("and that is an error here (script_strict)"), "{script}: {}", error.message);
    }
    assert_eq!(bench.text("let m = #{ a: 1 }; m.b = 2; [m.b, m.get(\"c\"), \"c\" in m].to_json()").await, "[2,null,false]");
}

#[tokio::test]
async fn a_text_or_an_array_as_long_as_the_limit_fits_and_one_twice_as_long_does_not() {
    let mut bench = Bench::start().await;
    for (fits, length) in [
        ("let s = ``; s.pad(262144, 'x'); s += ``; s", "262144"),
        ("let s = ``; while s.len() < 262144 { s += `123` } s", "262146"),
        ("let b = blob(262144, 7); b.pad(262144, 1); b", "262144"),
        ("let a = []; a.pad(65536, 0); a", "65536"),
        ("let a = []; for i in 0..65536 { a.push(i) } a", "65536"),
        ("base64_decode_blob(base64_encode(blob(190000)))", "190000"),
    ] {
        assert_eq!(bench.text(&format!("let made = {{ {fits} }}; made.len()")).await, length, "{fits}");
    }
    let (text, array) = ("a text or a blob has more than 256 KB (a fixed limit)", "an array has more than 65536 elements (a fixed limit)");
    for (message, script) in [
        (text, "let s = ``; s.pad(262145, 'x')"),
        (text, "let s = ``; s.pad(262145, `xy`)"),
        (text, "let s = `x`; loop { s = `${s}${s}` }"),
        (text, "let s = `x`; loop { s = s + s }"),
        (text, "blob(262145)"),
        (text, "blob(262145, 1)"),
        (text, "let b = blob(1); b.pad(262145, 1)"),
        (text, "let b = blob(1); loop { b += b }"),
        (text, "let b = blob(200000); base64_encode(b)"),
        (array, "let a = []; a.pad(65537, 0)"),
        (array, "let a = [1]; loop { a += a }"),
        (array, "let a = [1]; loop { a.append(a) }"),
        (array, "let a = []; loop { a.push(1) }"),
        (array, "let a = []; loop { a += 1 }"),
    ] {
        assert_eq!(bench.hits(Limit::Memory, script).await.message, message, "{script}");
    }
    // All that is in them counts as memory only.
    assert_eq!(bench.text("let rows = []; for i in 0..20000 { rows.push(#{ id: i, tags: [`a`, `b`] }) } rows.len()").await, "20000");
}

#[tokio::test]
async fn long_args_can_be_read_and_copied_although_a_script_could_not_make_them() {
    let mut bench = Bench::start().await;
    let (list, text, row) = (vec![1; 700_000], "x".repeat(600_000), serde_json::json!({ "a": [1] }));
    let given = serde_json::json!({ "list": list, "text": text, "rows": vec![row; 20_000] });
    for (script, gives) in [
        ("let sum = 0; for one in args.list { sum += one } sum", "700000"),
        ("fn f() { args.text.len() + args.rows.len() } f()", "620000"),
        ("fn f(a) { a.list.len() } f(args)", "700000"),
        ("let l = args.list; let t = args.text; l.len() + t.len()", "1300000"),
        ("2 in args.list", "false"),
        ("args.values().len()", "3"),
        ("args.text.sub_string(5, 2)", "xx"),
        ("print(args.text); 1 + 1", "2"),
    ] {
        let mut job = super::job(script);
        job.args = Some(given.clone().into());
        assert_eq!(bench.run_job(&job).await.result.unwrap().text, gives, "{script}");
    }
    // The next job has the limits again.
    bench.hits(Limit::Memory, "let a = []; loop { a.push(1) }").await;
}

#[tokio::test]
async fn what_functions_make_for_themselves_is_no_value_of_the_script() {
    let mut bench = Bench::start().await;
    let json = "let s = `[[1,2]`; for i in 0..30000 { s += `,[1,2]`; } let j = parse_json(s + `]`);";
    assert_eq!(bench.text(&format!("{json} 1 + 1; j.len()")).await, "30001");
    assert_eq!(bench.text("let s = ``; s.pad(250000, 'a'); let n = regex_find_all(s, `a{5}`); 1 + 1; n.len()").await, "50000");
}

#[tokio::test]
async fn comparing_and_sorting_keep_to_the_time_and_the_stack() {
    let mut bench = Bench::start().await;
    let texts = "let s = ``; s.pad(250000, `ab`); let a = []; for i in 0..100 { a.push(s + i); } while a.len() < 60000 { a += a; }";
    for script in [
        format!("{texts} a.sort();"),
        format!("{texts} a.order_desc();"),
        "let a = []; a.pad(65000, ()); a += a; loop { a.join(``) }".to_owned(),
        "let d = 1.to_decimal(); let a = []; a.pad(65000, d); a += a; loop { a.sum() }".to_owned(),
    ] {
        let mut job = super::job(&script);
        job.timeout = std::time::Duration::from_millis(500);
        let ended = bench.run_job(&job).await;
        assert_eq!(ended.result.unwrap_err().kind, ErrorKind::Timeout, "{script}");
        // An engine that was killed would not have told.
        assert!(ended.usage.operations > 0, "{script}");
    }
    let deep = "let a = []; for i in 0..5100 { a = [a]; } let b = a;";
    assert!(bench.error(&format!("{deep} a == b")).await.message.contains("nested deeper than 5000"));
    assert_eq!(bench.text(&format!("{deep} let same = false; try {{ same = a != b }} catch {{ }} 40 + 2")).await, "42");
    for (script, gives) in [
        ("[3, 1, 2].order()", "[1,2,3]"),
        ("let a = [`b`, `a`]; a.sort_desc(); a", r#"["b","a"]"#),
        ("let a = [2.5, -1.0]; a.sort(); a", "[-1.0,2.5]"),
        ("['b', 'a'].order().to_json()", r#"["a","b"]"#),
        ("[true, false].order()", "[false,true]"),
        ("[(), ()].order()", "[null,null]"),
        ("[[1, #{ a: [2] }] == [1, #{ a: [2] }], [1] != [`1`], #{ a: 1 } == #{ a: 2 }, #{ a: 1 } != #{ b: 1 }]", "[true,true,false,true]"),
        ("[2, [1]].contains([1])", "true"),
    ] {
        assert_eq!(bench.text(script).await, gives, "{script}");
    }
    assert!(bench.error("[1, `a`].order()").await.message.contains("elements of different types cannot be sorted"));
    assert!(bench.error("[#{}, #{}].order()").await.message.contains("elements of map cannot be sorted"));
}
