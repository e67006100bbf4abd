//! Checks whether an append-only file is whole, with the program that reads it.

use std::path::Path;
use std::process::Stdio;

use tokio::process::Command;

use super::program;
use crate::Error;

/// The directory of an append-only file in a data directory.
pub const AOF_DIRECTORY: &str = "appendonlydir";
/// The manifest, which names its parts.
pub const AOF_MANIFEST: &str = "appendonly.aof.manifest";
/// The part for a copy of one moment.
pub const AOF_BASE: &str = "appendonly.aof.1.base.rdb";

/// Returns the manifest of an append-only file that consists only of this base.
pub fn manifest_of_base() -> String {
    format!("file {AOF_BASE} seq 1 type b\n")
}

/// Lets Redis' own program read an append-only file. Fails with its output if the file is not whole.
pub async fn check_aof(directory: &Path) -> Result<(), Error> {
    let server = program::find().await?;
    // The server binary is its own checker, if it is called by that name.
    let name = server.file_name().unwrap_or_default().to_string_lossy().replace("-server", "-check-aof");
    let mut command = Command::new(&server);
    command.arg0(name).arg(directory.join(AOF_MANIFEST)).stdin(Stdio::null()).kill_on_drop(true);
    let said = command.output().await.map_err(|error| Error::Unsuitable(format!("{} can't be run: {error}", server.display())))?;
    if said.status.success() {
        return Ok(());
    }
    let text = [String::from_utf8_lossy(&said.stdout), String::from_utf8_lossy(&said.stderr)].concat();
    let last = text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it does not say why").trim().to_owned();
    Err(Error::Unsuitable(format!("the append-only file in {} is not whole: {last}", directory.display())))
}
