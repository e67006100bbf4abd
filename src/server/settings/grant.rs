//! Parses grants of scripts by their configuration names.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use crate::engine::Capability;
use crate::model::nearest;

/// Parses the names of the grants of a pool, or of the most that a context grants.
pub(super) fn capabilities<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Vec<Capability>>, D::Error> {
    let names = Vec::<String>::deserialize(from)?;
    names.iter().map(|name| named(name)).collect::<Result<_, _>>().map(Some).map_err(D::Error::custom)
}

fn named(name: &str) -> Result<Capability, String> {
    let known = Capability::GRANTS.into_iter().find(|capability| capability.name() == name);
    let names = || Capability::GRANTS.map(Capability::name);
    known.ok_or_else(|| {
        let near = nearest(name, names()).map_or_else(String::new, |near| format!("; did you mean {near}?"));
        format!("{name:?} is not a grant (one of {}){near}", names().join(", "))
    })
}
