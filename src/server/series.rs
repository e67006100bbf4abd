//! Metrics whose labels callers choose. Only the series of the last reading are shown, in a limited number.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Mutex, PoisonError};

use super::metric_families::Family;
use crate::model::ContextId;

/// The labels of a series.
pub(crate) type Labels = Vec<(&'static str, String)>;

/// A series and its value.
pub(crate) type Shown = (Labels, f64);

/// The maximum number of values of a label shown per family and context. The others are summed up in one series.
pub(crate) const MAX_VALUES: usize = 100;
/// The label value of the series that sums up all others.
pub(crate) const OTHER: &str = "other";

/// The last read series of each family and context.
#[derive(Debug, Default)]
pub(crate) struct LatestSeries(Mutex<BTreeMap<(Family, ContextId), Vec<Shown>>>);

impl LatestSeries {
    /// Replaces the series of a family and context.
    pub(crate) fn show(&self, family: Family, context: ContextId, series: Vec<Shown>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert((family, context), series);
    }

    /// Renders all series in Prometheus' text format.
    pub(crate) fn render(&self) -> String {
        let (mut text, mut last) = (String::new(), None);
        for ((family, context), series) in &*self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            let Family { name, kind, help, .. } = family;
            if last.replace(*name) != Some(name) {
                let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {}", kind.word());
            }
            // Context 0 has no label.
            let of_context = (*context != ContextId(0)).then(|| ("context", context.to_string()));
            for (labels, value) in series {
                let labels: Vec<String> =
                    labels.iter().chain(&of_context).map(|(label, value)| format!("{label}=\"{}\"", escaped(value))).collect();
                let _ = writeln!(text, "{name}{{{}}} {value}", labels.join(","));
            }
        }
        text
    }
}

fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// Returns the largest groups of counts, and the sum of all others as the last.
pub(crate) fn largest<K: Ord + Clone>(mut groups: Vec<(K, BTreeMap<String, u64>)>, other: &K) -> Vec<(K, BTreeMap<String, u64>)> {
    let sum = |counts: &BTreeMap<String, u64>| counts.values().fold(0_u64, |sum, count| sum.saturating_add(*count));
    groups.sort_by_cached_key(|(name, counts)| (std::cmp::Reverse(sum(counts)), name.clone()));
    if groups.len() > MAX_VALUES {
        let mut rest: BTreeMap<String, u64> = BTreeMap::new();
        for (what, count) in groups.split_off(MAX_VALUES - 1).into_iter().flat_map(|(_, counts)| counts) {
            let sum = rest.entry(what).or_default();
            *sum = sum.saturating_add(count);
        }
        groups.push((other.clone(), rest));
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::metric_families::Kind;

    #[test]
    fn many_groups_are_shown_as_a_hundred_that_add_up() {
        let groups = (0..50_000_u64).map(|number| (format!("g{number}"), BTreeMap::from([("n".to_owned(), number)]))).collect();
        let shown = largest(groups, &OTHER.to_owned());
        assert_eq!(shown.len(), MAX_VALUES);
        assert_eq!((shown[0].0.as_str(), shown[MAX_VALUES - 1].0.as_str()), ("g49999", OTHER));
        assert_eq!(shown.iter().map(|(_, counts)| counts["n"]).sum::<u64>(), 50_000 * 49_999 / 2);
    }

    #[test]
    fn what_is_gone_is_shown_no_more_and_values_are_escaped() {
        let (latest, family) = (LatestSeries::default(), Family { name: "f", kind: Kind::Gauge, labels: &["l"], help: "h." });
        latest.show(family, ContextId(0), vec![(vec![("l", "a\"\\".to_owned())], 1.5)]);
        latest.show(family, ContextId(2), vec![(vec![("l", "b".to_owned())], 2.0)]);
        assert_eq!(latest.render(), "# HELP f h.\n# TYPE f gauge\nf{l=\"a\\\"\\\\\"} 1.5\nf{l=\"b\",context=\"2\"} 2\n");
        latest.show(family, ContextId(2), Vec::new());
        assert!(!latest.render().contains("context"));
    }
}
