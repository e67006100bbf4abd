/// Returns nodes that lead to each other in a circle, in this order, if there are any. `leads_to` lists for each node the nodes that it
/// leads to.
pub(crate) fn cycle(leads_to: &[Vec<usize>]) -> Option<Vec<usize>> {
    #[derive(Clone, Copy, PartialEq)]
    enum Seen {
        Not,
        OnTheWay,
        Done,
    }
    let mut seen = vec![Seen::Not; leads_to.len()];
    for from in 0..leads_to.len() {
        if seen[from] != Seen::Not {
            continue;
        }
        // Each node on the path, with the number of its edges that were followed.
        let mut way = vec![(from, 0)];
        seen[from] = Seen::OnTheWay;
        while let Some((node, followed)) = way.last_mut() {
            let Some(next) = leads_to[*node].get(*followed).copied() else {
                seen[*node] = Seen::Done;
                way.pop();
                continue;
            };
            *followed += 1;
            match seen[next] {
                Seen::Not => {
                    seen[next] = Seen::OnTheWay;
                    way.push((next, 0));
                }
                Seen::OnTheWay => return Some(way.iter().map(|(node, _)| *node).skip_while(|node| *node != next).collect()),
                Seen::Done => {}
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cycle_is_found_wherever_it_is_and_however_long() {
        assert_eq!(cycle(&[vec![1], vec![2], vec![]]), None);
        assert_eq!(cycle(&[vec![1, 2], vec![2], vec![]]), None);
        assert_eq!(cycle(&[vec![], vec![0, 2], vec![3], vec![0, 1]]), Some(vec![1, 2, 3]));
        assert_eq!(cycle(&[vec![0]]), Some(vec![0]));
        let long: Vec<Vec<usize>> = (0..100_000).map(|node| vec![(node + 1) % 100_000]).collect();
        assert_eq!(cycle(&long).map(|nodes| nodes.len()), Some(100_000));
    }
}
