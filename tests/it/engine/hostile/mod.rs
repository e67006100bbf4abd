//! The scripts of `tests/hostile`, on a server as an operator starts it, next to harmless jobs; and attacks on a single
//! engine.

mod script;
mod single;

use futures_util::{StreamExt as _, stream};
use hero::client::Client;
use hero::model::{ContextId, Job, JobId, JobSpec, LogLine, Status};

use crate::support::{Kin, PATIENCE, Process, until};
use script::{Hostile, Language};

const CONTEXT: ContextId = ContextId(0);
/// The number of actors of a script type, and of scripts that attack at once: some must wait. More actors would slow
/// down other tests.
const ACTORS: usize = 2;
const CONCURRENT_SCRIPTS: usize = 4;
/// The number of tries of a script that did not stop in time. An engine that can stop does so unless the whole machine
/// is paused.
const TRIES: usize = 16;
/// The maximum memory of an engine, or of a process that it keeps, at the end. Above it, the engine is replaced
/// (`recycle_memory`).
const ENGINE: u64 = 192 << 20;
/// The maximum memory of the server.
const SERVER: u64 = 256 << 20;
/// The maximum length of an error message, in bytes.
const MESSAGE: usize = 2048;
/// The result of a neighbour job.
const HARMLESS: &str = "4950: neighbour";
/// The settings for script types that are not built in.
const SCRIPT_TYPES: &str = "[script_types.bash]\ncommand = [\"bash\", \"{script}\"]\n\
     [script_types.node]\ncommand = [\"node\", \"{script}\"]\nfile = \"script.cjs\"\n";

#[tokio::test(flavor = "multi_thread")]
async fn no_hostile_script_ends_the_server_or_harms_its_neighbours_and_the_memory_returns() {
    let languages = Language::runnable();
    let scripts = Hostile::all(&languages);
    assert!(scripts.len() >= 300, "only {} scripts", scripts.len());
    let home = tempfile::tempdir().unwrap();
    let (config, temporary) = (home.path().join("hero.toml"), home.path().join("tmp"));
    std::fs::write(&config, SCRIPT_TYPES).unwrap();
    std::fs::create_dir(&temporary).unwrap();
    let mut types: Vec<&str> = languages.iter().map(|language| language.script_type).collect();
    types.sort_unstable();
    types.dedup();
    let pools: Vec<String> = types.iter().map(|script_type| format!("{script_type}={ACTORS}")).collect();
    let (data, config) = (home.path().join("data").display().to_string(), config.display().to_string());
    let mut arguments = vec!["serve", "--listen", "127.0.0.1:0", "--data", &data, "--config", &config];
    arguments.extend(pools.iter().flat_map(|pool| ["--pool", pool]));
    // The directories of engines are below that for temporary files.
    let server = Process::start_with(&arguments, |command| {
        command.env("TMPDIR", &temporary);
    });
    let server = server.until_ready().await;
    let client = server.client().await;
    let before = client.server_info().await.unwrap();

    let attacks = scripts.into_iter().map(async |script| {
        let (failure, ()) = tokio::join!(attack(&client, &script), neighbour(&client, &script));
        failure.map(|failure| format!("{}: {failure}", script.name))
    });
    let ended: Vec<Option<String>> = stream::iter(attacks).buffer_unordered(CONCURRENT_SCRIPTS).collect().await;
    let failures: Vec<String> = ended.into_iter().flatten().collect();
    assert!(failures.is_empty(), "{failures:#?}");

    let after = client.server_info().await.unwrap();
    assert_eq!((&before["server_id"], &before["started_at"]), (&after["server_id"], &after["started_at"]));
    assert_eq!(client.list_actors(CONTEXT).await.unwrap().len(), ACTORS * pools.len());
    until("engines of the usual size, and nothing that a job has left", || async {
        // An engine that is to be replaced is replaced at the end of a job.
        let beside = languages.iter().flat_map(|language| (0..2 * ACTORS).map(|_| harmless(&client, language)));
        futures_util::future::join_all(beside).await;
        let (engines, kept) = (server.engines(), server.below_engines());
        let of_usual_size = |kin: &Kin| resident(kin).is_none_or(|bytes| bytes <= ENGINE);
        let all = engines.len() >= ACTORS && engines.iter().chain(&kept).all(of_usual_size);
        let is_ours = |kin: &Kin| {
            let command = kin.command();
            command.ends_with("runner.py\0serve\0") || command.ends_with("\0supervisor\0")
        };
        (all && kept.iter().all(is_ours)).then_some(())
    })
    .await;
    let size = resident(&Kin::read(server.pid()).unwrap()).unwrap();
    assert!(size <= SERVER, "the server has {} MB", size >> 20);
    server.stop().await;
    let left: Vec<_> = std::fs::read_dir(&temporary).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(left.is_empty(), "{left:?}");
}

/// Runs a hostile script, and returns the deviations from the expected outcome.
async fn attack(client: &Client, script: &Hostile) -> Option<String> {
    let mut failure = None;
    for _ in 0..TRIES {
        let id = match client.create_job(&script.spec).await {
            Ok(id) => id,
            Err(refused) => return compared(script, "refused", "", &refused.to_string()),
        };
        let job = ended(client, script, &id).await;
        failure = judged(client, script, &job).await;
        if script.kills || !was_killed(&job) {
            break;
        }
    }
    failure
}

/// The job when it has run to its end.
async fn ended(client: &Client, script: &Hostile, id: &JobId) -> Job {
    client.start_job(CONTEXT, id).await.unwrap();
    if script.stopped {
        let status = async || client.get_status(CONTEXT, id).await.unwrap();
        until(&format!("{} runs", script.name), || async { (status().await == Status::Started).then_some(()) }).await;
        client.stop_job(CONTEXT, id).await.unwrap();
    }
    // How it ended stands in the job.
    let _ = client.wait_job(CONTEXT, id, PATIENCE).await;
    let job = async || client.get_job(CONTEXT, id).await.unwrap();
    until(&format!("the end of {}", script.name), || async { Some(job().await).filter(|job| job.status.is_final()) }).await
}

/// Whether the engine had to be killed: then it ran for a while, and nobody knows what the script used. Of a process at least its time is known.
fn was_killed(job: &Job) -> bool {
    job.usage.is_some_and(|usage| usage.run_ms > 0 && (usage.operations, usage.cpu_us, usage.peak_memory) == (0, 0, 0))
}

async fn judged(client: &Client, script: &Hostile, job: &Job) -> Option<String> {
    let ended = match &job.error {
        Some(error) => [error.kind.as_str()].into_iter().chain(error.limit.map(|limit| limit.as_str())).collect::<Vec<_>>().join(" "),
        None => job.status.to_string(),
    };
    let message = job.error.as_ref().map_or("", |error| &error.message);
    let failure = compared(script, &ended, job.output.as_deref().unwrap_or_default(), message);
    if failure.is_some() {
        return failure;
    }
    if message.len() > MESSAGE {
        return Some(format!("its error has {} bytes", message.len()));
    }
    if was_killed(job) != script.kills {
        return Some(format!("its engine was killed: {}, where {} was expected", was_killed(job), script.kills));
    }
    if ended != "crashed" && job.crashes > 0 {
        return Some(format!("its engine died {} times", job.crashes));
    }
    let (told, lines) = (serde_json::to_string(&job.error).unwrap(), logged(client, &job.job_id).await);
    let secret =
        script.spec.env_vars.values().find(|secret| told.contains(*secret) || lines.iter().any(|line| line.text.contains(*secret)));
    secret.map(|_| "it told what it was given in confidence".to_owned())
}

/// The deviations from the expected outcome.
fn compared(script: &Hostile, ended: &str, output: &str, message: &str) -> Option<String> {
    if !script.expected.iter().any(|expected| expected == ended) {
        let what = format!("{ended}, where {} was expected", script.expected.join(" or "));
        return Some(format!("{what}: {}", shortened(&format!("{output}{message}"))));
    }
    if let Some(says) = script.says.as_deref().filter(|says| !message.contains(*says)) {
        return Some(format!("its error does not say {says:?}: {}", shortened(message)));
    }
    let gives = script.gives.as_deref().filter(|gives| *gives != output)?;
    Some(format!("it gives {}, where {gives} was expected", shortened(output)))
}

/// The first lines of the log of a job.
async fn logged(client: &Client, id: &JobId) -> Vec<LogLine> {
    client.get_logs(CONTEXT, id, None, 1000).await.unwrap().lines
}

fn shortened(text: &str) -> String {
    text.chars().take(300).collect()
}

/// A job that does no harm, and must not be harmed by the one beside it, in the same language.
async fn neighbour(client: &Client, beside: &Hostile) {
    let result = harmless(client, beside.language).await;
    assert_eq!(result, Ok(HARMLESS.to_owned()), "beside {}", beside.name);
}

async fn harmless(client: &Client, language: &Language) -> Result<String, String> {
    let args = Some(serde_json::from_str(r#"{"name": "neighbour"}"#).unwrap());
    let script_type = language.script_type.parse().unwrap();
    let spec = JobSpec { script: language.harmless.to_owned(), script_type, args, ..JobSpec::default() };
    client.run_and_wait(&spec, PATIENCE).await.map(|result| result.output).map_err(|error| error.to_string())
}

/// The resident size of a process, unless it has ended.
fn resident(process: &Kin) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{}/status", process.pid)).ok()?;
    let kilobytes = status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.trim().strip_suffix(" kB"))?;
    Some(kilobytes.parse::<u64>().ok()? << 10)
}
