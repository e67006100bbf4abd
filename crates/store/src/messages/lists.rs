use std::collections::HashSet;

use super::cursor::{ListCursor, StatusCursor, name_in};
use crate::Error;
use crate::score::Score;
use crate::value::Text;
use crate::views::Messages;
use hero_model::{MessageKey, MessageList, MessageStatus};

/// The most nodes whose outgoing messages are listed.
const MAX_NODES: usize = 16;
/// The most elements before a page that are read to find its beginning. A list is shorter, unless other programs fill it.
const MOST_BEFORE: usize = 30_000;
/// The number of elements after a page that are searched for the name with which the next page begins.
const SEARCHED_AHEAD: usize = 64;
/// The most messages of a status that are listed, as in `messages.lua`.
const MOST_LISTED: usize = 10_000;
/// The number of entries of the same millisecond that are read again at first, because earlier pages had them.
const REREAD_ENTRIES: usize = 64;

/// Names of messages in a list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MessageNames {
    /// The names.
    pub names: Vec<MessageKey>,
    /// The number of elements read. Other programs may have put elements there that are no names.
    pub looked_at: usize,
}

impl MessageNames {
    fn add(&mut self, elements: &[Text]) {
        self.looked_at += elements.len();
        self.names.extend(elements.iter().filter_map(Text::parse::<MessageKey>));
    }
}

/// The place of names of messages.
enum Names {
    List(String),
    Set(String),
}

/// Returns the elements read; nothing if the key is of another type.
fn elements_in(read: Result<Vec<Text>, Error>) -> Result<Option<Vec<Text>>, Error> {
    match read {
        Err(Error::Spoilt { .. }) => Ok(None),
        read => read.map(Some),
    }
}

impl Messages<'_> {
    /// Returns the names of messages in a list from a place on, in the order in which they are taken. Nothing: the key is no list, because
    /// another program wrote there.
    pub async fn listed(self, list: MessageList, from: usize, limit: usize) -> Result<Option<MessageNames>, Error> {
        let mut listed = MessageNames::default();
        Ok(self.elements_of(list, from, limit).await?.map(|elements| {
            listed.add(&elements);
            listed
        }))
    }

    /// Returns a page of the names of messages in a list, in the order in which they are taken, and the place of the next page. Nothing:
    /// the key is no list.
    ///
    /// No message that stays in its place is left out: a page begins with the first one that the previous page did not have, wherever it is
    /// now. If that message is gone, the page begins with the first of the list, so a message may be on two pages.
    pub async fn page(
        self,
        list: MessageList,
        from: Option<ListCursor>,
        limit: usize,
    ) -> Result<Option<(Vec<MessageKey>, Option<ListCursor>)>, Error> {
        let from = from.unwrap_or_default();
        let sought = from.first.filter(|_| from.position <= MOST_BEFORE);
        let before = sought.map_or(0, |_| from.position);
        let skipped = from.position - before;
        let Some(elements) = self.elements_of(list, skipped, before + limit + SEARCHED_AHEAD).await? else { return Ok(None) };
        let start = sought.map_or(0, |first| place_of(&elements, first, before));
        let end = elements.len().min(start + limit);
        let ahead = &elements[end..];
        // Elements that are no names are skipped.
        let next = ahead.iter().enumerate().find_map(|(at, element)| Some((at, name_in(element.0.as_deref()?)?)));
        let position = skipped + end + next.map_or(0, |(at, _)| at);
        let next = (!ahead.is_empty()).then_some(ListCursor { position, first: next.map(|(_, first)| first) });
        // A message that moves on while the lists are read is in two of them.
        let mut seen = HashSet::new();
        let names = elements[start..end].iter().filter_map(Text::parse).filter(|name: &MessageKey| seen.insert(*name)).collect();
        Ok(Some((names, next)))
    }

    /// Returns at most `limit` names of messages of a status, those that got it last first, and the place of the next page, if there may be
    /// one.
    ///
    /// Messages that got the status in the same millisecond are ordered by name, so that none is left out, whichever leave meanwhile.
    /// Entries of other programs that are no names are removed.
    pub async fn of_status(
        self,
        status: MessageStatus,
        from: Option<StatusCursor>,
        limit: usize,
    ) -> Result<(Vec<MessageKey>, Option<StatusCursor>), Error> {
        let key = self.0.keys.messages_of(status);
        let from = from.unwrap_or(StatusCursor::FIRST);
        let last = from.key.to_string();
        let (mut most, longest) = (limit + REREAD_ENTRIES, limit + MOST_LISTED);
        let (mut entries, mut is_full) = loop {
            let mut entries = self.entries_from(&key, from.since.to_string(), most).await?;
            let is_full = entries.len() >= most;
            entries.retain(|(name, since)| *since != from.since.0 || name.as_slice() < last.as_bytes());
            if !is_full || entries.len() >= limit || most >= longest {
                break (entries, is_full);
            }
            most = longest.min(4 * most);
        };
        if is_full && entries.is_empty() {
            // Other programs put more entries into that millisecond than a list has. The page skips the rest of them.
            entries = self.entries_from(&key, from.since.beyond(), limit + 1).await?;
            is_full = entries.len() > limit;
        }
        is_full |= entries.len() > limit;
        entries.truncate(limit);
        let place =
            |(name, since): &(Vec<u8>, f64)| Some(StatusCursor { since: Score(*since), key: name_in(std::str::from_utf8(name).ok()?)? });
        let places: Vec<StatusCursor> = entries.iter().filter_map(place).collect();
        let strange: Vec<&[u8]> = entries.iter().filter(|entry| place(entry).is_none()).map(|(name, _)| name.as_slice()).collect();
        if !strange.is_empty() {
            self.0.commands.call::<u64>(redis::cmd("ZREM").arg(&key).arg(strange)).await?;
        }
        let next = is_full.then(|| places.last().copied().unwrap_or(from));
        Ok((places.into_iter().map(|place| place.key).collect(), next))
    }

    /// Returns the entries of a sorted set from a score downwards; nothing if another program has changed the type of the key.
    async fn entries_from(self, key: &str, highest: String, limit: usize) -> Result<Vec<(Vec<u8>, f64)>, Error> {
        let mut range = redis::cmd("ZRANGE");
        range.arg(key).arg(highest).arg("-inf").arg("BYSCORE").arg("REV").arg("LIMIT").arg(0).arg(limit).arg("WITHSCORES");
        self.0.unspoilt(self.0.commands.call(&range).await)
    }

    /// Removes deleted messages from the list of a status.
    pub async fn forget(self, status: MessageStatus, gone: &[MessageKey]) -> Result<(), Error> {
        if gone.is_empty() {
            return Ok(());
        }
        let names: Vec<String> = gone.iter().map(ToString::to_string).collect();
        self.0.unspoilt(self.0.commands.call::<u64>(redis::cmd("ZREM").arg(self.0.keys.messages_of(status)).arg(names)).await).map(drop)
    }

    /// Returns the names of the newest messages, the newest first.
    pub async fn newest(self, limit: usize) -> Result<Option<MessageNames>, Error> {
        let mut range = redis::cmd("LRANGE");
        range.arg(self.0.keys.msg_in()).arg(0).arg(limit.max(1) - 1);
        let mut listed = MessageNames::default();
        Ok(elements_in(self.0.commands.call(&range).await)?.map(|elements| {
            listed.add(&elements);
            listed
        }))
    }

    /// Returns the elements of a list from a place on, in the order in which they are taken.
    async fn elements_of(self, list: MessageList, mut from: usize, limit: usize) -> Result<Option<Vec<Text>>, Error> {
        let mut found = Vec::new();
        for place in self.places_of(list).await? {
            let missing = limit - found.len();
            if missing == 0 {
                break;
            }
            let Some(elements) = self.part_of(&place, from, missing).await? else { return Ok(None) };
            if elements.is_empty() {
                from = from.saturating_sub(self.length_of(&place).await?);
            } else {
                from = 0;
                found.extend(elements);
            }
        }
        Ok(Some(found))
    }

    /// Returns the places of the names in a list, in the order in which they are taken.
    async fn places_of(self, list: MessageList) -> Result<Vec<Names>, Error> {
        let keys = &self.0.keys;
        if list == MessageList::In {
            return Ok(vec![Names::List(keys.msg_in())]);
        }
        let nodes = self.0.commands.call(redis::cmd("ZRANGE").arg(keys.nodes()).arg(0).arg(MAX_NODES - 1)).await;
        let nodes: Vec<Text> = self.0.unspoilt(nodes)?;
        let mut places: Vec<Names> = nodes.into_iter().filter_map(|node| node.0).map(|node| Names::List(keys.sending(&node))).collect();
        places.extend([Names::Set(keys.resting()), Names::List(keys.msg_out())]);
        Ok(places)
    }

    /// Returns the elements at a place, in the order in which they are taken.
    async fn part_of(self, names: &Names, from: usize, limit: usize) -> Result<Option<Vec<Text>>, Error> {
        let (range, is_turned) = match names {
            // Elements are taken from the right.
            Names::List(key) => {
                let place = |at: usize| -1 - i64::try_from(at).unwrap_or(i64::MAX - 1);
                let mut range = redis::cmd("LRANGE");
                range.arg(key).arg(place(from.saturating_add(limit.max(1) - 1))).arg(place(from));
                (range, true)
            }
            Names::Set(key) => {
                let mut range = redis::cmd("ZRANGE");
                range.arg(key).arg(from).arg(from.saturating_add(limit.max(1) - 1));
                (range, false)
            }
        };
        let mut elements = elements_in(self.0.commands.call(&range).await)?;
        if let Some(elements) = elements.as_mut().filter(|_| is_turned) {
            elements.reverse();
        }
        Ok(elements)
    }

    async fn length_of(self, names: &Names) -> Result<usize, Error> {
        match names {
            Names::List(key) => self.0.commands.call(redis::cmd("LLEN").arg(key)).await,
            Names::Set(key) => self.0.commands.call(redis::cmd("ZCARD").arg(key)).await,
        }
    }
}

/// Returns the position of the first element of a page, given its earlier position; 0 if it is gone, because those before it may be gone,
/// too.
fn place_of(elements: &[Text], first: MessageKey, before: usize) -> usize {
    let is_first = |element: &Text| element.0.as_deref().and_then(name_in) == Some(first);
    // Elements before it often leave and seldom arrive. Another program may have added it several times.
    let (nearer, farther) = elements.split_at(elements.len().min(before + 1));
    let farther = || farther.iter().position(is_first).map(|at| nearer.len() + at);
    nearer.iter().rposition(is_first).or_else(farther).unwrap_or(0)
}
