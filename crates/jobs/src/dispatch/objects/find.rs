use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::Value;

use super::{ID, LARGEST, MOST_VALUES, Objects, check_path, count, failed};
use crate::dispatch::Error;
use hero_model::{Condition, Find, Index, Name, ObjectPage, Range, SortKey, Test, keys_at};
use hero_store::{EntryRange, Portion, ReadObject, key_of_entry};

/// How many objects a page has by default, and at most.
const LIMIT: (u32, u32) = (100, 1000);
/// How many objects are looked at for one page.
const LOOKED_AT: u64 = 10_000;
/// How many bytes of objects are read for one page.
const READ: usize = 16 << 20;
/// How many bytes of objects are read at a time: Redis does nothing else meanwhile.
const BYTES: usize = 1 << 20;
/// How many objects are read at a time, at least at first, and where some did not fit.
const OBJECTS: (usize, usize) = (16, 128);
/// The most conditions of a query.
const MOST_CONDITIONS: usize = 16;
/// How often indexes may come and go while a page is made.
const ATTEMPTS: usize = 8;
/// The first byte behind all keys.
const BEYOND: u8 = u8::MAX;

/// What finds room on a page; the first object always does.
#[derive(Debug, Clone, Copy)]
pub struct Room {
    /// Bytes of JSON.
    pub bytes: usize,
    /// Values, each with those in it.
    pub values: usize,
}

impl Room {
    /// On a page for a client.
    pub const OF_CLIENT: Self = Self { bytes: 4 << 20, values: usize::MAX };
    /// On a page for a script, which holds what one object may be.
    pub const OF_SCRIPT: Self = Self { bytes: LARGEST, values: MOST_VALUES };
}

/// In which order objects are read: by an index, or by their ids.
struct Plan {
    range: EntryRange,
    /// The condition that the range is made for, if any.
    condition: Option<Condition>,
}

impl Objects {
    /// A page of the objects that a query wants.
    ///
    /// One index is used: that of `order_by`, or one that a condition names. Each object is then compared with all conditions. What is
    /// stored, changed or deleted while pages are read may be on none or, if it moves, on two of them; an object that stays as it is, is on
    /// exactly one.
    pub async fn find(&self, collection: &Name, query: &Find, room: Room) -> Result<ObjectPage, Error> {
        let limit = match query.limit.unwrap_or(LIMIT.0) {
            limit if (1..=LIMIT.1).contains(&limit) => limit as usize,
            _ => return Err(Error::invalid("limit", format!("is a number from 1 to {}", LIMIT.1))),
        };
        if query.conditions.len() > MOST_CONDITIONS {
            return Err(Error::invalid("filter", format!("has more than {MOST_CONDITIONS} fields")));
        }
        for field in query.conditions.keys() {
            check_path(field).map_err(|wrong| Error::invalid("filter", wrong))?;
        }
        let _call = self.call().await?;
        for _ in 0..ATTEMPTS {
            let indexes = self.store().objects().indexes(collection).await.map_err(failed)?;
            let plan = plan(collection, query, &indexes)?;
            let used = plan.range.field().unwrap_or(ID).to_owned();
            if let Some(mut page) = self.page(collection, query, plan, limit, room).await? {
                page.compared = query.conditions.keys().filter(|field| **field != used).cloned().collect();
                return Ok(page);
            }
        }
        Err(Error::invalid("order_by", "the indexes of the collection come and go all the time"))
    }

    /// The objects in a range that are wanted. Nothing: its index is gone.
    async fn page(&self, collection: &Name, query: &Find, plan: Plan, limit: usize, room: Room) -> Result<Option<ObjectPage>, Error> {
        let mut page = ObjectPage { objects: Vec::new(), next_cursor: None, compared: Vec::new(), looked_at: 0 };
        let (mut range, mut room, mut left, mut least) = (plan.range.clone(), room, READ, OBJECTS.0);
        loop {
            let wanted = limit - page.objects.len();
            let portion = Portion { objects: wanted.max(least), bytes: BYTES, revisions: false };
            let read = self.store().objects().read(collection, &range, query.descending, portion).await.map_err(failed)?;
            let Some(read) = read else { return Ok(None) };
            for object in read.objects {
                if page.objects.len() == limit || page.looked_at == LOOKED_AT {
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
                // A large object takes a while.
                tokio::task::yield_now().await;
            }
            let Some(reached) = read.reached else {
                page.next_cursor = None;
                return Ok(Some(page));
            };
            page.next_cursor = Some(cursor(collection, plan.range.field(), &reached));
            if page.objects.len() == limit || page.looked_at == LOOKED_AT || left == 0 {
                return Ok(Some(page));
            }
            (range, least) = (range.after(&reached, query.descending), OBJECTS.1);
        }
    }
}

impl Plan {
    /// Whether an entry is the first of its object in the range: an array has an entry for each element.
    fn is_first(&self, object: &ReadObject, value: &Value, descending: bool) -> bool {
        let Some(field) = self.range.field() else { return true };
        let keys = keys_at(value, field);
        let mut keys = keys.iter().filter(|key| self.condition.as_ref().is_none_or(|condition| condition.has(key)));
        let first = if descending { keys.next_back() } else { keys.next() };
        // An object that was stored anew since then has another entry.
        first.is_some_and(|key| key.cut() == key_of_entry(&object.entry))
    }
}

/// How to find what a query wants.
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
        // Later pages go on as the first began, even if there is a better index by now.
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

/// The entries that may fit: from the first bytes on, without the last. `cut` gives what stands in an index of a key.
fn bounds(test: &Test, cut: impl Fn(&SortKey) -> SortKey) -> (Vec<u8>, Vec<u8>) {
    // All entries of a key go on with a zero byte, and those of longer keys with a greater one.
    let at = |key: &SortKey| [cut(key).as_bytes(), &[0]].concat();
    let behind = |key: &SortKey| [cut(key).as_bytes(), &[1]].concat();
    match test {
        Test::Is(key) => (at(key), behind(key)),
        Test::In(Range { gte, gt, lte, lt, prefix }) => {
            let kind = [gte, gt, lte, lt].into_iter().flatten().next().map_or((0, BEYOND), SortKey::kind);
            // Of keys that are cut, those of which it cannot be said are in.
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

/// The ids that may fit. An id stands by itself, without the mark of a text, and nothing behind it; it has no byte that a key writes as two.
fn ids(test: &Test) -> EntryRange {
    let (least, beyond) = bounds(test, SortKey::clone);
    let text = SortKey::of(&Value::from(""));
    let (mark, behind) = text.kind();
    // What is no text is no id.
    let least = if least.first().is_none_or(|first| *first < mark) { vec![mark] } else { least };
    let beyond = if beyond.first().is_none_or(|first| *first > behind) { vec![behind] } else { beyond };
    // A zero byte behind a key stands for its end.
    let id = |bound: &[u8]| bound.strip_prefix(&[mark]).map(|id| id.strip_suffix(&[0]).unwrap_or(id).to_vec());
    match (id(&least), id(&beyond)) {
        (Some(least), Some(beyond)) => EntryRange::of_ids(&least, &beyond),
        (Some(least), None) if beyond == [behind] => EntryRange::of_ids(&least, &[BEYOND]),
        _ => EntryRange::of_ids(&[BEYOND], &[]),
    }
}

/// Where a page ends, for whoever goes on: the collection, the field of the index, and the entry, with zero bytes between.
fn cursor(collection: &Name, field: Option<&str>, entry: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode([collection.as_str().as_bytes(), field.unwrap_or_default().as_bytes(), entry].join(&0))
}

/// What a cursor of this collection says: the field, if it is not of ids, and the entry.
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
