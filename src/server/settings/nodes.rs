//! The other nodes, from two settings: `nodes` (`NAME=KEY`) and `node_redis` (`NAME=URL`).

use std::str::FromStr;

use super::Settings;
use crate::coordinator::Node;
use crate::model::{Address, AddressTarget, Name, SignerKey};
use crate::store::Endpoint;

/// Describes the first fault of the nodes.
pub(super) fn fault(settings: &Settings, said: &dyn Fn(&str) -> String) -> Option<String> {
    nodes(settings).err().map(|(setting, why)| format!("{}: {why}", said(setting)))
}

/// Returns the other nodes, or the faulty setting and its fault.
pub(crate) fn nodes(settings: &Settings) -> Result<Vec<Node>, (&'static str, String)> {
    let mut nodes: Vec<Node> = Vec::new();
    for entry in &settings.nodes {
        let why = |why: String| ("nodes", format!("{entry:?} is no node, such as berlin=<what `hero message key` prints there>: {why}"));
        let (name, key) = named::<SignerKey>(entry).map_err(why)?;
        if nodes.iter().any(|node| node.name == name) {
            return Err(("nodes", format!("{name} is given twice")));
        }
        nodes.push(Node { name, key: Some(key), redis: None });
    }
    for entry in &settings.node_redis {
        // The entry is not repeated, because it may contain a password.
        let bad = |why: &str| ("node_redis", format!("an entry is no node and its Redis, such as berlin=redis://host:6379: {why}"));
        let (name, url) = entry.split_once('=').ok_or_else(|| bad("it has no ="))?;
        let (name, url) = (name.trim().parse::<Name>().map_err(|_| bad("what stands before the = is no name"))?, url.trim());
        let without_password = match (url.split_once("://"), url.rsplit_once('@')) {
            (Some((scheme, _)), Some((_, host))) => format!("{scheme}://{host}"),
            _ => url.to_owned(),
        };
        if !without_password.parse::<Address>().is_ok_and(|address| matches!(address.target(), AddressTarget::Redis(_))) {
            return Err(bad("what stands behind the = is no address of a Redis (redis://, rediss:// or unix://)"));
        }
        let redis = Some(Endpoint { url: url.to_owned(), ..Endpoint::default() });
        match nodes.iter_mut().find(|node| node.name == name) {
            Some(node) => node.redis = redis,
            None => nodes.push(Node { name, key: None, redis }),
        }
    }
    Ok(nodes)
}

fn named<T: FromStr>(entry: &str) -> Result<(Name, T), String>
where
    T::Err: std::fmt::Display,
{
    let (name, value) = entry.split_once('=').ok_or("it has no =")?;
    let name = name.trim().parse::<Name>().map_err(|error| error.to_string())?;
    Ok((name, value.trim().parse::<T>().map_err(|error| error.to_string())?))
}
