//! Reads values of a manifest, and records what is wrong with them.

use super::super::path::BundlePath;
use super::error::{At, ManifestErrors, ManifestProblem};
use crate::shared::Json;
use std::collections::BTreeSet;

/// The longest address in characters.
const URL_MAX: usize = 2_048;
/// The longest text of a field without a limit of its own.
pub(super) const TEXT_MAX: usize = 255;

/// Characters of a text. `wide`: characters of Chinese, Japanese and Korean count double, as the reference counts titles.
#[derive(Debug, Clone, Copy)]
pub(super) struct Length {
    pub min: usize,
    pub max: usize,
    pub wide: bool,
}

impl Length {
    pub const fn up_to(max: usize) -> Self {
        Self { min: 0, max, wide: false }
    }

    fn of(self, text: &str) -> usize {
        text.chars().map(|letter| if self.wide && letter >= '\u{1100}' { 2 } else { 1 }).sum()
    }
}

/// An object of a manifest.
#[derive(Clone, Copy)]
pub(super) struct Fields<'a> {
    value: &'a Json,
    pub at: At<'a>,
}

impl<'a> Fields<'a> {
    /// `None`, with an error, if the value is not an object.
    pub fn of(value: &'a Json, at: At<'a>, errors: &mut ManifestErrors) -> Option<Self> {
        if matches!(value, Json::Object(_)) {
            return Some(Self { value, at });
        }
        errors.add(&at, ManifestProblem::Expected("an object"));
        None
    }

    /// The member, unless it is absent or null.
    pub fn get(&self, name: &str) -> Option<&'a Json> {
        self.value.get(name).filter(|value| **value != Json::Null)
    }

    pub fn names(&self) -> impl Iterator<Item = &'a str> {
        let members = match self.value {
            Json::Object(members) => Some(members.keys()),
            _ => None,
        };
        members.into_iter().flatten().map(String::as_str)
    }

    pub fn require(&self, name: &str, errors: &mut ManifestErrors) -> Option<&'a Json> {
        let found = self.get(name);
        if found.is_none() {
            errors.add(&self.at.member(name), ManifestProblem::Required);
        }
        found
    }

    /// The text of a member that may be absent.
    pub fn text(&self, name: &str, length: Length, errors: &mut ManifestErrors) -> Option<&'a str> {
        text(self.get(name)?, &self.at.member(name), length, errors)
    }

    pub fn required_text(&self, name: &str, length: Length, errors: &mut ManifestErrors) -> Option<&'a str> {
        text(self.require(name, errors)?, &self.at.member(name), length, errors)
    }

    pub fn flag(&self, name: &str, errors: &mut ManifestErrors) -> Option<bool> {
        match self.get(name)? {
            Json::Bool(flag) => Some(*flag),
            _ => {
                errors.add(&self.at.member(name), ManifestProblem::Expected("true or false"));
                None
            }
        }
    }

    pub fn url(&self, name: &str, errors: &mut ManifestErrors) -> Option<&'a str> {
        let text = self.text(name, Length::up_to(URL_MAX), errors)?;
        // An empty address is the same as none.
        if text.is_empty() {
            return None;
        }
        if !is_web_address(text) {
            errors.add(&self.at.member(name), ManifestProblem::Expected("an address that begins with http:// or https://"));
            return None;
        }
        Some(text)
    }

    /// A list that may be absent.
    pub fn list(&self, name: &str, max: usize, errors: &mut ManifestErrors) -> &'a [Json] {
        let Some(value) = self.get(name) else { return &[] };
        list(value, &self.at.member(name), max, errors)
    }

    /// Distinct texts; a single text counts as a list of one.
    pub fn texts(&self, name: &str, max: usize, errors: &mut ManifestErrors) -> Vec<String> {
        let at = self.at.member(name);
        let Some(value) = self.get(name) else { return Vec::new() };
        if let Json::Text(one) = value {
            return text(value, &at, Length::up_to(TEXT_MAX), errors).map(|_| one.clone()).into_iter().collect();
        }
        let items = list(value, &at, max, errors).iter().enumerate();
        items.filter_map(|(index, item)| text(item, &at.item(index), Length::up_to(TEXT_MAX), errors).map(ToOwned::to_owned)).collect()
    }

    /// A path inside the bundle.
    pub fn path(&self, name: &str, errors: &mut ManifestErrors) -> Option<BundlePath> {
        let text = self.required_text(name, Length::up_to(TEXT_MAX), errors)?;
        path(text, &self.at.member(name), errors)
    }

    /// Distinct paths of a list.
    pub fn paths(&self, name: &str, max: usize, errors: &mut ManifestErrors) -> Vec<BundlePath> {
        let (at, mut seen, mut paths) = (self.at.member(name), BTreeSet::new(), Vec::new());
        for (index, item) in self.list(name, max, errors).iter().enumerate() {
            let at = at.item(index);
            let Some(one) = text(item, &at, Length::up_to(TEXT_MAX), errors).and_then(|text| path(text, &at, errors)) else { continue };
            if seen.insert(one.folded()) {
                paths.push(one);
            } else {
                errors.add(&at, ManifestProblem::Repeated);
            }
        }
        paths
    }
}

pub(super) fn text<'a>(value: &'a Json, at: &At<'_>, length: Length, errors: &mut ManifestErrors) -> Option<&'a str> {
    let Some(text) = value.as_text() else {
        errors.add(at, ManifestProblem::Expected("a text"));
        return None;
    };
    let count = length.of(text);
    if count == 0 && length.min > 0 {
        errors.add(at, ManifestProblem::Required);
    } else if count < length.min {
        errors.add(at, ManifestProblem::TooShort(length.min));
    } else if count > length.max {
        errors.add(at, ManifestProblem::TooLong(length.max));
    } else if text.chars().any(|letter| letter.is_control() && !matches!(letter, '\n' | '\r' | '\t')) {
        errors.add(at, ManifestProblem::Expected("a text without control characters"));
    } else {
        return Some(text);
    }
    None
}

fn list<'a>(value: &'a Json, at: &At<'_>, max: usize, errors: &mut ManifestErrors) -> &'a [Json] {
    match value {
        Json::List(items) if items.len() <= max => items,
        Json::List(_) => {
            errors.add(at, ManifestProblem::TooMany(max));
            &[]
        }
        _ => {
            errors.add(at, ManifestProblem::Expected("a list"));
            &[]
        }
    }
}

fn path(text: &str, at: &At<'_>, errors: &mut ManifestErrors) -> Option<BundlePath> {
    // Manifests may write `./logo.png`.
    let parsed = BundlePath::parse(text.strip_prefix("./").unwrap_or(text));
    parsed.map_err(|error| errors.add(at, ManifestProblem::Path(error))).ok()
}

/// Whether a text is an address of the web, with a host and without spaces.
pub(super) fn is_web_address(text: &str) -> bool {
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    let is_clean = |rest: &str| !rest.chars().any(|letter| letter.is_whitespace() || matches!(letter, '"' | '<' | '>' | '\\'));
    rest.is_some_and(|rest| !rest.is_empty() && !rest.starts_with(['/', '?', '#', ':']) && is_clean(rest))
}
