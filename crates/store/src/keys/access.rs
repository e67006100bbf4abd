//! Keys of identities, their tokens and their rights. Functions build them, too.
//!
//! Identities and tokens belong to no context: their keys are those of context 0.

use super::Keys;
use hero_model::IdentityId;

impl Keys {
    /// The hash of an identity.
    pub fn identity(&self, id: IdentityId) -> String {
        format!("{}actor:{id}", self.prefix)
    }

    /// The numbers of all identities, in order.
    pub fn identities(&self) -> String {
        self.key(format_args!("access:identities"))
    }

    /// The numbers after the last one given out here that identities of other programs have, or had.
    pub fn taken_numbers(&self) -> String {
        self.key(format_args!("access:numbers"))
    }

    /// The numbers of identities by their public keys.
    pub fn public_keys(&self) -> String {
        self.key(format_args!("access:pubkeys"))
    }

    /// The tokens, by their ids.
    pub fn tokens(&self) -> String {
        self.key(format_args!("access:tokens"))
    }

    /// The ids of the tokens of an identity.
    pub fn tokens_of(&self, id: IdentityId) -> String {
        self.key(format_args!("access:tokens:of:{id}"))
    }

    /// The mark that a nonce was used to log in.
    pub fn nonce(&self, id: &str) -> String {
        self.key(format_args!("access:nonce:{id}"))
    }

    /// Whether a key of this context belongs to hero, or to a layout that it serves.
    pub fn is_own(&self, key: &str) -> bool {
        const FAMILIES: [&str; 11] = [
            "hero:",
            "context:",
            "runner:",
            "flow:",
            "message:",
            "job:",
            "queue:",
            "rhai_tasks:",
            "rhai_task_details:",
            "rhai_reply:",
            "msg_out:",
        ];
        let rest = key.strip_prefix(&*self.prefix);
        rest.is_some_and(|rest| matches!(rest, "msg_in" | "msg_out") || FAMILIES.iter().any(|family| rest.starts_with(family)))
    }

    /// The existing contexts: each number with the revision of its last change, or the time when its creation began.
    pub fn contexts(&self) -> String {
        self.key(format_args!("access:contexts"))
    }

    /// The mark that this context is being deleted, or was, so that nothing new is stored in it.
    pub fn closed(&self) -> String {
        self.key(format_args!("meta:closed"))
    }

    /// The time up to which the jobs created here have used up the allowed rate.
    pub fn rate(&self) -> String {
        self.key(format_args!("meta:rate"))
    }

    /// The number of bytes of all objects of this context.
    pub fn stored(&self) -> String {
        self.key(format_args!("meta:stored"))
    }

    /// The counters: the number of the last identity, and the revision, which grows with each change of rights.
    pub fn access(&self) -> String {
        self.key(format_args!("meta:access"))
    }

    /// The hash with the rights in this context.
    pub fn rights(&self) -> String {
        format!("{}context:{}", self.prefix, self.context)
    }
}
