use std::collections::HashSet;

use super::Error;
use super::codec::Text;
use super::message_place::{ListPlace, StatusPlace, name_in};
use super::score::Score;
use crate::views::Messages;
use hero_model::{MessageKey, MessageList, MessageStatus};

/// How many nodes are looked at for what they are sending.
const NODES: usize = 16;
/// How many elements are read at most that stand before a page, to find where it begins: more than a list has, unless others fill it.
const MOST_BEFORE: usize = 30_000;
/// How many elements behind a page are looked at for a name with which the next begins.
const AHEAD: usize = 64;
/// How many messages of a status are listed, as in `messages.lua`.
const MOST_LISTED: usize = 10_000;
/// How many of one millisecond are read again at first that earlier pages had.
const SAME: usize = 64;

/// Names of messages in a list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MessageNames {
    /// The names.
    pub names: Vec<MessageKey>,
    /// How many elements were looked at: other programs may have put something there that is no name.
    pub looked_at: usize,
}

impl MessageNames {
    fn add(&mut self, elements: &[Text]) {
        self.looked_at += elements.len();
        self.names.extend(elements.iter().filter_map(Text::parse::<MessageKey>));
    }
}

/// Where names of messages stand.
enum Names {
    List(String),
    Set(String),
}

/// Elements that were read; nothing, if what was read is of another type.
fn elements_in(read: Result<Vec<Text>, Error>) -> Result<Option<Vec<Text>>, Error> {
    match read {
        Err(Error::Spoilt { .. }) => Ok(None),
        read => read.map(Some),
    }
}

impl Messages<'_> {
    /// The names of messages in a list, those that are taken first first, from a place on. Nothing: its key is no list, because somebody else
    /// wrote there.
    pub async fn listed(self, list: MessageList, from: usize, limit: usize) -> Result<Option<MessageNames>, Error> {
        let mut listed = MessageNames::default();
        Ok(self.elements_of(list, from, limit).await?.map(|elements| {
            listed.add(&elements);
            listed
        }))
    }

    /// A page of the names of messages in a list, those that are taken first first, and where the next begins. Nothing: its key is no list.
    ///
    /// None of those is left out that stay where they are: a page begins with the first that the one before had not, wherever that stands now. If
    /// that is gone, too, it begins with what is taken first, so that one may be on two pages.
    pub async fn page(
        self,
        list: MessageList,
        from: Option<ListPlace>,
        limit: usize,
    ) -> Result<Option<(Vec<MessageKey>, Option<ListPlace>)>, Error> {
        let from = from.unwrap_or_default();
        let sought = from.first.filter(|_| from.position <= MOST_BEFORE);
        let before = sought.map_or(0, |_| from.position);
        let skipped = from.position - before;
        let Some(elements) = self.elements_of(list, skipped, before + limit + AHEAD).await? else { return Ok(None) };
        let start = sought.map_or(0, |first| place_of(&elements, first, before));
        let end = elements.len().min(start + limit);
        let ahead = &elements[end..];
        // What is no name is passed over.
        let next = ahead.iter().enumerate().find_map(|(at, element)| Some((at, name_in(element.0.as_deref()?)?)));
        let position = skipped + end + next.map_or(0, |(at, _)| at);
        let next = (!ahead.is_empty()).then_some(ListPlace { position, first: next.map(|(_, first)| first) });
        // One that moves on while the lists are read stands in two of them.
        let mut seen = HashSet::new();
        let names = elements[start..end].iter().filter_map(Text::parse).filter(|name: &MessageKey| seen.insert(*name)).collect();
        Ok(Some((names, next)))
    }

    /// A page of the names of messages of a status, the one that got it last first, at most `limit`; and where the next begins, if there may be one.
    ///
    /// Those that got it in the same millisecond are in the order of their names, so that none is left out, whichever leave meanwhile. What others put
    /// there and is no name is taken out.
    pub async fn of_status(
        self,
        status: MessageStatus,
        from: Option<StatusPlace>,
        limit: usize,
    ) -> Result<(Vec<MessageKey>, Option<StatusPlace>), Error> {
        let key = self.0.keys.messages_of(status);
        let from = from.unwrap_or(StatusPlace::FIRST);
        let last = from.key.to_string();
        let (mut most, longest) = (limit + SAME, limit + MOST_LISTED);
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
            // Others put more into that millisecond than are listed in all: here it ends.
            entries = self.entries_from(&key, from.since.beyond(), limit + 1).await?;
            is_full = entries.len() > limit;
        }
        is_full |= entries.len() > limit;
        entries.truncate(limit);
        let place =
            |(name, since): &(Vec<u8>, f64)| Some(StatusPlace { since: Score(*since), key: name_in(std::str::from_utf8(name).ok()?)? });
        let places: Vec<StatusPlace> = entries.iter().filter_map(place).collect();
        let strange: Vec<&[u8]> = entries.iter().filter(|entry| place(entry).is_none()).map(|(name, _)| name.as_slice()).collect();
        if !strange.is_empty() {
            self.0.commands.call::<u64>(redis::cmd("ZREM").arg(&key).arg(strange)).await?;
        }
        let next = is_full.then(|| places.last().copied().unwrap_or(from));
        Ok((places.into_iter().map(|place| place.key).collect(), next))
    }

    /// What stands in a sorted set from a score downwards; nothing, if another program has made something else of it.
    async fn entries_from(self, key: &str, highest: String, limit: usize) -> Result<Vec<(Vec<u8>, f64)>, Error> {
        let mut range = redis::cmd("ZRANGE");
        range.arg(key).arg(highest).arg("-inf").arg("BYSCORE").arg("REV").arg("LIMIT").arg(0).arg(limit).arg("WITHSCORES");
        self.0.unspoilt(self.0.commands.call(&range).await)
    }

    /// Takes messages that are gone out of the list of a status.
    pub async fn forget(self, status: MessageStatus, gone: &[MessageKey]) -> Result<(), Error> {
        if gone.is_empty() {
            return Ok(());
        }
        let names: Vec<String> = gone.iter().map(ToString::to_string).collect();
        self.0.unspoilt(self.0.commands.call::<u64>(redis::cmd("ZREM").arg(self.0.keys.messages_of(status)).arg(names)).await).map(drop)
    }

    /// The names of messages that came last, the last one first.
    pub async fn newest(self, limit: usize) -> Result<Option<MessageNames>, Error> {
        let mut range = redis::cmd("LRANGE");
        range.arg(self.0.keys.msg_in()).arg(0).arg(limit.max(1) - 1);
        let mut listed = MessageNames::default();
        Ok(elements_in(self.0.commands.call(&range).await)?.map(|elements| {
            listed.add(&elements);
            listed
        }))
    }

    /// The elements of a list, those that are taken first first, from a place on.
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

    /// Where the names in a list stand, in the order in which they are taken.
    async fn places_of(self, list: MessageList) -> Result<Vec<Names>, Error> {
        let keys = &self.0.keys;
        if list == MessageList::In {
            return Ok(vec![Names::List(keys.msg_in())]);
        }
        let nodes = self.0.commands.call(redis::cmd("ZRANGE").arg(keys.nodes()).arg(0).arg(NODES - 1)).await;
        let nodes: Vec<Text> = self.0.unspoilt(nodes)?;
        let mut places: Vec<Names> = nodes.into_iter().filter_map(|node| node.0).map(|node| Names::List(keys.sending(&node))).collect();
        places.extend([Names::Set(keys.resting()), Names::List(keys.msg_out())]);
        Ok(places)
    }

    /// The elements at a place, those that are taken first first.
    async fn part_of(self, names: &Names, from: usize, limit: usize) -> Result<Option<Vec<Text>>, Error> {
        let (range, is_turned) = match names {
            // They are taken from the right.
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

/// Where the first element of a page stands, which stood at a place before; 0 if it is gone: those before it may be as well.
fn place_of(elements: &[Text], first: MessageKey, before: usize) -> usize {
    let is_first = |element: &Text| element.0.as_deref().and_then(name_in) == Some(first);
    // Others leave before it, and seldom come. Another program may have put it there more than once.
    let (nearer, farther) = elements.split_at(elements.len().min(before + 1));
    let farther = || farther.iter().position(is_first).map(|at| nearer.len() + at);
    nearer.iter().rposition(is_first).or_else(farther).unwrap_or(0)
}
