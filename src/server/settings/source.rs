//! The sources of settings: flags, environment variables and the file. Each is one layer for figment.

use std::collections::BTreeMap;
use std::path::Path;

use clap::{Arg, ArgAction, ArgMatches, Command};
use figment::value::{Dict, Map, Value};
use figment::{Metadata, Profile, Provider, providers::Format as _};

use super::{Default, Kind, SETTINGS, Scope, Setting, unknown, variables};

/// Values from one source, under their names in the TOML file.
#[derive(Debug, Clone)]
pub(super) struct Layer {
    pub(super) source: String,
    pub(super) values: Dict,
}

impl Provider for Layer {
    fn metadata(&self) -> Metadata {
        Metadata::named(self.source.clone())
    }

    fn data(&self) -> Result<Map<Profile, Dict>, figment::Error> {
        Ok(Map::from([(Profile::Default, self.values.clone())]))
    }
}

/// The name of the layer of flags in errors and in `--print-config`.
pub(super) const FLAG: &str = "flag";
/// The name of the layer of environment variables.
pub(super) const ENVIRONMENT: &str = "environment";
/// The name of the layer of defaults.
pub(super) const DEFAULT: &str = "default";

/// The settings given as flags: those of `hero serve` with `SERVER`, else those of `hero actor`.
#[derive(Debug, Clone, Default)]
pub struct Flags<const SERVER: bool>(Dict);

impl<const SERVER: bool> Flags<SERVER> {
    /// The command that has these flags.
    pub const SCOPE: Scope = if SERVER { Scope::Server } else { Scope::Both };

    pub(super) fn layer(&self) -> Layer {
        Layer { source: FLAG.to_owned(), values: self.0.clone() }
    }
}

impl<const SERVER: bool> clap::Args for Flags<SERVER> {
    fn augment_args(command: Command) -> Command {
        SETTINGS.iter().filter(|setting| setting.is_for(Self::SCOPE)).filter_map(arg).fold(command, Command::arg)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<const SERVER: bool> clap::FromArgMatches for Flags<SERVER> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut flags = Self(Dict::new());
        flags.update_from_arg_matches(matches)?;
        Ok(flags)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        for setting in SETTINGS.iter().filter(|setting| setting.is_for(Self::SCOPE) && setting.flag().is_some()) {
            if let Some(given) = matches.get_many::<String>(setting.name) {
                let given: Vec<&str> = given.map(String::as_str).collect();
                self.0.insert(setting.name.to_owned(), Value::from(given.join(",")));
            }
        }
        Ok(())
    }
}

fn arg(setting: &Setting) -> Option<Arg> {
    let default = match setting.default {
        Default::Computed(words) => format!(" [default: {words}]"),
        _ => setting.default_text().map_or_else(String::new, |value| format!(" [default: {value}]")),
    };
    let arg = Arg::new(setting.name).long(setting.flag()?).help(format!("{}{default} [env: {}]", setting.doc, setting.env()));
    Some(match setting.kind {
        Kind::One(value) => arg.value_name(value).action(ArgAction::Set),
        Kind::List(value) | Kind::Types(value) | Kind::Contexts(value) => arg.value_name(value).action(ArgAction::Append),
        Kind::Pools => arg.value_name("TYPE[:GROUP]=N").action(ArgAction::Append),
        Kind::Endpoints => arg.value_name("N=URL").action(ArgAction::Append),
        Kind::Switch => arg.value_name("BOOL").action(ArgAction::Set).num_args(0..=1).require_equals(true).default_missing_value("true"),
        Kind::Secret => return None,
    })
}

/// Returns the settings among environment variables. An empty variable counts as not set. A variable that looks like a
/// misspelt setting is an error.
pub(super) fn environment(env: &BTreeMap<String, String>) -> Result<Layer, String> {
    if let Some(misspelt) = variables::misspelt(env) {
        return Err(misspelt);
    }
    let given = |setting: &Setting| {
        let value = env.get(&setting.env()).filter(|value| !value.is_empty())?;
        Some((setting.name.to_owned(), Value::from(value.as_str())))
    };
    Ok(Layer { source: ENVIRONMENT.to_owned(), values: SETTINGS.iter().filter_map(given).collect() })
}

/// Returns the settings in a TOML file. An unknown key is an error.
pub(super) fn file(path: &Path) -> Result<Layer, String> {
    let source = format!("file {}", path.display());
    let text = std::fs::read_to_string(path).map_err(|error| format!("the configuration {source} cannot be read: {error}"))?;
    let values =
        figment::providers::Toml::from_str::<Dict>(&text).map_err(|error| format!("the configuration {source} is not TOML: {error}"))?;
    for name in values.keys() {
        if name == "config" {
            return Err(format!("{source}: config cannot be set in a configuration file"));
        }
        if Setting::named(name).is_none() {
            return Err(format!("{source}: {}", unknown("the setting", name, SETTINGS.iter().map(|setting| setting.name))));
        }
    }
    Ok(Layer { source, values })
}
