use serde::{Deserialize, Serialize};

use super::Error;
use super::contexts::seconds;
use super::functions::{CHANGING, Unlisted};
use super::score::Score;
use super::value::{Fields, Text};
use crate::views::Access;
use hero_model::{ContextId, Identity, IdentityId, PublicKey, Timestamp, Token, TokenId};

/// A token as it is stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredToken {
    /// Its public part.
    #[serde(flatten)]
    pub token: Token,
    /// The time at which it ends, in the unit of functions, ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_ms: Option<i64>,
    /// Whether a login created it. A newer login may then replace it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub login: bool,
    /// The token that created this one. This one ends with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<TokenId>,
    /// The keyed hash of the secret, in hexadecimal digits.
    pub digest: String,
}

/// Changes of identities, tokens and rights.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccessNews {
    /// The revision, which grows with each token that ends and each change of rights.
    pub revision: u64,
    /// Whether callers have to log in, as the most recently started server set it, if one has.
    pub login: Option<bool>,
    /// The changes of contexts that were announced and have not been told yet.
    pub changing: Vec<Change>,
}

/// A change of a context that was announced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The token by which the announcement is deleted.
    pub token: String,
    /// The context.
    pub context: ContextId,
    /// The time of the announcement.
    pub since: Timestamp,
}

/// The result of looking up an identity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IdentityFound {
    /// The identity exists.
    There(Identity),
    /// No identity has this number.
    Missing,
    /// Another program wrote the identity, and hero refuses it.
    Unlisted(Unlisted),
}

/// Methods for the store of context 0, which holds identities and tokens.
impl Access<'_> {
    /// Returns the identity with this number, if there is one. Other programs may have created it, too.
    pub async fn identity(self, id: IdentityId) -> Result<Option<Identity>, Error> {
        Ok(identity(id, &self.0.hash(&self.0.keys.identity(id)).await?))
    }

    /// Returns an identity that may log in and get tokens and roles. If another program wrote it just now, this lists it, unless hero
    /// refuses it.
    pub async fn known_identity(self, id: IdentityId) -> Result<IdentityFound, Error> {
        Ok(match self.identity(id).await? {
            None => IdentityFound::Missing,
            Some(identity) => self.unlisted(id).await?.map_or(IdentityFound::There(identity), IdentityFound::Unlisted),
        })
    }

    /// Returns the reason why an identity that has a hash does not count, if there is one.
    async fn unlisted(self, id: IdentityId) -> Result<Option<Unlisted>, Error> {
        if self.is_in(&self.0.keys.identities(), id).await? {
            return Ok(None);
        }
        let written = self.written_identities(&[id]).await?;
        Ok(self.admit_identities(&written).await?.first().map(|(_, why)| *why))
    }

    /// Whether a number is in a sorted set.
    async fn is_in(self, key: &str, id: IdentityId) -> Result<bool, Error> {
        let mut score = redis::cmd("ZSCORE");
        score.arg(key).arg(id.0);
        Ok(self.0.unspoilt(self.0.commands.call::<Option<f64>>(&score).await)?.is_some())
    }

    /// Whether an identity with this number existed and was deleted. Numbers are never reused.
    pub async fn had_identity(self, id: IdentityId) -> Result<bool, Error> {
        let (access, hash) = (self.0.keys.access(), self.0.keys.identity(id));
        let mut look = redis::Pipeline::new();
        look.cmd("HGET").arg(&access).arg("last").cmd("EXISTS").arg(&hash);
        let read: Vec<Text> = self.0.each_unspoilt(&[access, hash], &mut look).await?;
        let [last, exists] = read.as_slice() else { return Err(Error::Closed) };
        // Without a record of the numbers that were given out, no identity counts as deleted.
        let had = last.parse::<u32>().is_some_and(|last| id.0 <= last) || self.is_in(&self.0.keys.taken_numbers(), id).await?;
        Ok(had && exists.parse() == Some(0_u8))
    }

    /// Returns at most `limit` listed identities after a place, in order, and the place of the next page, if more are listed. Listed
    /// identities may have been deleted, so a page may be short or even empty.
    pub async fn identities(self, after: Score, limit: usize) -> Result<(Vec<Identity>, Option<Score>), Error> {
        let mut range = redis::cmd("ZRANGE");
        range.arg(self.0.keys.identities()).arg(after.beyond()).arg("+inf").arg("BYSCORE");
        range.arg("LIMIT").arg(0).arg(limit + 1).arg("WITHSCORES");
        let mut listed: Vec<(Text, f64)> = self.0.commands.call(&range).await?;
        let more = listed.len() > limit;
        listed.truncate(limit);
        let next = listed.last().filter(|_| more).map(|(_, score)| Score(*score));
        let ids: Vec<IdentityId> = listed.iter().filter_map(|(id, _)| id.parse()).collect();
        Ok((self.identities_of(&ids).await?, next))
    }

    /// Returns those of these identities that are listed. Rights may remain of others.
    pub async fn listed_identities(self, ids: &[IdentityId]) -> Result<Vec<Identity>, Error> {
        let mut score = redis::cmd("ZMSCORE");
        score.arg(self.0.keys.identities()).arg(ids.iter().map(|id| id.0).collect::<Vec<_>>());
        let scores: Vec<Option<f64>> = if ids.is_empty() { Vec::new() } else { self.0.commands.call(&score).await? };
        let listed: Vec<IdentityId> = ids.iter().zip(scores).filter_map(|(id, score)| score.map(|_| *id)).collect();
        self.identities_of(&listed).await
    }

    /// Returns those of these identities that exist. One that another program has spoilt is left out and logged.
    async fn identities_of(self, ids: &[IdentityId]) -> Result<Vec<Identity>, Error> {
        let hashes = self.0.hashes(ids.iter().map(|id| self.0.keys.identity(*id))).await?;
        Ok(ids.iter().zip(hashes).filter_map(|(id, fields)| identity(*id, &fields)).collect())
    }

    /// Returns the identity whose own hash has this public key. The index alone does not decide, because another program may have changed
    /// the hash since.
    pub async fn identity_with(self, key: &PublicKey) -> Result<Option<IdentityId>, Error> {
        let keys = self.0.keys.public_keys();
        let found: Text = self.0.commands.call(redis::cmd("HGET").arg(&keys).arg(key.as_str())).await?;
        let Some(found) = found.0 else { return Ok(None) };
        let Ok(id) = found.parse() else {
            return Err(Error::spoilt(keys, "has something for a public key that is no number of an identity"));
        };
        Ok(self.has_key(id, key).await?.then_some(id))
    }

    /// Whether an identity counts and its hash has this public key, even if another program wrote the key.
    pub async fn has_key(self, id: IdentityId, key: &PublicKey) -> Result<bool, Error> {
        let has = match self.0.commands.call::<Text>(redis::cmd("HGET").arg(self.0.keys.identity(id)).arg("pubkey")).await {
            // Another program has replaced the key by one of another type.
            Err(Error::Redis(error)) if error.code() == Some("WRONGTYPE") => false,
            found => found?.parse().as_ref() == Some(key),
        };
        Ok(has && self.unlisted(id).await?.is_none())
    }

    /// Returns the token with this id, if there is one. If another program has spoilt the token, the answer is an error.
    pub async fn token(self, id: &TokenId) -> Result<Option<StoredToken>, Error> {
        let record: Text = self.0.commands.call(redis::cmd("HGET").arg(self.0.keys.tokens()).arg(id.as_str())).await?;
        record.0.map(|record| self.token_of(&record)).transpose()
    }

    fn token_of(self, record: &str) -> Result<StoredToken, Error> {
        serde_json::from_str(record).map_err(|_| Error::spoilt(self.0.keys.tokens(), "has a record that is none of a token"))
    }

    /// Returns the tokens with these ids, in the same order. A token that another program has spoilt cannot be used, so it counts as
    /// missing; this is logged.
    pub async fn tokens(self, ids: &[TokenId]) -> Result<Vec<Option<StoredToken>>, Error> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let mut get = redis::cmd("HMGET");
        get.arg(self.0.keys.tokens());
        for id in ids {
            get.arg(id.as_str());
        }
        let records: Vec<Text> = self.0.unspoilt(self.0.commands.call(&get).await)?;
        let mut read = records.into_iter().map(|record| record.0);
        let token = |record: Option<String>| record.map_or(Ok(None), |record| self.0.unspoilt(self.token_of(&record).map(Some)));
        // A key of another type gave no fields.
        ids.iter().map(|_| token(read.next().flatten())).collect()
    }

    /// Returns the tokens of an identity, the oldest first.
    pub async fn tokens_of(self, identity: IdentityId) -> Result<Vec<StoredToken>, Error> {
        let ids: Vec<Text> = self.0.commands.call(redis::cmd("SMEMBERS").arg(self.0.keys.tokens_of(identity))).await?;
        let ids: Vec<TokenId> = ids.iter().filter_map(Text::parse).collect();
        let mut tokens: Vec<StoredToken> = self.tokens(&ids).await?.into_iter().flatten().collect();
        tokens.sort_by(|one, other| (one.token.created_at, &one.token.token_id).cmp(&(other.token.created_at, &other.token.token_id)));
        Ok(tokens)
    }

    /// Returns the changes of identities, tokens and rights; nothing if another program has spoilt the key, which is logged.
    pub async fn news(self) -> Result<Option<AccessNews>, Error> {
        let Some(fields) = self.0.unspoilt(self.0.hash(&self.0.keys.access()).await.map(Some))? else { return Ok(None) };
        let change = |(name, text): (&String, &Text)| {
            let (token, (context, since)) = (name.strip_prefix(CHANGING)?, text.0.as_deref()?.split_once(' ')?);
            let (context, since) = (ContextId(context.parse().ok()?), Timestamp::from_millis(since.parse().ok()?));
            Some(Change { token: token.to_owned(), context, since })
        };
        Ok(Some(AccessNews {
            revision: fields.get("revision").and_then(Text::parse).unwrap_or(0),
            login: fields.get("login").and_then(|login| login.0.as_deref()).map(|login| login == "1"),
            changing: fields.iter().filter_map(change).collect(),
        }))
    }
}

/// Reads an identity from its hash. Invalid numbers and lists count as missing.
fn identity(id: IdentityId, fields: &Fields) -> Option<Identity> {
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
