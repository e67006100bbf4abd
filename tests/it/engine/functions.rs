//! The functions that scripts have besides Rhai's own.

use hero::model::{ErrorKind, Limit, LogLevel};

use super::{Bench, settings};

#[tokio::test]
async fn lists_numbers_json_and_the_time_have_functions() {
    let mut bench = Bench::start().await;
    for (script, text) in [
        ("[1, \"a\", 'b', 2.5, #{x: [()]}].join(\", \")", "1, a, b, 2.5, #{\"x\": [()]}"),
        ("[].join(\"-\")", ""),
        ("\"a,b\".split(\",\").join(\"\\n\")", "a\nb"),
        ("[3.14159.to_fixed(2), 2.0.to_fixed(0), 5.to_fixed(2), 5.to_fixed(0), 1.0.to_fixed(-1)].join(\" \")", "3.14 2 5.00 5 1"),
        ("2.71828.round(3)", "2.718"),
        ("[1.5, true, (), \"é\\\"\", [#{}]].to_json()", r#"[1.5,true,null,"é\"",[{}]]"#),
        ("#{a: 1}.to_json() + 5.to_json() + to_json(\"x\") + to_json(())", r#"{"a":1}5"x"null"#),
        ("parse_json(`[1, {\"a\": null}, 2.0]`)", r#"[1,{"a":null},2.0]"#),
        ("parse_json(\" 5 \") + parse_json(`{\"a\": [7]}`).a[0]", "12"),
        ("let v = #{n: [1, 2.5, \"x\"]}; parse_json(v.to_json()) == v", "true"),
        ("fn f() { now() } f().len() >= 20 && now().contains(\"T\") && now_ms() > 1600000000000", "true"),
        ("let t = now_ms(); sleep(0.01); now_ms() - t >= 10", "true"),
        ("let r = 0; try { parse_json(\"{\") } catch (e) { r = `${e}`.len(); } r > 10", "true"),
    ] {
        assert_eq!(bench.text(script).await, text, "{script}");
    }
    bench.text("log_debug(\"d\"); log_debug([1])").await;
    assert!(bench.log.0.iter().all(|line| line.level == LogLevel::Debug) && bench.log.texts() == ["d", "[1]"]);
}

#[tokio::test]
async fn json_that_scripts_cannot_hold_is_refused_with_its_place() {
    let mut bench = Bench::start().await;
    for (script, word) in [
        ("parse_json(`{\"a\": [1, 99999999999999999999]}`)", "the JSON.a[1] is 99999999999999999999, beyond the integers of scripts"),
        ("parse_json(\"9223372036854775808\")", "the JSON is 9223372036854775808, beyond"),
        ("parse_json(\"[1,]\")", "the text is not JSON: trailing comma at line 1 column 4"),
        ("let s = \"\"; s.pad(200, '['); parse_json(s)", "the text is not JSON: recursion limit exceeded"),
        ("[|x| x].to_json()", "the value holds a closure, which JSON can't say"),
        ("timestamp().to_json()", "the value holds a value of type timestamp"),
    ] {
        let error = bench.error(script).await;
        assert_eq!((error.kind, error.line), (ErrorKind::Script, Some(1)), "{script}");
        assert!(error.message.contains(word), "{script}: {}", error.message);
    }
}

#[tokio::test]
async fn their_results_keep_the_limits() {
    let mut settings = settings();
    settings.limits.operations = Some(1_000_000);
    let mut bench = Bench::with(settings).await;
    let large = "let s = \"x\"; s.pad(200000, 'x'); let a = []; a.pad(9000, s);";
    for use_of_it in ["a.join(s)", "a.to_json()", "[[a]].to_json()", "to_json(#{a: a})"] {
        bench.hits(Limit::Memory, &format!("{large} {use_of_it}; 1")).await;
    }
    let list = |count| format!("let s = \"[1\"; for i in 0..{count} {{ s += \",1\"; }} parse_json(s + \"]\").len()");
    assert_eq!(bench.text(&list(9999)).await, "10000");
    bench.hits(Limit::Memory, &list(10_000)).await;
    assert_eq!(bench.text("1.5.to_fixed(9223372036854775807).len() + 1.to_fixed(-9223372036854775808).len()").await, "20");
}

#[tokio::test]
async fn what_newcomers_write_is_answered_with_what_to_write() {
    let mut bench = Bench::start().await;
    for (script, word) in [
        ("let s = 'hello'", "double quotes"),
        ("var x = 1", "let"),
        ("null", "nothing is written ()"),
        ("[1].concat(\"x\")", "concat (array, string)"),
        ("args.missing.name", "`?.` passes over"),
        ("const L = [1]; L.push(2)", "let mine"),
        ("let a = [1]; a.map(|x| x + a.len())", "copy that first"),
    ] {
        let message = bench.error(script).await.message;
        assert!(message.contains(word), "{script}: {message}");
    }
}
