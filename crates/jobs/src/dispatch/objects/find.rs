use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::Value;

use super::{ID, MAX_OBJECT_BYTES, MOST_VALUES, Objects, check_path, count};
use crate::dispatch::Error;
use hero_model::{Condition, Find, Index, Name, ObjectPage, Range, SortKey, Test, keys_at};
use hero_store::{EntryRange, Portion, ReadObject, key_of_entry};

/// The default and the maximum number of objects of a page.
const DEFAULT_AND_MAX_LIMIT: (u32, u32) = (100, 1000);
/// Maximum number of objects that are examined for one page.
const MAX_EXAMINED_OBJECTS: u64 = 10_000;
/// Maximum number of bytes of objects that are read for one page.
const MAX_BYTES_PER_PAGE: usize = 16 << 20;
/// Maximum number of bytes of objects that are read at a time: Redis does nothing else meanwhile.
const MAX_BYTES_PER_READ: usize = 1 << 20;
/// Minimum number of objects that are read at a time, for the first read and for later ones.
const MIN_OBJECTS_PER_READ: (usize, usize) = (16, 128);
/// Maximum number of conditions of a query.
const MOST_CONDITIONS: usize = 16;
/// Maximum number of tries if indexes are added or dropped meanwhile.
const MAX_ATTEMPTS: usize = 8;
/// A byte that sorts after all keys.
const BEYOND: u8 = u8::MAX;

/// The space on a page. The first object always fits.
#[derive(Debug, Clone, Copy)]
pub struct Room {
    /// Bytes of JSON.
    pub bytes: usize,
    /// Number of values, including nested ones.
    pub values: usize,
}

impl Room {
    /// The space of a page for a client.
    pub const OF_CLIENT: Self = Self { bytes: 4 << 20, values: usize::MAX };
    /// The space of a page for a script: the maximum size of one object.
    pub const OF_SCRIPT: Self = Self { bytes: MAX_OBJECT_BYTES, values: MOST_VALUES };
}

/// The order in which objects are read: by an index, or by their ids.
struct Plan {
    range: EntryRange,
    /// The condition that the range comes from, if any.
    condition: Option<Condition>,
}

impl Objects {
    /// Returns a page of the objects that match a query.
    ///
    /// One index is used: that of `order_by`, or one that a condition names. Each object is then compared with all
    /// conditions. An object that is stored, changed or deleted while pages are read may be on no page or, if it moves,
    /// on two. An object that does not change is on exactly one.
    pub async fn find(&self, collection: &Name, query: &Find, room: Room) -> Result<ObjectPage, Error> {
        let limit = match query.limit.unwrap_or(DEFAULT_AND_MAX_LIMIT.0) {
            limit if (1..=DEFAULT_AND_MAX_LIMIT.1).contains(&limit) => limit as usize,
            _ => return Err(Error::invalid("limit", format!("is a number from 1 to {}", DEFAULT_AND_MAX_LIMIT.1))),
        };
        if query.conditions.len() > MOST_CONDITIONS {
            return Err(Error::invalid("filter", format!("has more than {MOST_CONDITIONS} fields")));
        }
        for field in query.conditions.keys() {
            check_path(field).map_err(|wrong| Error::invalid("filter", wrong))?;
        }
        let _call = self.call().await?;
        for _ in 0..MAX_ATTEMPTS {
            let indexes = self.store().objects().indexes(collection).await?;
            let plan = plan(collection, query, &indexes)?;
            let used = plan.range.field().unwrap_or(ID).to_owned();
            if let Some(mut page) = self.page(collection, query, plan, limit, room).await? {
                page.compared = query.conditions.keys().filter(|field| **field != used).cloned().collect();
                return Ok(page);
            }
        }
        Err(Error::invalid("order_by", "the indexes of the collection come and go all the time"))
    }

    /// Returns the matching objects in a range, or `None` if its index is gone.
    async fn page(&self, collection: &Name, query: &Find, plan: Plan, limit: usize, room: Room) -> Result<Option<ObjectPage>, Error> {
        let mut page = ObjectPage { objects: Vec::new(), next_cursor: None, compared: Vec::new(), looked_at: 0 };
        let (mut range, mut room, mut left, mut least) = (plan.range.clone(), room, MAX_BYTES_PER_PAGE, MIN_OBJECTS_PER_READ.0);
        loop {
            let wanted = limit - page.objects.len();
            let portion = Portion { objects: wanted.max(least), bytes: MAX_BYTES_PER_READ, revisions: false };
            let read = self.store().objects().read(collection, &range, query.descending, portion).await?;
            let Some(read) = read else { return Ok(None) };
            for object in read.objects {
                if page.objects.len() == limit || page.looked_at == MAX_EXAMINED_OBJECTS {
                    return Ok(Some(page));
                }
                let value = object.stored.object.to_value().unwrap_or_default();
                let length = object.stored.object.as_str().len();
                if plan.is_first(&object, &value, query.descending) && query.conditions.iter().all(|(path, one)| one.holds(&value, path)) {
                    let values = count(&value);
                    if !page.objects.is_empty() && (length > room.bytes || values > room.values) {
                        return Ok(Some(page));
                    }
                    room = Room { bytes: room.bytes.saturating_sub(length), values: room.values.saturating_sub(values) };
                    page.objects.push(object.stored.object);
                }
                page.looked_at += 1;
                page.next_cursor = Some(cursor(collection, plan.range.field(), &object.entry));
                left = left.saturating_sub(length);
                // Comparing a large object takes a while.
                tokio::task::yield_now().await;
            }
            let Some(reached) = read.reached else {
                page.next_cursor = None;
                return Ok(Some(page));
            };
            page.next_cursor = Some(cursor(collection, plan.range.field(), &reached));
            if page.objects.len() == limit || page.looked_at == MAX_EXAMINED_OBJECTS || left == 0 {
                return Ok(Some(page));
            }
            (range, least) = (range.after(&reached, query.descending), MIN_OBJECTS_PER_READ.1);
        }
    }
}

impl Plan {
    /// True if an entry is the first of its object in the range: an array has an entry for each element.
    fn is_first(&self, object: &ReadObject, value: &Value, descending: bool) -> bool {
        let Some(field) = self.range.field() else { return true };
        let keys = keys_at(value, field);
        let mut keys = keys.iter().filter(|key| self.condition.as_ref().is_none_or(|condition| condition.has(key)));
        let first = if descending { keys.next_back() } else { keys.next() };
        // An object that was stored again since then has another entry.
        first.is_some_and(|key| key.cut() == key_of_entry(&object.entry))
    }
}

/// Chooses the index and the range for a query.
fn plan(collection: &Name, query: &Find, indexes: &[Index]) -> Result<Plan, Error> {
    let is_ready = |field: &str| indexes.iter().any(|index| index.ready && index.field == field);
    let after = query.cursor.as_deref().map(|cursor| position(collection, cursor)).transpose()?;
    let field = match (&query.order_by, &after) {
        (Some(field), _) if field == ID => None,
        (Some(field), _) if !is_ready(field) => {
            let why = match indexes.iter().any(|index| index.field == *field) {
                true => "is still being made",
                false => "does not exist; osis::index makes it",
            };
            return Err(Error::invalid(
                "order_by",
                format!("objects can be sorted by {field} with an index of {collection}, and that {why}"),
            ));
        }
        (Some(field), _) => Some(field.clone()),
        // Later pages use the same index as the first, even if there is a better one by now.
        (None, Some((Some(field), _))) if !is_ready(field) => {
            return Err(Error::bad_cursor("the index that it needs is gone; begin again without it"));
        }
        (None, Some((field, _))) => field.clone().filter(|field| query.conditions.contains_key(field)),
        (None, None) if query.conditions.contains_key(ID) => None,
        (None, None) => {
            let ready = || query.conditions.iter().filter(|(field, _)| is_ready(field));
            let best = ready().find(|(_, condition)| matches!(condition.test(), Test::Is(_))).or_else(|| ready().next());
            best.map(|(field, _)| field.clone())
        }
    };
    let condition = query.conditions.get(field.as_deref().unwrap_or(ID)).cloned();
    let mut range = match (&field, &condition) {
        (Some(field), None) => EntryRange::of_keys(field, &[], &[BEYOND]),
        (Some(field), Some(condition)) => {
            let (least, beyond) = bounds(condition.test(), SortKey::cut);
            EntryRange::of_keys(field, &least, &beyond)
        }
        (None, None) => EntryRange::ids(),
        (None, Some(condition)) => ids(condition.test()),
    };
    if let Some((of, entry)) = after {
        if of != field {
            return Err(Error::bad_cursor("it belongs to another query; go on with the query it came from"));
        }
        range = range.after(&entry, query.descending);
    }
    Ok(Plan { range, condition })
}

/// Returns the range of entries that may match: the first is included, the last is not. `cut` converts a key to its
/// form in an index.
fn bounds(test: &Test, cut: impl Fn(&SortKey) -> SortKey) -> (Vec<u8>, Vec<u8>) {
    // All entries of a key continue with a zero byte, and those of longer keys with a greater one.
    let at = |key: &SortKey| [cut(key).as_bytes(), &[0]].concat();
    let behind = |key: &SortKey| [cut(key).as_bytes(), &[1]].concat();
    match test {
        Test::Is(key) => (at(key), behind(key)),
        Test::In(Range { gte, gt, lte, lt, prefix }) => {
            let kind = [gte, gt, lte, lt].into_iter().flatten().next().map_or((0, BEYOND), SortKey::kind);
            // Keys that were cut may or may not match, so they are included.
            let above = gt.as_ref().map(|key| if cut(key) == *key { behind(key) } else { at(key) });
            let below = lt.as_ref().map(|key| if cut(key) == *key { at(key) } else { behind(key) });
            let prefix = prefix.as_ref().map(|prefix| cut(prefix).as_bytes().to_vec());
            let beyond_prefix = prefix.as_ref().map(|prefix| [prefix.as_slice(), &[BEYOND]].concat());
            let least = [Some(vec![kind.0]), gte.as_ref().map(at), above, prefix].into_iter().flatten().max();
            let beyond = [Some(vec![kind.1]), lte.as_ref().map(behind), below, beyond_prefix].into_iter().flatten().min();
            (least.unwrap_or_default(), beyond.unwrap_or_default())
        }
    }
}

/// Returns the range of ids that may match. An id is stored alone, without the type byte of a text and without an end;
/// it has no byte that a key writes as two.
fn ids(test: &Test) -> EntryRange {
    let (least, beyond) = bounds(test, SortKey::clone);
    let text = SortKey::of(&Value::from(""));
    let (mark, behind) = text.kind();
    // Only texts can be ids.
    let least = if least.first().is_none_or(|first| *first < mark) { vec![mark] } else { least };
    let beyond = if beyond.first().is_none_or(|first| *first > behind) { vec![behind] } else { beyond };
    // A zero byte marks the end of a key.
    let id = |bound: &[u8]| bound.strip_prefix(&[mark]).map(|id| id.strip_suffix(&[0]).unwrap_or(id).to_vec());
    match (id(&least), id(&beyond)) {
        (Some(least), Some(beyond)) => EntryRange::of_ids(&least, &beyond),
        (Some(least), None) if beyond == [behind] => EntryRange::of_ids(&least, &[BEYOND]),
        _ => EntryRange::of_ids(&[BEYOND], &[]),
    }
}

/// The cursor after a page: the collection, the field of the index, and the entry, separated by zero bytes.
fn cursor(collection: &Name, field: Option<&str>, entry: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode([collection.as_str().as_bytes(), field.unwrap_or_default().as_bytes(), entry].join(&0))
}

/// Decodes a cursor of this collection: the field, unless the order is by id, and the entry.
fn position(collection: &Name, cursor: &str) -> Result<(Option<String>, Vec<u8>), Error> {
    let bytes = URL_SAFE_NO_PAD.decode(cursor).unwrap_or_default();
    let mut parts = bytes.splitn(3, |byte| *byte == 0);
    let mut text = || std::str::from_utf8(parts.next()?).ok().map(ToOwned::to_owned);
    match (text(), text(), parts.next()) {
        (Some(of), Some(field), Some(entry)) if of == collection.as_str() => {
            Ok((Some(field).filter(|field| !field.is_empty()), entry.to_vec()))
        }
        (Some(of), Some(_), Some(_)) => match of.parse::<Name>() {
            Ok(of) => Err(Error::bad_cursor(&format!("it belongs to the collection {of}, not to {collection}"))),
            Err(_) => Err(not_from_here()),
        },
        _ => Err(not_from_here()),
    }
}

fn not_from_here() -> Error {
    Error::bad_cursor("leave it out to begin, then give back the one of the page before")
}
