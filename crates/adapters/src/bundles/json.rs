//! Reads JSON so that the text of numbers stays as it was sent.

use serde::de::IgnoredAny;
use souk_domain::shared::Json;
use std::collections::BTreeMap;

/// The deepest nesting. Manifests need about eight levels.
const DEPTH_MAX: usize = 64;

/// Why a text is not accepted as JSON.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JsonError {
    #[error("not JSON: {0}")]
    Malformed(String),
    #[error("nested deeper than {DEPTH_MAX} levels")]
    TooDeep,
    #[error("the member {0:?} occurs twice in one object")]
    Repeated(String),
}

/// Parses a JSON text in UTF-8 without a byte order mark.
///
/// # Errors
/// The text is not valid, nested too deep, or names a member of an object twice.
pub fn parse_json(bytes: &[u8]) -> Result<Json, JsonError> {
    let malformed = |error: &dyn std::fmt::Display| JsonError::Malformed(error.to_string());
    let text = std::str::from_utf8(bytes).map_err(|error| malformed(&error))?;
    // The grammar is the library's to check. It keeps no text of numbers, so the valid text is read once more.
    serde_json::from_str::<IgnoredAny>(text).map_err(|error| malformed(&error))?;
    let mut tokens = Tokens { text, at: 0 };
    tokens.value(0)
}

/// Reads a text that is known to follow the grammar.
struct Tokens<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Tokens<'t> {
    /// The next character that is no space, without taking it.
    fn peek(&mut self) -> Option<u8> {
        let bytes = self.text.as_bytes();
        while bytes.get(self.at).is_some_and(|byte| matches!(byte, b' ' | b'\n' | b'\r' | b'\t')) {
            self.at += 1;
        }
        bytes.get(self.at).copied()
    }

    /// Takes the next character, if it is this one.
    fn take(&mut self, wanted: u8) -> bool {
        let is_next = self.peek() == Some(wanted);
        self.at += usize::from(is_next);
        is_next
    }

    fn value(&mut self, depth: usize) -> Result<Json, JsonError> {
        if depth > DEPTH_MAX {
            return Err(JsonError::TooDeep);
        }
        match self.peek() {
            Some(b'{') => self.object(depth),
            Some(b'[') => self.list(depth),
            Some(b'"') => self.string().map(Json::Text),
            _ => Ok(match self.word() {
                "null" => Json::Null,
                "true" => Json::Bool(true),
                "false" => Json::Bool(false),
                number => Json::Number(number.to_owned()),
            }),
        }
    }

    fn object(&mut self, depth: usize) -> Result<Json, JsonError> {
        let mut members = BTreeMap::new();
        self.take(b'{');
        while !self.take(b'}') {
            self.take(b',');
            let name = self.string()?;
            self.take(b':');
            let value = self.value(depth + 1)?;
            if members.contains_key(&name) {
                return Err(JsonError::Repeated(name));
            }
            members.insert(name, value);
        }
        Ok(Json::Object(members))
    }

    fn list(&mut self, depth: usize) -> Result<Json, JsonError> {
        let mut items = Vec::new();
        self.take(b'[');
        while !self.take(b']') {
            self.take(b',');
            items.push(self.value(depth + 1)?);
        }
        Ok(Json::List(items))
    }

    fn string(&mut self) -> Result<String, JsonError> {
        self.peek();
        let rest = &self.text[self.at..];
        let mut is_escaped = false;
        let end = rest.bytes().skip(1).position(|byte| {
            let ends = byte == b'"' && !is_escaped;
            is_escaped = byte == b'\\' && !is_escaped;
            ends
        });
        let literal = &rest[..end.map_or(rest.len(), |end| end + 2)];
        self.at += literal.len();
        // Escapes of half a surrogate pair are found here.
        serde_json::from_str(literal).map_err(|error| JsonError::Malformed(error.to_string()))
    }

    fn word(&mut self) -> &'t str {
        let rest = &self.text[self.at..];
        let end = rest.find(|letter: char| !letter.is_ascii_alphanumeric() && !matches!(letter, '+' | '-' | '.')).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_text_of_numbers_stays() {
        let text = r#" { "b" : [1.50, 1e+21, -0, 18446744073709551616, true, null] , "a":{"x":"\u00e9\"\\"} } "#;
        assert_eq!(
            parse_json(text.as_bytes()).expect("reads").canonical(),
            r#"{"a":{"x":"é\"\\"},"b":[1.50,1e+21,-0,18446744073709551616,true,null]}"#
        );
    }

    #[test]
    fn a_text_that_readers_may_read_differently_is_refused() {
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        assert_eq!(parse_json(deep.as_bytes()), Err(JsonError::TooDeep));
        assert_eq!(parse_json(br#"{"a":1,"\u0061":2}"#), Err(JsonError::Repeated("a".to_owned())));
        for text in
            [b"".as_slice(), b"{", b"{} {}", b"[1,]", b"{\"a\":01}", b"\xef\xbb\xbf{}", b"\"\xff\"", br#""\ud800""#, b"{'a':1}", b"NaN"]
        {
            assert!(matches!(parse_json(text), Err(JsonError::Malformed(_))), "{text:?}");
        }
    }

    fn any_json() -> impl Strategy<Value = serde_json::Value> {
        let leaf = prop_oneof![
            Just(serde_json::Value::Null),
            any::<bool>().prop_map(serde_json::Value::from),
            any::<i64>().prop_map(serde_json::Value::from),
            any::<String>().prop_map(serde_json::Value::from),
        ];
        leaf.prop_recursive(4, 32, 5, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(serde_json::Value::from),
                prop::collection::btree_map(any::<String>(), inner, 0..5)
                    .prop_map(|members| serde_json::Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn the_canonical_text_means_the_same_and_is_a_fixed_point(value in any_json()) {
            for text in [value.to_string(), serde_json::to_string_pretty(&value).expect("writes")] {
                let canonical = parse_json(text.as_bytes()).expect("reads").canonical();
                prop_assert_eq!(serde_json::from_str::<serde_json::Value>(&canonical).expect("is JSON"), value.clone());
                prop_assert_eq!(parse_json(canonical.as_bytes()).expect("reads").canonical(), canonical);
            }
        }
    }
}
