//! Scripts create other jobs and report progress from inside jobs.

use futures_util::StreamExt as _;
use hero::dispatch::{Error, Followed};
use hero::model::{JobId, JobSpec, Progress, ScheduleSpec, Seconds, Status};

use crate::support::{CONTEXT, House, PATIENCE, spec, until};

async fn id(house: &House, job: &JobId) -> JobId {
    house.is(job, Status::Finished).await;
    house.dispatcher.jobs().result(CONTEXT, job).await.unwrap().output.parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_child_is_of_the_caller_of_its_parent_and_runs_when_that_has_returned() {
    let house = House::open(2).await;
    let script = r#"job::spawn(#{ script: "`${args.of} by ${CALLER_ID}`", args: #{ of: JOB_ID }, name: "child" })"#;
    let parent = house.start(JobSpec { caller_id: Some("alice".into()), ..spec(script) }).await;
    let child = id(&house, &parent).await;
    house.is(&child, Status::Finished).await;
    let job = house.dispatcher.jobs().job(CONTEXT, &child).await.unwrap();
    assert_eq!(
        (job.parent_id.clone(), job.caller_id.as_deref(), job.name.as_deref()),
        (Some(parent.clone()), Some("alice"), Some("child"))
    );
    assert_eq!(house.dispatcher.jobs().result(CONTEXT, &child).await.unwrap().output, format!("{parent} by alice"));
    let of_parent = house.dispatcher.jobs().job(CONTEXT, &parent).await.unwrap();
    assert!(job.started_at >= of_parent.finished_at, "{job:?}");
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_continuation_runs_when_the_job_and_its_children_have_ended() {
    let house = House::open(2).await;
    let script = r#"
        let continuation = job::then(#{ script: "`after ${args.of.len()}`", args: #{ of: JOB_ID } });
        job::spawn(#{ script: "sleep(0.05); throw 1" });
        job::spawn(#{ script: "sleep(0.05)" });
        continuation
    "#;
    let parent = house.start(spec(script)).await;
    let continuation = id(&house, &parent).await;
    house.is(&continuation, Status::Finished).await;
    let job = house.dispatcher.jobs().job(CONTEXT, &continuation).await.unwrap();
    assert_eq!(job.predecessor_id, Some(parent));
    let filter = hero::dispatch::JobFilter::default();
    let page = house.dispatcher.jobs().list(CONTEXT, &filter, None, 10).await.unwrap();
    assert_eq!(page.jobs.len(), 4);
    for other in page.jobs.iter().filter(|other| other.job_id != continuation) {
        assert!(other.status.is_final() && other.finished_at <= job.started_at, "{other:?}");
    }
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_a_job_is_refused_and_the_script_may_catch_it() {
    let house = House::open(1).await;
    for (script, told) in [
        ("job::spawn(#{})", "the job is not what a job may be: missing field `script`"),
        ("for i in 0..1001 { job::spawn(#{ script: `1`, run_at: `2099-01-01T00:00:00Z` }) }", "creates 1000 others at most"),
        (r#"job::spawn(#{ script: "1", scrip: 1 })"#, "unknown field `scrip`"),
        (r#"job::spawn(#{ script: "1", context_id: 1 })"#, "has a context_id"),
        (r#"job::spawn(#{ script: "1", caller_id: "root" })"#, "has a caller_id"),
        (r#"job::then(#{ script: "1", predecessor_id: JOB_ID })"#, "has a predecessor_id"),
        (r#"job::spawn(#{ script: "1", script_type: "cobol" })"#, "cobol is not built in"),
        ("job::progress(\"a\")", "finite number"),
        ("job::progress(1.0 / 0.0)", "finite number"),
    ] {
        match house.run(script).await {
            Err(Error::Failed { error, .. }) => assert!(error.message.contains(told), "{script}: {}", error.message),
            other => panic!("{script}: {other:?}"),
        }
        assert_eq!(house.run(&format!("try {{ {script} }} catch {{ return \"caught\" }}")).await.unwrap().output, "caught");
    }
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn progress_reaches_those_who_follow_a_job_and_the_last_is_never_lost() {
    let house = House::open(1).await;
    let created = house
        .dispatcher
        .jobs()
        .create(spec("for at in 1..=1000 { job::progress(at, `step ${at}`); } job::progress(1000.5)"))
        .await
        .unwrap();
    let mut events = Box::pin(house.dispatcher.jobs().follow(CONTEXT, &created, None).await.unwrap());
    house.dispatcher.jobs().start(CONTEXT, &created).await.unwrap();
    let mut told: Vec<Progress> = Vec::new();
    while let Some(item) = events.next().await {
        let Followed::Item(event) = item.unwrap() else { continue };
        told.extend(event.progress.filter(|_| event.status == Status::Started));
    }
    let steps: Vec<f64> = told.iter().map(|progress| progress.value).collect();
    assert!(steps.is_sorted(), "{steps:?}");
    assert!(steps.len() < 500, "{} of 1001 were told", steps.len());
    assert_eq!(told.last(), Some(&Progress { value: 1000.5, text: String::new() }));
    assert_eq!(house.dispatcher.jobs().job(CONTEXT, &created).await.unwrap().progress, told.last().cloned());
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_next_attempt_does_not_show_how_far_the_one_before_was() {
    let house = House::open(1).await;
    let script = "if ATTEMPT == 1 { job::progress(99, `nearly`); throw 1 } print(`second`); sleep(60)";
    let job = house.start(JobSpec { retries: 1, retry_backoff: Seconds::new(0.01), ..spec(script) }).await;
    until("the second attempt runs", || async {
        let job = house.dispatcher.jobs().job(CONTEXT, &job).await.ok()?;
        (job.attempt == 2 && job.status == Status::Started).then_some(())
    })
    .await;
    assert_eq!(house.dispatcher.jobs().explain(CONTEXT, &job).await.unwrap().progress, None);
    house.dispatcher.jobs().stop(CONTEXT, &job).await.unwrap();
    house.is(&job, Status::Error).await;
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_in_a_progress_is_masked_and_why_a_job_runs_says_how_far_it_is() {
    let house = House::open(1).await;
    let env_vars = [("TOKEN".to_owned(), "s3cr3t-value".to_owned())].into();
    let job = house.start(JobSpec { env_vars, ..spec("job::progress(7, `with ${env.TOKEN}`); sleep(60)") }).await;
    let progress = until("it says how far it is", || async { house.dispatcher.jobs().explain(CONTEXT, &job).await.ok()?.progress }).await;
    assert_eq!(progress, Progress { value: 7.0, text: "with ***".into() });
    house.dispatcher.jobs().stop(CONTEXT, &job).await.unwrap();
    house.is(&job, Status::Error).await;
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_child_with_an_idempotency_key_is_made_once_however_often_its_parent_runs() {
    let house = House::open(1).await;
    let script = r#"
        let child = job::spawn(#{ script: "1", idempotency_key: JOB_ID });
        if ATTEMPT == 1 { throw "again" }
        child
    "#;
    let parent = house.start(JobSpec { retries: 1, retry_backoff: Seconds::new(0.01), ..spec(script) }).await;
    let child = id(&house, &parent).await;
    house.is(&child, Status::Finished).await;
    let page = house.dispatcher.jobs().list(CONTEXT, &hero::dispatch::JobFilter::default(), None, 10).await.unwrap();
    assert_eq!(page.jobs.len(), 2);
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_sees_what_its_prerequisites_gave_each_once_by_name_or_by_id() {
    let house = House::open(1).await;
    let rows = house.start(JobSpec { name: Some("rows".into()), ..spec("#{ list: [1, 2.5, ()] }") }).await;
    let text = house.start(spec("\"plain\"")).await;
    let none = house.start(JobSpec { name: Some("none".into()), ..spec("()") }).await;
    // Of one name there may be several jobs.
    let [one, two] = [
        house.start(JobSpec { name: Some("twin".into()), ..spec("1") }).await,
        house.start(JobSpec { name: Some("twin".into()), ..spec("2") }).await,
    ];
    let prerequisites = vec![rows.clone(), text.clone(), none, one.clone(), two.clone()];
    let script = format!(
        "let twice = [1].map(|x| inputs.rows.list.len() + x); fn f() {{ inputs[`{text}`] }}
         [inputs.rows.list, f(), inputs.none, inputs.len(), twice, inputs[\"{rows}\"], inputs[`{one}`] + inputs[`{two}`], inputs.contains(\"twin\"), SLOT]"
    );
    let continuation = house.start(JobSpec { prerequisites, ..spec(&script) }).await;
    house.is(&continuation, Status::Finished).await;
    let output = house.dispatcher.jobs().result(CONTEXT, &continuation).await.unwrap().output;
    assert_eq!(output, r#"[[1,2.5,null],"plain",null,5,[4],null,3,false,null]"#);
    assert_eq!(house.run("inputs.len()").await.unwrap().output, "0");
    assert_eq!(house.run("let inputs = 5; [1].map(|x| x + inputs)").await.unwrap().output, "[6]", "a variable of the script comes first");
    for script in ["inputs = 1", "fn f() { inputs = 1 } f()"] {
        assert!(matches!(house.run(script).await, Err(Error::Failed { .. })), "{script}");
    }
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn outputs_that_are_too_large_together_are_refused_and_said() {
    let house = House::open(2).await;
    let mut prerequisites = Vec::new();
    for _ in 0..6 {
        // In a value there are 256 KB of text, in a result 1 MB: what is written twice counts twice.
        prerequisites.push(house.start(spec("let t = \"\"; t.pad(60000, '\\u0001'); [t, t]")).await);
    }
    let job = house.start(JobSpec { prerequisites, ..spec("try { inputs.len() } catch (e) { return e }") }).await;
    house.is(&job, Status::Finished).await;
    let told = house.dispatcher.jobs().result(CONTEXT, &job).await.unwrap().output;
    assert!(told.contains("what the prerequisites gave has") && told.contains("4194304"), "{told}");
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_prerequisite_that_is_gone_is_an_error_and_not_nothing() {
    let house = House::open(1).await;
    let first = house.start(spec("1")).await;
    house.is(&first, Status::Finished).await;
    let job = house.dispatcher.jobs().create(JobSpec { prerequisites: vec![first.clone()], ..spec("inputs.len()") }).await.unwrap();
    house.dispatcher.jobs().delete(CONTEXT, &first).await.unwrap();
    house.dispatcher.jobs().start(CONTEXT, &job).await.unwrap();
    house.is(&job, Status::Error).await;
    let error = house.dispatcher.jobs().job(CONTEXT, &job).await.unwrap().error.unwrap();
    assert!(error.message.contains(&format!("inputs: job {first} does not exist")), "{error:?}");
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_child_that_was_given_up_with_its_parent_is_tried_again_with_it() {
    let house = House::open(2).await;
    let script = "let child = job::spawn(#{ script: `40 + 2`, idempotency_key: JOB_ID }); if ATTEMPT == 1 { throw child } child";
    let parent = house.start(spec(script)).await;
    house.is(&parent, Status::Error).await;
    let child: JobId = house.dispatcher.jobs().job(CONTEXT, &parent).await.unwrap().error.unwrap().message.parse().unwrap();
    house.is(&child, Status::Error).await;
    house.dispatcher.jobs().retry(CONTEXT, &parent).await.unwrap();
    assert_eq!(id(&house, &parent).await, child);
    house.is(&child, Status::Finished).await;
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_of_a_schedule_sees_when_it_was_due() {
    let house = House::open(1).await;
    let labels: std::collections::BTreeMap<_, _> = [("slot".to_owned(), "never".to_owned())].into();
    let each = ScheduleSpec {
        job: JobSpec { labels: labels.clone(), ..spec("fn f() { SLOT } [SLOT, f()]") },
        every: Seconds::new(1.0),
        ..ScheduleSpec::default()
    };
    let schedule = house.dispatcher.schedules().create(each).await.unwrap().schedule_id;
    let job = until("a run has finished", || async {
        let page = house.dispatcher.schedules().list(CONTEXT, None, 10).await.ok()?;
        let job = house.dispatcher.jobs().job(CONTEXT, page.schedules.first()?.last_job.as_ref()?).await.ok()?;
        (job.status == Status::Finished).then_some(job)
    })
    .await;
    house.dispatcher.schedules().delete(CONTEXT, &schedule).await.unwrap();
    let slot = &job.labels["slot"];
    assert_eq!(job.output, Some(format!(r#"["{slot}","{slot}"]"#)));
    assert!(slot.parse::<hero::model::Timestamp>().is_ok(), "{slot}");
    // A label is not enough.
    let other = house.start(JobSpec { labels, ..spec("SLOT") }).await;
    house.is(&other, Status::Finished).await;
    assert_eq!(house.dispatcher.jobs().result(CONTEXT, &other).await.unwrap().output, "");
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn more_prerequisites_than_a_job_may_have_are_refused_before_any_is_looked_up() {
    let house = House::open(1).await;
    let ids: Vec<String> = (0..1001).map(|at| format!("00000000-0000-4000-8000-{at:012}")).collect();
    let script = r#"job::spawn(#{ script: "1", prerequisites: args.ids })"#;
    let args = Some(serde_json::json!({ "ids": ids }).into());
    let _: () = house.redis.run(&["CONFIG", "RESETSTAT"]).await;
    let refused = house.dispatcher.jobs().run_and_wait(JobSpec { args, ..spec(script) }, PATIENCE).await.unwrap_err().to_string();
    assert!(refused.contains("names 1001 jobs, the limit is 1000"), "{refused}");
    assert!(house.redis.calls("exists").await < 500);
    house.close().await;
}
