use super::unexpected;
use crate::model::{IdentityId, PublicKey};
use crate::store::codec::{Text, json};
use crate::store::fcall::Function;
use crate::store::{Error, Store};

const FUNCTION: Function = Function("set_identity");
/// Leaves a field as it is.
const LEAVE: &str = "-";

/// What is to be known of an identity. What is not named stays as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IdentityChange {
    /// Its public key.
    pub pubkey: Option<PublicKey>,
    /// Where it can be reached.
    pub address: Option<Vec<String>>,
}

/// What came of an identity that was to be made or changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IdentityStored {
    /// It has this number.
    Stored(IdentityId),
    /// There is none with that number, or another program wrote it and it is refused. Nothing was done.
    Missing,
    /// Another identity has the public key. Nothing was done.
    Taken(IdentityId),
    /// There are as many as may be. Nothing was done.
    Full,
    /// The last number was given. Nothing was done.
    NoNumber,
    /// Other programs have so many numbers in a row that the next call goes on looking for one. Nothing was done.
    Later,
}

impl Store {
    /// Makes an identity, or changes the one that has this number.
    pub async fn set_identity(&self, id: Option<IdentityId>, change: &IdentityChange) -> Result<IdentityStored, Error> {
        let key = change.pubkey.as_ref().map_or(LEAVE, PublicKey::as_str);
        let address = match &change.address {
            Some(address) => json(address),
            None if id.is_none() => "[]".to_owned(),
            None => LEAVE.to_owned(),
        };
        let mut call = self.0.call(&FUNCTION);
        call.arg(id.map_or(0, |id| id.0)).arg(key).arg(address);
        let answer = self.numbered(&call).await?;
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
