use hero::actor::{Pool, PoolSettings};
use hero::coordinator::flows::Resumer;
use hero::dispatch::{Dispatcher, Error};
use hero::model::{ContextId, JobId, JobResult, JobSpec, MARK, Status};
use hero::process::Spawner;
use hero::store::{Endpoint, Periods, Push, Store, Subscriber};
use tokio_util::sync::CancellationToken;

use super::{PATIENCE, Plan, Redis, dispatcher, pool_settings, until};

pub const CONTEXT: ContextId = ContextId(0);

/// A dispatcher and a pool on one Redis, without a server.
pub struct House {
    pub redis: Redis,
    pub store: Store,
    pub dispatcher: Dispatcher,
    pub pool: Option<Pool>,
    pub shutdown: CancellationToken,
}

impl House {
    /// Starts with this number of osis actors in the group `default`.
    pub async fn open(actors: u32) -> Self {
        let mut house = Self::empty().await;
        let settings = pool_settings(house.redis.directory(), actors);
        house.hire(settings).await;
        house
    }

    /// Without actors.
    pub async fn empty() -> Self {
        Self::on(Redis::start().await).await
    }

    /// Without actors, on this Redis.
    pub async fn on(redis: Redis) -> Self {
        let plan = redis.plan();
        Self::with(redis, plan).await
    }

    /// Without actors, on this Redis; new jobs go where `push` says.
    pub async fn pushing(redis: Redis, push: Push) -> Self {
        let plan = redis.plan().pushing(push);
        Self::with(redis, plan).await
    }

    /// Without actors, on this Redis, with these retention times.
    pub async fn lasting(redis: Redis, periods: Periods) -> Self {
        let plan = redis.plan().lasting(periods);
        Self::with(redis, plan).await
    }

    /// Without actors, on this Redis, connected as the endpoint says.
    pub async fn through(redis: Redis, endpoint: Endpoint) -> Self {
        Self::with(redis, Plan::at(endpoint)).await
    }

    /// Without actors, with these contexts in the same Redis, in addition to the first one.
    pub async fn with_contexts(contexts: &[ContextId]) -> Self {
        let redis = Redis::start().await;
        let plan = redis.plan();
        Self::over(redis, plan, contexts).await
    }

    /// Without actors, with a store as planned.
    async fn with(redis: Redis, plan: Plan) -> Self {
        Self::over(redis, plan, &[]).await
    }

    async fn over(redis: Redis, plan: Plan, contexts: &[ContextId]) -> Self {
        let store = plan.clone().store().await;
        let mut stores = vec![store.clone()];
        for context in contexts {
            stores.push(plan.clone().of(*context).store().await);
        }
        let dispatcher = dispatcher(stores, redis.directory());
        let shutdown = CancellationToken::new();
        drop(dispatcher.start_services(&shutdown));
        let script_types = vec!["osis".parse().unwrap(), "sal".parse().unwrap()];
        tokio::spawn(hero::service::run(Subscriber::new(store.clone(), script_types), shutdown.clone()));
        tokio::spawn(hero::service::run(Resumer::new(store.clone()), shutdown.clone()));
        Self { redis, store, dispatcher, pool: None, shutdown }
    }

    pub async fn hire(&mut self, settings: PoolSettings) {
        self.pool = Some(
            Pool::start(self.store.clone(), self.dispatcher.clone(), Spawner::start().unwrap(), settings, self.shutdown.clone())
                .await
                .unwrap(),
        );
    }

    pub async fn run(&self, script: &str) -> Result<JobResult, Error> {
        self.dispatcher.jobs().run_and_wait(spec(script), PATIENCE).await
    }

    pub async fn start(&self, spec: JobSpec) -> JobId {
        let id = self.dispatcher.jobs().create(spec).await.unwrap();
        self.dispatcher.jobs().start(CONTEXT, &id).await.unwrap();
        id
    }

    pub async fn is(&self, id: &JobId, status: Status) {
        until(&format!("{id} is {status}"), || async { (self.dispatcher.jobs().status(CONTEXT, id).await.ok()? == status).then_some(()) })
            .await;
    }

    pub async fn close(self) {
        self.shutdown.cancel();
        if let Some(pool) = &self.pool {
            tokio::time::timeout(PATIENCE, pool.ended()).await.unwrap();
        }
    }
}

/// Texts of JSON in each other, each of which nests as deep as JSON may: serde_json's own reader overflows its stack.
pub fn texts_in_each_other(texts: usize) -> String {
    (0..texts).fold("1".to_owned(), |inner, _| {
        let inner = inner.replace('\\', "\\u005c").replace('"', "\\u0022");
        format!("{}{{\"{MARK}\":\"{inner}\"}}{}", "[".repeat(99), "]".repeat(99))
    })
}

pub fn spec(script: &str) -> JobSpec {
    JobSpec { script: script.into(), ..JobSpec::default() }
}
