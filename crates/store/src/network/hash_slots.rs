use redis::Value;

/// The address at which a node of a cluster listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Address {
    pub(crate) host: String,
    pub(crate) port: u16,
}

impl std::fmt::Display for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

/// The owners of the hash slots, as one node of a cluster knows them.
#[derive(Debug, Default)]
pub(crate) struct HashSlots(Vec<Range>);

#[derive(Debug)]
struct Range {
    first: i64,
    last: i64,
    /// The master, then its replicas.
    nodes: Vec<Address>,
}

impl HashSlots {
    /// Reads the answer to `CLUSTER SLOTS` of the node at an address. Entries that cannot be read are left out.
    pub(crate) fn read(answer: Value, asked_at: &Address) -> Self {
        Self(items(answer).into_iter().filter_map(|range| read_range(range, asked_at)).collect())
    }

    /// Returns the master of a hash slot, if there is one.
    pub(crate) fn owner_of(&self, slot: u16) -> Option<Address> {
        let slot = i64::from(slot);
        self.0.iter().find(|range| (range.first..=range.last).contains(&slot))?.nodes.first().cloned()
    }

    /// Returns every node that has slots or replicates them.
    pub(crate) fn nodes(&self) -> Vec<Address> {
        let mut nodes: Vec<Address> = Vec::new();
        for node in self.0.iter().flat_map(|range| &range.nodes) {
            if !nodes.contains(node) {
                nodes.push(node.clone());
            }
        }
        nodes
    }
}

fn read_range(range: Value, asked_at: &Address) -> Option<Range> {
    let mut parts = items(range).into_iter();
    let (Some(Value::Int(first)), Some(Value::Int(last))) = (parts.next(), parts.next()) else { return None };
    // If the master cannot be read, a replica must not take its place.
    let nodes: Option<Vec<Address>> = parts.map(|node| read_node(node, asked_at)).collect();
    Some(Range { first, last, nodes: nodes? })
}

fn read_node(node: Value, asked_at: &Address) -> Option<Address> {
    let mut parts = items(node).into_iter();
    let host = match parts.next()? {
        Value::BulkString(host) => String::from_utf8(host).ok()?,
        Value::SimpleString(host) => host,
        _ => String::new(),
    };
    let Some(Value::Int(port)) = parts.next() else { return None };
    // A node that does not know its own name has the address at which it was asked.
    let host = if host.is_empty() { asked_at.host.clone() } else { host };
    // A node whose name is not announced cannot be reached.
    (host != "?").then_some(Address { host, port: u16::try_from(port).ok()? })
}

fn items(value: Value) -> Vec<Value> {
    match value {
        Value::Array(items) => items,
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(host: &str, port: i64) -> Value {
        let host = if host.is_empty() { Value::Nil } else { Value::BulkString(host.into()) };
        Value::Array(vec![host, Value::Int(port), Value::BulkString("id".into()), Value::Array(Vec::new())])
    }

    fn range(first: i64, last: i64, nodes: &[Value]) -> Value {
        Value::Array([&[Value::Int(first), Value::Int(last)], nodes].concat())
    }

    #[test]
    fn the_owner_of_a_slot_is_the_first_node_of_its_range() {
        let asked_at = Address { host: "seed".into(), port: 1 };
        let address = |host: &str, port| Address { host: host.into(), port };
        let slots = HashSlots::read(
            Value::Array(vec![
                range(0, 99, &[node("a", 7000), node("b", 7001)]),
                range(100, 100, &[node("", 7002)]),
                range(101, 200, &[node("?", 7003), node("a", 7000)]),
                Value::Nil,
            ]),
            &asked_at,
        );
        assert_eq!(slots.owner_of(0), Some(address("a", 7000)));
        assert_eq!(slots.owner_of(99), Some(address("a", 7000)));
        assert_eq!(slots.owner_of(100), Some(address("seed", 7002)));
        assert_eq!(slots.owner_of(150), None);
        assert_eq!(slots.owner_of(16383), None);
        assert_eq!(slots.nodes(), [address("a", 7000), address("b", 7001), address("seed", 7002)]);
    }
}
