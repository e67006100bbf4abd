//! The rights that scripts have through the callers of their jobs.

use hero::actor::PoolSettings;
use hero::audit::{self, Audit, AuditKey};
use hero::engine::{Capability, EngineSettings, reference};
use hero::model::{ErrorKind, JobSpec};

use super::permissions::{COLUMNS, functions, roles};
use super::*;
use crate::support::{PATIENCE, Process, Redis, hero, pool_settings, spec, until};

impl Guarded {
    /// With an actor whose scripts have every function, and ask who their callers are.
    async fn staffed(audit: Audit) -> Self {
        let mut guarded = Self::open().await;
        guarded.authority.set_login(true).await.unwrap();
        let settings = pool_settings(guarded.house.redis.directory(), 1);
        let engine = EngineSettings { capabilities: Capability::ALL.to_vec(), ..EngineSettings::new(hero()) };
        guarded.house.hire(PoolSettings { engine, audit, authority: Some(guarded.authority.clone()), ..settings }).await;
        guarded
    }

    /// Returns the result of a script of this caller.
    async fn run_as(&self, caller: &str, script: &str) -> Value {
        let spec = JobSpec { caller_id: Some(caller.to_owned()), ..spec(script) };
        let result = self.house.dispatcher.jobs().run_and_wait(spec, PATIENCE).await.unwrap();
        result.value.map_or_else(|| Value::from(result.output), |value| value.to_value().unwrap())
    }
}

/// A call of a function with arguments of the right types, whether or not that makes sense.
fn call(name: &str) -> String {
    let Some(function) = reference::functions().iter().find(|function| function.name == name) else { return name.to_owned() };
    let given = |parameter: &reference::FunctionParameter| match (&*parameter.kind, name) {
        ("map", "execute") => r#"#{ command: "true" }"#,
        ("string", _) => r#""a""#,
        ("map", _) => "#{}",
        ("array", _) => r#"["a"]"#,
        _ => "1",
    };
    let parameters: Vec<&str> = function.parameters.iter().map(given).collect();
    format!("{name}({})", parameters.join(", "))
}

#[tokio::test(flavor = "multi_thread")]
async fn every_function_of_scripts_in_every_role_is_allowed_as_the_page_says() {
    let guarded = Guarded::staffed(Audit::default()).await;
    let (page, mut wrong, mut asked) = (functions(), Vec::new(), 0);
    let all: Vec<&str> = reference::functions().iter().map(|function| &*function.name).chain(["inputs", "SLOT"]).collect();
    let tried = |name: &&str| format!("try {{ {}; told[{name:?}] = \"\"; }} catch (e) {{ told[{name:?}] = `${{e}}`; }}\n", call(name));
    // A script may not have more text in it than one engine compiles.
    let scripts: Vec<(&[&str], String)> =
        all.chunks(40).map(|part| (part, format!("let told = #{{}};\n{}told", part.iter().map(tried).collect::<String>()))).collect();
    for (column, name) in COLUMNS.into_iter().enumerate() {
        let caller = if name == "nobody" { "anonymous".to_owned() } else { guarded.identity(&roles(name)).await.to_string() };
        for (part, script) in &scripts {
            let told = guarded.run_as(&caller, script).await;
            for function in *part {
                let refused = told[function].as_str().unwrap().contains("needs to be admin");
                let allowed = page.get(*function).is_none_or(|words| !words[column].is_empty());
                if refused == allowed {
                    wrong.push(format!("{function} as {name}: {:?}", told[function]));
                }
                asked += 1;
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(asked > 500 && page.len() > 40, "only {asked} calls of {} functions", page.len());
    guarded.house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_script_may_no_more_than_its_caller_may_at_that_moment() {
    let directory = tempfile::tempdir().unwrap();
    let settings =
        audit::Settings { directory: directory.path().join("audit"), key: AuditKey::random(), file_bytes: 1 << 20, quota: 0, begun: false };
    let log = Audit::open(settings).unwrap();
    let guarded = Guarded::staffed(log.clone()).await;
    let identity = guarded.identity(&[Role::Caller]).await;
    // It runs until a call is refused.
    let script = r#"loop { try { osis::set("people", #{ id: "ada" }) } catch (e) { return `caught: ${e}` } }"#;
    let spec = JobSpec { caller_id: Some(identity.to_string()), ..spec(script) };
    let dispatcher = guarded.house.dispatcher.clone();
    let running = tokio::spawn(async move { dispatcher.jobs().run_and_wait(spec, PATIENCE).await });
    let people = "people".parse().unwrap();
    let objects = guarded.house.dispatcher.contexts().objects(CONTEXT).await.unwrap();
    until("it stores objects", || async { objects.get(&people, &"ada".parse().unwrap()).await.unwrap() }).await;
    guarded.authority.set_role(CONTEXT, identity, Role::Caller, false).await.unwrap();
    let caught = running.await.unwrap().unwrap().output;
    assert_eq!(caught, format!("caught: identity {identity} needs to be admin or caller in context 0; an admin of it may grant that"));
    // An uncaught error ends it.
    let spec = JobSpec { caller_id: Some(identity.to_string()), ..crate::support::spec(r#"job::spawn(#{ script: "1" })"#) };
    match guarded.house.dispatcher.jobs().run_and_wait(spec, PATIENCE).await {
        Err(hero::dispatch::Error::Failed { error, .. }) => {
            assert!(error.kind == ErrorKind::Script && error.message.contains("needs to be admin or caller"), "{error:?}");
        }
        other => panic!("{other:?}"),
    }
    log.written().await;
    let files = std::fs::read_dir(directory.path().join("audit")).unwrap();
    let text: String = files.filter_map(|file| std::fs::read_to_string(file.unwrap().path()).ok()).collect();
    let refused = |what: &str| text.contains(&format!(r#""what":"{what}""#));
    assert!(refused("osis::set") && refused("job::spawn") && text.contains(r#""code":1004"#), "{text}");
    // It holds again at once, also where another server grants it: this authority has not heard of that.
    let other = Authority::new([guarded.house.redis.store().await], hero::access::TokenKey::random());
    other.set_role(CONTEXT, identity, Role::Caller, true).await.unwrap();
    assert_eq!(guarded.run_as(&identity.to_string(), r#"osis::exists("people", "ada")"#).await, json!(true));
    guarded.house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn actors_of_another_process_ask_where_servers_have_callers_log_in() {
    let guarded = Guarded::open().await;
    // What `hero actor` has: nobody calls it.
    let elsewhere = Authority::new([guarded.house.redis.store().await], hero::access::TokenKey::random());
    elsewhere.follow().await.unwrap();
    assert!(!elsewhere.has_login());
    guarded.authority.set_login(true).await.unwrap();
    elsewhere.follow().await.unwrap();
    assert!(elsewhere.has_login() && guarded.authority.has_login());
    let open = Authority::new([guarded.house.redis.store().await], hero::access::TokenKey::random());
    open.set_login(false).await.unwrap();
    elsewhere.follow().await.unwrap();
    assert!(!elsewhere.has_login() && guarded.authority.has_login());
}

/// The whole program: a server, and actors of another process on the same Redis.
#[tokio::test(flavor = "multi_thread")]
async fn the_actors_of_a_server_and_those_elsewhere_ask_whose_script_it_is() {
    let (redis, home) = (Redis::start().await, tempfile::tempdir().unwrap());
    let (url, data) = (redis.url(), home.path().join("data"));
    let server = Process::serve(&data, &["--redis", &url, "--login", "--pool", "osis=1"]).await;
    let elsewhere = home.path().join("elsewhere").display().to_string();
    let actor = Process::start(&["actor", "--redis", &url, "--data", &elsewhere, "--pool", "osis:far=1"]).until_ready().await;
    let operator = Client::connect(&format!("unix://{}", data.join("hero.sock").display()), None).await.unwrap();
    let identity = operator.create_identity(None, &[]).await.unwrap().identity_id;
    let run = async |caller: Option<String>, group: Option<&str>| {
        let spec = json!({ "script": r#"osis::set("people", #{ id: "ada" })"#, "caller_id": caller, "group": group, "wait_timeout": 50 });
        code(&operator, "run_and_wait", spec).await
    };
    let theirs = || Some(identity.to_string());
    for group in [None, Some("far")] {
        operator.set_role(identity, Role::Caller, CONTEXT, true).await.unwrap();
        assert_eq!(run(theirs(), group).await, 0, "{group:?}");
        operator.set_role(identity, Role::Caller, CONTEXT, false).await.unwrap();
        until("the script is refused", || async { (run(theirs(), group).await == 1101).then_some(()) }).await;
        assert_eq!(run(None, group).await, 0, "{group:?}: jobs of the operator may all");
    }
    actor.stop().await;
    server.stop().await;
}
