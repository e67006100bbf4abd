use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Args;
use serde_json::json;

use super::output;
use crate::docs::{INDEX, OPENRPC, files};
use crate::exit::Exit;

/// The target of the documents.
#[derive(Debug, Args)]
pub(super) struct Docs {
    /// The directory for the pages; created if missing
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

impl Docs {
    /// Writes the pages that a server has at `/docs`, for reading without a server.
    pub(super) fn main(&self, json: bool) -> anyhow::Result<Exit> {
        for (path, file) in files() {
            write(&self.out.join(path), &file.text)?;
        }
        write(&self.out.join(OPENRPC), crate::rpc::document())?;
        let index = self.out.join(INDEX);
        if json {
            output::json(&json!({ "index": index, "files": files().len() + 1 }))?;
        } else {
            output::line(format!("open {} in a browser", index.display()))?;
        }
        Ok(Exit::Ok)
    }
}

fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    if let Some(directory) = path.parent() {
        std::fs::create_dir_all(directory).with_context(|| format!("cannot make the directory {}", directory.display()))?;
    }
    std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}
