use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Args;
use serde_json::json;

use super::super::output;
use super::copy::{self, copy_into};
use super::manifest::NAME;
use super::{unfinished, used_data_directory, verify};
use crate::exit::{Exit, Usage};
use crate::store::managed::AOF_DIRECTORY;

/// Creates a data directory from a copy made by `hero backup`.
#[derive(Debug, Args)]
pub(in crate::cli) struct Restore {
    /// The copy made by `hero backup`
    #[arg(value_name = "DIR")]
    from: PathBuf,
    /// The data directory to create, which must be missing or empty [default: HERO_DATA, else $XDG_DATA_HOME/hero, else
    /// ~/.local/share/hero]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
}

impl Restore {
    pub(in crate::cli) async fn main(&self, json: bool) -> anyhow::Result<Exit> {
        let data = used_data_directory(self.data.as_deref())?;
        if data.symlink_metadata().is_ok_and(|there| there.is_symlink()) {
            return Err(Usage(format!("{} is a link; name the directory that it leads to with --data", data.display())).into());
        }
        let is_empty = match std::fs::read_dir(&data) {
            Ok(mut entries) => entries.next().is_none(),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => true,
            Err(error) => return Err(error).with_context(|| format!("cannot look into {}", data.display())),
        };
        if !is_empty {
            return Err(Usage(format!("{} is not empty; move it away, or name another data directory with --data", data.display())).into());
        }
        let manifest = verify(&self.from).await?;
        let parent = data.parent().unwrap_or(Path::new("/"));
        std::fs::create_dir_all(parent).with_context(|| format!("cannot make {}", parent.display()))?;
        let unfinished = unfinished(&data)?;
        let copied = copy_into(&self.from, &unfinished, NAME).and_then(|()| {
            // The server's user could not read files that belong to root.
            copy::give(&unfinished, &unfinished.join(AOF_DIRECTORY))?;
            // Replaces an empty directory.
            std::fs::rename(&unfinished, &data).with_context(|| format!("cannot give the data its name {}", data.display()))
        });
        if let Err(error) = copied {
            let _ = std::fs::remove_dir_all(&unfinished);
            return Err(error);
        }
        copy::sync_directory(parent)?;
        if json {
            output::json(&json!({ "data": data, "files": manifest.files.len(), "bytes": manifest.bytes() }))?;
        } else {
            output::line(format!(
                "{}: {} files are there again; start it with `hero serve --data {0}`",
                data.display(),
                manifest.files.len()
            ))?;
        }
        Ok(Exit::Ok)
    }
}
