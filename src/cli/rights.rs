//! `hero rights …`: the roles of identities in a context.

use clap::{Args, Subcommand, ValueEnum};

use super::global::Global;
use super::object::InContext;
use super::output;
use crate::exit::Exit;
use crate::model::{Context, IdentityId, Role};

/// Commands of rights.
#[derive(Debug, Subcommand)]
pub(super) enum RightsCommand {
    /// Show the roles in a context
    Show(InContext),
    /// Give an identity a role
    Grant(OfIdentity),
    /// Take a role from an identity
    Revoke(OfIdentity),
}

/// A role of an identity.
#[derive(Debug, Args)]
pub(super) struct OfIdentity {
    /// The number of the identity
    identity: IdentityId,
    /// The role
    role: RoleName,
    #[command(flatten)]
    context: InContext,
}

/// The name of a role.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum RoleName {
    /// May do everything in the context, and grant rights in it
    Admin,
    /// May create, start, stop and read its own jobs, and use the objects
    Caller,
    /// May read everything
    Reader,
    /// May start, stop and retry jobs and flows of others
    Executor,
}

impl From<RoleName> for Role {
    fn from(name: RoleName) -> Self {
        match name {
            RoleName::Admin => Self::Admin,
            RoleName::Caller => Self::Caller,
            RoleName::Reader => Self::Reader,
            RoleName::Executor => Self::Executor,
        }
    }
}

impl RightsCommand {
    pub(super) async fn main(&self, global: &Global) -> anyhow::Result<Exit> {
        let client = global.connect_as_operator().await?;
        let (granted, of) = match self {
            Self::Show(context) => {
                show(global, &client.get_context(context.id()).await?)?;
                return Ok(Exit::Ok);
            }
            Self::Grant(of) => (true, of),
            Self::Revoke(of) => (false, of),
        };
        show(global, &client.set_role(of.identity, of.role.into(), of.context.id(), granted).await?)?;
        Ok(Exit::Ok)
    }
}

fn show(global: &Global, rights: &Context) -> anyhow::Result<()> {
    if global.json {
        return output::json(rights);
    }
    for role in Role::ALL {
        let numbers: Vec<String> = rights.of(role).iter().map(ToString::to_string).collect();
        output::line(format!("{:<9}  {}", role.list(), if numbers.is_empty() { "-".to_owned() } else { numbers.join(" ") }))?;
    }
    Ok(())
}
