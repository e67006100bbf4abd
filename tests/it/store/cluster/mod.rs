//! Redis Cluster: each context lives on the node of its hash tag, and moves with it.

mod failover;
mod moves;
mod open;

use std::collections::{BTreeMap, BTreeSet};

use futures_util::StreamExt;
use hero::actor::Pool;
use hero::dispatch::{Dispatcher, Followed};
use hero::model::{ContextId, JobId, JobSpec, ScheduleSpec, Seconds, Status};
use hero::process::Spawner;
use hero::store::{Endpoint, Error, Periods, Store, Subscriber};
use tokio_util::sync::CancellationToken;

use crate::support::{Cluster, PATIENCE, Plan, dispatcher, pool_settings, until};

const CONTEXTS: [ContextId; 5] = [ContextId(0), ContextId(1), ContextId(2), ContextId(3), ContextId(4)];

/// A dispatcher of five contexts with an actor for each, as one server has them.
struct Server {
    dispatcher: Dispatcher,
    pools: Vec<Pool>,
    shutdown: CancellationToken,
}

async fn connect(endpoint: &Endpoint, context: ContextId) -> Result<(Store, Vec<String>), Error> {
    connect_with(endpoint, context, Periods::default()).await
}

async fn connect_with(endpoint: &Endpoint, context: ContextId, periods: Periods) -> Result<(Store, Vec<String>), Error> {
    Plan::at(endpoint.clone()).of(context).lasting(periods).connect().await
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
        let dispatcher = dispatcher(stores.clone(), cluster.directory());
        drop(dispatcher.start_services(&shutdown));
        let (mut pools, spawner) = (Vec::new(), Spawner::start().unwrap());
        for store in stores {
            let subscriber = Subscriber::new(store.clone(), vec!["osis".parse().unwrap()]);
            tokio::spawn(hero::service::run(subscriber, shutdown.clone()));
            let settings = pool_settings(cluster.directory(), actors);
            pools.push(Pool::start(store, dispatcher.clone(), spawner.clone(), settings, shutdown.clone()).await.unwrap());
        }
        Self { dispatcher, pools, shutdown }
    }

    async fn start(&self, spec: JobSpec) -> JobId {
        let context = spec.context_id;
        let id = self.dispatcher.jobs().create(spec).await.unwrap();
        self.dispatcher.jobs().start(context, &id).await.unwrap();
        id
    }

    /// The output of a script.
    async fn output(&self, context: ContextId, script: &str) -> String {
        self.dispatcher.jobs().run_and_wait(spec(context, script), PATIENCE).await.unwrap().output
    }

    /// The output of a job, also while its part of the cluster is away.
    async fn end(&self, context: ContextId, id: &JobId) -> String {
        until(&format!("the end of {id}"), || async { self.dispatcher.jobs().result(context, id).await.ok() }).await.output
    }

    async fn is(&self, context: ContextId, id: &JobId, status: Status) {
        until(&format!("{id} is {status}"), || async { (self.dispatcher.jobs().status(context, id).await.ok()? == status).then_some(()) })
            .await;
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
    let mut events = Box::pin(dispatcher.events().follow(context, Default::default(), None).await.unwrap());
    assert_eq!(server.output(context, "CONTEXT_ID").await, context.to_string());
    let Some(Ok(Followed::Item(first))) = events.next().await else { panic!("no event of context {context}") };
    assert_eq!(first.context_id, context);

    let objects = r#"
        osis::index("things", ["n"]);
        for n in 0..20 { osis::set("things", #{ n: n }); }
        let found = osis::find("things", #{ filter: #{ n: #{ gte: 15 } }, order_by: "n" }).objects.map(|thing| thing.n);
        for thing in osis::list("things").objects { osis::delete("things", thing.id); }
        found
    "#;
    assert_eq!(server.output(context, objects).await, "[15,16,17,18,19]");
    dispatcher.contexts().objects(context).await.unwrap().drop_collection(&"things".parse().unwrap()).await.unwrap();

    let logged = server.start(spec(context, "for i in 0..300 { print(i) } 1")).await;
    server.end(context, &logged).await;
    let page = dispatcher.logs().page(context, &logged, None, 1000).await.unwrap();
    assert_eq!((page.lines.len(), page.lines[299].text.as_str(), page.ended), (300, "299", true));

    let failing = JobSpec { retries: 2, retry_backoff: Seconds::new(0.01), ..spec(context, "throw 1") };
    let failing = server.start(failing).await;
    server.is(context, &failing, Status::Error).await;
    assert_eq!(dispatcher.jobs().job(context, &failing).await.unwrap().attempt, 3);

    let soon = dispatcher.contexts().opened(context).unwrap().clock().now().plus(std::time::Duration::from_millis(300));
    let delayed = server.start(JobSpec { run_at: Some(soon), ..spec(context, "7") }).await;
    assert_eq!(dispatcher.jobs().status(context, &delayed).await.unwrap(), Status::Scheduled);
    assert_eq!(server.end(context, &delayed).await, "7");

    let each = ScheduleSpec { job: spec(context, "8"), every: Seconds::new(1.0), ..ScheduleSpec::default() };
    let schedule = dispatcher.schedules().create(each).await.unwrap().schedule_id;
    until("a run of a schedule", || async {
        let page = dispatcher.schedules().list(context, None, 10).await.ok()?;
        (page.schedules[0].runs >= 1).then_some(())
    })
    .await;
    dispatcher.schedules().delete(context, &schedule).await.unwrap();

    let running = server.start(spec(context, "loop {}")).await;
    server.is(context, &running, Status::Started).await;
    assert_eq!(dispatcher.jobs().stop(context, &running).await.unwrap(), Status::Error);
    let deleted = dispatcher.jobs().create(spec(context, "1")).await.unwrap();
    dispatcher.jobs().delete(context, &deleted).await.unwrap();

    let listed = dispatcher.jobs().list(context, &Default::default(), None, 100).await.unwrap().jobs;
    assert!([&logged, &failing, &delayed, &running].iter().all(|id| listed.iter().any(|job| job.job_id == **id)));
    assert!(listed.iter().all(|job| job.context_id == context && job.job_id != deleted));
    let actors = dispatcher.actors().list(context).await.unwrap();
    assert_eq!(actors.iter().map(|actor| (actor.script_type.as_str(), actor.instance)).collect::<Vec<_>>(), [("osis", 1)]);
    let queues = dispatcher.queues().list(context).await.unwrap();
    assert_eq!(queues.iter().map(|queue| queue.name.as_str()).collect::<Vec<_>>(), [key(context, "q:work:type:osis")]);
    relations_work(server, context).await;
}

/// Relations are followed within the slot of their context.
async fn relations_work(server: &Server, context: ContextId) {
    let first = server.dispatcher.jobs().create(spec(context, "1")).await.unwrap();
    let second = server.start(JobSpec { prerequisites: vec![first.clone()], ..spec(context, "2") }).await;
    assert_eq!(server.dispatcher.jobs().status(context, &second).await.unwrap(), Status::WaitingForPrerequisites);
    server.dispatcher.jobs().start(context, &first).await.unwrap();
    assert_eq!(server.end(context, &second).await, "2");

    let parent = server.dispatcher.jobs().create(spec(context, "3")).await.unwrap();
    let child = server.start(JobSpec { parent_id: Some(parent.clone()), ..spec(context, "4") }).await;
    let continuation = server.start(JobSpec { predecessor_id: Some(parent.clone()), ..spec(context, "5") }).await;
    server.dispatcher.jobs().start(context, &parent).await.unwrap();
    for (id, output) in [(&parent, "3"), (&child, "4"), (&continuation, "5")] {
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

    // What foreign programs push is seen, and an answer to a key of another context is not given.
    let (context, node) = (ContextId(3), cluster.node(cluster.owner(&key(ContextId(3), "x")).await));
    let id = JobId::random();
    let elsewhere = key(ContextId(3), "x").replace("ctx:3", "elsewhere");
    let job = key(context, &format!("job:{id}"));
    let _: i64 = node.run(&["HSET", &job, "script", "6", "script_type", "osis", "reply_to", &elsewhere]).await;
    let _: i64 = node.run(&["LPUSH", &key(context, "q:work:type:osis"), id.as_str()]).await;
    assert_eq!(server.end(context, &id).await, "6");
    for other in CONTEXTS.into_iter().filter(|other| *other != context) {
        assert!(server.dispatcher.jobs().job(other, &id).await.is_err());
    }

    // What does not belong to a context does not keep it from its lists.
    let _: i64 = node.run(&["SADD", &key(context, "meta:actors"), "hero:meta:actor:inst:osis:default:1"]).await;
    let _: i64 = node.run(&["SADD", &key(context, "meta:queues"), "hero:q:work:type:osis"]).await;
    let store = server.dispatcher.contexts().opened(context).unwrap();
    store.actors().now().await.unwrap();
    store.maintenance().tidy().await.unwrap();
    assert_eq!(server.dispatcher.actors().list(context).await.unwrap().len(), 1);
    assert_eq!(server.dispatcher.queues().list(context).await.unwrap().len(), 1);
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
