//! Key files that only their owner can read.

use std::path::Path;
use std::str::FromStr;

use anyhow::{Context as _, anyhow};

use super::private_file::{self, ensure_writable};
use crate::exit::{Usage, chain};

/// A key file, and the setting that names it.
pub(crate) struct KeyFile<'p> {
    pub(crate) path: &'p Path,
    pub(crate) setting: &'static str,
    /// The owner of the key, for messages.
    pub(crate) of: &'static str,
}

impl KeyFile<'_> {
    /// Reads the key, or makes one if the file does not exist.
    pub(crate) fn read_or_make<K>(&self, random: impl FnOnce() -> (K, String)) -> anyhow::Result<K>
    where
        K: FromStr<Err: std::error::Error + Send + Sync + 'static>,
    {
        match self.read()? {
            Some(key) => Ok(key),
            None => self.make(random()),
        }
    }

    /// Reads the key, if the file exists.
    pub(crate) fn read<K>(&self) -> anyhow::Result<Option<K>>
    where
        K: FromStr<Err: std::error::Error + Send + Sync + 'static>,
    {
        let Self { path, setting, of } = self;
        let refused = |error: anyhow::Error| Usage(format!("{setting}: {}", chain(&error)));
        let Some(text) = private_file::read(path).map_err(refused)? else { return Ok(None) };
        let parsed = text.parse().with_context(|| format!("{} is no key of {of}", path.display()));
        Ok(Some(parsed.map_err(refused)?))
    }

    /// Reads the key if the file exists. Otherwise checks that it could be made.
    pub(crate) fn look<K>(&self) -> anyhow::Result<()>
    where
        K: FromStr<Err: std::error::Error + Send + Sync + 'static>,
    {
        match self.read::<K>()? {
            Some(_) => Ok(()),
            None => ensure_writable(self.setting, self.path.parent().unwrap_or(Path::new("."))),
        }
    }

    fn make<K>(&self, (key, text): (K, String)) -> anyhow::Result<K>
    where
        K: FromStr<Err: std::error::Error + Send + Sync + 'static>,
    {
        if private_file::make(self.path, &text).context(self.setting)? {
            return Ok(key);
        }
        // Another process was quicker: use its key.
        self.read()?.ok_or_else(|| anyhow!("{}: {} was removed again", self.setting, self.path.display()))
    }
}
