use std::fmt;

use serde::de::{Deserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};

use super::{Json, MASKED, shown};

impl Json {
    /// Masks the secret values of the environment variables of a job in a message.
    pub fn without_secrets(self) -> Self {
        let Ok(mut job) = serde_json::from_str::<Fields>(self.as_str()) else { return self };
        let Some((_, variables)) = job.0.iter_mut().find(|(name, _)| name == "env_vars") else { return self };
        *variables = match serde_json::from_str::<Fields>(variables.as_str()) {
            Ok(Fields(of_each)) => {
                let text = |(name, value): &(String, Self)| Some((name.clone(), serde_json::from_str::<String>(value.as_str()).ok()?));
                let seen = shown(of_each.iter().filter_map(text).collect());
                let of = |(name, _): (String, Self)| {
                    let value = seen.get(&name).map_or_else(|| MASKED.into(), |value| value.as_str().into());
                    (name, value)
                };
                Fields(of_each.into_iter().map(of).collect()).written()
            }
            // Our jobs do not have such variables, but they may be secret.
            Err(_) => MASKED.into(),
        };
        job.written()
    }
}

/// The fields of an object, in their order.
struct Fields(Vec<(String, Json)>);

impl Fields {
    fn written(&self) -> Json {
        let text = serde_json::to_string(self).expect("texts and JSON can be written");
        serde_json::from_str(&text).expect("it is what was just read, with less in it")
    }
}

impl Serialize for Fields {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;

        impl<'de> Visitor<'de> for InOrder {
            type Value = Fields;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields, A::Error> {
                let mut fields = Vec::new();
                while let Some(field) = map.next_entry()? {
                    fields.push(field);
                }
                Ok(Fields(fields))
            }
        }

        deserializer.deserialize_map(InOrder)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_named_and_their_values_are_not_shown() {
        for (job, shown) in [
            (r#"{"script":"1","env_vars":{"K":"secret","L":[1]},"n":7}"#, r#"{"script":"1","env_vars":{"K":"***","L":"***"},"n":7}"#),
            (r#"{"env_vars":"K=secret"}"#, r#"{"env_vars":"***"}"#),
            (r#"{"env_vars":{}}"#, r#"{"env_vars":{}}"#),
            (r#"{"env_vars":{"K":"a","M":"b","HERO_PLAIN":"M"}}"#, r#"{"env_vars":{"K":"***","M":"b","HERO_PLAIN":"M"}}"#),
            (
                r#"{"env_vars":{"K":"abcdefgh","M":"b=abcdefgh","HERO_PLAIN":"M"}}"#,
                r#"{"env_vars":{"K":"***","M":"b=***","HERO_PLAIN":"M"}}"#,
            ),
            (r#"{"script":"1"}"#, r#"{"script":"1"}"#),
            ("7", "7"),
        ] {
            let job: Json = serde_json::from_str(job).unwrap();
            assert_eq!(job.without_secrets().as_str(), shown);
        }
    }
}
