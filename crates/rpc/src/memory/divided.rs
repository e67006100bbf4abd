use std::sync::Arc;

use super::{Budget, SHARES};
use crate::limits::Limits;

/// On whose account memory is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    /// Of somebody who has not logged in, where callers have to.
    Strangers,
    /// Of anybody else.
    Known,
}

/// The part of a budget that those have who have not logged in. Nothing that they do uses any of the rest.
const OF_STRANGERS: u64 = 8;

/// The budget of an address, or of the server: where callers have to log in, one for those who have, and a small one for everybody else.
#[derive(Debug, Clone)]
pub(crate) struct Divided([Arc<Budget>; 2]);

impl Divided {
    fn new(setting: &'static str, limit: u64, shares: u32, login: bool) -> Self {
        let of = |side, limit| Budget::new((setting, Some(side)), limit, shares);
        if !login {
            let whole = of(Side::Known, limit);
            return Self([Arc::clone(&whole), whole]);
        }
        let part = limit / OF_STRANGERS;
        Self([of(Side::Strangers, part), of(Side::Known, limit - part)])
    }

    /// The budget of the whole server. `login`: whether callers have to log in.
    pub(crate) fn of_server(limits: &Limits, login: bool) -> Self {
        Self::new("held", limits.held, SHARES[2], login)
    }

    /// The budget of one address.
    pub(crate) fn of_address(limits: &Limits, login: bool) -> Self {
        Self::new("held_per_address", limits.held_per_address, SHARES[1], login)
    }

    pub(super) fn of(&self, side: Side) -> &Arc<Budget> {
        &self.0[side as usize]
    }

    /// Each budget of it once.
    pub(super) fn each(&self) -> impl Iterator<Item = &Arc<Budget>> {
        let [strangers, known] = &self.0;
        std::iter::once(strangers).chain((!Arc::ptr_eq(strangers, known)).then_some(known))
    }
}
