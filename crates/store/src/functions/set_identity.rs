use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use redis::Cmd;

use super::unexpected;
use crate::Error;
use crate::library::fcall::Function;
use crate::value::{Text, json};
use crate::views::Access;
use hero_model::{IdentityId, PublicKey};

const FUNCTION: Function = Function("set_identity");
/// The value that leaves a field unchanged.
const LEAVE: &str = "-";
/// The number of taken numbers that one call skips; `access.lua` has the same.
const PASSED_OVER: u32 = 1000;
/// The most calls to find a number that others have not taken.
const MOST_LOOKS: usize = 100;

/// A change of an identity. Fields that are not named stay unchanged.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IdentityChange {
    /// Its public key.
    pub pubkey: Option<PublicKey>,
    /// The addresses at which it can be reached.
    pub address: Option<Vec<String>>,
}

/// The result of creating or changing an identity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IdentityStored {
    /// It has this number.
    Stored(IdentityId),
    /// No identity has this number, or another program wrote it and hero refuses it. Nothing was done.
    Missing,
    /// Another identity has the public key. Nothing was done.
    Taken(IdentityId),
    /// The limit of identities is reached. Nothing was done.
    Full,
    /// The last possible number was given out. Nothing was done.
    NoNumber,
    /// Other programs have taken so many numbers in a row that the next call must continue the search. Nothing was done.
    Later,
}

impl Access<'_> {
    /// Creates an identity. `holders` returns those of some numbers that have roles already, because another program granted them: no
    /// identity gets such a number, and nothing is stored under one.
    pub async fn new_identity(
        self,
        change: &IdentityChange,
        holders: impl Fn(RangeInclusive<IdentityId>) -> BTreeSet<IdentityId>,
    ) -> Result<IdentityStored, Error> {
        let mut looks = 1;
        loop {
            let last = self.last_identity().await?;
            let held = holders(IdentityId(last.saturating_add(1))..=IdentityId(last.saturating_add(PASSED_OVER)));
            let mut call = self.change_of(None, change);
            call.arg(last).arg(held.iter().map(|id| id.0).collect::<Vec<_>>());
            match self.identity_stored(&call).await? {
                IdentityStored::Later if looks < MOST_LOOKS => looks += 1,
                stored => return Ok(stored),
            }
        }
    }

    /// Changes the identity with this number.
    pub async fn set_identity(self, id: IdentityId, change: &IdentityChange) -> Result<IdentityStored, Error> {
        self.identity_stored(&self.change_of(Some(id), change)).await
    }

    /// Returns the last number that was given out here; 0 if it is unknown, in which case the function finds it.
    async fn last_identity(self) -> Result<u32, Error> {
        let last: Text = self.0.unspoilt(self.0.commands.call(redis::cmd("HGET").arg(self.0.keys.access()).arg("last")).await)?;
        Ok(last.parse().unwrap_or(0))
    }

    fn change_of(self, id: Option<IdentityId>, change: &IdentityChange) -> Cmd {
        let key = change.pubkey.as_ref().map_or(LEAVE, PublicKey::as_str);
        let address = match &change.address {
            Some(address) => json(address),
            None if id.is_none() => "[]".to_owned(),
            None => LEAVE.to_owned(),
        };
        let mut call = self.0.call(&FUNCTION);
        call.arg(id.map_or(0, |id| id.0)).arg(key).arg(address);
        call
    }

    async fn identity_stored(self, call: &Cmd) -> Result<IdentityStored, Error> {
        let answer: Vec<Text> = self.0.commands.function(call).await?;
        let number = answer.get(1).and_then(Text::parse);
        match (answer.first().and_then(|word| word.0.as_deref()), number) {
            (Some("stored"), Some(id)) => Ok(IdentityStored::Stored(id)),
            (Some("taken"), Some(id)) => Ok(IdentityStored::Taken(id)),
            (Some("missing"), _) => Ok(IdentityStored::Missing),
            (Some("full"), _) => Ok(IdentityStored::Full),
            (Some("none"), _) => Ok(IdentityStored::NoNumber),
            (Some("later"), _) => Ok(IdentityStored::Later),
            _ => Err(unexpected("set_identity", &answer)),
        }
    }
}
