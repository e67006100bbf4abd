//! The Redis bus: envelopes for nodes in a context of any Redis, and receipts for them. It uses plain commands, so that both sides may have
//! different versions.

use std::sync::Arc;

use redis::{Pipeline, RedisResult};

use crate::error::OF_ANOTHER_TYPE;
use crate::keys::Keys;
use crate::network::connection::RedisConnection;
use crate::network::endpoint::Endpoint;
use crate::network::home::Home;
use crate::value::Text;
use crate::{Error, Store};
use hero_model::{ContextId, Timestamp};

/// The lifetime of an envelope that nobody fetches, in seconds. The sender puts it again and again until its time is over.
const ENVELOPE_SECONDS: u64 = 3600;
/// The lifetime of a receipt, in seconds.
const RECEIPT_SECONDS: u64 = 600;
/// The most envelopes for one node.
const MAX_ENVELOPES: u64 = 10_000;
/// A ping finds room only with fewer envelopes than this, so that pings do not delay others.
const MOST_BESIDE_PINGS: u64 = 100;

/// The longest receipt that is read, in bytes.
const LONGEST_RECEIPT: usize = 64 << 10;
/// The most bytes of an invalid nonce that are reported.
const LONGEST_EXAMPLE: usize = 48;

/// The envelopes in one context.
pub struct Mailboxes {
    link: Arc<RedisConnection>,
    keys: Keys,
}

impl Mailboxes {
    /// Connects to the envelopes in a context of another operator's Redis.
    pub async fn connect(endpoint: &Endpoint, context: ContextId) -> Result<Self, Error> {
        let (home, keys) = Home::find(endpoint, context).await?;
        Ok(Self { link: Arc::new(RedisConnection::to(&Arc::new(home))?), keys })
    }

    /// Puts an envelope for a node, and replaces one with the same nonce. Returns whether there was room.
    pub async fn put(&self, whom: &str, nonce: &str, envelope: &str) -> Result<bool, Error> {
        self.put_within(whom, nonce, envelope, MAX_ENVELOPES).await
    }

    /// Puts a temporary envelope, only if few are there. The sender takes it back.
    pub async fn put_ping(&self, whom: &str, nonce: &str, envelope: &str) -> Result<bool, Error> {
        self.put_within(whom, nonce, envelope, MOST_BESIDE_PINGS).await
    }

    /// Takes back an envelope that nobody has answered.
    pub async fn take_back(&self, whom: &str, nonce: &str) -> Result<(), Error> {
        let mut take = Pipeline::new();
        take.cmd("ZREM").arg(self.keys.envelopes(whom)).arg(nonce).ignore();
        take.cmd("DEL").arg(self.keys.envelope(whom, nonce)).ignore();
        self.link.pipeline(&take).await
    }

    async fn put_within(&self, whom: &str, nonce: &str, envelope: &str, most: u64) -> Result<bool, Error> {
        let envelopes = self.keys.envelopes(whom);
        let lying: u64 = self.link.call(redis::cmd("ZCARD").arg(&envelopes)).await?;
        if lying >= most {
            return Ok(false);
        }
        let mut put = Pipeline::new();
        put.atomic();
        put.cmd("SET").arg(self.keys.envelope(whom, nonce)).arg(envelope).arg("EX").arg(ENVELOPE_SECONDS).ignore();
        put.cmd("ZADD").arg(&envelopes).arg("NX").arg(Timestamp::local().as_millis()).arg(nonce).ignore();
        put.cmd("EXPIRE").arg(&envelopes).arg(ENVELOPE_SECONDS).ignore();
        self.link.pipeline::<()>(&put).await?;
        Ok(true)
    }

    /// Returns the receipt of an envelope, if there is one.
    pub async fn receipt(&self, nonce: &str) -> Result<Option<String>, Error> {
        let mut read = redis::cmd("GETRANGE");
        read.arg(self.keys.receipt(nonce)).arg(0).arg(LONGEST_RECEIPT - 1);
        Ok(self.link.call::<Text>(&read).await?.some())
    }

    /// Deletes the receipt of an envelope.
    pub async fn forget(&self, nonce: &str) -> Result<(), Error> {
        self.link.call(redis::cmd("DEL").arg(self.keys.receipt(nonce))).await
    }

    /// Returns the nonces of envelopes, the oldest first. Invalid nonces are removed: they would stay before all others for ever.
    async fn nonces(&self, envelopes: &str, most: usize) -> Result<Vec<String>, Error> {
        loop {
            let members: Vec<Vec<u8>> = self.link.call(redis::cmd("ZRANGE").arg(envelopes).arg(0).arg(most.saturating_sub(1))).await?;
            let (nonces, strange): (Vec<_>, Vec<_>) = members.into_iter().map(String::from_utf8).partition(Result::is_ok);
            let strange: Vec<Vec<u8>> = strange.into_iter().filter_map(|member| Some(member.err()?.into_bytes())).collect();
            if let Some(first) = strange.first() {
                self.link.call::<u64>(redis::cmd("ZREM").arg(envelopes).arg(&strange)).await?;
                metrics::counter!("hero_letters_set_aside_total").increment(strange.len() as u64);
                let (many, example) = (strange.len(), first[..first.len().min(LONGEST_EXAMPLE)].escape_ascii());
                tracing::warn!(key = envelopes, many, %example, "what is no nonce of an envelope was taken out of the list of envelopes, which go on");
            }
            if !nonces.is_empty() || strange.is_empty() {
                return Ok(nonces.into_iter().filter_map(Result::ok).collect());
            }
        }
    }

    /// Returns envelopes for a node, each with its nonce, the oldest first: at most `most`, and about `together` bytes. An envelope that is
    /// longer than `longest` is not read; its size is returned.
    pub async fn envelopes(
        &self,
        whom: &str,
        most: usize,
        longest: usize,
        together: usize,
    ) -> Result<Vec<(String, Result<String, usize>)>, Error> {
        let all = self.keys.envelopes(whom);
        let nonces = self.nonces(&all, most).await?;
        if nonces.is_empty() {
            return Ok(Vec::new());
        }
        let (mut sizes, mut get) = (Pipeline::new(), Pipeline::new());
        sizes.ignore_errors();
        get.ignore_errors();
        for nonce in &nonces {
            sizes.cmd("STRLEN").arg(self.keys.envelope(whom, nonce));
        }
        let sizes: Vec<RedisResult<usize>> = self.link.each(&sizes).await?;
        let (mut found, mut read, mut gone, mut room) = (Vec::new(), Vec::new(), Vec::new(), together);
        let mut spoilt = Vec::new();
        for (nonce, size) in nonces.into_iter().zip(sizes) {
            match there(size)? {
                None => {
                    spoilt.push(self.keys.envelope(whom, &nonce));
                    gone.push(nonce);
                }
                Some(0) => gone.push(nonce),
                Some(size) if size > longest => found.push((nonce, Err(size))),
                Some(size) if size > room && !read.is_empty() => break,
                Some(size) => {
                    room = room.saturating_sub(size);
                    // One byte more shows that a longer envelope has taken its place.
                    get.cmd("GETRANGE").arg(self.keys.envelope(whom, &nonce)).arg(0).arg(longest);
                    read.push(nonce);
                }
            }
        }
        if let Some(key) = spoilt.first() {
            let (many, error) = (spoilt.len(), Error::spoilt(key, OF_ANOTHER_TYPE));
            tracing::warn!(key, many, "left out of the envelopes, which go on: {error}");
        }
        if !gone.is_empty() {
            self.link.call::<()>(redis::cmd("ZREM").arg(&all).arg(&gone)).await?;
        }
        if !read.is_empty() {
            let envelopes: Vec<RedisResult<Vec<u8>>> = self.link.each(&get).await?;
            for (nonce, envelope) in read.into_iter().zip(envelopes) {
                match there(envelope)? {
                    Some(envelope) if envelope.len() > longest => found.push((nonce, Err(envelope.len()))),
                    // An envelope that is no text is refused like any invalid one.
                    Some(envelope) if !envelope.is_empty() => found.push((nonce, Ok(String::from_utf8_lossy(&envelope).into_owned()))),
                    // The envelope has gone meanwhile, and its nonce will go, too.
                    Some(_) | None => {}
                }
            }
        }
        Ok(found)
    }

    /// Puts the receipt of an envelope and deletes the envelope.
    pub async fn answer(&self, whom: &str, nonce: &str, receipt: &str) -> Result<(), Error> {
        let mut answer = Pipeline::new();
        answer.atomic();
        answer.cmd("SET").arg(self.keys.receipt(nonce)).arg(receipt).arg("EX").arg(RECEIPT_SECONDS).ignore();
        answer.cmd("ZREM").arg(self.keys.envelopes(whom)).arg(nonce).ignore();
        answer.cmd("UNLINK").arg(self.keys.envelope(whom, nonce)).ignore();
        self.link.pipeline(&answer).await
    }
}

/// Returns the value read; nothing if another program has changed the type of the key.
fn there<T>(answer: RedisResult<T>) -> Result<Option<T>, Error> {
    match answer {
        Ok(answer) => Ok(Some(answer)),
        Err(error) if error.code() == Some("WRONGTYPE") => Ok(None),
        Err(error) => Err(error.into()),
    }
}

impl Store {
    /// The envelopes in this context.
    pub fn mailboxes(&self) -> Mailboxes {
        Mailboxes { link: Arc::clone(&self.0.commands), keys: self.keys().clone() }
    }
}
