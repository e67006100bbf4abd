//! The constants that describe a job, visible everywhere in its script.

use hero::model::{ErrorKind, Output};
use serde_json::{Value, json};

use super::{Bench, job};

/// Returns the result of a script with fixed `args`.
async fn with_args(bench: &mut Bench, script: &str) -> Result<Value, String> {
    let mut job = job(script);
    job.args = Some(json!({ "n": 10, "list": [1, 2, 3], "who": { "name": "Ada" } }).into());
    let output = bench.run_job(&job).await.result.map_err(|error| error.message)?;
    Ok(Output::value(&output.text, Some(output.format.as_str())).unwrap().to_value().unwrap())
}

#[tokio::test]
async fn functions_and_closures_see_what_the_script_sees() {
    let mut bench = Bench::start().await;
    for (script, result) in [
        ("fn f() { [args.n, env.LANG, CALLER_ID, CONTEXT_ID, JOB_ID.len(), ATTEMPT] } f()", json!([10, "de", "alice", 7, 36, 1])),
        ("fn f() { args.who.name + args[\"n\"] } f()", json!("Ada10")),
        ("args.list.map(|x| x * args.n)", json!([10, 20, 30])),
        ("fn f() { args.list.map(|x| x * args.n + CONTEXT_ID) } f()", json!([17, 27, 37])),
        ("args.list.map(|x| args.list.map(|y| x * y + args.n).len() + args.list.len())", json!([6, 6, 6])),
        ("fn g(x) { x + args.list.len() } fn f() { args.list.map(|x| g(x)) } [f(), args.list.map(g)]", json!([[4, 5, 6], [4, 5, 6]])),
        ("fn f() { args.list.filter(|x| x in args.list && x != 2) } f()", json!([1, 3])),
        ("let m = 2; fn f(by) { args.list.map(|x| x * by) } f(m)", json!([2, 4, 6])),
        ("fn f() { let sum = 0; for x in args.list { sum += x * args.n; } sum } f()", json!(60)),
        ("fn f() { args } f()", json!({ "n": 10, "list": [1, 2, 3], "who": { "name": "Ada" } })),
        (
            "fn f() { [type_of(args), type_of(env), args.keys().len(), `${args.n}`, args.to_json().len() > 10] } f()",
            json!(["map", "map", 3, "10", true]),
        ),
        ("fn f(x) { x.n } f(args)", json!(10)),
        // A copy is the script's own.
        (
            "fn f() { let mine = args; mine.n = 5; mine.list.push(4); [mine.n, mine.list.len(), args.n, args.list.len()] } f()",
            json!([5, 4, 10, 3]),
        ),
    ] {
        assert_eq!(with_args(&mut bench, script).await, Ok(result), "{script}");
    }
}

#[tokio::test]
async fn nothing_changes_them() {
    let mut bench = Bench::start().await;
    for script in [
        "args.n = 1",
        "args = 1",
        "args.list.push(1)",
        "args.list[0] = 5",
        "args.clear()",
        "env.LANG = \"x\"",
        "JOB_ID = \"x\"",
        "args.n += 1",
    ] {
        for script in [script.to_owned(), format!("fn f() {{ {script} }} f()"), format!("[1].map(|x| {{ {script} }})")] {
            let message = with_args(&mut bench, &script).await.expect_err(&script);
            assert!(message.contains("constant"), "{script}: {message}");
        }
    }
}

#[tokio::test]
async fn a_variable_of_the_script_comes_first() {
    let mut bench = Bench::start().await;
    for (script, result) in [
        ("let args = [1, 2]; fn f() { args.n } [args.len(), f()]", json!([2, 10])),
        ("fn f(args) { [1].map(|x| x + args[0]) } f([5])", json!([6])),
        ("fn f() { let env = 3; [1].map(|x| x + env) } f()", json!([4])),
        ("let r = []; for args in 0..3 { r += [1].map(|x| x + args); } r", json!([1, 2, 3])),
        ("let r = []; for (x, args) in [5, 6] { r += [1].map(|y| x + y + args); } r", json!([6, 8])),
        ("let r = (); try { throw 7 } catch (args) { r = [1].map(|x| x + args); } r", json!([8])),
        ("[1, 2].map(|args| args * 2)", json!([2, 4])),
        ("const JOB_ID = \"mine\"; JOB_ID", json!("mine")),
        ("#{ args: 1, env: 2 }.args", json!(1)),
        ("fn args(x) { x + args.n } args(1)", json!(11)),
    ] {
        let output = with_args(&mut bench, script).await;
        assert_eq!(output, Ok(result), "{script}");
    }
}

#[tokio::test]
async fn args_that_are_absent_are_an_empty_map() {
    let mut bench = Bench::start().await;
    assert_eq!(
        bench.text("fn f() { [args.len(), args.x, \"x\" in args, type_of(args)] } f() + [args.len(), args.x ?? 5]").await,
        r#"[0,null,false,"map",0,5]"#
    );
}

#[tokio::test]
async fn large_args_cost_a_function_nothing_at_each_use() {
    let mut bench = Bench::start().await;
    // A copy at each use would be 50,000 times ten thousand values.
    let mut job = job("fn f() { let sum = 0; for i in 0..50000 { sum += args.list[i % 10000]; } sum } f()");
    job.args = Some(json!({ "list": vec![1; 10_000] }).into());
    let ended = bench.run_job(&job).await;
    assert_eq!(ended.result.unwrap().text, "50000");
    assert!(ended.usage.peak_memory < 4 << 20, "{:?}", ended.usage);
}

#[tokio::test]
async fn an_integer_that_scripts_do_not_have_is_refused_and_not_rounded() {
    let mut bench = Bench::start().await;
    for script in ["args.a[1].id", "1"] {
        let mut job = job(script);
        job.args = Some(json!({ "a": [1, { "id": u64::MAX }] }).into());
        let error = bench.run_job(&job).await.result.unwrap_err();
        assert_eq!(error.kind, ErrorKind::Unavailable);
        assert_eq!(error.message, "args hold an integer beyond those of scripts");
    }
    let mut job = job("[args.least, args.most, args.float]");
    job.args = Some(json!({ "least": i64::MIN, "most": i64::MAX, "float": 1e19 }).into());
    assert_eq!(bench.run_job(&job).await.result.unwrap().text, "[-9223372036854775808,9223372036854775807,1e+19]");
}
