use std::collections::HashMap;

use redis::Pipeline;
use serde::{Deserialize, Serialize};

use super::codec::Text;
use super::contexts::seconds;
use super::{Error, Store};
use crate::model::{Identity, IdentityId, PublicKey, Timestamp, Token, TokenId};

/// A token as it is stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredToken {
    /// What may be told of it.
    #[serde(flatten)]
    pub token: Token,
    /// When it ends, for functions, which know no other times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_ms: Option<i64>,
    /// Whether a login has made it, and a newer one may take its place.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub login: bool,
    /// The token by which it was made. It ends with that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<TokenId>,
    /// The keyed hash of its secret, in hexadecimal digits.
    pub digest: String,
}

/// For the store of context 0, where identities and tokens are.
impl Store {
    /// An identity, if there is one with this number. Other programs may have made it, too.
    pub async fn identity(&self, id: IdentityId) -> Result<Option<Identity>, Error> {
        Ok(self.hashes([self.keys().identity(id)]).await?.first().and_then(|fields| identity(id, fields)))
    }

    /// Whether there was an identity with this number, and is none any more. No number is given twice.
    pub async fn had_identity(&self, id: IdentityId) -> Result<bool, Error> {
        let mut pipeline = redis::Pipeline::new();
        pipeline.cmd("HGET").arg(self.keys().access()).arg("last").cmd("EXISTS").arg(self.keys().identity(id));
        let (last, exists): (Text, bool) = self.0.commands.pipeline(&pipeline).await?;
        Ok(!exists && last.parse::<u32>().is_some_and(|last| id.0 <= last))
    }

    /// Identities behind this number, in order, at most `limit`.
    pub async fn identities(&self, after: u32, limit: usize) -> Result<Vec<Identity>, Error> {
        let mut range = redis::cmd("ZRANGE");
        range.arg(self.keys().identities()).arg(format!("({after}")).arg("+inf").arg("BYSCORE").arg("LIMIT").arg(0).arg(limit);
        let ids: Vec<Text> = self.0.commands.call(&range).await?;
        let ids: Vec<IdentityId> = ids.iter().filter_map(Text::parse).collect();
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let hashes = self.hashes(ids.iter().map(|id| self.keys().identity(*id))).await?;
        Ok(ids.into_iter().zip(hashes).filter_map(|(id, fields)| identity(id, &fields)).collect())
    }

    /// The identity that has a public key, as its own hash says it: other programs may have taken the key from there.
    pub async fn identity_with(&self, key: &PublicKey) -> Result<Option<IdentityId>, Error> {
        let found: Text = self.0.commands.call(redis::cmd("HGET").arg(self.keys().public_keys()).arg(key.as_str())).await?;
        match found.parse() {
            Some(id) if self.has_key(id, key).await? => Ok(Some(id)),
            _ => Ok(None),
        }
    }

    /// Whether an identity has a public key, whoever has written that into its hash.
    pub async fn has_key(&self, id: IdentityId, key: &PublicKey) -> Result<bool, Error> {
        match self.0.commands.call::<Text>(redis::cmd("HGET").arg(self.keys().identity(id)).arg("pubkey")).await {
            // Somebody made something else of the key.
            Err(Error::Redis(error)) if error.code() == Some("WRONGTYPE") => Ok(false),
            found => Ok(found?.parse().as_ref() == Some(key)),
        }
    }

    /// The tokens with these ids, in their order.
    pub async fn tokens(&self, ids: &[TokenId]) -> Result<Vec<Option<StoredToken>>, Error> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let mut get = redis::cmd("HMGET");
        get.arg(self.keys().tokens());
        for id in ids {
            get.arg(id.as_str());
        }
        let records: Vec<Text> = self.0.commands.call(&get).await?;
        Ok(records.iter().map(|record| serde_json::from_str(record.0.as_deref()?).ok()).collect())
    }

    /// The tokens of an identity, the oldest first.
    pub async fn tokens_of(&self, identity: IdentityId) -> Result<Vec<StoredToken>, Error> {
        let ids: Vec<Text> = self.0.commands.call(redis::cmd("SMEMBERS").arg(self.keys().tokens_of(identity))).await?;
        let ids: Vec<TokenId> = ids.iter().filter_map(Text::parse).collect();
        let mut tokens: Vec<StoredToken> = self.tokens(&ids).await?.into_iter().flatten().collect();
        tokens.sort_by(|one, other| (one.token.created_at, &one.token.token_id).cmp(&(other.token.created_at, &other.token.token_id)));
        Ok(tokens)
    }

    /// What counts up with each token that ends, and each change of rights; and whether callers have to log in, as the server said that started last.
    pub async fn access_revision(&self) -> Result<(u64, bool), Error> {
        let mut get = redis::cmd("HMGET");
        get.arg(self.keys().access()).arg(&["revision", "login"]);
        let (revision, login): (Text, Text) = self.0.commands.call(&get).await?;
        Ok((revision.parse().unwrap_or(0), login.0.as_deref() == Some("1")))
    }
}

impl Store {
    /// The fields of hashes. What somebody made something else of has none.
    pub(super) async fn hashes(&self, keys: impl IntoIterator<Item = String>) -> Result<Vec<HashMap<String, Text>>, Error> {
        let mut pipeline = Pipeline::new();
        pipeline.ignore_errors();
        for key in keys {
            pipeline.cmd("HGETALL").arg(key);
        }
        let answers = self.0.commands.each::<HashMap<String, Text>>(&pipeline).await?;
        Ok(answers.into_iter().map(Result::unwrap_or_default).collect())
    }
}

/// An identity as its hash has it. Numbers and lists that are none count as not there.
fn identity(id: IdentityId, fields: &HashMap<String, Text>) -> Option<Identity> {
    if fields.is_empty() {
        return None;
    }
    let time = |name| seconds(fields.get(name)).unwrap_or(Timestamp::from_millis(0));
    Some(Identity {
        identity_id: id,
        pubkey: fields.get("pubkey").and_then(Text::parse),
        address: fields.get("address").and_then(|text| serde_json::from_str(text.0.as_deref()?).ok()).unwrap_or_default(),
        created_at: time("created_at"),
        updated_at: time("updated_at"),
    })
}
