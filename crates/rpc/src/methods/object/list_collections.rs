use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::people;
use crate::app::App;
use crate::effect::Effect;
use crate::error::{Code, Error};
use crate::memory::Size;
use crate::method::{Example, Method};
use crate::methods::tag;
use crate::session::auth::{Permission, Session};
use crate::session::guard::Concern;
use hero_model::{Collection, ContextId};

/// Lists the collections of objects by name, each with its number of objects and its indexes.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListCollections {
    /// The context they belong to.
    #[serde(default)]
    context_id: ContextId,
}

impl Method for ListCollections {
    const NAME: &'static str = "list_collections";
    const TAG: &'static str = tag::OBJECTS;
    const PERMISSION: Permission = Permission::Read;
    const EFFECT: Effect = Effect::Reads;
    const ERRORS: &'static [Code] = &[Code::TooLarge, Code::StoreUnavailable, Code::NotFound];
    const SIZE: Size = Size::Medium;
    const RESULT: &'static str = "The collections.";
    type Output = Vec<Collection>;

    fn examples() -> Vec<Example<Self, Vec<Collection>>> {
        let people = Collection { name: people(), objects: 1, indexes: Vec::new(), typed: false };
        vec![Example { name: "collections", params: Self { context_id: ContextId(0) }, result: vec![people] }]
    }

    fn concern(&self) -> Concern<'_> {
        Concern::Context(self.context_id)
    }

    async fn call(self, app: &App, _: &Session) -> Result<Vec<Collection>, Error> {
        Ok(app.dispatcher.contexts().objects(self.context_id).await?.collections().await?)
    }
}
