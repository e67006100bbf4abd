//! Host calls of jobs in Python and of commands, on a whole server: with the rights of their caller, and within their
//! claim.

use hero::client::Client;
use hero::dispatch::JobFilter;
use hero::model::{ContextId, Job, JobId, JobSpec, Progress, ScheduleSpec, Seconds, Status};
use serde_json::{Value, json};

use super::python::python;
use crate::support::{Process, until};

const CONTEXT: ContextId = ContextId(0);

async fn server(home: &tempfile::TempDir) -> Process {
    let config = home.path().join("hero.toml");
    std::fs::write(&config, "[script_types.bash]\ncommand = [\"bash\", \"{script}\"]\n").unwrap();
    let config = config.display().to_string();
    let pools = ["--config", &config, "--pool", "osis=1", "--pool", "python=1", "--pool", "bash=1"];
    Process::serve(&home.path().join("data"), &pools).await
}

fn of_type(script_type: &str, script: &str) -> JobSpec {
    let caller_id = Some("alice".to_owned());
    JobSpec { script: script.to_owned(), script_type: script_type.parse().unwrap(), caller_id, ..JobSpec::default() }
}

/// The job when it has ended.
async fn ended(client: &Client, id: &JobId) -> Job {
    let job = async || client.get_job(CONTEXT, id).await.unwrap();
    until(&format!("the end of {id}"), || async { Some(job().await).filter(|job| job.status.is_final()) }).await
}

async fn run(client: &Client, spec: &JobSpec) -> Job {
    let id = client.create_job(spec).await.unwrap();
    client.start_job(CONTEXT, &id).await.unwrap();
    ended(client, &id).await
}

#[tokio::test(flavor = "multi_thread")]
async fn python_and_commands_create_children_and_continuations_of_their_caller() {
    if python().is_none() {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let server = server(&home).await;
    let client = server.client().await;
    let in_python = "import hero\nspec = {'script': '`${args.of} by ${CALLER_ID}`', 'args': {'of': hero.job_id}}\n\
                     hero.result(hero.spawn(spec) + ' ' + hero.then(spec, name='continuation'))";
    let in_bash = "spec=\"{\\\"script\\\": \\\"\\`\\${args.of} by \\${CALLER_ID}\\`\\\", \\\"args\\\": {\\\"of\\\": \\\"$HERO_JOB_ID\\\"}}\"\n\
                   echo \"spawn $spec\" >&4; read -r said child <&4; echo \"then $spec\" >&4; read -r said continuation <&4; echo \"$child $continuation\" >&3";
    for spec in [of_type("python", in_python), of_type("bash", in_bash)] {
        let job = run(&client, &spec).await;
        let given = job.output.clone().unwrap_or_else(|| panic!("{job:?}"));
        let ids: Vec<JobId> = given.split(' ').map(|id| id.parse().unwrap_or_else(|_| panic!("{given}"))).collect();
        let (child, continuation) = (ended(&client, &ids[0]).await, ended(&client, &ids[1]).await);
        let output = format!("{} by alice", job.job_id);
        assert_eq!((child.output.as_deref(), continuation.output.as_deref()), (Some(&*output), Some(&*output)));
        assert_eq!((child.parent_id, continuation.predecessor_id), (Some(job.job_id.clone()), Some(job.job_id)));
        assert!(child.started_at >= job.finished_at && continuation.started_at >= child.finished_at);
    }
    for (script, refusal) in [
        ("hero.spawn({})", "Refused: the job is not what a job may be: missing field `script`"),
        ("hero.spawn(script='1', caller_id='root')", "Refused: the job has a caller_id, which follows from the job that creates it"),
        ("hero.spawn(script='1', context_id=1)", "Refused: the job has a context_id"),
        ("hero.spawn(script='1', script_type='cobol')", "cobol is not built in"),
        ("for _ in range(1001): hero.spawn(script='1', run_at='2099-01-01T00:00:00Z')", "creates 1000 others at most"),
        // What an engine is told by a script that has its socket is no more than that.
        ("hero._ask('get_object')", "Refused: nobody asks \"get_object\""),
    ] {
        let job = run(&client, &of_type("python", &format!("import hero\n{script}"))).await;
        let error = job.error.unwrap_or_else(|| panic!("{script}"));
        assert!(error.message.contains(refusal) && error.line == Some(2), "{script}: {error:?}");
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn progress_is_told_its_last_is_never_lost_and_secrets_in_it_are_masked() {
    if python().is_none() {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let server = server(&home).await;
    let client = server.client().await;
    let in_python =
        "import hero, os\nfor n in range(1000): hero.progress(n, f'with {hero.env[\"TOKEN\"]}')\nhero.progress(1000.5, hero.env['TOKEN'])";
    let in_bash = "for n in {1..1000}; do echo \"progress $n with $TOKEN\"; done >&4; echo \"progress 1000.5 $TOKEN\" >&4";
    for (script_type, script) in [("python", in_python), ("bash", in_bash)] {
        let env_vars = [("TOKEN".to_owned(), "hunter-two-hunter".to_owned())].into();
        let spec = JobSpec { env_vars, ..of_type(script_type, script) };
        let id = client.create_job(&spec).await.unwrap();
        let mut events = client.follow_job(CONTEXT, &id).await.unwrap();
        client.start_job(CONTEXT, &id).await.unwrap();
        let mut told: Vec<Progress> = Vec::new();
        while let Some(event) = events.next().await.unwrap().item() {
            told.extend(event.progress.filter(|_| event.status == Status::Started));
        }
        assert!(told.len() < 500 && told.is_sorted_by(|one, other| one.value <= other.value), "{told:?}");
        assert_eq!(told.last(), Some(&Progress { value: 1000.5, text: "***".into() }), "{script_type}");
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn python_and_commands_see_their_attempt_what_their_prerequisites_gave_and_when_they_were_due() {
    if python().is_none() {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let server = server(&home).await;
    let client = server.client().await;
    let rows = run(&client, &JobSpec { name: Some("rows".into()), ..of_type("osis", "#{ list: [1, 2.5, ()] }") }).await.job_id;
    let text = run(&client, &of_type("bash", "echo plain >&3")).await.job_id;
    let prerequisites = vec![rows.clone(), text.clone()];
    let in_python = "import hero\nif hero.attempt == 1: raise ValueError\nhero.result([hero.attempt, hero.inputs, hero.slot])";
    let in_bash = "[ $HERO_ATTEMPT = 1 ] && exit 1\n\
                   echo inputs >&4; read -r said inputs <&4; echo slot >&4; read -r ok slot <&4; echo \"[$HERO_ATTEMPT, $inputs, null$slot]\" >&3";
    for (script_type, script) in [("python", in_python), ("bash", in_bash)] {
        let retry_backoff = Seconds::new(0.01);
        let job =
            run(&client, &JobSpec { prerequisites: prerequisites.clone(), retries: 1, retry_backoff, ..of_type(script_type, script) })
                .await;
        let given: Value = serde_json::from_str(job.output.as_deref().unwrap_or_else(|| panic!("{job:?}"))).unwrap();
        let list = json!({ "list": [1, 2.5, null] });
        assert_eq!(given, json!([2, { "rows": list, text.as_str(): "plain" }, null]), "{script_type}");
    }
    for (script_type, script) in [("python", "import hero; print(hero.slot)"), ("bash", "echo slot >&4; read -r ok slot <&4; echo $slot")] {
        let schedule: ScheduleSpec =
            serde_json::from_value(json!({ "job": { "script": script, "script_type": script_type }, "every": 1 })).unwrap();
        let schedule = client.create_schedule(&schedule).await.unwrap();
        let filter: JobFilter = serde_json::from_value(json!({ "script_type": script_type, "status": "finished" })).unwrap();
        let (slot, lines) = until("a run of the schedule", || async {
            let jobs = client.list_jobs(CONTEXT, &filter, None, 100).await.unwrap().jobs;
            let job = jobs.into_iter().find(|job| job.labels.contains_key("slot"))?;
            let lines = client.get_logs(CONTEXT, &job.job_id, None, 10).await.unwrap().lines;
            Some((job.labels["slot"].clone(), lines))
        })
        .await;
        assert_eq!(lines[0].text, slot);
        client.delete_schedule(CONTEXT, &schedule.schedule_id).await.unwrap();
    }
    server.stop().await;
}
