//! The validation of texts from integrators and administrators.

/// The longest name of a product, a price, a link, a method or a currency, in characters.
pub const NAME_MAX: usize = 200;
/// The longest description in characters.
pub const DESCRIPTION_MAX: usize = 5_000;
/// The longest web address in characters.
pub const ADDRESS_MAX: usize = 2_000;
/// The most entries of one metadata map.
pub const METADATA_MAX: usize = 50;
/// The longest key of a metadata entry in characters.
pub const METADATA_NAME_MAX: usize = 64;
/// The longest value of a metadata entry in characters.
pub const METADATA_VALUE_MAX: usize = 1_000;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InputError {
    #[error("{0} is required")]
    Required(&'static str),
    #[error("{field} may have at most {max} characters")]
    TooLong { field: &'static str, max: usize },
    #[error("{0} may not have control characters")]
    Control(&'static str),
    #[error("{field} may have at most {max} entries")]
    TooMany { field: &'static str, max: usize },
    #[error("{0} must be an address that begins with http:// or https://")]
    Address(&'static str),
    #[error("{field} may be at most {max}")]
    TooLarge { field: &'static str, max: u64 },
}

/// Checks a text of at most `max` characters, and trims it. Line breaks and tabs are the only control characters allowed.
pub fn check_text(field: &'static str, text: &str, max: usize) -> Result<String, InputError> {
    let text = text.trim();
    if text.chars().count() > max {
        return Err(InputError::TooLong { field, max });
    }
    if text.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\r' | '\t')) {
        return Err(InputError::Control(field));
    }
    Ok(text.to_owned())
}

/// As [`check_text`], for a text in one line, of which every character is seen. It may be empty.
pub fn check_line(field: &'static str, text: &str, max: usize) -> Result<String, InputError> {
    let text = check_text(field, text, max)?;
    if text.contains(|letter: char| letter.is_control() || is_invisible(letter)) { Err(InputError::Control(field)) } else { Ok(text) }
}

/// Whether a character changes the direction of text, or has no width.
#[must_use]
pub const fn is_invisible(letter: char) -> bool {
    matches!(letter, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{ad}' | '\u{61c}')
}

/// As [`check_text`], for a nonempty text of at most [`NAME_MAX`] characters.
pub fn check_name(field: &'static str, text: &str) -> Result<String, InputError> {
    let name = check_text(field, text, NAME_MAX)?;
    if name.is_empty() { Err(InputError::Required(field)) } else { Ok(name) }
}

/// Checks an absolute web address. Rejects schemes other than HTTP and HTTPS, such as `javascript:`.
pub fn check_address(field: &'static str, text: &str) -> Result<String, InputError> {
    let text = check_text(field, text, ADDRESS_MAX)?;
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    let is_valid = rest.is_some_and(|rest| !rest.is_empty() && !rest.starts_with('/')) && !text.contains(char::is_whitespace);
    if is_valid { Ok(text) } else { Err(InputError::Address(field)) }
}

/// Checks a list of at most `max` texts of at most [`NAME_MAX`] characters. Omits empty ones.
pub fn check_list(field: &'static str, texts: &[String], max: usize) -> Result<Vec<String>, InputError> {
    if texts.len() > max {
        return Err(InputError::TooMany { field, max });
    }
    let texts = texts.iter().map(|text| check_text(field, text, NAME_MAX)).collect::<Result<Vec<_>, _>>()?;
    Ok(texts.into_iter().filter(|text| !text.is_empty()).collect())
}

/// Checks the keys and values that an integrator attaches.
pub fn check_metadata<'a>(entries: impl IntoIterator<Item = (&'a String, &'a String)>) -> Result<(), InputError> {
    let mut count = 0;
    for (name, value) in entries {
        count += 1;
        if count > METADATA_MAX {
            return Err(InputError::TooMany { field: "metadata", max: METADATA_MAX });
        }
        if check_text("metadata", name, METADATA_NAME_MAX)?.is_empty() {
            return Err(InputError::Required("metadata"));
        }
        check_text("metadata", value, METADATA_VALUE_MAX)?;
    }
    Ok(())
}

/// Checks that a count is not above `max`.
pub const fn check_count(field: &'static str, count: u64, max: u64) -> Result<u64, InputError> {
    if count > max { Err(InputError::TooLarge { field, max }) } else { Ok(count) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn a_name_is_trimmed_and_bounded_in_characters_not_bytes() {
        assert_eq!(check_name("name", "  a  "), Ok("a".to_owned()));
        assert!(check_name("name", &"好".repeat(200)).is_ok());
        assert_eq!(check_name("name", &"a".repeat(201)), Err(InputError::TooLong { field: "name", max: 200 }));
        assert_eq!(check_name("name", " \n"), Err(InputError::Required("name")));
        assert_eq!(check_name("name", "a\0"), Err(InputError::Control("name")));
    }

    #[test]
    fn a_line_has_no_character_that_nobody_sees() {
        assert_eq!(check_line("name", " Ada's laptop 💻 ", 20), Ok("Ada's laptop 💻".to_owned()));
        assert_eq!(check_line("name", "", 20), Ok(String::new()));
        for text in ["a\nb", "a\tb", "a\u{202e}b", "\u{200b}a", "a\u{2066}b", "a\u{61c}b"] {
            assert_eq!(check_line("name", text, 20), Err(InputError::Control("name")), "{text:?}");
        }
    }

    #[test]
    fn only_web_addresses_are_addresses() {
        for text in ["https://a.example/x?y=1", "http://127.0.0.1:8080"] {
            assert_eq!(check_address("url", text).as_deref(), Ok(text));
        }
        for text in ["", "javascript:alert(1)", "https://", "//a.example", "https://a b", "https:///x"] {
            assert_eq!(check_address("url", text), Err(InputError::Address("url")), "{text}");
        }
    }

    #[test]
    fn metadata_has_at_most_fifty_entries() {
        let entries = |count: usize| (0..count).map(|n| (n.to_string(), "v".to_owned())).collect::<BTreeMap<_, _>>();
        assert_eq!(check_metadata(&entries(50)), Ok(()));
        assert_eq!(check_metadata(&entries(51)), Err(InputError::TooMany { field: "metadata", max: 50 }));
        let with_control_character = BTreeMap::from([("a".to_owned(), "\0".to_owned())]);
        assert_eq!(check_metadata(&with_control_character), Err(InputError::Control("metadata")));
    }
}
