use redis::Pipeline;

use crate::Error;
use crate::library::fcall::Function;
use crate::score::Score;
use crate::value::Text;
use crate::views::Access;
use hero_model::IdentityId;

const FUNCTION: Function = Function("delete_identity");

/// The number of identities that one step checks.
const IDENTITIES_PER_STEP: usize = 1000;

impl Access<'_> {
    /// Deletes an identity with its tokens. Returns whether it existed.
    pub async fn delete_identity(self, id: IdentityId) -> Result<bool, Error> {
        let mut call = self.0.call(&FUNCTION);
        call.arg(id.0);
        self.0.commands.function(&call).await
    }

    /// Deletes the remains of identities whose hashes another program has deleted: tokens, keys, places in the list. Their numbers are
    /// never reused. Checks the identities after a place, and returns the deleted ones and the place of the next step, if more are listed.
    pub async fn delete_gone_identities(self, after: Score) -> Result<(Vec<IdentityId>, Option<Score>), Error> {
        let mut range = redis::cmd("ZRANGE");
        range.arg(self.0.keys.identities()).arg(after.beyond()).arg("+inf").arg("BYSCORE");
        range.arg("LIMIT").arg(0).arg(IDENTITIES_PER_STEP).arg("WITHSCORES");
        let listed: Vec<(Text, f64)> = self.0.unspoilt(self.0.commands.call(&range).await)?;
        let next = listed.last().filter(|_| listed.len() == IDENTITIES_PER_STEP).map(|(_, score)| Score(*score));
        let ids: Vec<IdentityId> = listed.iter().filter_map(|(id, _)| id.parse()).collect();
        let keys: Vec<String> = ids.iter().map(|id| self.0.keys.identity(*id)).collect();
        let mut deleted = Vec::new();
        // Nearly always all of them exist, and one command shows it.
        if ids.is_empty() || self.0.commands.call::<usize>(redis::cmd("EXISTS").arg(&keys)).await? == keys.len() {
            return Ok((deleted, next));
        }
        let mut look = Pipeline::with_capacity(keys.len());
        for key in &keys {
            look.cmd("EXISTS").arg(key);
        }
        for (id, exists) in ids.iter().zip(self.0.each_unspoilt::<Text>(&keys, &mut look).await?) {
            if exists.parse() != Some(0_u8) {
                continue;
            }
            let mut call = self.0.call(&FUNCTION);
            // It may exist again by now.
            call.arg(id.0).arg("gone");
            if self.0.commands.function(&call).await? {
                deleted.push(*id);
            }
        }
        Ok((deleted, next))
    }
}
