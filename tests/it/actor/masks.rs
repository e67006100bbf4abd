//! The values of `env_vars` and matches of the patterns of `--mask` are masked in logs and errors.

use std::collections::BTreeMap;

use hero::actor::{Mask, PoolSettings};
use hero::dispatch::Error;
use hero::model::{ErrorKind, JobSpec};
use serde_json::{Value, json};

use crate::support::{CONTEXT, House, PATIENCE, pool_settings, spec};

fn with(script: &str, value: &str) -> JobSpec {
    JobSpec { env_vars: [("KEY".to_owned(), value.to_owned())].into(), ..spec(script) }
}

#[tokio::test(flavor = "multi_thread")]
async fn values_of_env_vars_are_in_no_error_wherever_it_goes() {
    let house = House::open(1).await;
    let long = "hunter".repeat(500);
    for (script, value) in [
        ("parse_int(env.KEY)", "hunter22"),
        ("throw env.KEY", "hunter22"),
        ("throw `no ${env.KEY} here`", "hunter22"),
        ("throw env", "hunter\"22"),
        ("fn of(x) { parse_float(x) } of(env.KEY)", "hunter22"),
        ("let m = #{}; m[env.KEY].a.b", "hunter22"),
        ("throw env.KEY", long.as_str()),
    ] {
        let answer = house.dispatcher.jobs().run_and_wait(with(script, value), PATIENCE).await;
        let Err(Error::Failed { job_id, error, .. }) = answer else { panic!("{script}: {answer:?}") };
        assert!(error.message.contains("***") || script.contains("m["), "{script}: {error:?}");
        let hash: BTreeMap<String, String> = house.redis.run(&["HGETALL", &format!("hero:job:{job_id}")]).await;
        let events: Vec<(String, BTreeMap<String, String>)> = house.redis.run(&["XRANGE", "hero:events", "-", "+"]).await;
        let shown = house.dispatcher.jobs().job(CONTEXT, &job_id).await.unwrap();
        let stored = hash.iter().filter(|(field, _)| *field != "env_vars");
        let everywhere = format!("{error:?} {:?} {events:?} {shown:?}", stored.collect::<Vec<_>>());
        assert!(!everywhere.contains("hunter"), "{script}: {everywhere}");
    }
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn short_values_and_the_words_of_a_stop_stay_readable() {
    let house = House::open(1).await;
    let answer = house.dispatcher.jobs().run_and_wait(with("throw `line ${env.KEY} of 10`", "1"), PATIENCE).await;
    assert!(matches!(&answer, Err(Error::Failed { error, .. }) if error.message == "line 1 of 10"), "{answer:?}");
    let late = JobSpec { timeout: Some(std::time::Duration::from_millis(200).into()), ..with("loop {}", "timeout") };
    let answer = house.dispatcher.jobs().run_and_wait(late, PATIENCE).await;
    let Err(Error::Failed { error, .. }) = answer else { panic!("{answer:?}") };
    assert_eq!((error.kind, error.message.as_str()), (ErrorKind::Timeout, "timeout"));
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn patterns_mask_logs_and_errors_and_a_star_is_anything_but_white_space() {
    let mut house = House::empty().await;
    let settings = pool_settings(house.redis.directory(), 1);
    let mask = Mask::new(&["tok_*".into(), "(secret)".into()]).unwrap();
    house.hire(PoolSettings { mask, ..settings }).await;
    let id = house.start(spec("print(\"a tok_abc123 b (secret) secret\"); throw \"tok_abc123 is bad\"")).await;
    let answer = house.dispatcher.jobs().wait(CONTEXT, &id, PATIENCE).await;
    assert!(matches!(&answer, Err(Error::Failed { error, .. }) if error.message == "*** is bad"), "{answer:?}");
    let page = house.dispatcher.logs().page(CONTEXT, &id, None, 10).await.unwrap();
    assert_eq!(page.lines[0].text, "a *** b *** secret");
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_variable_that_is_named_as_plain_is_no_secret_and_a_short_secret_is_masked_as_a_word() {
    let house = House::open(1).await;
    let variables = [
        ("MODE", "prod"),
        ("CUSTOMER", "Ada"),
        ("TOKEN", "hunter22"),
        ("PIN", "47110"),
        ("URL", "x://Ada:hunter22@h/?pin=47110&n=147110"),
        ("HERO_PLAIN", "MODE, CUSTOMER, URL"),
    ];
    let env_vars = variables.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    let script =
        "print(`production of ${env.CUSTOMER} in ${env.MODE}: ${env.TOKEN}, ${env.PIN} of 1471109`); throw `${env.MODE} x${env.TOKEN}`";
    let id = house.start(JobSpec { env_vars, ..spec(script) }).await;
    let answer = house.dispatcher.jobs().wait(CONTEXT, &id, PATIENCE).await;
    assert!(matches!(&answer, Err(Error::Failed { error, .. }) if error.message == "prod x***"), "{answer:?}");
    let page = house.dispatcher.logs().page(CONTEXT, &id, None, 10).await.unwrap();
    assert_eq!(page.lines[0].text, "production of Ada in prod: ***, *** of 1471109");
    let shown = house.dispatcher.jobs().job(CONTEXT, &id).await.unwrap().env_vars;
    // The shown part of a plain variable contains no secret of another variable.
    let expected = [
        ("MODE", "prod"),
        ("CUSTOMER", "Ada"),
        ("TOKEN", "***"),
        ("PIN", "***"),
        ("URL", "x://Ada:***@h/?pin=***&n=147110"),
        ("HERO_PLAIN", "MODE, CUSTOMER, URL"),
    ];
    assert_eq!(shown, expected.map(|(name, value)| (name.to_owned(), value.to_owned())).into());
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_answer_with_an_environment_hides_in_what_is_plain_all_that_the_log_hides() {
    let house = House::open(1).await;
    let server = crate::support::Server::of(&house).await;
    let client = server.connect().await;
    let token = "quo\"ted-hunter\nfirst-line\n";
    let plain = [
        ("JSON", json!({ "k": token }).to_string()),
        ("DEBUG", format!("{token:?}")),
        ("LINE", "at first-line".to_owned()),
        ("KEPT", "kept".to_owned()),
    ];
    let named = plain.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(" ");
    let variables = plain.clone().into_iter().chain([("TOKEN", token.to_owned()), ("HERO_PLAIN", named)]);
    let env_vars: BTreeMap<&str, String> = variables.collect();
    let script = "print(env.JSON); print(env.DEBUG); print(env.LINE); print(env.KEPT)";
    let id = client.ok("run_and_wait", json!({ "script": script, "env_vars": env_vars })).await["job_id"].clone();
    let page = client.ok("get_logs", json!([id])).await;
    let logged: Vec<&str> = page["lines"].as_array().unwrap().iter().map(|line| line["text"].as_str().unwrap()).collect();
    assert_eq!(logged, ["{\"k\":\"***\"}", "\"***\"", "at ***", "kept"]);
    let flow = client.ok("create_flow", json!({ "jobs": { "a": { "script": "1" } }, "env_vars": env_vars })).await;
    let schedule = json!({ "every": 3600, "job": { "script": "1", "env_vars": env_vars } });
    let made = client.ok("create_schedule", schedule).await;
    let list = client.ok("list_schedules", Value::Null).await;
    let jobs = client.ok("list_jobs", Value::Null).await;
    let answers = [
        ("get_job", client.ok("get_job", json!([id])).await["env_vars"].clone()),
        ("list_jobs", jobs["jobs"].as_array().unwrap().iter().find(|job| job["job_id"] == id).unwrap()["env_vars"].clone()),
        ("get_flow", client.ok("get_flow", json!([flow])).await["env_vars"].clone()),
        ("create_schedule", made["job"]["env_vars"].clone()),
        ("list_schedules", list["schedules"][0]["job"]["env_vars"].clone()),
    ];
    for (method, seen) in answers {
        for ((name, _), logged) in plain.iter().zip(&logged) {
            assert_eq!(seen[*name], **logged, "{method}: {name}");
        }
        assert_eq!(seen["TOKEN"], "***", "{method}");
    }
    drop(server);
    house.close().await;
}
