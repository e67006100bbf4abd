//! Keys of identities, their tokens and their rights. Functions build them, too.
//!
//! Identities and tokens belong to no context: they are in that of context 0.

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

    /// The numbers behind the last one that was given here which identities of other programs have, or had.
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

    /// That a nonce was used to log in.
    pub fn nonce(&self, id: &str) -> String {
        self.key(format_args!("access:nonce:{id}"))
    }

    /// Whether a key of this context is of hero, or of a layout that it serves.
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

    /// The contexts that exist: each number with the revision of its last change, or how long ago somebody began to make it.
    pub fn contexts(&self) -> String {
        self.key(format_args!("access:contexts"))
    }

    /// Says that this context is being deleted, or was, so that nothing new is stored in it.
    pub fn closed(&self) -> String {
        self.key(format_args!("meta:closed"))
    }

    /// Up to when the jobs that were created here have used up how many may be created.
    pub fn rate(&self) -> String {
        self.key(format_args!("meta:rate"))
    }

    /// How many bytes the objects of this context have together.
    pub fn stored(&self) -> String {
        self.key(format_args!("meta:stored"))
    }

    /// What counts up: the number of the last identity, and with each change of rights the revision.
    pub fn access(&self) -> String {
        self.key(format_args!("meta:access"))
    }

    /// The hash with the rights in this context.
    pub fn rights(&self) -> String {
        format!("{}context:{}", self.prefix, self.context)
    }
}
