//! The values of `env_vars` and matches of the patterns of `--mask` are masked in logs and errors.

use std::collections::BTreeMap;

use hero::actor::{Mask, PoolSettings};
use hero::dispatch::Error;
use hero::model::{ErrorKind, JobSpec};

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
        let answer = house.dispatcher.run_and_wait(with(script, value), PATIENCE).await;
        let Err(Error::Failed { job_id, error, .. }) = answer else { panic!("{script}: {answer:?}") };
        assert!(error.message.contains("***") || script.contains("m["), "{script}: {error:?}");
        let hash: BTreeMap<String, String> = house.redis.run(&["HGETALL", &format!("hero:job:{job_id}")]).await;
        let events: Vec<(String, BTreeMap<String, String>)> = house.redis.run(&["XRANGE", "hero:events", "-", "+"]).await;
        let shown = house.dispatcher.job(CONTEXT, &job_id).await.unwrap();
        let stored = hash.iter().filter(|(field, _)| *field != "env_vars");
        let everywhere = format!("{error:?} {:?} {events:?} {shown:?}", stored.collect::<Vec<_>>());
        assert!(!everywhere.contains("hunter"), "{script}: {everywhere}");
    }
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn short_values_and_the_words_of_a_stop_stay_readable() {
    let house = House::open(1).await;
    let answer = house.dispatcher.run_and_wait(with("throw `line ${env.KEY} of 10`", "1"), PATIENCE).await;
    assert!(matches!(&answer, Err(Error::Failed { error, .. }) if error.message == "line 1 of 10"), "{answer:?}");
    let late = JobSpec { timeout: Some(std::time::Duration::from_millis(200).into()), ..with("loop {}", "timeout") };
    let answer = house.dispatcher.run_and_wait(late, PATIENCE).await;
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
    let answer = house.dispatcher.wait(CONTEXT, &id, PATIENCE).await;
    assert!(matches!(&answer, Err(Error::Failed { error, .. }) if error.message == "*** is bad"), "{answer:?}");
    let page = house.dispatcher.logs(CONTEXT, &id, None, 10).await.unwrap();
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
    let answer = house.dispatcher.wait(CONTEXT, &id, PATIENCE).await;
    assert!(matches!(&answer, Err(Error::Failed { error, .. }) if error.message == "prod x***"), "{answer:?}");
    let page = house.dispatcher.logs(CONTEXT, &id, None, 10).await.unwrap();
    assert_eq!(page.lines[0].text, "production of Ada in prod: ***, *** of 1471109");
    let shown = house.dispatcher.job(CONTEXT, &id).await.unwrap().env_vars;
    // What is shown of a plain variable has no secret of another one in it.
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
