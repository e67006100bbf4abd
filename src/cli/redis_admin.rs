//! `hero redis …`: what whoever looks after a Redis gives it for hero.

use clap::Subcommand;
use serde_json::json;

use super::output;
use crate::exit::Exit;
use crate::store::{acl_rules, own_functions, public_functions};

/// What to print.
#[derive(Debug, Subcommand)]
pub(super) enum RedisCommand {
    /// Print the command that makes a user who may serve hero and nothing else; set its password with `>PASSWORD`
    Acl {
        /// Its name
        #[arg(default_value = "hero")]
        name: String,
        /// Do not let it load functions: you load them yourself, as `hero redis functions` prints them, before each new version
        #[arg(long)]
        no_loading: bool,
    },
    /// Print the functions of this version, for `redis-cli -x FUNCTION LOAD`
    Functions {
        /// Those that actors in other languages call, for `redis-cli -x FUNCTION LOAD REPLACE`
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
