// What the examples in the documentation stand on, included by each: a Redis of its own, a worker that knows one answer, and the wire.

use ground::Ground;

mod ground {
    use std::process::{Child, Command, Stdio};
    use std::sync::Arc;
    use std::time::{Duration, Instant};

    pub struct Ground {
        pub url: String,
        redis: Child,
        _directory: tempfile::TempDir,
    }

    impl Ground {
        pub async fn new() -> redis::RedisResult<Self> {
            let directory = tempfile::tempdir()?;
            let mut command = Command::new("redis-server");
            command.args(["--port", "0", "--unixsocket", "redis.sock", "--save", ""]).current_dir(directory.path()).stdout(Stdio::null());
            let url = format!("unix://{}/redis.sock", directory.path().display());
            let ground = Self { url, redis: command.spawn()?, _directory: directory };
            let client = redis::Client::open(&*ground.url)?;
            let until = Instant::now() + Duration::from_secs(60);
            while let Err(error) = client.get_connection() {
                if Instant::now() > until {
                    return Err(error);
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            // By itself a connection gives up after half a second, which a busy machine may take, and the worker with it.
            let patience = Some(Duration::from_secs(60));
            let config = redis::AsyncConnectionConfig::new().set_connection_timeout(patience).set_response_timeout(patience);
            tokio::spawn(work(client.get_multiplexed_async_connection_with_config(&config).await?));
            Ok(ground)
        }

        /// The wire in front of a dispatcher, for as long as the process runs.
        pub async fn serve(dispatcher: &hero::Dispatcher) -> Result<String, hero::rpc::ServeError> {
            let details = hero::rpc::ServerDetails {
                server_id: "example".to_owned(),
                started_at: hero::model::Timestamp::local(),
                started: Instant::now(),
                listen: Vec::new(),
                contexts: dispatcher.contexts().ids(),
                node_key: None,
                pools: Vec::new(),
                limits: hero::rpc::Limits::default(),
            };
            let probes = hero::rpc::Probes { readiness: Arc::new(|| Box::pin(async { Ok(Vec::new()) })), metrics: Arc::new(String::new) };
            let authority = hero::access::Authority::new([], hero::access::TokenKey::random());
            let runners = hero::coordinator::Runners::new(dispatcher.clone());
            let messages = hero::coordinator::Messages::new(dispatcher.clone(), Default::default());
            let app = hero::rpc::App { dispatcher: dispatcher.clone(), authority, runners, messages, probes, details: Arc::new(details), drain: Arc::new(|_| 0) };
            let settings = hero::rpc::ServerSettings { listen: vec![([127, 0, 0, 1], 0).into()], ..Default::default() };
            let serving = hero::rpc::serve(settings, app, Default::default()).await?;
            Ok(format!("ws://{}", serving.local_addr()))
        }
    }

    impl Drop for Ground {
        fn drop(&mut self) {
            let _ = self.redis.kill();
            let _ = self.redis.wait();
        }
    }

    /// Takes jobs and tasks, and says of each that it finished with the answer.
    async fn work(mut redis: redis::aio::MultiplexedConnection) -> redis::RedisResult<()> {
        loop {
            if let Some(id) = redis::cmd("RPOP").arg("hero:q:work:type:osis").query_async::<Option<String>>(&mut redis).await? {
                let key = format!("hero:job:{id}");
                redis::cmd("HSET").arg(&key).arg("status").arg("started").exec_async(&mut redis).await?;
                redis::cmd("HSET").arg(&key).arg(&["output", "42", "status", "finished"]).exec_async(&mut redis).await?;
            }
            if let Some(id) = redis::cmd("RPOP").arg("rhai_tasks:osis").query_async::<Option<String>>(&mut redis).await? {
                let details = format!("rhai_task_details:{id}");
                let replies: String = redis::cmd("HGET").arg(&details).arg("reply_to_queue").query_async(&mut redis).await?;
                redis::cmd("LPUSH").arg(replies).arg(r#"{"status":"completed","output":"42"}"#).exec_async(&mut redis).await?;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}
