//! Redis Cluster: each context is where its hash tag is, and follows it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use hero::actor::Pool;
use hero::dispatch::{Dispatcher, Error, Followed, Settings};
use hero::log_file::LogDirectory;
use hero::model::{ContextId, JobId, JobSpec, ScheduleSpec, Seconds, Status};
use hero::process::Spawner;
use hero::store::{self, Endpoint, Peek, Periods, Store, Subscriber};
use tokio_util::sync::CancellationToken;

use crate::support::{Authority, Cluster, Node, PATIENCE, Process, pool_settings, until};

const CONTEXTS: [ContextId; 5] = [ContextId(0), ContextId(1), ContextId(2), ContextId(3), ContextId(4)];

/// A dispatcher of five contexts with an actor for each, as one server has them.
struct Server {
    dispatcher: Dispatcher,
    pools: Vec<Pool>,
    shutdown: CancellationToken,
}

async fn connect(endpoint: &Endpoint, context: ContextId) -> Result<(Store, Vec<String>), store::Error> {
    connect_with(endpoint, context, Periods::default()).await
}

async fn connect_with(endpoint: &Endpoint, context: ContextId, periods: Periods) -> Result<(Store, Vec<String>), store::Error> {
    let server = hero::model::ServerId::new();
    Store::connect(store::Settings {
        endpoint: endpoint.clone(),
        context,
        server,
        periods,
        queue_limit: 100_000,
        push: hero::store::Push::Canonical,
    })
    .await
}

impl Server {
    async fn open(cluster: &Cluster, endpoint: Endpoint) -> Self {
        let mut stores = Vec::new();
        for context in CONTEXTS {
            let (store, warnings) = connect(&endpoint, context).await.unwrap();
            assert_eq!(warnings, Vec::<String>::new());
            stores.push(store);
        }
        Self::with(cluster, stores, 1).await
    }

    async fn with(cluster: &Cluster, stores: Vec<Store>, actors: u32) -> Self {
        let shutdown = CancellationToken::new();
        let dispatcher = Dispatcher::new(stores.clone(), Settings::new(LogDirectory::new(cluster.directory().join("logs"))));
        drop(dispatcher.start_services(&shutdown));
        let (mut pools, spawner) = (Vec::new(), Spawner::start().unwrap());
        for store in stores {
            let subscriber = Subscriber::new(store.clone(), vec!["osis".parse().unwrap()]);
            tokio::spawn(hero::service::run(subscriber, shutdown.clone()));
            let settings = pool_settings(cluster.directory(), actors);
            pools.push(Pool::start(store, spawner.clone(), settings, shutdown.clone()).await.unwrap());
        }
        Self { dispatcher, pools, shutdown }
    }

    async fn start(&self, spec: JobSpec) -> JobId {
        let context = spec.context_id;
        let id = self.dispatcher.create(spec).await.unwrap();
        self.dispatcher.start(context, &id).await.unwrap();
        id
    }

    /// The output of a script.
    async fn output(&self, context: ContextId, script: &str) -> String {
        self.dispatcher.run_and_wait(spec(context, script), PATIENCE).await.unwrap().output
    }

    /// The output of a job, also while its part of the cluster is away.
    async fn end(&self, context: ContextId, id: &JobId) -> String {
        until(&format!("the end of {id}"), || async { self.dispatcher.result(context, id).await.ok() }).await.output
    }

    async fn is(&self, context: ContextId, id: &JobId, status: Status) {
        until(&format!("{id} is {status}"), || async { (self.dispatcher.status(context, id).await.ok()? == status).then_some(()) }).await;
    }

    async fn close(self) {
        self.shutdown.cancel();
        for pool in &self.pools {
            tokio::time::timeout(PATIENCE, pool.ended()).await.unwrap();
        }
    }
}

fn spec(context: ContextId, script: &str) -> JobSpec {
    JobSpec { context_id: context, script: script.into(), ..JobSpec::default() }
}

/// A key of a context.
fn key(context: ContextId, rest: &str) -> String {
    format!("{{ctx:{context}}}:hero:{rest}")
}

/// Everything that a context is for, in one of them.
async fn everything_works(server: &Server, context: ContextId) {
    let dispatcher = &server.dispatcher;
    let mut events = Box::pin(dispatcher.follow_events(context, Default::default(), None).await.unwrap());
    assert_eq!(server.output(context, "CONTEXT_ID").await, context.to_string());
    let Some(Ok(Followed::Item(first))) = events.next().await else { panic!("no event of context {context}") };
    assert_eq!(first.context_id, context);

    let logged = server.start(spec(context, "for i in 0..300 { print(i) } 1")).await;
    server.end(context, &logged).await;
    let page = dispatcher.logs(context, &logged, None, 1000).await.unwrap();
    assert_eq!((page.lines.len(), page.lines[299].text.as_str(), page.ended), (300, "299", true));

    let failing = JobSpec { retries: 2, retry_backoff: Seconds::new(0.01), ..spec(context, "throw 1") };
    let failing = server.start(failing).await;
    server.is(context, &failing, Status::Error).await;
    assert_eq!(dispatcher.job(context, &failing).await.unwrap().attempt, 3);

    let soon = dispatcher.store(context).unwrap().clock().now().plus(std::time::Duration::from_millis(300));
    let delayed = server.start(JobSpec { run_at: Some(soon), ..spec(context, "7") }).await;
    assert_eq!(dispatcher.status(context, &delayed).await.unwrap(), Status::Scheduled);
    assert_eq!(server.end(context, &delayed).await, "7");

    let each = ScheduleSpec { job: spec(context, "8"), every: Seconds::new(1.0), ..ScheduleSpec::default() };
    let schedule = dispatcher.create_schedule(each).await.unwrap().schedule_id;
    until("a run of a schedule", || async {
        let page = dispatcher.list_schedules(context, None, 10).await.ok()?;
        (page.schedules[0].runs >= 1).then_some(())
    })
    .await;
    dispatcher.delete_schedule(context, &schedule).await.unwrap();

    let running = server.start(spec(context, "loop {}")).await;
    server.is(context, &running, Status::Started).await;
    assert_eq!(dispatcher.stop(context, &running).await.unwrap(), Status::Error);
    let deleted = dispatcher.create(spec(context, "1")).await.unwrap();
    dispatcher.delete(context, &deleted).await.unwrap();

    let listed = dispatcher.list(context, &Default::default(), None, 100).await.unwrap().jobs;
    assert!([&logged, &failing, &delayed, &running].iter().all(|id| listed.iter().any(|job| job.job_id == **id)));
    assert!(listed.iter().all(|job| job.context_id == context && job.job_id != deleted));
    let actors = dispatcher.actors(context).await.unwrap();
    assert_eq!(actors.iter().map(|actor| (actor.script_type.as_str(), actor.instance)).collect::<Vec<_>>(), [("osis", 1)]);
    let queues = dispatcher.queues(context).await.unwrap();
    assert_eq!(queues.iter().map(|queue| queue.name.as_str()).collect::<Vec<_>>(), [key(context, "q:work:type:osis")]);
    relations_work(server, context).await;
}

/// Relations are followed within the slot of their context.
async fn relations_work(server: &Server, context: ContextId) {
    let first = server.dispatcher.create(spec(context, "1")).await.unwrap();
    let second = server.start(JobSpec { prerequisites: vec![first.clone()], ..spec(context, "2") }).await;
    assert_eq!(server.dispatcher.status(context, &second).await.unwrap(), Status::WaitingForPrerequisites);
    server.dispatcher.start(context, &first).await.unwrap();
    assert_eq!(server.end(context, &second).await, "2");

    let parent = server.dispatcher.create(spec(context, "3")).await.unwrap();
    let child = server.start(JobSpec { parent_id: Some(parent.clone()), ..spec(context, "4") }).await;
    let heir = server.start(JobSpec { predecessor_id: Some(parent.clone()), ..spec(context, "5") }).await;
    server.dispatcher.start(context, &parent).await.unwrap();
    for (id, output) in [(&parent, "3"), (&child, "4"), (&heir, "5")] {
        assert_eq!(server.end(context, id).await, output);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn five_contexts_of_a_cluster_work_each_in_its_slot() {
    let cluster = Cluster::start(&[]).await;
    let owners = async |contexts: &[ContextId]| {
        let mut owners = BTreeSet::new();
        for context in contexts {
            owners.insert(cluster.owner(&key(*context, "x")).await);
        }
        owners
    };
    assert_eq!(owners(&CONTEXTS).await.len(), 3, "the contexts are spread over all nodes");
    let server = Server::open(&cluster, cluster.node(0).endpoint()).await;
    for context in CONTEXTS {
        everything_works(&server, context).await;
    }

    // What outsiders push is seen, and an answer to a key of another context is not given.
    let (context, node) = (ContextId(3), cluster.node(cluster.owner(&key(ContextId(3), "x")).await));
    let id = JobId::random();
    let elsewhere = key(ContextId(3), "x").replace("ctx:3", "elsewhere");
    let job = key(context, &format!("job:{id}"));
    let _: i64 = node.run(&["HSET", &job, "script", "6", "script_type", "osis", "reply_to", &elsewhere]).await;
    let _: i64 = node.run(&["LPUSH", &key(context, "q:work:type:osis"), id.as_str()]).await;
    assert_eq!(server.end(context, &id).await, "6");
    for other in CONTEXTS.into_iter().filter(|other| *other != context) {
        assert!(server.dispatcher.job(other, &id).await.is_err());
    }

    // What does not belong to a context does not keep it from its lists.
    let _: i64 = node.run(&["SADD", &key(context, "meta:actors"), "hero:meta:actor:inst:osis:default:1"]).await;
    let _: i64 = node.run(&["SADD", &key(context, "meta:queues"), "hero:q:work:type:osis"]).await;
    let store = server.dispatcher.store(context).unwrap();
    store.actors_now().await.unwrap();
    store.tidy().await.unwrap();
    assert_eq!(server.dispatcher.actors(context).await.unwrap().len(), 1);
    assert_eq!(server.dispatcher.queues(context).await.unwrap().len(), 1);
    server.close().await;

    let mut of_context = BTreeMap::new();
    for node in cluster.living() {
        for key in node.keys().await {
            let tag = key.split_once('}').map(|(tag, _)| tag.to_owned());
            *of_context.entry(tag).or_insert(0) += 1;
        }
        assert_eq!(node.refused().await, Vec::<String>::new());
    }
    let tags = CONTEXTS.map(|context| Some(format!("{{ctx:{context}")));
    assert_eq!(of_context.into_keys().collect::<Vec<_>>(), tags);
}

#[tokio::test(flavor = "multi_thread")]
async fn when_a_node_dies_other_contexts_go_on_and_its_own_go_on_with_the_replica() {
    let mut cluster = Cluster::start(&[]).await;
    let lost = ContextId(3);
    let victim = cluster.owner(&key(lost, "x")).await;
    let replica = cluster.add_replica(victim, &[]).await;
    let mut others = Vec::new();
    for context in CONTEXTS {
        if cluster.owner(&key(context, "x")).await != victim {
            others.push(context);
        }
    }
    assert_eq!(others.len(), 4);
    // The address that the server was given is that of the node that dies.
    let server = Server::open(&cluster, cluster.node(victim).endpoint()).await;
    let mut events = Box::pin(server.dispatcher.follow_events(lost, Default::default(), None).await.unwrap());

    let running = server.start(spec(lost, "sleep(2.0); 7")).await;
    let far = server.dispatcher.store(lost).unwrap().clock().now().plus(std::time::Duration::from_secs(3));
    let delayed = server.start(JobSpec { run_at: Some(far), ..spec(lost, "8") }).await;
    // Only what the replica has can survive.
    for (id, status) in [(&running, "started"), (&delayed, "scheduled")] {
        until("the replica has the job", || async {
            let mut pipe = redis::pipe();
            pipe.cmd("READONLY").ignore().cmd("HGET").arg(key(lost, &format!("job:{id}"))).arg("status");
            let client = redis::Client::open(cluster.node(replica).url()).unwrap();
            let mut connection = crate::support::connection(&client).await.ok()?;
            let (found,): (Option<String>,) = pipe.query_async(&mut connection).await.ok()?;
            (found.as_deref() == Some(status)).then_some(())
        })
        .await;
    }
    cluster.kill(victim);

    // The replica may not take over yet, so this is all while the node is away.
    for round in 0..3 {
        for context in &others {
            assert_eq!(server.output(*context, &format!("{round}")).await, round.to_string());
        }
    }
    let refused = server.dispatcher.create(spec(lost, "1")).await.unwrap_err();
    assert!(matches!(refused, hero::dispatch::Error::Store { .. }), "{refused}");

    cluster.node(replica).may_take_over().await;
    assert_eq!(server.end(lost, &running).await, "7");
    assert_eq!(server.end(lost, &delayed).await, "8");
    let mut seen = BTreeSet::new();
    while !(seen.contains(&(running.clone(), Status::Finished)) && seen.contains(&(delayed.clone(), Status::Finished))) {
        match tokio::time::timeout(PATIENCE, events.next()).await.unwrap().unwrap() {
            Ok(Followed::Item(event)) => drop(seen.insert((event.job_id, event.status))),
            other => panic!("{other:?}"),
        }
    }
    everything_works(&server, lost).await;
    // What outsiders push to the new node is seen, too.
    let (node, id) = (cluster.node(replica), JobId::random());
    let _: i64 = node.run(&["HSET", &key(lost, &format!("job:{id}")), "script", "9", "script_type", "osis"]).await;
    let _: i64 = node.run(&["LPUSH", &key(lost, "q:work:type:osis"), id.as_str()]).await;
    assert_eq!(server.end(lost, &id).await, "9");
    for context in others {
        assert_eq!(server.output(context, "1").await, "1");
    }
    server.close().await;
    for node in cluster.living() {
        assert!(!node.saw_several_slots().await);
    }
}

/// A slot on its way from one node to another.
struct Move<'c> {
    source: &'c Node,
    target: &'c Node,
    slot: String,
}

impl<'c> Move<'c> {
    async fn begin(source: &'c Node, target: &'c Node, context: ContextId) -> Self {
        let slot: u16 = source.run(&["CLUSTER", "KEYSLOT", &key(context, "x")]).await;
        let [source_id, target_id] = [source.run::<String>(&["CLUSTER", "MYID"]).await, target.run(&["CLUSTER", "MYID"]).await];
        let slot = slot.to_string();
        target.ok(&["CLUSTER", "SETSLOT", &slot, "IMPORTING", &source_id]).await;
        source.ok(&["CLUSTER", "SETSLOT", &slot, "MIGRATING", &target_id]).await;
        Self { source, target, slot }
    }

    /// Moves a few keys. False: there are none left.
    async fn some(&self) -> bool {
        let keys: Vec<String> = self.source.run(&["CLUSTER", "GETKEYSINSLOT", &self.slot, "5"]).await;
        let words = ["MIGRATE", "127.0.0.1", &self.target.port().to_string(), "", "0", "5000", "KEYS"];
        if !keys.is_empty() {
            self.source.ok(&words.into_iter().chain(keys.iter().map(String::as_str)).collect::<Vec<_>>()).await;
        }
        !keys.is_empty()
    }

    async fn end(self) {
        while self.some().await {}
        let id: String = self.target.run(&["CLUSTER", "MYID"]).await;
        for node in [self.target, self.source] {
            node.ok(&["CLUSTER", "SETSLOT", &self.slot, "NODE", &id]).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slot_that_moves_for_seconds_under_load_costs_no_job_its_attempt() {
    let cluster = Cluster::start(&[]).await;
    let context = ContextId(4);
    let (from, to) = (cluster.owner(&key(context, "x")).await, cluster.owner(&key(ContextId(2), "x")).await);
    let periods = Periods { lease: Duration::from_secs(2), ..Periods::default() };
    let store = connect_with(&cluster.node(to).endpoint(), context, periods).await.unwrap().0;
    let server = Server::with(&cluster, vec![store], 3).await;
    let dispatcher = &server.dispatcher;
    // It runs for longer than a lease, and than any of the moves.
    let long = server.start(spec(context, "sleep(25); 1")).await;
    server.is(context, &long, Status::Started).await;

    let (enough, ran) = (AtomicBool::new(false), AtomicUsize::new(0));
    let caller = |caller: usize| {
        let (enough, ran, server) = (&enough, &ran, &server);
        async move {
            let mut jobs = Vec::new();
            while !enough.load(Ordering::Relaxed) {
                let (id, number) = (JobId::random(), caller * 1_000_000 + jobs.len());
                let job = JobSpec { job_id: Some(id.clone()), ..spec(context, &format!("sleep(0.005); {number}")) };
                until("the job is stored", || async {
                    match dispatcher.create(job.clone()).await {
                        Ok(_) | Err(Error::Exists { .. }) => Some(()),
                        Err(Error::Store { .. }) => None,
                        Err(error) => panic!("{error}"),
                    }
                })
                .await;
                until("the job is started", || async {
                    match dispatcher.start(context, &id).await {
                        Ok(_) | Err(Error::State { .. }) => Some(()),
                        Err(Error::Store { .. }) => None,
                        Err(error) => panic!("{error}"),
                    }
                })
                .await;
                assert_eq!(server.end(context, &id).await, number.to_string());
                jobs.push(id);
                ran.fetch_add(1, Ordering::Relaxed);
            }
            jobs
        }
    };
    let moves = async {
        for (source, target) in [(from, to), (to, from)] {
            let before = ran.load(Ordering::Relaxed);
            until("jobs run", || async { (ran.load(Ordering::Relaxed) > before + 50).then_some(()) }).await;
            let moving = Move::begin(cluster.node(source), cluster.node(target), context).await;
            let (began, mut pace) = (Instant::now(), tokio::time::interval(Duration::from_millis(200)));
            // Longer than a lease.
            while began.elapsed() < Duration::from_secs(5) {
                pace.tick().await;
                moving.some().await;
            }
            moving.end().await;
        }
        enough.store(true, Ordering::Relaxed);
    };
    let (jobs, ()) = tokio::join!(futures_util::future::join_all((0..6).map(caller)), moves);
    assert_eq!(server.end(context, &long).await, "1");
    let jobs: Vec<JobId> = jobs.into_iter().flatten().chain([long]).collect();
    for id in &jobs {
        let job = dispatcher.job(context, id).await.unwrap();
        assert_eq!((job.status, job.attempt), (Status::Finished, 1), "{job:?}");
    }
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_context_whose_slot_moves_is_followed() {
    let cluster = Cluster::start(&[]).await;
    let context = ContextId(4);
    let (from, to) = (cluster.owner(&key(context, "x")).await, cluster.owner(&key(ContextId(2), "x")).await);
    assert_ne!(from, to);
    // Each learns by itself that the slot has moved.
    let mut stores = Vec::new();
    for _ in 0..4 {
        stores.push(connect(&cluster.node(to).endpoint(), context).await.unwrap().0);
    }
    let [store, asked, listed, peeked] = stores.try_into().ok().unwrap();
    let dispatcher = Dispatcher::new([store.clone()], Settings::new(LogDirectory::new(cluster.directory().join("logs"))));
    let id = dispatcher.create(spec(context, "1")).await.unwrap();
    let mut events = Box::pin(dispatcher.follow_events(context, Default::default(), None).await.unwrap());

    let [source, target] = [cluster.node(from), cluster.node(to)];
    Move::begin(source, target, context).await.end().await;

    // A script, a plain command, SCAN with a pipeline, a connection of its own, and the reader of the events.
    assert_eq!(dispatcher.start(context, &id).await.unwrap(), Status::Dispatched);
    assert_eq!(asked.job(&id).await.unwrap().unwrap().job_id, id);
    assert_eq!(listed.list(&Default::default(), None, 10, usize::MAX).await.unwrap().unwrap().jobs.len(), 1);
    let (peek, queue) = (tokio::sync::Mutex::new(Peek::new(peeked)), key(context, "q:work:type:osis"));
    until("the queue is seen", || async { peek.lock().await.wait(&queue).await.ok().filter(|there| *there) }).await;
    let event = tokio::time::timeout(PATIENCE, events.next()).await.unwrap();
    assert!(matches!(event, Some(Ok(Followed::Item(event))) if event.job_id == id && event.status == Status::Dispatched));
    assert!(source.keys().await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_name_and_password_of_the_address_open_every_node() {
    let cluster = Cluster::start(&[]).await;
    for node in cluster.living() {
        node.ok(&["ACL", "SETUSER", "hero", "on", ">secret", "~*", "&*", "+@all", "-@admin", "-@dangerous", "+info"]).await;
        node.ok(&["ACL", "SETUSER", "default", "off"]).await;
    }
    let seed = cluster.node(0);
    let endpoint = Endpoint { user: Some("hero".into()), password: Some("secret".into()), ..seed.endpoint() };
    for context in CONTEXTS {
        let (store, _) = connect(&endpoint, context).await.unwrap();
        let dispatcher = Dispatcher::new([store], Settings::new(LogDirectory::new(cluster.directory().join("logs"))));
        let id = dispatcher.create(spec(context, "1")).await.unwrap();
        assert_eq!(dispatcher.status(context, &id).await.unwrap(), Status::Created);
    }
    assert!(connect(&seed.endpoint(), ContextId(0)).await.is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_certificates_of_the_address_open_every_node() {
    let (authority, home) = (Authority::new(), tempfile::tempdir().unwrap());
    let arguments = [authority.arguments("{tls}", "yes"), vec!["--tls-cluster".into(), "yes".into()]].concat();
    let cluster = Cluster::start(&arguments.iter().map(String::as_str).collect::<Vec<_>>()).await;
    let url = format!("rediss://127.0.0.1:{}", cluster.node(0).tls_port());
    let [ca, cert, key] = ["ca.pem", "client.pem", "client.key"].map(|name| authority.file(name).to_str().unwrap().to_owned());
    let redis = ["--redis", &url, "--redis-tls-ca", &ca, "--redis-tls-cert", &cert, "--redis-tls-key", &key];
    let server = Process::serve(home.path(), &[&redis[..], &["--contexts", "0-4", "--pool", "osis=1"]].concat()).await;
    let client = server.client().await;
    for context in CONTEXTS {
        assert_eq!(client.run_and_wait(&spec(context, "CONTEXT_ID"), PATIENCE).await.unwrap().output, context.to_string());
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_with_a_cluster_is_said() {
    let cluster = Cluster::start(&["--cluster-require-full-coverage", "yes"]).await;
    let (_, warnings) = connect(&cluster.node(0).endpoint(), ContextId(0)).await.unwrap();
    assert!(warnings.iter().any(|warning| warning.contains("cluster-require-full-coverage no")), "{warnings:?}");
    let numbered = Endpoint { url: format!("{}/1", cluster.node(0).url()), ..Endpoint::default() };
    let error = connect(&numbered, ContextId(0)).await.err().unwrap().to_string();
    assert!(error.contains("a Redis Cluster has one database"), "{error}");
    let owner = cluster.node(cluster.owner(&key(ContextId(0), "x")).await);
    let slot: u16 = owner.run(&["CLUSTER", "KEYSLOT", &key(ContextId(0), "x")]).await;
    for node in cluster.living() {
        node.ok(&["CLUSTER", "DELSLOTS", &slot.to_string()]).await;
    }
    let error = connect(&cluster.node(1).endpoint(), ContextId(0)).await.err().unwrap().to_string();
    assert!(error.contains(&format!("who owns slot {slot}")) && error.contains("redis-cli --cluster check"), "{error}");
}
