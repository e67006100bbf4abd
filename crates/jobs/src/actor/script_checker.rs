use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use hero_engine::{Child, Died, EngineSettings, Names};
use hero_model::JobError;
use hero_process::Spawner;

/// Compiles scripts in an engine process of its own, one after another.
///
/// So the server process parses no script, and checks and running scripts do not wait for each other.
#[derive(Debug)]
pub struct ScriptChecker {
    spawner: Spawner,
    settings: EngineSettings,
    engine: Arc<Mutex<Option<Child>>>,
    /// The task that ends the engine when it has been idle for a while.
    idle: Mutex<Option<JoinHandle<()>>>,
}

/// Timeout for a check, including the start of the engine and the checks before it.
const CHECK_TIMEOUT: Duration = Duration::from_secs(5);
/// An engine that has been idle for this long is ended.
const IDLE_TIMEOUT: Duration = Duration::from_secs(60);

impl ScriptChecker {
    /// Creates a checker for the scripts of a pool with these engine settings. Its engine starts at the first check.
    pub fn new(spawner: Spawner, settings: EngineSettings) -> Self {
        Self { spawner, settings, engine: Arc::default(), idle: Mutex::default() }
    }

    /// Returns the error in a script, if there is one. Also returns `None` if no engine answered within 5 s.
    pub async fn check(&self, script: &str, names: Names) -> Option<JobError> {
        let known = timeout(CHECK_TIMEOUT, self.compile(script, names)).await;
        self.end_when_idle().await;
        match known {
            Ok(Ok(error)) => error,
            Ok(Err(died)) => {
                tracing::warn!(%died, "a script could not be checked");
                None
            }
            Err(_) => {
                tracing::warn!("a script could not be checked within {} s", CHECK_TIMEOUT.as_secs());
                None
            }
        }
    }

    async fn compile(&self, script: &str, names: Names) -> Result<Option<JobError>, Died> {
        let mut engine = self.engine.lock().await;
        // An engine that died, or whose check was abandoned, cannot be used again.
        engine.take_if(|engine| !engine.is_alive());
        let engine = match &mut *engine {
            Some(engine) => engine,
            none => {
                let started = Child::start(&self.spawner, &self.settings).await;
                none.insert(started.map_err(|error| Died { how: error.to_string(), had_job: false })?)
            }
        };
        engine.check(script, names, CHECK_TIMEOUT).await
    }

    async fn end_when_idle(&self) {
        let engine = Arc::clone(&self.engine);
        let ending = tokio::spawn(async move {
            sleep(IDLE_TIMEOUT).await;
            drop(engine.lock().await.take());
        });
        if let Some(before) = self.idle.lock().await.replace(ending) {
            before.abort();
        }
    }
}
