//! Texts that the store signs. The first line names the format; each further line is a name, a colon, a space and a value, in a fixed
//! order. No value contains a line break, so that nobody reads such a text in two ways, and programs read it without a parser. Bytes are
//! signed as they are served.

use crate::access::DidAuthTokens;

/// A text with the store's signature of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedStatement {
    pub text: String,
    /// The store's ed25519 key, multibase base58btc.
    pub public_key: String,
    /// Of the SHA3-256 of the text, multibase base58btc.
    pub signature: String,
}

impl SignedStatement {
    pub(super) fn sign(text: String, keys: &dyn DidAuthTokens) -> Self {
        let signature = keys.sign_text(&text);
        Self { text, public_key: keys.app_key().to_owned(), signature }
    }
}

/// Writes the fields below the name of the format.
pub(super) fn write(format: &str, fields: &[(&str, String)]) -> String {
    let lines = fields.iter().map(|(name, value)| format!("{name}: {value}\n"));
    std::iter::once(format!("{format}\n")).chain(lines).collect()
}

/// The values of these fields. `None`: the text has another format, other fields, or fields in another order.
pub(super) fn read<'t, const N: usize>(text: &'t str, format: &str, names: [&str; N]) -> Option<[&'t str; N]> {
    let mut lines = text.strip_suffix('\n')?.split('\n');
    lines.next().filter(|line| *line == format)?;
    let mut values = [""; N];
    for (value, name) in values.iter_mut().zip(names) {
        *value = lines.next()?.strip_prefix(name)?.strip_prefix(": ")?;
    }
    lines.next().is_none().then_some(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_read_in_its_own_form_only() {
        let text = write("souk-test-1", &[("app", "z1".to_owned()), ("name", String::new()), ("note", "a: b".to_owned())]);
        assert_eq!(text, "souk-test-1\napp: z1\nname: \nnote: a: b\n");
        let names = ["app", "name", "note"];
        assert_eq!(read(&text, "souk-test-1", names), Some(["z1", "", "a: b"]));
        assert_eq!(read(&text, "souk-test-2", names), None);
        assert_eq!(read(&text, "souk-test-1", ["app", "note", "name"]), None);
        assert_eq!(read(&text, "souk-test-1", ["app", "name"]), None);
        for altered in [text.trim_end(), &format!("{text}\n"), &format!("{text}more: 1\n"), &text.replace(": ", ":"), ""] {
            assert_eq!(read(altered, "souk-test-1", names), None, "{altered:?}");
        }
    }
}
