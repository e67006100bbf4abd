//! Whether a job would wait for itself, by plain reachability.

use std::collections::BTreeSet;

use hero::model::Status;

use super::plain::{List, Number, Plain, Relations};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Node {
    Start(Number),
    Close(Number),
}

/// Whether storing these jobs would make a cycle.
pub fn waits_for_itself(plain: &Plain, new: &[(Number, Relations, bool)]) -> bool {
    let of = |job: Number| new.iter().find(|(other, ..)| *other == job).map(|(_, of, _)| of);
    // Children that were not started stand in no list of their parents, so parents are climbed.
    let mut climbed: BTreeSet<(Number, Number)> = BTreeSet::new();
    let ancestors = |job: Number| -> Vec<(Number, Number)> {
        let there = |job: &Number| plain.job(*job).status.is_some();
        std::iter::successors(plain.job(job).parent.map(|parent| (parent, job)), |(parent, _)| {
            Some((Some(*parent).filter(there).and_then(|it| plain.job(it).parent)?, *parent))
        })
        .collect()
    };
    for (job, of, _) in new {
        climbed.extend(of.parent.map(|parent| (parent, *job)));
        of.parent.into_iter().for_each(|parent| climbed.extend(ancestors(parent)));
        of.dependents.iter().for_each(|other| climbed.extend(ancestors(*other)));
    }
    let next = |node: Node| -> Vec<Node> {
        let mut next = Vec::new();
        match node {
            Node::Start(job) => {
                let it = plain.job(job);
                let waits = matches!(it.status, Some(Status::Created | Status::Scheduled | Status::WaitingForPrerequisites));
                let (prerequisites, parent, predecessor) = match of(job) {
                    Some(of) => (of.prerequisites.clone(), of.parent, of.predecessor),
                    None if waits => (it.prerequisites.clone(), it.parent, it.predecessor),
                    None => Default::default(),
                };
                next.extend(prerequisites.into_iter().chain(parent).map(Node::Start));
                next.extend(predecessor.map(Node::Close));
                next.extend(new.iter().filter(|(_, of, _)| of.dependents.contains(&job)).map(|(other, ..)| Node::Start(*other)));
            }
            Node::Close(job) => {
                next.push(Node::Start(job));
                let children = plain.lists.get(&(List::Children, job)).into_iter().flatten();
                next.extend(children.chain(plain.active.get(&job).into_iter().flatten()).map(|child| Node::Close(*child)));
                next.extend(climbed.iter().filter(|(parent, _)| *parent == job).map(|(_, child)| Node::Close(*child)));
            }
        }
        next
    };
    new.iter().any(|(job, ..)| {
        let (from, mut seen) = (Node::Start(*job), BTreeSet::new());
        let mut open = next(from);
        while let Some(node) = open.pop() {
            if node == from {
                return true;
            }
            if seen.insert(node) {
                open.extend(next(node));
            }
        }
        false
    })
}
