//! Reads the YAML manifest of a bundle. Anchors and tags are not needed there, so their number is limited strictly.

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use souk_domain::shared::Json;
use std::collections::BTreeMap;
use std::fmt;

/// The most values of a manifest, copies by aliases included.
const EVENTS_MAX: usize = 100_000;
const DEPTH_MAX: usize = 64;
const ALIASES_MAX: usize = 100;

/// Parses one YAML document whose keys are texts.
///
/// # Errors
/// What the parser reports, or the limit that the text exceeds.
pub fn parse_yaml(bytes: &[u8]) -> Result<Json, String> {
    let text = std::str::from_utf8(bytes).map_err(|error| error.to_string())?;
    let budget = serde_saphyr::budget! {
        max_events: EVENTS_MAX,
        max_nodes: EVENTS_MAX,
        max_depth: DEPTH_MAX,
        max_aliases: ALIASES_MAX,
        max_anchors: ALIASES_MAX,
    };
    let options = serde_saphyr::options! { budget: budget };
    serde_saphyr::from_str_with_options::<Parsed>(text, options).map(|parsed| parsed.0).map_err(|error| error.to_string())
}

struct Parsed(Json);

impl<'de> Deserialize<'de> for Parsed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyValue).map(Self)
    }
}

struct AnyValue;

impl<'de> Visitor<'de> for AnyValue {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E: Error>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_none<E: Error>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Json, D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Json, E> {
        Ok(Json::Bool(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Json, E> {
        Ok(Json::Number(value.to_string()))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Json, E> {
        Ok(Json::Number(value.to_string()))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Json, E> {
        Ok(Json::Number(value.to_string()))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Json, E> {
        Ok(Json::Text(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Json, A::Error> {
        let mut list = Vec::new();
        while let Some(Parsed(item)) = items.next_element()? {
            list.push(item);
        }
        Ok(Json::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Json, A::Error> {
        let mut members = BTreeMap::new();
        while let Some((name, Parsed(value))) = entries.next_entry::<String, Parsed>()? {
            if members.insert(name.clone(), value).is_some() {
                return Err(A::Error::custom(format!("the key {name:?} occurs twice")));
            }
        }
        Ok(Json::Object(members))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_is_read() {
        let text = "name: hello\nversion: 1.0.0\nsize: 12\ndocker: ~\nkeywords: [a, 'b']\nscripts:\n  pre-start: \"node a.js\"\n";
        let expected =
            r#"{"docker":null,"keywords":["a","b"],"name":"hello","scripts":{"pre-start":"node a.js"},"size":12,"version":"1.0.0"}"#;
        assert_eq!(parse_yaml(text.as_bytes()).expect("reads").canonical(), expected);
    }

    #[test]
    fn bombs_and_malformed_texts_are_refused() {
        let bomb: String = (1..12).map(|n| format!("a{n}: &a{n} [{}]\n", vec![format!("*a{}", n - 1); 9].join(", "))).collect();
        let bomb = format!("a0: &a0 [x, x, x, x, x, x, x, x, x]\n{bomb}");
        let deep = "[".repeat(10_000);
        for text in [bomb.as_str(), deep.as_str(), "a: 1\na: 2", "a: [", "--- a\n--- b\n"] {
            assert!(parse_yaml(text.as_bytes()).is_err(), "{}", &text[..text.len().min(40)]);
        }
        assert!(parse_yaml(b"\xff").is_err());
    }
}
