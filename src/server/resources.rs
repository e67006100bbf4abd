//! The resources that scripts may use outside of their engines, according to the settings.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, anyhow};

use super::settings::{PoolSettings, ScriptTypeSettings, Settings};
use super::stores::for_context;
use crate::dispatch::Dispatcher;
use crate::engine::Capability;
use crate::exit::Usage;
use crate::model::ContextId;
use crate::process::Spawner;
use crate::sal::{Files, Hosts, Net, Processes, Resources};
use crate::store::{Endpoint, GrantedRedis, NotGranted};

/// Makes the resources of one pool after another.
pub(crate) struct Granter<'a> {
    pub(crate) settings: &'a Settings,
    pub(crate) hero: &'a Path,
    pub(crate) spawner: &'a Spawner,
    pub(crate) dispatcher: &'a Dispatcher,
    /// The files of each context, which its pools share.
    files: BTreeMap<ContextId, Files>,
}

impl<'a> Granter<'a> {
    pub(crate) fn new(settings: &'a Settings, hero: &'a Path, spawner: &'a Spawner, dispatcher: &'a Dispatcher) -> Self {
        Self { settings, hero, spawner, dispatcher, files: BTreeMap::new() }
    }

    /// Returns the resources of a pool in a context with these grants.
    pub(crate) async fn resources(&mut self, pool: &PoolSettings, context: ContextId, granted: &[Capability]) -> anyhow::Result<Resources> {
        let has = |capability| granted.contains(&capability);
        // Commands work in the directory of files, even if scripts themselves have no access to it.
        let files = (has(Capability::Fs) || has(Capability::Process)).then(|| self.files(context));
        let most = ScriptTypeSettings::DEFAULT_MEMORY;
        let memory = self.settings.process_memory(context).map_or(most, |of_context| most.min(of_context));
        let processes = has(Capability::Process).then(|| Processes::new(self.hero.to_owned(), self.spawner.clone(), memory));
        let net = has(Capability::Net).then(|| {
            let hosts = Hosts::new(pool.hosts.iter().map(String::as_str)).map_err(|wrong| anyhow!(wrong))?;
            Net::new(hosts).map_err(|why| anyhow!("no TLS for scripts: {why}"))
        });
        let redis = match &pool.redis {
            Some(url) if has(Capability::Redis) => Some(self.redis(pool, context, url).await?),
            _ => None,
        };
        Ok(Resources { files, processes, net: net.transpose()?, redis })
    }

    /// Returns the files of a context that were made for one of its pools.
    pub(crate) fn files_of(&self, context: ContextId) -> Option<Files> {
        self.files.get(&context).cloned()
    }

    fn files(&mut self, context: ContextId) -> Files {
        let made = || {
            let files = of_context(self.settings, context);
            let left = files.clone();
            self.spawner.later(move || left.remove_left());
            files
        };
        self.files.entry(context).or_insert_with(made).clone()
    }

    /// Connects to the Redis of a pool, unless it is one of our own. It may be unreachable for now.
    async fn redis(&self, pool: &PoolSettings, context: ContextId, url: &str) -> anyhow::Result<Arc<GrantedRedis>> {
        let endpoint = Endpoint { url: url.replace("{context}", &context.to_string()), ..Endpoint::default() };
        let of = || format!("pool {}:{}{}: redis", pool.script_type, pool.group, for_context(context));
        let own = self.dispatcher.contexts().stores();
        let redis = GrantedRedis::new(&endpoint, own).with_context(of)?;
        match redis.verify().await {
            Ok(()) => {}
            Err(own @ NotGranted::Own(_)) => return Err(anyhow::Error::new(Usage(format!("{}: {own}", of())))),
            Err(silent) => tracing::warn!("{}: {silent}; it is tried again when a script wants it", of()),
        }
        Ok(Arc::new(redis))
    }
}

/// Returns the files of a context.
pub(crate) fn of_context(settings: &Settings, context: ContextId) -> Files {
    Files::new(&settings.data, context, settings.within(context).files_quota)
}
