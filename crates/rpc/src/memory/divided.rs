use std::sync::Arc;

use super::{Budget, SHARES};
use crate::limits::Limits;

/// The side on which memory counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    /// Callers without a login, where callers must log in.
    Anonymous,
    /// All other callers.
    Known,
}

/// The fraction (1/8) of a budget for callers without a login. They use nothing of the rest.
const ANONYMOUS_FRACTION: u64 = 8;

/// The budget of an address, or of the server. Where callers must log in, it is divided: one part for those who have, and a small one for
/// all others.
#[derive(Debug, Clone)]
pub(crate) struct Divided([Arc<Budget>; 2]);

impl Divided {
    fn new(setting: &'static str, limit: u64, shares: u32, login: bool) -> Self {
        let of = |side, limit| Budget::new((setting, Some(side)), limit, shares);
        if !login {
            let whole = of(Side::Known, limit);
            return Self([Arc::clone(&whole), whole]);
        }
        let part = limit / ANONYMOUS_FRACTION;
        Self([of(Side::Anonymous, part), of(Side::Known, limit - part)])
    }

    /// Returns the budget of the whole server. `login`: whether callers must log in.
    pub(crate) fn of_server(limits: &Limits, login: bool) -> Self {
        Self::new("held", limits.held, SHARES[2], login)
    }

    /// Returns the budget of one address.
    pub(crate) fn of_address(limits: &Limits, login: bool) -> Self {
        Self::new("held_per_address", limits.held_per_address, SHARES[1], login)
    }

    pub(super) fn of(&self, side: Side) -> &Arc<Budget> {
        &self.0[side as usize]
    }

    /// Returns each of its budgets once.
    pub(super) fn each(&self) -> impl Iterator<Item = &Arc<Budget>> {
        let [anonymous, known] = &self.0;
        std::iter::once(anonymous).chain((!Arc::ptr_eq(anonymous, known)).then_some(known))
    }
}
