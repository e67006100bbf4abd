//! `hero token …`: the tokens with which callers log in.

use std::time::Duration;

use clap::Subcommand;
use serde_json::json;

use super::global::Global;
use super::output::{self, Style};
use crate::cli::output::local_time::local_time;
use crate::cli::output::table::{Fit, Table, cell, cells};
use crate::exit::Exit;
use crate::model::{IdentityId, Token, TokenId, parse_time};

/// Commands of tokens.
#[derive(Debug, Subcommand)]
pub(super) enum TokenCommand {
    /// Create a token and print its secret, which cannot be shown again
    Create {
        /// The number of the identity that the token is for
        identity: IdentityId,
        /// A name that says what the token is for
        #[arg(long)]
        name: Option<String>,
        /// Time after which the token expires, such as 30d [default: never]
        #[arg(long, value_name = "TIME", value_parser = parse_time)]
        lifetime: Option<Duration>,
    },
    /// List the unexpired tokens of an identity
    List {
        /// The number of the identity
        identity: IdentityId,
    },
    /// Revoke a token, which ends its logins at once
    Revoke {
        /// The id of the token, as listed by `hero token list`
        id: TokenId,
    },
}

impl TokenCommand {
    pub(super) async fn main(&self, global: &Global) -> anyhow::Result<Exit> {
        let client = global.connect_as_operator().await?;
        match self {
            Self::Create { identity, name, lifetime } => {
                let made = client.create_token(*identity, name.as_deref(), *lifetime).await?;
                if global.json { output::json(&made)? } else { output::line(&made.secret)? }
            }
            Self::List { identity } => {
                let tokens = client.list_tokens(*identity).await?;
                if global.json { output::json(&tokens)? } else { list(&tokens)? }
            }
            Self::Revoke { id } => {
                client.revoke_token(id).await?;
                if global.json { output::json(&json!({ "revoked": id }))? } else { output::line("revoked")? }
            }
        }
        Ok(Exit::Ok)
    }
}

const HEAD: [(&str, Fit); 4] = [("TOKEN", Fit::Keep), ("CREATED", Fit::Keep), ("EXPIRES", Fit::Keep), ("NAME", Fit::Cut)];

fn list(tokens: &[Token]) -> anyhow::Result<()> {
    let style = Style::stdout();
    let mut table = Table::new(style, &HEAD);
    for token in tokens {
        table.row(cells![
            token.token_id.to_string(),
            local_time(token.created_at, "UTC"),
            token.expires_at.map_or_else(|| "never".to_owned(), |end| local_time(end, "UTC")),
            cell(token.name.as_deref().unwrap_or("-")),
        ]);
    }
    table.print()
}
