use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

use super::{excerpt, tree};

/// Any JSON, as text without white space. A duplicate name of an object keeps its first place and its last value.
///
/// It is read and written without a tree of values, which for `[1,1,1]` would take fifty times the bytes. Two values
/// are equal if their texts are. Reading refuses more than [`Json::MAX_DEPTH`] nested arrays and objects. Use
/// [`Json::to_value`] to make a tree. Do not use `serde_json::to_value` or `json!`: they read the text as serde_json
/// reads a [`Value`] (see [`tree`]).
#[derive(Clone)]
pub struct Json(Box<RawValue>);

/// An object without duplicate names.
pub(crate) struct Once {
    /// How an error about it begins.
    error: String,
    /// Its members that are such objects, too, each after its name in JSON.
    members: Vec<(String, Self)>,
}

/// Maximum number of characters of a name in an error.
const MAX_NAME_CHARS: usize = 64;

impl Json {
    /// Maximum depth of nested arrays and objects. It is below the limit of serde_json, so that the JSON can also be
    /// read as a part of another value.
    pub const MAX_DEPTH: usize = 100;

    /// The text.
    pub fn as_str(&self) -> &str {
        self.0.get()
    }

    /// Returns the tree of values. Fails only for JSON that was made from a tree deeper than 127 arrays and objects.
    pub fn to_value(&self) -> Result<Value, serde_json::Error> {
        tree(self.as_str())
    }
}

/// Removes line and column from an error of the JSON parser, for callers who never saw the text.
pub fn without_position(error: &str) -> &str {
    let is_position = |text: &str| text.split(" column ").all(|number| number.parse::<u64>().is_ok());
    error.rsplit_once(" at line ").filter(|(_, position)| is_position(position)).map_or(error, |(said, _)| said)
}

impl<Any: Into<Value>> From<Any> for Json {
    fn from(value: Any) -> Self {
        Self(serde_json::value::to_raw_value(&value.into()).expect("a JSON value can be written"))
    }
}

impl PartialEq for Json {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for Json {}

impl fmt::Debug for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        copied(deserializer, None)
    }
}

impl Once {
    /// Returns an object of which these members are objects without duplicate names.
    pub(crate) fn with_members<'m>(names: impl Iterator<Item = &'m String>) -> Self {
        let member = |name: &String| (format!("{name:?}"), Self { error: format!("{name}: "), members: Vec::new() });
        Self { error: String::new(), members: names.map(member).collect() }
    }

    /// Reads the object as [`Json`].
    pub(crate) fn read<'de, D: Deserializer<'de>>(&self, deserializer: D) -> Result<Json, D::Error> {
        copied(deserializer, Some(self))
    }
}

fn copied<'de, D: Deserializer<'de>>(deserializer: D, once: Option<&Once>) -> Result<Json, D::Error> {
    let mut text = Vec::new();
    Copied { text: &mut text, depth: 0, once }.deserialize(deserializer)?;
    let text = String::from_utf8(text).map_err(D::Error::custom)?;
    RawValue::from_string(text).map(Json).map_err(D::Error::custom)
}

impl JsonSchema for Json {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        Value::schema_name()
    }

    fn inline_schema() -> bool {
        Value::inline_schema()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Value::json_schema(generator)
    }
}

/// Appends the values that it reads to a text.
struct Copied<'t> {
    text: &'t mut Vec<u8>,
    /// The number of arrays and objects around the current position.
    depth: usize,
    /// If the next object may have no duplicate name: which one it is.
    once: Option<&'t Once>,
}

impl Copied<'_> {
    /// Enters an array or object. Fails if it is nested too deeply.
    fn inside<E: serde::de::Error>(&mut self) -> Result<(), E> {
        self.depth += 1;
        if self.depth <= Json::MAX_DEPTH {
            return Ok(());
        }
        Err(E::custom(format_args!("more than {} arrays and objects lie in each other", Json::MAX_DEPTH)))
    }

    fn next(&mut self) -> Copied<'_> {
        Copied { text: self.text, depth: self.depth, once: None }
    }

    fn put<E: serde::de::Error>(self, value: &(impl Serialize + ?Sized)) -> Result<(), E> {
        serde_json::to_writer(self.text, value).map_err(E::custom)
    }
}

impl<'de> DeserializeSeed<'de> for Copied<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Copied<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON")
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<(), E> {
        self.put(&())
    }

    fn visit_none<E: serde::de::Error>(self) -> Result<(), E> {
        self.put(&())
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        self.deserialize(deserializer)
    }

    fn visit_bool<E: serde::de::Error>(self, value: bool) -> Result<(), E> {
        self.put(&value)
    }

    fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<(), E> {
        self.put(&value)
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<(), E> {
        self.put(&value)
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<(), E> {
        self.put(&value)
    }

    fn visit_str<E: serde::de::Error>(self, value: &str) -> Result<(), E> {
        self.put(value)
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut items: A) -> Result<(), A::Error> {
        self.inside()?;
        let begin = self.text.len();
        self.text.push(b'[');
        while items.next_element_seed(self.next())?.is_some() {
            self.text.push(b',');
        }
        close(self.text, begin, b']');
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut entries: A) -> Result<(), A::Error> {
        self.inside()?;
        let begin = self.text.len();
        self.text.push(b'{');
        let place = |text: &Vec<u8>| u32::try_from(text.len() - begin).map_err(|_| A::Error::custom("an object of more than 4 GB"));
        let mut members = Vec::new();
        loop {
            let name = place(self.text)?;
            if entries.next_key_seed(self.next())?.is_none() {
                break;
            }
            members.push(Member { name, colon: place(self.text)? });
            let written = &self.text[begin + name as usize..];
            let once =
                self.once.and_then(|once| once.members.iter().find(|(name, _)| name.as_bytes() == written)).map(|(_, member)| member);
            self.text.push(b':');
            entries.next_value_seed(Copied { once, ..self.next() })?;
            self.text.push(b',');
        }
        match (with_names_once(&self.text[begin..], &members), self.once) {
            (Some((name, _)), Some(Once { error, .. })) => {
                let name = String::from_utf8_lossy(name);
                return Err(A::Error::custom(format_args!("{error}the name {} stands there twice", excerpt(&name, MAX_NAME_CHARS))));
            }
            (Some((_, text)), None) => {
                self.text.truncate(begin);
                self.text.extend_from_slice(&text);
            }
            (None, _) => {}
        }
        close(self.text, begin, b'}');
        Ok(())
    }
}

/// Ends the array or object that began at `begin`. The closing bracket replaces the comma after its last entry.
fn close(text: &mut Vec<u8>, begin: usize, with: u8) {
    if text.len() > begin + 1 {
        text.pop();
    }
    text.push(with);
}

/// The position of a member in the text of its object. The member ends with a comma, before the next one.
struct Member {
    name: u32,
    colon: u32,
}

/// Returns a duplicate name of an object, and its text without those, or `None` if it has none.
fn with_names_once<'t>(text: &'t [u8], members: &[Member]) -> Option<(&'t [u8], Vec<u8>)> {
    let name = |at: &usize| &text[members[*at].name as usize..members[*at].colon as usize];
    let mut order: Vec<usize> = (0..members.len()).collect();
    order.sort_by(|one, other| name(one).cmp(name(other)));
    let alike = |one: &usize, other: &usize| name(one) == name(other);
    let twice = order.windows(2).find(|pair| alike(&pair[0], &pair[1])).map(|pair| name(&pair[0]))?;
    let mut last = vec![None; members.len()];
    order.chunk_by(alike).for_each(|group| last[group[0]] = group.last().copied());
    let mut once = vec![b'{'];
    for (first, last) in last.iter().enumerate().filter_map(|(first, last)| Some((first, (*last)?))) {
        let end = members.get(last + 1).map_or(text.len(), |next| next.name as usize);
        once.extend_from_slice(name(&first));
        once.extend_from_slice(&text[members[last].colon as usize..end]);
    }
    Some((twice, once))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Map, json};

    use super::*;
    use crate::tree::marked::NAME as MARK;

    fn read(text: &str) -> Json {
        serde_json::from_str(text).unwrap()
    }

    /// JSON with white space and few names, so that some are duplicates, and its value.
    fn any_text() -> impl Strategy<Value = (String, Value)> {
        let leaf = prop_oneof![
            Just(" null ".to_owned()),
            any::<bool>().prop_map(|value| value.to_string()),
            any::<i64>().prop_map(|value| value.to_string()),
            any::<u64>().prop_map(|value| value.to_string()),
            any::<f64>().prop_map(|value| json!(value).to_string()),
            any::<String>().prop_map(|value| json!(value).to_string()),
            Just(r#""\u0041\/\ud83d\ude00""#.to_owned()),
            Just(r#""[1 ,2]""#.to_owned()),
        ];
        let leaf = leaf.prop_map(|text| (text.clone(), serde_json::from_str(&text).unwrap()));
        leaf.prop_recursive(5, 64, 8, |inner| {
            let name = prop_oneof![
                Just(("a", "a")),
                Just(("\\u0061", "a")),
                Just(("b", "b")),
                Just(("aa", "aa")),
                Just(("", "")),
                Just((MARK, MARK)),
            ];
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(|items| {
                    let (texts, values): (Vec<String>, Vec<Value>) = items.into_iter().unzip();
                    (format!("[{}\t]", texts.join(" ,")), values.into())
                }),
                prop::collection::vec((name, inner), 0..6).prop_map(|entries| {
                    let text = |((name, _), (text, _)): &((&str, &str), (String, Value))| format!("\n\"{name}\" : {text}");
                    let text = format!("{{ {} }}", entries.iter().map(text).collect::<Vec<_>>().join(","));
                    let tree: Map<String, Value> = entries.into_iter().map(|((_, name), (_, value))| (name.into(), value)).collect();
                    (text, tree.into())
                }),
            ]
        })
    }

    proptest! {
        #[test]
        fn its_text_is_that_of_the_tree((text, meant) in any_text()) {
            let json = read(&text);
            let text_of = meant.to_string();
            prop_assert_eq!(json.as_str(), &text_of);
            prop_assert_eq!(tree(&text).unwrap().to_string(), text_of);
            prop_assert_eq!(json.to_value().unwrap(), meant.clone());
            prop_assert_eq!(Json::from(meant), json.clone());
            prop_assert_eq!(serde_json::to_string(&json).unwrap(), json.as_str());
        }
    }

    #[test]
    fn a_name_that_comes_twice_stays_where_it_was_first_with_its_last_value() {
        assert_eq!(read(r#"{"a": {"x": 1, "x": [2]}, "b": 2, "\u0061": 3, "b": null}"#).as_str(), r#"{"a":3,"b":null}"#);
        assert_eq!(read(r#"[{}, {"": 1, "": 2}, [], {"x": {"y": 1, "y": 2}}]"#).as_str(), r#"[{},{"":2},[],{"x":{"y":2}}]"#);
    }

    #[test]
    fn what_is_no_json_or_too_deep_is_refused() {
        for text in ["", "{", "[1,]", "nul", "1 2", "{1:2}"] {
            assert!(serde_json::from_str::<Json>(text).is_err(), "{text}");
        }
        let deep = |levels| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        assert_eq!(read(&deep(Json::MAX_DEPTH)).as_str(), deep(Json::MAX_DEPTH));
        for levels in [Json::MAX_DEPTH + 1, 127, 128, 200_000] {
            let error = serde_json::from_str::<Json>(&deep(levels)).unwrap_err().to_string();
            assert!(error.starts_with("more than 100 arrays and objects lie in each other"), "{error}");
        }
    }

    #[test]
    fn it_is_json_in_a_value_too() {
        let args = json!({"a": [1, null, "x"]});
        assert_eq!(serde_json::to_value(Json::from(args.clone())).unwrap(), args);
        assert_eq!(serde_json::from_value::<Json>(args.clone()).unwrap().to_value().unwrap(), args);
    }
}
