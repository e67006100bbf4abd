use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use hero::store::Endpoint;
use redis::{FromRedisValue, RedisResult};

use super::until;

/// A Redis Cluster on loopback with three masters, and a replica of one of them. It ends with its test.
pub struct Cluster {
    nodes: Vec<Node>,
    directory: tempfile::TempDir,
}

/// One process of a cluster.
pub struct Node {
    process: Child,
    port: u16,
    bus: u16,
    /// Replaces `{tls}` in the arguments.
    tls: u16,
    arguments: Vec<String>,
    home: PathBuf,
}

/// The masters are the first nodes.
pub const MASTERS: usize = 3;
const SLOTS: usize = 16384;

impl Cluster {
    /// Starts three masters, each with a third of the slots. If a node fails, the nodes that do not have its slots
    /// continue.
    pub async fn start(arguments: &[&str]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let mut nodes = Vec::new();
        for _ in 0..MASTERS {
            nodes.push(Node::start(&directory, arguments).await);
        }
        let cluster = Self { nodes, directory };
        for (at, node) in cluster.nodes.iter().enumerate() {
            let (first, last) = (at * SLOTS / MASTERS, (at + 1) * SLOTS / MASTERS - 1);
            let words = ["CLUSTER", "ADDSLOTSRANGE", &first.to_string(), &last.to_string()];
            node.ok(&words).await;
            node.ok(&["CLUSTER", "SET-CONFIG-EPOCH", &(at + 1).to_string()]).await;
        }
        cluster.meet().await;
        cluster
    }

    /// Adds a replica of a master. It does not take over before [`Node::may_take_over`].
    pub async fn add_replica(&mut self, of: usize, arguments: &[&str]) -> usize {
        let master: String = self.nodes[of].run(&["CLUSTER", "MYID"]).await;
        self.nodes.push(Node::start(&self.directory, &[arguments, &["--cluster-replica-no-failover", "yes"]].concat()).await);
        self.meet().await;
        let replica = self.nodes.len() - 1;
        self.nodes[replica].ok(&["CLUSTER", "REPLICATE", &master]).await;
        until("the replica has what its master has", || async {
            let info: String = self.nodes[replica].run(&["INFO", "replication"]).await;
            info.contains("master_link_status:up").then_some(())
        })
        .await;
        // Only a replica that all nodes know can be elected.
        for node in &self.nodes {
            until("every node knows the replica", || async {
                let nodes: String = node.run(&["CLUSTER", "NODES"]).await;
                (nodes.matches("slave").count() == 1).then_some(())
            })
            .await;
        }
        replica
    }

    async fn meet(&self) {
        for node in &self.nodes[1..] {
            self.nodes[0].ok(&["CLUSTER", "MEET", "127.0.0.1", &node.port.to_string(), &node.bus.to_string()]).await;
        }
        for node in &self.nodes {
            until("every node knows every other", || async {
                let info: String = node.run(&["CLUSTER", "INFO"]).await;
                let known = format!("cluster_known_nodes:{}\r", self.nodes.len());
                let whole = ["cluster_state:ok\r", "cluster_slots_ok:16384\r", &known].iter().all(|line| info.contains(line));
                let nodes: String = node.run(&["CLUSTER", "NODES"]).await;
                (whole && !nodes.contains("handshake") && !nodes.contains("disconnected")).then_some(())
            })
            .await;
        }
    }

    pub fn node(&self, at: usize) -> &Node {
        &self.nodes[at]
    }

    pub fn directory(&self) -> &std::path::Path {
        self.directory.path()
    }

    /// The live nodes.
    pub fn living(&self) -> impl Iterator<Item = &Node> {
        self.nodes.iter().filter(|node| node.port != 0)
    }

    /// The master that initially had the slot of a key.
    pub async fn owner(&self, key: &str) -> usize {
        let slot: usize = self.nodes[0].run(&["CLUSTER", "KEYSLOT", key]).await;
        (0..MASTERS).find(|at| slot < (at + 1) * SLOTS / MASTERS).unwrap()
    }

    /// Kills a node, as the kernel would.
    pub fn kill(&mut self, at: usize) {
        let node = &mut self.nodes[at];
        node.process.kill().unwrap();
        node.process.wait().unwrap();
        node.port = 0;
    }

    /// Kills a node, and restarts it with the same name, address and files.
    pub async fn restart(&mut self, at: usize) {
        let node = &mut self.nodes[at];
        node.process.kill().unwrap();
        node.process.wait().unwrap();
        // Another process may use its port for a moment.
        until("the node is back", || {
            if node.process.try_wait().unwrap().is_some() {
                node.process = launch(&node.home, &node.arguments);
            }
            let pong = node.try_run::<String>(&["PING"]);
            async move { pong.await.ok() }
        })
        .await;
    }
}

impl Node {
    async fn start(directory: &tempfile::TempDir, arguments: &[&str]) -> Self {
        // A port that was free a moment ago may be in use by now.
        for _ in 0..20 {
            let [port, bus, tls] = free_ports();
            let arguments: Vec<String> = arguments.iter().map(|word| word.replace("{tls}", &tls.to_string())).collect();
            let own = directory.path().join(port.to_string());
            std::fs::create_dir_all(&own).unwrap();
            let arguments = [vec!["--port".into(), port.to_string(), "--cluster-port".into(), bus.to_string()], arguments].concat();
            let process = launch(&own, &arguments);
            let mut node = Self { process, port, bus, tls, arguments, home: own };
            let up = until("a node of the cluster, or its end", || {
                let ended = node.process.try_wait().unwrap().is_some();
                let pong = node.try_run::<String>(&["PING"]);
                async move { if ended { Some(false) } else { pong.await.ok().map(|_| true) } }
            })
            .await;
            if up {
                return node;
            }
        }
        panic!("no port for a node of the cluster");
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    pub fn tls_port(&self) -> u16 {
        self.tls
    }

    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    pub fn endpoint(&self) -> Endpoint {
        Endpoint { url: self.url(), ..Endpoint::default() }
    }

    /// Lets a replica take the place of its master.
    pub async fn may_take_over(&self) {
        self.ok(&["CONFIG", "SET", "cluster-replica-no-failover", "no"]).await;
    }

    /// Sends one command to this node, as redis-cli would.
    pub async fn run<T: FromRedisValue>(&self, words: &[&str]) -> T {
        self.try_run(words).await.unwrap_or_else(|error| panic!("{words:?}: {error}"))
    }

    pub async fn ok(&self, words: &[&str]) {
        assert_eq!(self.run::<String>(words).await, "OK", "{words:?}");
    }

    /// Sends one command that may fail.
    pub fn try_run<T: FromRedisValue>(&self, words: &[&str]) -> impl Future<Output = RedisResult<T>> + use<T> {
        ask(self.port, words)
    }

    /// The commands that this node has refused, with its counters, except for the check for the library of functions.
    pub async fn refused(&self) -> Vec<String> {
        let (commands, errors): (String, String) = (self.run(&["INFO", "commandstats"]).await, self.run(&["INFO", "errorstats"]).await);
        let good = |line: &str| line.ends_with("rejected_calls=0,failed_calls=0") || line.starts_with("cmdstat_fcall_ro:");
        let cluster = ["CROSSSLOT", "MOVED", "ASK", "TRYAGAIN", "CLUSTERDOWN"].map(|word| format!("errorstat_{word}:"));
        let bad = commands.lines().filter(|line| line.starts_with("cmdstat_") && !good(line));
        let bad = bad.chain(errors.lines().filter(|line| cluster.iter().any(|word| line.starts_with(word))));
        bad.map(ToOwned::to_owned).collect()
    }

    /// Whether a command was refused because its keys are in different slots.
    pub async fn saw_several_slots(&self) -> bool {
        self.run::<String>(&["INFO", "errorstats"]).await.contains("errorstat_CROSSSLOT")
    }

    /// Every key, found by SCAN.
    pub async fn keys(&self) -> Vec<String> {
        let (mut cursor, mut found) = ("0".to_owned(), Vec::new());
        loop {
            let (next, keys): (String, Vec<String>) = self.run(&["SCAN", &cursor, "COUNT", "1000"]).await;
            found.extend(keys);
            if next == "0" {
                return found;
            }
            cursor = next;
        }
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn launch(home: &Path, arguments: &[String]) -> Child {
    Command::new("redis-server")
        .args(["--bind", "127.0.0.1", "--dir", "."])
        .args(["--cluster-enabled", "yes", "--cluster-node-timeout", "1500", "--cluster-require-full-coverage", "no"])
        .args(["--cluster-replica-validity-factor", "0", "--cluster-allow-replica-migration", "no"])
        .args(["--repl-diskless-sync-delay", "0", "--save", ""])
        .args(arguments)
        .current_dir(home)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("redis-server is installed (make setup)")
}

/// Sends one command that may fail to the node with this port.
pub fn ask<T: FromRedisValue>(port: u16, words: &[&str]) -> impl Future<Output = RedisResult<T>> + use<T> {
    let mut command = redis::cmd(words[0]);
    command.arg(&words[1..]);
    let client = redis::Client::open(format!("redis://127.0.0.1:{port}")).unwrap();
    async move {
        let mut connection = super::connection(&client).await?;
        command.query_async(&mut connection).await
    }
}

/// Returns ports that are free, one after another, below the range from which the kernel assigns ports, so that they
/// stay free while a node is away.
pub fn free_ports() -> [u16; 3] {
    const FIRST: u32 = 10_000;
    const COUNT: u32 = 22_000;
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let listener = || loop {
        // Two concurrent test runs start at different ports.
        let at = NEXT.fetch_add(1, Ordering::Relaxed).wrapping_add(std::process::id().wrapping_mul(97)) % COUNT;
        if let Ok(free) = TcpListener::bind(("127.0.0.1", u16::try_from(FIRST + at).unwrap())) {
            return free;
        }
    };
    // The function holds all ports until each is known, so that none occurs twice.
    let listeners = [listener(), listener(), listener()];
    listeners.map(|listener| listener.local_addr().unwrap().port())
}
