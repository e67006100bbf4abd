//! Jobs whose relations Redis must follow before it stores them. Callers take turns, within a budget.

use std::sync::Weak;

use super::budget::Since;
use crate::batch::{Batch, Request, Weight};
use crate::{Created, Error, Inner, NewJob};

/// A job whose relations Redis must follow.
pub(crate) struct Related {
    job: NewJob,
    since: Since,
}

impl Related {
    fn caller(&self) -> &str {
        self.job.spec.caller_id.as_deref().unwrap_or_default()
    }
}

impl Inner {
    /// Stores a job whose relations must be followed, when it is its caller's turn.
    pub(crate) async fn relate(&self, job: NewJob) -> Result<Created, Error> {
        let since = self.relation_budget.since();
        let caller = job.spec.caller_id.clone().unwrap_or_default();
        match self.relation_budget.patiently(since, self.relation_budget.room_in_line(&caller, 1)).await? {
            Some(_room) => self.related.ask(Related { job, since }).await,
            None => Ok(Created::Busy),
        }
    }
}

/// Works like [`create_batch`](crate::functions::create_batch), but no faster than relations may be followed.
pub(crate) fn relate_batch(store: Weak<Inner>) -> Batch<Related, Created> {
    Batch::new(move |asked: Vec<Related>| {
        let store = store.clone();
        async move {
            let Some(store) = store.upgrade() else { return (asked, Err(Error::Closed)) };
            let _turn = store.relation_budget.turn().await;
            let is_late = |one: &Related| store.relation_budget.is_late(one.since);
            if asked.iter().any(is_late) {
                let answers = asked.iter().map(|one| is_late(one).then_some(Created::Busy)).collect();
                return (asked, Ok(answers));
            }
            let caller = store.relation_budget.next_caller(asked.iter().map(Related::caller));
            let jobs: Vec<NewJob> = asked.iter().filter(|one| one.caller() == caller).map(|one| one.job.clone()).collect();
            let answers = store.create_all(&jobs, false).await.map(|answers| {
                let mut answers = answers.into_iter();
                // The jobs of other callers come with a later call.
                asked.iter().map(|one| if one.caller() == caller { answers.next().flatten() } else { None }).collect()
            });
            (asked, answers)
        }
    })
}

impl Request for Related {
    fn weight(&self) -> Weight {
        self.job.weight()
    }
}
