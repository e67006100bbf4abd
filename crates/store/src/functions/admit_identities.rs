use std::fmt;

use redis::Pipeline;

use super::unexpected;
use crate::Error;
use crate::codec::Text;
use crate::fcall::Function;
use crate::views::Access;
use hero_model::{IdentityId, PublicKey};

const FUNCTION: Function = Function("admit_identities");

/// How many identities one call looks at.
const CHUNK: usize = 128;

/// Why an identity that another program has written is none here: it is not listed, logs nobody in, and gets no token and no role.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unlisted {
    /// Identities had its number before.
    Given,
    /// It has a number that is kept for those that are made here.
    Beyond,
    /// There are as many as may be.
    Full,
    /// It is listed, but its public key is that of another one, or has changed since it was read.
    Owned,
}

/// Stands behind `actor:{n} was written by another program, and`.
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
    /// These identities as they are written.
    pub async fn written_identities(self, ids: &[IdentityId]) -> Result<Vec<Written>, Error> {
        let mut written = Vec::with_capacity(ids.len());
        for ids in ids.chunks(CHUNK) {
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

    /// Lists those of some identities that other programs have written, and has them log in by their public keys. Gives those that are refused: no identity
    /// has a number that another one had, and those of other programs are half of all at most.
    pub async fn admit_identities(self, written: &[Written]) -> Result<Vec<(IdentityId, Unlisted)>, Error> {
        let mut refused = Vec::new();
        for written in written.chunks(CHUNK) {
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
