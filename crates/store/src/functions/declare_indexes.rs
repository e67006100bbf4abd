use super::unexpected;
use crate::Error;
use crate::library::fcall::Function;
use crate::views::Objects;
use hero_model::Name;

const FUNCTION: Function = Function("declare_indexes");

/// The result of declaring indexes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IndexesDeclared {
    /// They are declared; these must be filled.
    Declared(Vec<Making>),
    /// The collection would have more than this many. Nothing was done.
    Many(u32),
    /// The limit of collections is reached. Nothing was done.
    Full,
}

/// An index under construction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Making {
    /// The field.
    pub field: String,
    /// The mark of this construction, which tells it from another one after a drop. Servers that build it at the same time have the same
    /// mark.
    pub mark: String,
    /// Whether this call declared it.
    pub new: bool,
}

impl Objects<'_> {
    /// Declares indexes of a collection, in addition to its existing ones. The collection may have no objects yet. No field may occur
    /// twice.
    pub async fn declare_indexes(self, collection: &Name, fields: &[String]) -> Result<IndexesDeclared, Error> {
        let mut call = self.0.call(&FUNCTION);
        call.arg(collection.as_str()).arg(fields);
        let answer: Vec<String> = self.0.commands.function(&call).await?;
        let [word, rest @ ..] = &*answer else { return Err(unexpected("declare_indexes", &answer)) };
        let making = |parts: &[String]| Making { field: parts[0].clone(), mark: parts[1].clone(), new: !parts[2].is_empty() };
        match (word.as_str(), rest) {
            ("declared", fields) => Ok(IndexesDeclared::Declared(fields.chunks_exact(3).map(making).collect())),
            ("many", [most]) => most.parse().map(IndexesDeclared::Many).map_err(|_| unexpected("declare_indexes", &answer)),
            ("full", _) => Ok(IndexesDeclared::Full),
            _ => Err(unexpected("declare_indexes", &answer)),
        }
    }
}
