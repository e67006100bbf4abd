use super::unexpected;
use crate::library::fcall::Function;
use crate::value::Text;
use crate::{Error, Inner};
use hero_model::JobId;

const FUNCTION: Function = Function("read_relations");

/// The relation to read, in the terms of the function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum RelationKind {
    /// The jobs that its start waits for.
    Start,
    /// The jobs that its close waits for: its children.
    Close,
    /// Its parent.
    Parent,
}

/// The relations of a job.
#[derive(Debug, Default)]
pub(crate) struct Relations {
    /// Its parent.
    pub(crate) parent: Option<JobId>,
    /// Its predecessor, whose continuation it is.
    pub(crate) predecessor: Option<JobId>,
    /// Its prerequisites, or its children.
    pub(crate) others: Vec<JobId>,
}

impl Inner {
    /// Reads the requested relation of each job, and the revision of all relations with them. One call answers for as many jobs as it
    /// reads; the answer is nothing for a job that has more than `most`.
    pub(crate) async fn read_relations(
        &self,
        asked: &[(RelationKind, JobId)],
        most: usize,
    ) -> Result<(String, Vec<Option<Relations>>), Error> {
        let mut call = self.call(&FUNCTION);
        call.arg(most);
        for (what, id) in asked {
            let word = match what {
                RelationKind::Start => "start",
                RelationKind::Close => "close",
                RelationKind::Parent => "parent",
            };
            call.arg(word).arg(id.as_str());
        }
        let mut answers = self.commands.function::<Vec<Vec<Text>>>(&call).await?.into_iter();
        let revision =
            answers.next().and_then(|mut answer| answer.pop()?.some()).ok_or_else(|| unexpected("read_relations", &"no revision"))?;
        let read = |((what, _), answer): (&(RelationKind, JobId), Vec<Text>)| {
            if answer.first().and_then(|text| text.0.as_deref()) == Some("many") {
                return None;
            }
            let mut ids = answer.iter().map(Text::parse);
            let mut relations = Relations::default();
            if *what != RelationKind::Close {
                relations.parent = ids.next().flatten();
                relations.predecessor = ids.next().flatten();
            }
            relations.others = ids.flatten().collect();
            Some(relations)
        };
        Ok((revision, asked.iter().zip(answers).map(read).collect()))
    }
}
