//! The Rust client does not depend on the server: its users compile no Redis, no HTTP server and no engine.

use super::features::tree;

/// Crates that only servers need.
const OF_SERVERS: [&str; 8] = ["axum", "hyper", "hyper-util", "jsonrpsee-server", "metrics", "redis", "rhai", "tower-http"];
/// The maximum number of crates of the client, including those that its macros need.
const MAX_CRATES: usize = 160;

#[test]
fn the_client_brings_neither_a_server_nor_redis_along() {
    let tree = tree(&["--package", "hero-client", "--edges", "normal"]);
    let names: Vec<&str> = tree.keys().filter_map(|name| name.split(' ').next()).collect();
    let ours: Vec<&str> = names.iter().copied().filter(|name| name.starts_with("hero-")).collect();
    assert_eq!(ours, ["hero-client", "hero-model"], "of this project the client uses the model, and nothing else");
    let heavy: Vec<&str> = names.iter().copied().filter(|name| OF_SERVERS.contains(name)).collect();
    assert!(heavy.is_empty(), "the client brings {heavy:?} along; cargo tree -p hero-client -i NAME says by whom");
    assert!(names.len() <= MAX_CRATES, "the client comes to {} crates, and may to {MAX_CRATES}", names.len());
}
