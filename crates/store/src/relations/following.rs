//! Checks whether jobs that are about to be created would wait for themselves through existing jobs. Redis reads the relations of these, a
//! few jobs at a time, and this process follows them.

use std::collections::{HashMap, HashSet, VecDeque};

use super::cycle::cycle;
use crate::functions::{NewJob, RelationKind, Relations};
use crate::{Error, Inner};
use hero_model::JobId;

/// The most relations that are followed, as in `cycles.lua`. A relation to a job that was met before costs a tenth.
const MAX_FOLLOWED: usize = 4000;
const COST_OF_RELATION: usize = 10;
/// The approximate number of jobs that one call reads.
const JOBS_PER_CALL: usize = 64;

/// The result of following relations.
pub(crate) enum Followed {
    /// None of the jobs would wait for itself, as long as relations have this revision.
    Free { revision: String },
    /// These jobs would wait for each other.
    Cycle(Vec<JobId>),
    /// There are more relations than may be followed.
    Tangled,
}

/// The start and the close of jobs, each with the events that it waits for. The start of a job waits for the starts of its prerequisites
/// and its parent, and for the close of its predecessor. Its close waits for its start and for the closes of its children.
#[derive(Default)]
struct Graph {
    places: HashMap<(RelationKind, JobId), usize>,
    nodes: Vec<(RelationKind, JobId)>,
    leads_to: Vec<Vec<usize>>,
}

impl Graph {
    fn place(&mut self, what: RelationKind, id: &JobId) -> usize {
        *self.places.entry((what, id.clone())).or_insert_with_key(|node| {
            self.nodes.push(node.clone());
            self.leads_to.push(Vec::new());
            self.nodes.len() - 1
        })
    }

    fn add(&mut self, from: (RelationKind, &JobId), to: (RelationKind, &JobId)) {
        let (from, to) = (self.place(from.0, from.1), self.place(to.0, to.1));
        self.leads_to[from].push(to);
    }
}

impl Inner {
    /// Follows the relations of jobs that are about to be created.
    pub(crate) async fn follow(&self, jobs: &[NewJob]) -> Result<Followed, Error> {
        let mut following = Following { store: self, left: MAX_FOLLOWED * COST_OF_RELATION, revision: None };
        let followed = following.follow(jobs).await;
        self.relation_budget.pay(u32::try_from((MAX_FOLLOWED * COST_OF_RELATION - following.left) / COST_OF_RELATION).unwrap_or(u32::MAX));
        Ok(match followed? {
            None => Followed::Tangled,
            Some(ids) if !ids.is_empty() => Followed::Cycle(ids),
            Some(_) => Followed::Free { revision: following.revision.unwrap_or_default() },
        })
    }
}

struct Following<'s> {
    store: &'s Inner,
    /// The budget that is left, in tenths of a relation.
    left: usize,
    /// The revision in the answer to the first call.
    revision: Option<String>,
}

impl Following<'_> {
    /// Returns the jobs that would wait for each other; nothing if there are too many relations to tell.
    async fn follow(&mut self, jobs: &[NewJob]) -> Result<Option<Vec<JobId>>, Error> {
        let new: HashSet<&JobId> = jobs.iter().map(|job| &job.id).collect();
        let (mut graph, mut climbing) = (Graph::default(), Vec::new());
        for job in jobs {
            let (start, close) = ((RelationKind::Start, &job.id), (RelationKind::Close, &job.id));
            graph.add(close, start);
            for (relation, other) in job.relations() {
                match relation {
                    "prerequisite" => graph.add(start, (RelationKind::Start, other)),
                    "predecessor" => graph.add(start, (RelationKind::Close, other)),
                    "dependent" => graph.add((RelationKind::Start, other), start),
                    _parent => {
                        graph.add(start, (RelationKind::Start, other));
                        graph.add((RelationKind::Close, other), close);
                    }
                }
                if matches!(relation, "parent" | "dependent") && !new.contains(other) {
                    climbing.push(other.clone());
                }
            }
        }
        // Children that were not started are in no list of their parents.
        let mut climbed = HashSet::new();
        while !climbing.is_empty() {
            climbing.retain(|id| climbed.insert(id.clone()));
            let asked: Vec<(RelationKind, JobId)> = climbing.drain(..).map(|id| (RelationKind::Parent, id)).collect();
            let Some(read) = self.read(&asked).await? else { return Ok(None) };
            for ((_, child), relations) in asked.iter().zip(read) {
                if let Some(parent) = relations.parent {
                    graph.add((RelationKind::Close, &parent), (RelationKind::Close, child));
                    if !new.contains(&parent) {
                        climbing.push(parent);
                    }
                }
            }
        }
        let mut seen = HashSet::new();
        let mut reached: VecDeque<usize> = jobs.iter().map(|job| graph.place(RelationKind::Start, &job.id)).collect();
        while !reached.is_empty() {
            let mut unread = Vec::new();
            while let Some(node) = reached.pop_front() {
                if !seen.insert(node) {
                    continue;
                }
                if new.contains(&graph.nodes[node].1) {
                    reached.extend(&graph.leads_to[node]);
                } else {
                    unread.push(node);
                }
            }
            let asked: Vec<(RelationKind, JobId)> = unread.iter().map(|node| graph.nodes[*node].clone()).collect();
            let Some(read) = self.read(&asked).await? else { return Ok(None) };
            for ((what, id), relations) in asked.iter().zip(read) {
                let node = (*what, id);
                if *what == RelationKind::Close {
                    graph.add(node, (RelationKind::Start, id));
                }
                relations.others.iter().for_each(|other| graph.add(node, (*what, other)));
                relations.parent.iter().for_each(|parent| graph.add(node, (RelationKind::Start, parent)));
                relations.predecessor.iter().for_each(|other| graph.add(node, (RelationKind::Close, other)));
            }
            for node in unread {
                let Some(left) = self.left.checked_sub(graph.leads_to[node].len()) else { return Ok(None) };
                self.left = left;
                reached.extend(&graph.leads_to[node]);
            }
        }
        let nodes = cycle(&graph.leads_to).unwrap_or_default();
        let mut named = HashSet::new();
        Ok(Some(nodes.into_iter().map(|node| &graph.nodes[node].1).filter(|id| named.insert(*id)).cloned().collect()))
    }

    /// Reads the relations of all these jobs; nothing if that is more than may be followed.
    async fn read(&mut self, asked: &[(RelationKind, JobId)]) -> Result<Option<Vec<Relations>>, Error> {
        let mut all = Vec::with_capacity(asked.len());
        while all.len() < asked.len() || self.revision.is_none() {
            let some = &asked[all.len()..asked.len().min(all.len() + JOBS_PER_CALL)];
            let Some(left) = self.left.checked_sub(some.len() * COST_OF_RELATION) else { return Ok(None) };
            let (revision, answers) = self.store.read_relations(some, left / COST_OF_RELATION).await?;
            self.revision.get_or_insert(revision);
            // The jobs without an answer are requested again.
            self.left = left + (some.len() - answers.len().min(some.len())) * COST_OF_RELATION;
            for answer in answers {
                match answer {
                    Some(relations) => all.push(relations),
                    None => return Ok(None),
                }
            }
        }
        Ok(Some(all))
    }
}
