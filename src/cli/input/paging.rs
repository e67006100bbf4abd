use clap::Args;

use super::choices::most;
use crate::cli::output::{self, Style};
use crate::client::{Client, Error, code};
use crate::model::ContextId;

/// The maximum number of entries per call.
pub(in crate::cli) const ENTRIES_PER_CALL: usize = 1000;

/// The part of a list to show, and its context.
#[derive(Debug, Args)]
pub(in crate::cli) struct Paging {
    /// Maximum number of entries to list
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = most)]
    limit: u32,
    /// Continue at this cursor, printed at the end of the previous list
    #[arg(long, value_name = "CURSOR")]
    cursor: Option<String>,
    /// The context to list
    #[arg(long, value_name = "N", default_value_t = 0)]
    context: u32,
}

impl Paging {
    /// Collects the entries, and the cursor after them if there are more. `page` fetches one page from a cursor, with a
    /// maximum number of entries.
    pub(in crate::cli) async fn collect<T>(
        &self,
        page: impl AsyncFn(ContextId, Option<&str>, usize) -> Result<(Vec<T>, Option<String>), Error>,
    ) -> Result<(Vec<T>, Option<String>), Error> {
        let (limit, mut found, mut cursor) = (self.limit as usize, Vec::new(), self.cursor.clone());
        loop {
            let (entries, next) = page(ContextId(self.context), cursor.as_deref(), (limit - found.len()).min(ENTRIES_PER_CALL)).await?;
            found.extend(entries);
            cursor = next;
            if cursor.is_none() || found.len() >= limit {
                return Ok((found, cursor));
            }
        }
    }
}

/// The caller whose entries are shown, and the part of them.
#[derive(Debug, Args)]
pub(in crate::cli) struct OfCaller {
    /// Only those of this caller [default: of all callers, or yours if you may see no others]
    #[arg(long, value_name = "NAME")]
    caller: Option<String>,
    #[command(flatten)]
    paging: Paging,
}

impl OfCaller {
    /// Like [`Paging::collect_of`].
    pub(in crate::cli) async fn collect<T>(
        &self,
        client: &Client,
        page: impl AsyncFn(ContextId, Option<&str>, Option<&str>, usize) -> Result<(Vec<T>, Option<String>), Error>,
    ) -> Result<(Vec<T>, Option<String>), Error> {
        self.paging.collect_of(client, self.caller.as_deref(), page).await
    }
}

impl Paging {
    /// Like [`Self::collect`], for one caller or all. A user who may not see all sees its own entries, with a note.
    pub(in crate::cli) async fn collect_of<T>(
        &self,
        client: &Client,
        caller: Option<&str>,
        page: impl AsyncFn(ContextId, Option<&str>, Option<&str>, usize) -> Result<(Vec<T>, Option<String>), Error>,
    ) -> Result<(Vec<T>, Option<String>), Error> {
        let collected = self.collect(async |context, cursor: Option<&str>, wanted| page(context, caller, cursor, wanted).await).await;
        match (collected, caller) {
            (Err(error), None) if error.has_code(code::DENIED) => {
                let own = own_caller(client, error).await?;
                let own = own.as_str();
                let collected =
                    self.collect(async |context, cursor: Option<&str>, wanted| page(context, Some(own), cursor, wanted).await).await?;
                output::note(Style::stderr().dim(format!("only those of {own}, who you are: you may not see others")));
                Ok(collected)
            }
            (collected, _) => collected,
        }
    }
}

/// Returns the identity of a client that was refused all entries, or the refusal if it has no identity.
pub(in crate::cli) async fn own_caller(client: &Client, refusal: Error) -> Result<String, Error> {
    match client.whoami().await?.identity_id {
        Some(own) => Ok(own.to_string()),
        None => Err(refusal),
    }
}

/// Shows the cursor at which a partly shown list continues.
pub(in crate::cli) fn note_more(cursor: Option<&str>) {
    if let Some(cursor) = cursor {
        output::note(Style::stderr().dim(format!("there are more: --cursor {cursor}")));
    }
}
