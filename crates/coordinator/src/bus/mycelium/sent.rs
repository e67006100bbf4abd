//! What a node was given and no reply has come to yet: it brings that by itself, so it is not given the same again meanwhile.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

use super::node::Inbound;

/// How long it is known that a node was given an envelope: it forgets that by itself after ten minutes.
const KNOWN: Duration = Duration::from_secs(600);
/// Of how many envelopes that is known.
const MOST: usize = 10_000;
/// How often it is looked for replies that are late while nobody waits for one.
const LOOK: Duration = Duration::from_secs(1);

/// The envelopes without a reply, by their nonces.
pub(super) struct Sent {
    all: Mutex<All>,
    came: Notify,
}

struct All {
    envelopes: HashMap<String, Kept>,
    /// How many wait for a reply that is late.
    waiting: usize,
    /// When it was looked for such replies.
    looked: Option<Instant>,
    /// Until when some may come.
    expected: Instant,
}

struct Kept {
    /// By which the node knows it.
    id: String,
    since: Instant,
    /// Its reply, once that is here.
    reply: Option<Inbound>,
}

/// Somebody who waits for a reply that is late.
pub(super) struct Waiting<'a>(&'a Sent);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.all().waiting -= 1;
    }
}

impl Sent {
    /// Nothing yet. There may be replies from before this program began.
    pub(super) fn new(now: Instant) -> Self {
        Self { all: Mutex::new(All { envelopes: HashMap::new(), waiting: 0, looked: None, expected: now }), came: Notify::new() }
    }

    fn all(&self) -> MutexGuard<'_, All> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that the node has an envelope by an id, and that nobody has replied in time.
    pub(super) fn add(&self, nonce: &str, id: &str, since: Instant) {
        let mut all = self.all();
        if all.envelopes.len() >= MOST && !all.envelopes.contains_key(nonce) {
            all.envelopes.retain(|_, envelope| since < envelope.since + KNOWN);
            if all.envelopes.len() >= MOST {
                let other = all.envelopes.keys().next().cloned();
                other.and_then(|other| all.envelopes.remove(&other));
            }
        }
        all.envelopes.insert(nonce.to_owned(), Kept { id: id.to_owned(), since, reply: None });
        all.expected = since + KNOWN;
    }

    /// By which the node knows an envelope that it was given, and whether a reply to it is here.
    pub(super) fn get(&self, nonce: &str, now: Instant) -> Option<(String, bool)> {
        let all = self.all();
        let envelope = all.envelopes.get(nonce).filter(|envelope| envelope.reply.is_some() || now < envelope.since + KNOWN)?;
        Some((envelope.id.clone(), envelope.reply.is_some()))
    }

    /// Forgets an envelope.
    pub(super) fn forget(&self, nonce: &str) {
        self.all().envelopes.remove(nonce);
    }

    /// Says that somebody waits for replies that are late.
    pub(super) fn wait(&self) -> Waiting<'_> {
        self.all().waiting += 1;
        Waiting(self)
    }

    /// The reply to an envelope, which is forgotten then. Waits for it until then.
    pub(super) async fn reply(&self, nonce: &str, until: Instant) -> Option<Inbound> {
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

    /// Takes a reply that is late. Gives whether it is to an envelope that is known.
    pub(super) fn take(&self, nonce: &str, reply: Inbound) -> bool {
        let mut all = self.all();
        let Some(envelope) = all.envelopes.get_mut(nonce) else { return false };
        envelope.reply = Some(reply);
        drop(all);
        self.came.notify_waiters();
        true
    }

    /// Whether it is to be looked for replies that are late, and notes that it is.
    pub(super) fn look(&self, now: Instant) -> bool {
        let mut all = self.all();
        let is_time = all.looked.is_none_or(|looked| now >= looked + LOOK);
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
                now += LOOK / 10;
                looks += usize::from(sent.look(now));
            }
            (looks, now)
        };
        let (none, now) = looks(Duration::from_secs(60));
        assert_eq!(none, 0);
        sent.add("nonce", "id", now);
        assert!(sent.get("nonce", now).is_some());
        let (many, _) = looks(KNOWN);
        assert!((599..=600).contains(&many), "{many}");
        let (none, now) = looks(KNOWN);
        assert_eq!((none, sent.get("nonce", now)), (0, None));
        let waiting = sent.wait();
        assert_eq!(looks(LOOK).0, 10);
        drop(waiting);
        assert_eq!(looks(LOOK * 5).0, 0);
    }

    #[tokio::test]
    async fn one_envelope_more_than_may_be_known_makes_one_forgotten() {
        let now = Instant::now();
        let sent = Sent::new(now);
        for n in 0..=MOST {
            sent.add(&n.to_string(), "id", now);
        }
        assert_eq!(sent.all().envelopes.len(), MOST);
        assert!(sent.get(&MOST.to_string(), now).is_some());
    }
}
