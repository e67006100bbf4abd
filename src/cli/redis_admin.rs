//! `hero redis …`: what the administrator of a Redis needs to set it up for hero.

use clap::Subcommand;
use serde_json::json;

use super::output;
use crate::exit::Exit;
use crate::store::{acl_rules, own_functions, public_functions};

/// The text to print.
#[derive(Debug, Subcommand)]
pub(super) enum RedisCommand {
    /// Print the command that creates a Redis user who may only serve hero. Set its password with `>PASSWORD`
    Acl {
        /// The name of the user
        #[arg(default_value = "hero")]
        name: String,
        /// Do not allow the user to load functions. Load them yourself before each new version, as printed by `hero
        /// redis functions`
        #[arg(long)]
        no_loading: bool,
    },
    /// Print the functions of this version, for `redis-cli -x FUNCTION LOAD`
    Functions {
        /// Print the functions for actors in other languages instead, for `redis-cli -x FUNCTION LOAD REPLACE`
        #[arg(long)]
        public: bool,
    },
}

impl RedisCommand {
    pub(super) fn main(&self, is_json: bool) -> anyhow::Result<Exit> {
        match self {
            Self::Acl { name, no_loading } => {
                let rules = acl_rules(!no_loading);
                if is_json {
                    output::json(&json!({ "name": name, "rules": rules }))?;
                } else {
                    output::line(format!("ACL SETUSER {name} on >PASSWORD {rules}"))?;
                }
            }
            Self::Functions { public } => {
                let functions = if *public { public_functions() } else { own_functions() };
                if is_json { output::json(&json!({ "functions": functions }))? } else { output::document(functions)? }
            }
        }
        Ok(Exit::Ok)
    }
}
