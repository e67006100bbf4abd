//! Finds the program of a private Redis.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::io::AsyncReadExt as _;
use tokio::process::Command;

use crate::Error;

/// The time in which a server must print its version. Another program may ignore `--version` and begin to serve.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);
/// The longest output of a version.
const MAX_OUTPUT_BYTES: u64 = 4096;

/// Finds a real redis-server or valkey-server on PATH. A Rust crate installs a toy of the same name.
pub(super) async fn find() -> Result<PathBuf, Error> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut refused = Vec::new();
    for program in ["redis-server", "valkey-server"] {
        for candidate in std::env::split_paths(&path).map(|directory| directory.join(program)).filter(|candidate| candidate.is_file()) {
            match version(&ask(&candidate).await) {
                Some(version) if version >= (7, 0) => return Ok(candidate),
                Some((major, minor)) => refused.push(format!("{} is version {major}.{minor}", candidate.display())),
                None => refused.push(format!("{} is no Redis server", candidate.display())),
            }
        }
    }
    let seen = if refused.is_empty() { String::new() } else { format!(" ({})", refused.join("; ")) };
    Err(Error::Unsuitable(format!(
        "no redis-server or valkey-server of version 7.0 or newer on PATH{seen}; install one (apt-get install redis-server, \
         dnf install valkey, apk add valkey, brew install redis), or name yours with --redis redis://…"
    )))
}

/// Returns the output of a program for `--version`; nothing if it does not end in time.
async fn ask(program: &Path) -> String {
    let mut command = Command::new(program);
    command.arg("--version").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).kill_on_drop(true);
    let asking = async {
        let mut said = Vec::new();
        let mut child = command.spawn()?;
        if let Some(out) = child.stdout.take() {
            out.take(MAX_OUTPUT_BYTES).read_to_end(&mut said).await?;
        }
        // A program that prints more is killed instead.
        if (said.len() as u64) < MAX_OUTPUT_BYTES {
            child.wait().await?;
        }
        std::io::Result::Ok(said)
    };
    let said = tokio::time::timeout(ANSWER_TIMEOUT, asking).await.ok().and_then(Result::ok).unwrap_or_default();
    String::from_utf8_lossy(&said).trim().to_owned()
}

/// Parses the version in a line such as `Redis server v=7.0.15 sha=…`.
fn version(said: &str) -> Option<(u32, u32)> {
    let rest = said.strip_prefix("Redis server v=").or_else(|| said.strip_prefix("Valkey server v="))?;
    let mut parts = rest.split(['.', ' ']);
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_real_servers_are_taken() {
        assert_eq!(version("Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.3.0"), Some((7, 0)));
        assert_eq!(version("Valkey server v=8.1.3 sha=0"), Some((8, 1)));
        assert_eq!(version("redis-server 0.1.1"), None);
    }
}
