//! JSON values that keep the text of numbers, and their canonical form, which signatures cover (reference/store.md 5.1).

use std::collections::BTreeMap;
use std::fmt::Write;

/// A JSON value. Its object members are unique; parsers reject repeated members, because readers disagree about which one counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Json {
    Null,
    Bool(bool),
    /// The text of the number as its sender wrote it.
    Number(String),
    Text(String),
    List(Vec<Json>),
    Object(BTreeMap<String, Json>),
}

impl Json {
    /// The member of an object; `None` for other values.
    #[must_use]
    pub fn get(&self, member: &str) -> Option<&Self> {
        match self {
            Self::Object(members) => members.get(member),
            _ => None,
        }
    }

    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// An object without some of its members; other values stay the same.
    #[must_use]
    pub fn without(mut self, removed: &[&str]) -> Self {
        if let Self::Object(members) = &mut self {
            members.retain(|name, _| !removed.contains(&name.as_str()));
        }
        self
    }

    /// The canonical text: members sorted by UTF-16 code units, no spaces, numbers as they were written, and strings as JavaScript's
    /// `JSON.stringify` writes them.
    #[must_use]
    pub fn canonical(&self) -> String {
        let mut text = String::new();
        write(self, &mut text);
        text
    }
}

fn write(value: &Json, to: &mut String) {
    match value {
        Json::Null => to.push_str("null"),
        Json::Bool(true) => to.push_str("true"),
        Json::Bool(false) => to.push_str("false"),
        Json::Number(text) => to.push_str(text),
        Json::Text(text) => write_string(text, to),
        Json::List(items) => {
            to.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    to.push(',');
                }
                write(item, to);
            }
            to.push(']');
        }
        Json::Object(members) => {
            // The order of UTF-16 differs from that of UTF-8 beyond the basic plane only.
            let mut sorted: Vec<_> = members.iter().collect();
            sorted.sort_by(|(one, _), (other, _)| one.encode_utf16().cmp(other.encode_utf16()));
            to.push('{');
            for (index, (name, member)) in sorted.into_iter().enumerate() {
                if index > 0 {
                    to.push(',');
                }
                write_string(name, to);
                to.push(':');
                write(member, to);
            }
            to.push('}');
        }
    }
}

fn write_string(text: &str, to: &mut String) {
    to.push('"');
    for letter in text.chars() {
        match letter {
            '"' => to.push_str("\\\""),
            '\\' => to.push_str("\\\\"),
            '\n' => to.push_str("\\n"),
            '\r' => to.push_str("\\r"),
            '\t' => to.push_str("\\t"),
            '\u{8}' => to.push_str("\\b"),
            '\u{c}' => to.push_str("\\f"),
            letter if letter < ' ' => {
                // Writing to a string does not fail.
                let written = write!(to, "\\u{:04x}", u32::from(letter));
                debug_assert!(written.is_ok());
            }
            letter => to.push(letter),
        }
    }
    to.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(members: &[(&str, Json)]) -> Json {
        Json::Object(members.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect())
    }

    #[test]
    fn members_are_sorted_by_utf16_and_numbers_keep_their_text() {
        let value = object(&[
            ("z", Json::Number("1.50".to_owned())),
            ("\u{ff61}", Json::Null),
            // Beyond the basic plane: its first code unit is smaller than U+FF61.
            ("\u{1f600}", Json::Bool(true)),
            ("a", Json::List(vec![Json::Number("1e+21".to_owned()), Json::Text("é\u{2028}".to_owned())])),
        ]);
        assert_eq!(value.canonical(), "{\"a\":[1e+21,\"é\u{2028}\"],\"z\":1.50,\"\u{1f600}\":true,\"\u{ff61}\":null}");
    }

    #[test]
    fn strings_are_escaped_as_javascript_does() {
        let text = Json::Text("\"\\/\n\r\t\u{8}\u{c}\u{1f}\u{7f}".to_owned());
        assert_eq!(text.canonical(), "\"\\\"\\\\/\\n\\r\\t\\b\\f\\u001f\u{7f}\"");
    }

    #[test]
    fn removed_members_are_absent() {
        let value = object(&[("a", Json::Null), ("b", Json::Null)]);
        assert_eq!(value.without(&["a"]).canonical(), "{\"b\":null}");
    }
}
