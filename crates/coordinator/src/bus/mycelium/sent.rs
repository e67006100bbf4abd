//! Envelopes at a node that have no reply yet. The node delivers them by itself, so they are not given to it again
//! meanwhile.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

use super::node::NodeMessage;

/// Time that an envelope at a node is remembered. The node itself forgets it after ten minutes.
const RETENTION: Duration = Duration::from_secs(600);
/// Maximum number of envelopes that are remembered.
const MAX_ENVELOPES: usize = 10_000;
/// The interval of checks for late replies while nobody waits for one.
const REPLY_CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// The envelopes without a reply, by their nonces.
pub(super) struct Sent {
    all: Mutex<All>,
    came: Notify,
}

struct All {
    envelopes: HashMap<String, SentEnvelope>,
    /// The number of callers that wait for a late reply.
    waiting: usize,
    /// The time of the last check for late replies.
    looked: Option<Instant>,
    /// The time until which late replies may come.
    expected: Instant,
}

struct SentEnvelope {
    /// Its id at the node.
    id: String,
    since: Instant,
    /// Its reply, if it has come.
    reply: Option<NodeMessage>,
}

/// A caller that waits for a late reply.
pub(super) struct Waiting<'a>(&'a Sent);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.all().waiting -= 1;
    }
}

impl Sent {
    /// Creates an empty set. There may be replies to envelopes of an earlier process.
    pub(super) fn new(now: Instant) -> Self {
        Self { all: Mutex::new(All { envelopes: HashMap::new(), waiting: 0, looked: None, expected: now }), came: Notify::new() }
    }

    fn all(&self) -> MutexGuard<'_, All> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that the node has an envelope under an id, and that no reply came in time.
    pub(super) fn add(&self, nonce: &str, id: &str, since: Instant) {
        let mut all = self.all();
        if all.envelopes.len() >= MAX_ENVELOPES && !all.envelopes.contains_key(nonce) {
            all.envelopes.retain(|_, envelope| since < envelope.since + RETENTION);
            if all.envelopes.len() >= MAX_ENVELOPES {
                let other = all.envelopes.keys().next().cloned();
                other.and_then(|other| all.envelopes.remove(&other));
            }
        }
        all.envelopes.insert(nonce.to_owned(), SentEnvelope { id: id.to_owned(), since, reply: None });
        all.expected = since + RETENTION;
    }

    /// Returns the id of an envelope at the node, and whether its reply has come.
    pub(super) fn get(&self, nonce: &str, now: Instant) -> Option<(String, bool)> {
        let all = self.all();
        let envelope = all.envelopes.get(nonce).filter(|envelope| envelope.reply.is_some() || now < envelope.since + RETENTION)?;
        Some((envelope.id.clone(), envelope.reply.is_some()))
    }

    /// Forgets an envelope.
    pub(super) fn forget(&self, nonce: &str) {
        self.all().envelopes.remove(nonce);
    }

    /// Registers a caller that waits for late replies.
    pub(super) fn wait(&self) -> Waiting<'_> {
        self.all().waiting += 1;
        Waiting(self)
    }

    /// Waits for the reply to an envelope until `until`. Forgets the envelope when it returns the reply.
    pub(super) async fn reply(&self, nonce: &str, until: Instant) -> Option<NodeMessage> {
        loop {
            let came = self.came.notified();
            tokio::pin!(came);
            came.as_mut().enable();
            {
                let mut all = self.all();
                if all.envelopes.get(nonce).is_some_and(|envelope| envelope.reply.is_some()) {
                    return all.envelopes.remove(nonce)?.reply;
                }
            }
            tokio::time::timeout_at(until, came).await.ok()?;
        }
    }

    /// Takes a late reply. Returns true if its envelope is known.
    pub(super) fn take(&self, nonce: &str, reply: NodeMessage) -> bool {
        let mut all = self.all();
        let Some(envelope) = all.envelopes.get_mut(nonce) else { return false };
        envelope.reply = Some(reply);
        drop(all);
        self.came.notify_waiters();
        true
    }

    /// Returns true if a check for late replies is due, and notes it.
    pub(super) fn look(&self, now: Instant) -> bool {
        let mut all = self.all();
        let is_time = all.looked.is_none_or(|looked| now >= looked + REPLY_CHECK_INTERVAL);
        let looks = all.waiting > 0 || (is_time && (all.looked.is_none() || now < all.expected));
        if looks {
            all.looked = Some(now);
        }
        looks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn replies_that_are_late_are_looked_for_as_long_as_they_may_come() {
        let mut now = Instant::now();
        let sent = Sent::new(now);
        assert!(sent.look(now), "some may be there from before");
        let mut looks = |time: Duration| {
            let until = now + time;
            let mut looks = 0;
            while now < until {
                now += REPLY_CHECK_INTERVAL / 10;
                looks += usize::from(sent.look(now));
            }
            (looks, now)
        };
        let (none, now) = looks(Duration::from_secs(60));
        assert_eq!(none, 0);
        sent.add("nonce", "id", now);
        assert!(sent.get("nonce", now).is_some());
        let (many, _) = looks(RETENTION);
        assert!((599..=600).contains(&many), "{many}");
        let (none, now) = looks(RETENTION);
        assert_eq!((none, sent.get("nonce", now)), (0, None));
        let waiting = sent.wait();
        assert_eq!(looks(REPLY_CHECK_INTERVAL).0, 10);
        drop(waiting);
        assert_eq!(looks(REPLY_CHECK_INTERVAL * 5).0, 0);
    }

    #[tokio::test]
    async fn one_envelope_more_than_may_be_known_makes_one_forgotten() {
        let now = Instant::now();
        let sent = Sent::new(now);
        for n in 0..=MAX_ENVELOPES {
            sent.add(&n.to_string(), "id", now);
        }
        assert_eq!(sent.all().envelopes.len(), MAX_ENVELOPES);
        assert!(sent.get(&MAX_ENVELOPES.to_string(), now).is_some());
    }
}
