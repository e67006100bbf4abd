use redis::Pipeline;

use super::unexpected;
use crate::model::{IdentityId, PublicKey};
use crate::store::codec::Text;
use crate::store::fcall::Function;
use crate::store::{Error, Store};

const FUNCTION: Function = Function("admit_identities");

/// How many identities one call looks at.
const CHUNK: usize = 128;

impl Store {
    /// Lists those of some identities that other programs have written, and has them log in by their public keys. Gives how many are new, and those that are
    /// not listed: no identity has a number that another one had, and those of other programs are half of all at most.
    pub async fn admit_identities(&self, ids: &[IdentityId]) -> Result<(u64, Vec<IdentityId>), Error> {
        let (mut new, mut refused) = (0, Vec::new());
        for ids in ids.chunks(CHUNK) {
            let keys: Vec<String> = ids.iter().map(|id| self.keys().identity(*id)).collect();
            let mut get = Pipeline::with_capacity(keys.len());
            for key in &keys {
                get.cmd("HGET").arg(key).arg("pubkey");
            }
            let found = self.each_unspoilt::<Text>(&keys, &mut get).await?;
            let mut call = self.0.call(&FUNCTION);
            for (id, key) in ids.iter().zip(found) {
                let key = key.parse::<PublicKey>();
                call.arg(id.0).arg(key.as_ref().map_or("-", PublicKey::as_str));
            }
            let answer: Vec<Text> = self.0.commands.function(&call).await?;
            let (listed, others) = answer.split_first().ok_or_else(|| unexpected("admit_identities", &answer))?;
            new += listed.parse::<u64>().ok_or_else(|| unexpected("admit_identities", &answer))?;
            refused.extend(others.iter().step_by(2).filter_map(Text::parse::<IdentityId>));
        }
        Ok((new, refused))
    }
}
