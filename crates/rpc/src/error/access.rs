//! The codes of refused operations on identities, tokens and rights.

use super::Code;
use hero_access as access;

pub(super) fn code_of(error: &access::Error) -> Code {
    use access::Error as A;
    match error {
        A::NoIdentity(_) | A::Unlisted(..) | A::NoToken(_) | A::NoContext(_) | A::Deleting(_) => Code::NotFound,
        A::Elsewhere | A::Store(_) => Code::StoreUnavailable,
        A::KeyTaken(_) | A::HasJobs { .. } | A::Configured(_) => Code::State,
        A::Invalid { .. } => Code::InvalidParams,
        A::TooFast(_) => Code::RateLimited,
        A::Full(_) | A::NoNumber | A::NumbersTaken | A::NoDatabase(_) => Code::QueueFull,
        A::Unknown | A::LoggedOut | A::Nobody | A::NonceUnknown | A::NonceOver | A::NonceUsed | A::Stranger => Code::NotAuthenticated,
    }
}
