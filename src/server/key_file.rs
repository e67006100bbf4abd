//! Keys in files that only their owner can read.

use std::path::Path;
use std::str::FromStr;

use anyhow::{Context as _, anyhow};

use super::private_file::{self, ensure_writable};
use crate::exit::{Usage, chain};

/// A file with a key, and the setting that says where it is.
pub(crate) struct KeyFile<'p> {
    pub(crate) path: &'p Path,
    pub(crate) setting: &'static str,
    /// What the key is of.
    pub(crate) of: &'static str,
}

impl KeyFile<'_> {
    /// Reads the key, or makes one where there is none.
    pub(crate) fn read_or_make<K>(&self, random: impl FnOnce() -> (K, String)) -> anyhow::Result<K>
    where
        K: FromStr<Err: std::error::Error + Send + Sync + 'static>,
    {
        match self.read()? {
            Some(key) => Ok(key),
            None => self.make(random()),
        }
    }

    /// Reads the key, if there is one.
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

    /// Reads the key, if there is one, or looks whether one could be made.
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
        // Another process was quicker, whose key it is then.
        self.read()?.ok_or_else(|| anyhow!("{}: {} was removed again", self.setting, self.path.display()))
    }
}
