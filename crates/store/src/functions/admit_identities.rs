use std::fmt;

use redis::Pipeline;

use super::unexpected;
use crate::Error;
use crate::library::fcall::Function;
use crate::value::Text;
use crate::views::Access;
use hero_model::{IdentityId, PublicKey};

const FUNCTION: Function = Function("admit_identities");

/// The number of identities that one call checks.
const IDENTITIES_PER_CALL: usize = 128;

/// The reason why an identity that another program wrote does not count: it is not listed, cannot log in, and gets no token and no role.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unlisted {
    /// Another identity had its number before.
    Given,
    /// Its number is reserved for identities that hero creates.
    Beyond,
    /// The limit of identities is reached.
    Full,
    /// It is listed, but another identity has its public key, or the key has changed since it was read.
    Owned,
}

/// Follows the text `actor:{n} was written by another program, and`.
impl fmt::Display for Unlisted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Given => "identities had its number before, of which rights may be left: write it with another one",
            Self::Beyond => "its number is beyond 2,147,483,647, and kept for those that are made here: write it with a lower one",
            Self::Full => "there are 50,000 identities, or numbers of other programs, which is as many as these may add to",
            Self::Owned => "its public key is that of another one: write it with a key of its own",
        })?;
        f.write_str(", or delete it and call create_identity")
    }
}

/// An identity as another program may have written it: its number, and its public key if it has one.
pub type Written = (IdentityId, Option<PublicKey>);

impl Access<'_> {
    /// Reads these identities as they were written.
    pub async fn written_identities(self, ids: &[IdentityId]) -> Result<Vec<Written>, Error> {
        let mut written = Vec::with_capacity(ids.len());
        for ids in ids.chunks(IDENTITIES_PER_CALL) {
            let keys: Vec<String> = ids.iter().map(|id| self.0.keys.identity(*id)).collect();
            let mut get = Pipeline::with_capacity(keys.len());
            for key in &keys {
                get.cmd("HGET").arg(key).arg("pubkey");
            }
            let found = self.0.each_unspoilt::<Text>(&keys, &mut get).await?;
            written.extend(ids.iter().zip(found).map(|(id, key)| (*id, key.parse())));
        }
        Ok(written)
    }

    /// Lists those of some identities that other programs have written, so that they can log in by their public keys. Returns the refused
    /// ones: no identity may have a number that another one had, and at most half of all identities may be those of other programs.
    pub async fn admit_identities(self, written: &[Written]) -> Result<Vec<(IdentityId, Unlisted)>, Error> {
        let mut refused = Vec::new();
        for written in written.chunks(IDENTITIES_PER_CALL) {
            let mut call = self.0.call(&FUNCTION);
            for (id, key) in written {
                call.arg(id.0).arg(key.as_ref().map_or("-", PublicKey::as_str));
            }
            let answer: Vec<Text> = self.0.commands.function(&call).await?;
            for pair in answer.chunks(2) {
                let [id, why] = pair else { return Err(unexpected("admit_identities", &answer)) };
                let why = match why.0.as_deref() {
                    Some("given") => Unlisted::Given,
                    Some("beyond") => Unlisted::Beyond,
                    Some("full") => Unlisted::Full,
                    Some("owned") => Unlisted::Owned,
                    _ => return Err(unexpected("admit_identities", &answer)),
                };
                refused.push((id.parse().ok_or_else(|| unexpected("admit_identities", &answer))?, why));
            }
        }
        Ok(refused)
    }
}
