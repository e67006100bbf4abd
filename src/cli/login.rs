//! `hero login`, and its key files.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow, bail};
use clap::Args;
use serde_json::json;

use super::global::Global;
use super::output;
use crate::cli::output::local_time::local_time;
use crate::exit::{Exit, Usage};
use crate::model::PrivateKey;
use crate::server::private_file;

/// Logs in with a private key, and prints a token for HERO_TOKEN.
#[derive(Debug, Args)]
pub(super) struct Login {
    /// The private key file made by `hero identity key`: 64 hexadecimal digits
    #[arg(long, value_name = "FILE")]
    key: PathBuf,
}

impl Login {
    pub(super) async fn main(&self, global: &Global) -> anyhow::Result<Exit> {
        let none = || Usage(format!("there is no file {}; make a key with: hero identity key {0}", self.key.display()));
        let key = read(&self.key)?.ok_or_else(none)?;
        let made = global.connect_as_nobody().await?.log_in(&key).await?;
        if global.json {
            output::json(&made)?;
        } else {
            output::line(&made.token)?;
            output::note(format!("-- identity {}, until {} --", made.identity_id, local_time(made.expires_at, "UTC")));
        }
        Ok(Exit::Ok)
    }
}

/// `hero identity key`: prints the public key of a file, which is created if missing.
pub(super) fn key(path: &Path, is_json: bool) -> anyhow::Result<Exit> {
    let key = match read(path)? {
        Some(key) => key,
        None => {
            // A missing directory is more likely a typing error than intended.
            let above = path.parent().and_then(Path::parent).filter(|above| !above.as_os_str().is_empty());
            if let Some(missing) = above.filter(|above| !above.is_dir()) {
                bail!("there is no directory {0}; make it first: mkdir -p {0}", missing.display());
            }
            private_file::make(path, &PrivateKey::random().to_text())?;
            read(path)?.ok_or_else(|| anyhow!("{} was removed again", path.display()))?
        }
    };
    let pubkey = key.public_key();
    if is_json {
        output::json(&json!({ "pubkey": pubkey }))?
    } else {
        output::line(pubkey.to_string())?
    }
    Ok(Exit::Ok)
}

fn read(path: &Path) -> anyhow::Result<Option<PrivateKey>> {
    let Some(text) = private_file::read(path)? else { return Ok(None) };
    text.parse().map(Some).with_context(|| format!("{} is no private key", path.display()))
}
