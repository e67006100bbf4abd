//! `hero backup` and `hero restore`: copy and verify the data directory of a server with a private Redis.

mod copy;
mod manifest;
mod restore;
mod tree;

use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow, bail};
use clap::Args;
use serde_json::json;

pub(super) use restore::Restore;

use self::copy::{copy, give, sync_directory, write};
use self::manifest::Manifest;
use super::global::data_directory;
use super::output;
use crate::exit::{Exit, Usage};
use crate::store::managed::{AOF_BASE, AOF_DIRECTORY, AOF_MANIFEST, check_aof, holder, manifest_of_base, snapshot, take};

/// The parts of a data directory to copy, if they exist, besides the append-only file. Locks, sockets and the password
/// of Redis are created anew.
const PARTS: [&str; 7] = ["audit", "audit.begun", "audit.key", "files", "logs", "node.key", "token.key"];

/// The maximum number of skipped files that the warning names.
const MAX_NAMED_FILES: usize = 10;

/// Copies a data directory consistently, whether its server runs or not.
#[derive(Debug, Args)]
pub(super) struct Backup {
    /// The directory for the copy; it must not exist yet
    #[arg(value_name = "DIR")]
    to: PathBuf,
    /// The data directory [default: HERO_DATA, else $XDG_DATA_HOME/hero, else ~/.local/share/hero]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
}

/// Returns the data directory to use.
fn used_data_directory(named: Option<&Path>) -> anyhow::Result<PathBuf> {
    let data = named.map(Path::to_owned).or_else(data_directory);
    let data = data.ok_or_else(|| Usage("there is no home directory here, so name the data directory with --data".into()))?;
    std::path::absolute(&data).with_context(|| data.display().to_string())
}

impl Backup {
    pub(super) async fn main(&self, json: bool) -> anyhow::Result<Exit> {
        let data = used_data_directory(self.data.as_deref())?;
        let to = std::path::absolute(&self.to)?;
        if to.symlink_metadata().is_ok() {
            return Err(Usage(format!("{} is there already; name a directory that is not", to.display())).into());
        }
        if to.starts_with(&data) {
            return Err(Usage(format!("{} is in the data directory; a copy belongs elsewhere", to.display())).into());
        }
        if !data.join(AOF_DIRECTORY).is_dir() {
            return Err(Usage(format!(
                "{} is no data directory of a server with a private Redis: it has no {AOF_DIRECTORY}; name it with --data, and back up a Redis of your own as you always do",
                data.display()
            ))
            .into());
        }
        let unfinished = unfinished(&to)?;
        let made = make(&data, &unfinished).await;
        let manifest = match made {
            Ok(manifest) => manifest,
            Err(error) => {
                // The incomplete copy is useless.
                let _ = std::fs::remove_dir_all(&unfinished);
                return Err(error);
            }
        };
        std::fs::rename(&unfinished, &to).with_context(|| format!("cannot give the copy its name {}", to.display()))?;
        sync_directory(to.parent().unwrap_or(Path::new("/")))?;
        let (files, bytes) = (manifest.files.len(), manifest.bytes());
        if !manifest.left_out.is_empty() {
            let some: Vec<_> = manifest.left_out.iter().take(MAX_NAMED_FILES).map(String::as_str).collect();
            let (some, more) = (some.join(", "), if manifest.left_out.len() > MAX_NAMED_FILES { ", …" } else { "" });
            output::note(format!(
                "warning: {} could not be read and left out ({some}{more}); backup.json has them as left_out",
                manifest.left_out.len()
            ));
        }
        if json {
            output::json(&json!({ "directory": to, "files": files, "bytes": bytes, "left_out": manifest.left_out }))?;
        } else {
            output::line(format!("{}: {files} files, {bytes} bytes, checked; whoever reads them knows every job and key", to.display()))?;
        }
        Ok(Exit::Ok)
    }
}

/// Creates a directory with a temporary name next to the target. It is renamed once complete.
fn unfinished(to: &Path) -> anyhow::Result<PathBuf> {
    let name = to.file_name().ok_or_else(|| Usage(format!("{} names no directory", to.display())))?;
    let mut name = name.to_owned();
    name.push(format!(".unfinished-{:016x}", rand::random::<u64>()));
    let unfinished = to.with_file_name(name);
    std::fs::DirBuilder::new().mode(0o700).create(&unfinished).with_context(|| format!("cannot make {}", unfinished.display()))?;
    Ok(unfinished)
}

async fn make(data: &Path, to: &Path) -> anyhow::Result<Manifest> {
    let (aof, mut left_out) = (to.join(AOF_DIRECTORY), Vec::new());
    // While we hold the lock, no server starts here.
    let lock = if holder(data)?.is_none() { Some(take(data)?) } else { None };
    if lock.is_some() {
        copy(&data.join(AOF_DIRECTORY), &aof, &mut left_out)?;
    } else {
        std::fs::DirBuilder::new().mode(0o700).create(&aof)?;
        let written = snapshot(data).await.context("the Redis of the server that runs cannot be copied")?;
        copy(written.path(), &aof.join(AOF_BASE), &mut left_out)?;
        write(&aof.join(AOF_MANIFEST), manifest_of_base().as_ref())?;
        for made in [&aof, &aof.join(AOF_MANIFEST)] {
            give(made, &data.join(AOF_DIRECTORY))?;
        }
        sync_directory(&aof)?;
    }
    check_aof(&aof).await?;
    for part in PARTS {
        let from = data.join(part);
        if from.symlink_metadata().is_ok() {
            copy(&from, &to.join(part), &mut left_out)?;
        }
    }
    let mut manifest = Manifest::of(to)?;
    manifest.left_out = left_out;
    manifest.write(to)?;
    sync_directory(to)?;
    let again = Manifest::read(to)?;
    if again != manifest {
        bail!("the list of what was copied was not read as it was written");
    }
    Ok(manifest)
}

/// Refuses a directory that is not a complete copy.
async fn verify(from: &Path) -> anyhow::Result<Manifest> {
    let said = Manifest::read(from)?;
    let there = Manifest::of(from)?;
    if let Some(why) = said.differs(&there) {
        return Err(anyhow!("{} is not as it was made: {why}", from.display()));
    }
    check_aof(&from.join(AOF_DIRECTORY)).await?;
    Ok(said)
}
