//! The codes of refused operations of the coordinator.

use super::{Code, Error};
use hero_coordinator as coordinator;

impl From<coordinator::Error> for Error {
    fn from(error: coordinator::Error) -> Self {
        match error {
            coordinator::Error::Dispatch(error) => Self::Dispatch(error),
            error => Self::Coordinator(error),
        }
    }
}

pub(super) fn code_of(error: &coordinator::Error) -> Code {
    use coordinator::Error as C;
    match error {
        C::NoRunner { .. } | C::NoMessage { .. } => Code::NotFound,
        C::Invalid { .. } => Code::InvalidParams,
        C::GoesOut { .. } | C::Awaited { .. } | C::Untold { .. } | C::Unanswered { .. } => Code::State,
        C::Full(_) | C::NoList { .. } => Code::QueueFull,
        C::Dispatch(error) => super::code_of(error),
    }
}
