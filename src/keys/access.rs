//! Keys of identities, their tokens and their rights. Functions build them, too.
//!
//! Identities and tokens belong to no context: they are in that of context 0.

use super::Keys;
use crate::model::IdentityId;

impl Keys {
    /// The hash of an identity.
    pub fn identity(&self, id: IdentityId) -> String {
        format!("{}actor:{id}", self.prefix)
    }

    /// The numbers of all identities, in order.
    pub fn identities(&self) -> String {
        self.key(format_args!("access:identities"))
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

    /// What counts up: the number of the last identity, and with each change of rights the revision.
    pub fn access(&self) -> String {
        self.key(format_args!("meta:access"))
    }

    /// The hash with the rights in this context.
    pub fn rights(&self) -> String {
        format!("{}context:{}", self.prefix, self.context)
    }
}
