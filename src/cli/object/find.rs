use clap::Args;

use crate::cli::global::Global;
use crate::cli::input::paging::{Paging, note_more};
use crate::cli::output::{self, Style};
use crate::client::Client;
use crate::exit::Usage;
use crate::model::{Comparison, ContextId, Find, Name, ObjectPage, conditions};

/// The objects to find.
#[derive(Debug, Args)]
pub(in crate::cli) struct FindObjects {
    /// The collection
    collection: Name,
    /// A condition on a field, such as 'born>=1800': =, >, >=, <, <= or ^= (begins with) between field and value. The
    /// value is JSON if it parses as JSON, else text ('zip="9000"' is text). May be repeated
    #[arg(long = "where", short = 'w', value_name = "CONDITION", value_parser = comparison)]
    conditions: Vec<Comparison>,
    /// Sort by this field, which needs an index [default: by the id]
    #[arg(long, value_name = "FIELD")]
    order_by: Option<String>,
    /// Sort in descending order
    #[arg(long)]
    descending: bool,
    #[command(flatten)]
    paging: Paging,
}

fn comparison(text: &str) -> Result<Comparison, String> {
    text.parse().map_err(|wrong| format!("{wrong}; in quotes, because the shell takes > and < for itself"))
}

impl FindObjects {
    pub(super) async fn main(&self, global: &Global, client: &Client) -> anyhow::Result<()> {
        let wanted = Find {
            conditions: conditions(&self.conditions).map_err(|wrong| Usage(format!("--where {wrong}")))?,
            order_by: self.order_by.clone(),
            descending: self.descending,
            ..Find::default()
        };
        let told = std::cell::RefCell::new((Vec::new(), 0));
        let of = std::cell::Cell::new(ContextId(0));
        let page = async |context, cursor: Option<&str>, limit: usize| {
            of.set(context);
            let query = Find { cursor: cursor.map(ToOwned::to_owned), limit: u32::try_from(limit).ok(), ..wanted.clone() };
            let page = client.find_objects(context, &self.collection, &query).await?;
            let mut told = told.borrow_mut();
            *told = (page.compared, told.1 + page.looked_at);
            Ok((page.objects, page.next_cursor))
        };
        let (objects, next_cursor) = self.paging.collect(page).await?;
        let (compared, looked_at) = told.into_inner();
        if global.json {
            return output::json(&ObjectPage { objects, next_cursor, compared, looked_at });
        }
        if objects.is_empty() {
            match client.list_collections(of.get()).await?.iter().any(|collection| collection.name == self.collection) {
                true => output::aside("no object"),
                // Also for programs, because a name that is misspelt must not look like an empty answer.
                false => output::note(format!("there is no collection {}; `hero object collections` lists them", self.collection)),
            }
        }
        for object in &objects {
            output::line(output::escaped(object.as_str().to_owned()))?;
        }
        if !compared.is_empty() {
            let fields = compared.join(", ");
            let objects = if looked_at == 1 { "1 object was".to_owned() } else { format!("{looked_at} objects were") };
            output::note(Style::stderr().dim(format!("no index was used for {fields}, so {objects} looked at")));
        }
        note_more(next_cursor.as_deref());
        Ok(())
    }
}
