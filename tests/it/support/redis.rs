use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use hero::store::{Endpoint, Store};
use redis::FromRedisValue;
use rustix::process::Signal;

use super::Plan;

/// A redis-server for one test, on a unix socket. It ends with the test.
pub struct Redis {
    process: Child,
    directory: tempfile::TempDir,
    arguments: Vec<String>,
}

impl Redis {
    /// Starts a server without persistence.
    pub async fn start() -> Self {
        Self::with(&["--save", "", "--appendonly", "no"]).await
    }

    /// Starts a server with these arguments.
    pub async fn with(arguments: &[&str]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let arguments: Vec<String> = arguments.iter().map(ToString::to_string).collect();
        let process = launch(&directory, &arguments);
        let server = Self { process, directory, arguments };
        server.is_up().await;
        server
    }

    async fn is_up(&self) {
        super::until("redis-server", || async {
            let client = redis::Client::open(self.url()).ok()?;
            let mut connection = super::connection(&client).await.ok()?;
            redis::cmd("PING").query_async::<String>(&mut connection).await.ok()
        })
        .await;
    }

    /// Kills it, as the kernel would.
    pub fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    /// Suspends or resumes it.
    pub fn halt(&self, halts: bool) {
        let pid = rustix::process::Pid::from_child(&self.process);
        rustix::process::kill_process(pid, if halts { Signal::STOP } else { Signal::CONT }).unwrap();
    }

    /// Restarts it after [`Redis::kill`].
    pub async fn restart(&mut self) {
        self.process = launch(&self.directory, &self.arguments);
        self.is_up().await;
    }

    pub fn socket(&self) -> PathBuf {
        self.directory.path().join("redis.sock")
    }

    pub fn directory(&self) -> &std::path::Path {
        self.directory.path()
    }

    pub fn url(&self) -> String {
        format!("unix://{}", self.socket().display())
    }

    pub fn endpoint(&self) -> Endpoint {
        Endpoint { url: self.url(), ..Endpoint::default() }
    }

    /// The plan of a store on it.
    pub fn plan(&self) -> Plan {
        Plan::at(self.endpoint())
    }

    /// A store as another server would have it.
    pub async fn store(&self) -> Store {
        self.plan().store().await
    }

    /// The bytes of memory that it uses, or what else `INFO memory` has under this name.
    pub async fn memory(&self, what: &str) -> u64 {
        let info: String = self.run(&["INFO", "memory"]).await;
        info.lines().find_map(|line| line.strip_prefix(what)?.strip_prefix(':')?.trim().parse().ok()).unwrap()
    }

    /// The number of calls of a command, including those by functions, since the last `CONFIG RESETSTAT`.
    pub async fn calls(&self, command: &str) -> u64 {
        let info: String = self.run(&["INFO", "commandstats"]).await;
        let line = info.lines().find_map(|line| line.strip_prefix("cmdstat_")?.strip_prefix(command)?.strip_prefix(":calls="));
        line.map_or(0, |rest| rest.split(',').next().unwrap().parse().unwrap())
    }

    /// The number of commands, including those by functions, since the last `CONFIG RESETSTAT`.
    pub async fn all_calls(&self) -> u64 {
        let info: String = self.run(&["INFO", "commandstats"]).await;
        let calls =
            info.lines().filter_map(|line| line.strip_prefix("cmdstat_")?.split_once(":calls=")?.1.split(',').next()?.parse::<u64>().ok());
        calls.sum()
    }

    /// Sends one command, as redis-cli would.
    pub async fn run<T: FromRedisValue>(&self, words: &[&str]) -> T {
        self.run_in(0, words).await
    }

    /// Sends one command in another database.
    pub async fn run_in<T: FromRedisValue>(&self, database: u32, words: &[&str]) -> T {
        let client = redis::Client::open(format!("{}?db={database}", self.url())).unwrap();
        let mut connection = super::connection(&client).await.unwrap();
        let mut command = redis::cmd(words[0]);
        command.arg(&words[1..]);
        command.query_async(&mut connection).await.unwrap_or_else(|error| panic!("{words:?}: {error}"))
    }
}

fn launch(directory: &tempfile::TempDir, arguments: &[String]) -> Child {
    Command::new("redis-server")
        .args(["--port", "0", "--unixsocket", "redis.sock", "--databases", "1024", "--dir", "."])
        .args(arguments)
        .current_dir(directory.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("redis-server is installed (make setup)")
}

impl Drop for Redis {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
