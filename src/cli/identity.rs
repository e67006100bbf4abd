//! `hero identity …`: the identities of callers.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::json;

use super::global::Global;
use super::login;
use super::output::{self, Style};
use crate::cli::input::paging::note_more;
use crate::cli::output::local_time::local_time;
use crate::cli::output::table::{Fit, Table, cell, cells};
use crate::exit::Exit;
use crate::model::{Identity, IdentityId, PublicKey};

/// Commands of identities.
#[derive(Debug, Subcommand)]
pub(super) enum IdentityCommand {
    /// Create an identity and print its number
    Create(About),
    /// Change an identity. Only the given options change
    Update {
        /// The number of the identity
        id: IdentityId,
        #[command(flatten)]
        about: About,
    },
    /// Show an identity
    Show {
        /// The number of the identity
        id: IdentityId,
    },
    /// List identities by number
    List {
        /// Maximum number of identities to list
        #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u16).range(1..=1000))]
        limit: u16,
        /// Continue at this cursor, printed at the end of the previous list
        #[arg(long, value_name = "CURSOR")]
        cursor: Option<String>,
    },
    /// Print the public key of a private key file. Creates the file if missing
    Key {
        /// The file, readable only by you
        file: PathBuf,
    },
    /// Delete an identity and its tokens
    Delete {
        /// The number of the identity
        id: IdentityId,
    },
}

/// The fields of an identity.
#[derive(Debug, Args)]
pub(super) struct About {
    /// The public key: secp256k1, uncompressed, 130 hexadecimal digits
    #[arg(long, value_name = "KEY")]
    pubkey: Option<PublicKey>,
    /// An address of the identity; may be repeated
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

/// `hero whoami`: shows the identity for which the server takes this user.
pub(super) async fn whoami(global: &Global) -> anyhow::Result<Exit> {
    let client = global.connect().await?;
    let who = client.whoami().await?;
    if who.identity_id.is_none() && !who.operator {
        // A server with login refuses this call with an explanation.
        client.server_info().await?;
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
