//! The key with which the secrets of tokens are hashed, in a file that only its owner can read.

use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};

use super::settings::Settings;
use crate::access::TokenKey;

/// The name of the file in the data directory.
const NAME: &str = "token.key";
/// What group and others may do.
const OTHERS: u32 = 0o077;

/// Reads the key, or makes it where there is none.
pub(super) fn read(settings: &Settings) -> anyhow::Result<TokenKey> {
    let path = settings.token_key_file.clone().unwrap_or_else(|| settings.data.join(NAME));
    match std::fs::read_to_string(&path) {
        Ok(text) => {
            ensure_private(&path)?;
            text.parse().with_context(|| format!("token_key_file: {} is no key of tokens", path.display()))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => make(&path),
        Err(error) => Err(error).with_context(|| format!("token_key_file: {} cannot be read", path.display())),
    }
}

fn ensure_private(path: &Path) -> anyhow::Result<()> {
    let mode = path.metadata()?.permissions().mode() & 0o777;
    if mode & OTHERS != 0 {
        bail!("token_key_file: others may read {} (mode {mode:03o}); close it with: chmod 600 {0}", path.display());
    }
    Ok(())
}

fn make(path: &PathBuf) -> anyhow::Result<TokenKey> {
    let key = TokenKey::random();
    let written = || {
        if let Some(parent) = path.parent() {
            DirBuilder::new().recursive(true).mode(0o700).create(parent)?;
        }
        // Whole or not at all, whoever else makes one.
        let unfinished = path.with_extension(format!("{:016x}", rand::random::<u64>()));
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&unfinished)?;
        let linked =
            writeln!(file, "{}", key.to_text()).and_then(|()| file.sync_all()).and_then(|()| std::fs::hard_link(&unfinished, path));
        std::fs::remove_file(&unfinished)?;
        linked
    };
    match written() {
        Ok(()) => Ok(key),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let text = std::fs::read_to_string(path)?;
            text.parse().with_context(|| format!("token_key_file: {} is no key of tokens", path.display()))
        }
        Err(error) => Err(error).with_context(|| format!("token_key_file: {} cannot be made", path.display())),
    }
}
