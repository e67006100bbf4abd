//! `hero identity …`: who may call.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::json;

use super::global::Global;
use super::local_time::local_time;
use super::login;
use super::output::{self, Style};
use super::paging::note_more;
use super::table::{Fit, Table, cell, cells};
use crate::exit::Exit;
use crate::model::{Identity, IdentityId, PublicKey};

/// What to do with identities.
#[derive(Debug, Subcommand)]
pub(super) enum IdentityCommand {
    /// Make an identity, and print its number
    Create(About),
    /// Change an identity: what is given takes the place of what was there
    Update {
        /// Its number
        id: IdentityId,
        #[command(flatten)]
        about: About,
    },
    /// Print what is known of an identity
    Show {
        /// Its number
        id: IdentityId,
    },
    /// List identities in the order of their numbers
    List {
        /// The most to list
        #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u16).range(1..=1000))]
        limit: u16,
        /// Where to go on: the cursor that the list before ended with
        #[arg(long, value_name = "CURSOR")]
        cursor: Option<String>,
    },
    /// Print the public key of a file with a private key, which is made where there is none
    Key {
        /// The file, which only you can read
        file: PathBuf,
    },
    /// Delete an identity with its tokens
    Delete {
        /// Its number
        id: IdentityId,
    },
}

/// What is to be known of an identity.
#[derive(Debug, Args)]
pub(super) struct About {
    /// Its public key: secp256k1, uncompressed, 130 hexadecimal digits
    #[arg(long, value_name = "KEY")]
    pubkey: Option<PublicKey>,
    /// Where it can be reached; may be given several times
    #[arg(long, value_name = "ADDRESS")]
    address: Vec<String>,
}

impl IdentityCommand {
    pub(super) async fn main(&self, global: &Global) -> anyhow::Result<Exit> {
        if let Self::Key { file } = self {
            return login::key(file, global.json);
        }
        let client = global.connect_as_operator().await?;
        match self {
            Self::Key { .. } => {}
            Self::Create(About { pubkey, address }) => {
                let made = client.create_identity(pubkey.as_ref(), address).await?;
                if global.json { output::json(&made)? } else { output::line(made.identity_id.to_string())? }
            }
            Self::Update { id, about: About { pubkey, address } } => {
                let address = (!address.is_empty()).then_some(address.as_slice());
                show(global, &client.update_identity(*id, pubkey.as_ref(), address).await?)?;
            }
            Self::Show { id } => show(global, &client.get_identity(*id).await?)?,
            Self::List { limit, cursor } => {
                let page = client.list_identities(cursor.as_deref(), usize::from(*limit)).await?;
                if global.json {
                    output::json(&page)?;
                } else {
                    list(&page.identities)?;
                    note_more(page.next_cursor.as_deref());
                }
            }
            Self::Delete { id } => {
                client.delete_identity(*id).await?;
                if global.json { output::json(&json!({ "deleted": id }))? } else { output::line("deleted")? }
            }
        }
        Ok(Exit::Ok)
    }
}

/// `hero whoami`: who the server takes this user for.
pub(super) async fn whoami(global: &Global) -> anyhow::Result<Exit> {
    let client = global.connect().await?;
    let who = client.whoami().await?;
    if who.identity_id.is_none() && !who.operator {
        // Where callers have to log in, this is refused, and says so.
        client.call::<serde::de::IgnoredAny>("server_info", json!({})).await?;
    }
    if global.json {
        output::json(&who)?;
        return Ok(Exit::Ok);
    }
    match (who.identity_id, who.operator) {
        (Some(id), _) => output::line(format!("identity {id}"))?,
        (None, true) => output::line("the operator")?,
        (None, false) => output::line("nobody: this server asks for no login, so everybody may do everything")?,
    }
    for (context, roles) in &who.roles {
        let roles: Vec<&str> = roles.iter().map(|role| role.as_str()).collect();
        output::line(format!("context {context}: {}", roles.join(", ")))?;
    }
    Ok(Exit::Ok)
}

fn show(global: &Global, identity: &Identity) -> anyhow::Result<()> {
    if global.json {
        return output::json(identity);
    }
    let none = || "-".to_owned();
    output::line(format!("identity  {}", identity.identity_id))?;
    output::line(format!("pubkey    {}", identity.pubkey.as_ref().map_or_else(none, ToString::to_string)))?;
    output::line(format!("address   {}", if identity.address.is_empty() { none() } else { identity.address.join(", ") }))?;
    output::line(format!("created   {}", local_time(identity.created_at, "UTC")))?;
    output::line(format!("updated   {}", local_time(identity.updated_at, "UTC")))
}

const HEAD: [(&str, Fit); 4] = [("IDENTITY", Fit::Keep), ("CREATED", Fit::Keep), ("PUBKEY", Fit::Cut), ("ADDRESS", Fit::Cut)];

fn list(identities: &[Identity]) -> anyhow::Result<()> {
    let style = Style::stdout();
    let mut table = Table::new(style, &HEAD);
    for identity in identities {
        table.row(cells![
            identity.identity_id.to_string(),
            local_time(identity.created_at, "UTC"),
            identity.pubkey.as_ref().map_or("-", PublicKey::as_str).to_owned(),
            cell(&if identity.address.is_empty() { "-".to_owned() } else { identity.address.join(", ") }),
        ]);
    }
    table.print()
}
