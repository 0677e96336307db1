//! Links in mails: whoever holds one sees one invoice or one subscription, and may pay what is owed for it, without signing in.

use crate::shared::Timestamp;
use std::sync::Arc;
use std::time::Duration;

/// How long a link of a mail opens its page.
pub const PAGE_TOKEN_LIFETIME: Duration = Duration::from_secs(30 * 24 * 3_600);

/// The longest token that is looked at, in bytes.
const TOKEN_MAX: usize = 300;

/// MacSigner texts with a key that never leaves the server.
pub trait MacSigner: Send + Sync {
    /// Letters, digits, `-` and `_`.
    fn seal(&self, text: &str) -> String;
    /// Compares in constant time.
    fn is_sealed(&self, text: &str, seal: &str) -> bool;
}

/// Makes and reads the tokens. One names a single object and grants nothing but to see it and to pay for it.
#[derive(Clone)]
pub struct SignedLinks(Arc<dyn MacSigner>);

impl SignedLinks {
    #[must_use]
    pub fn new(seals: Arc<dyn MacSigner>) -> Self {
        Self(seals)
    }

    /// The value of `authToken` for the page of one invoice or subscription, by its id.
    #[must_use]
    pub fn auth_token(&self, subject: &str, now: Timestamp) -> String {
        let text = format!("{subject}.{}", now.plus(PAGE_TOKEN_LIFETIME).seconds());
        format!("{text}.{}", self.0.seal(&sealed_text(&text)))
    }

    /// The id that a token opens; `None` when it is forged, changed or has expired.
    #[must_use]
    pub fn subject<'t>(&self, token: &'t str, now: Timestamp) -> Option<&'t str> {
        let (text, seal) = token.rsplit_once('.').filter(|_| token.len() <= TOKEN_MAX)?;
        let (subject, expires_at) = text.split_once('.')?;
        let expires_at = Timestamp::from_seconds(expires_at.parse().ok()?);
        (self.0.is_sealed(&sealed_text(text), seal) && now < expires_at).then_some(subject)
    }
}

/// A seal of another use of the same key fits no token.
fn sealed_text(text: &str) -> String {
    format!("page:{text}")
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Backwards;

    impl MacSigner for Backwards {
        fn seal(&self, text: &str) -> String {
            text.chars().rev().filter(char::is_ascii_alphanumeric).collect()
        }
        fn is_sealed(&self, text: &str, seal: &str) -> bool {
            self.seal(text) == seal
        }
    }

    fn at(seconds: u64) -> Timestamp {
        Timestamp::from_seconds(0).plus(Duration::from_secs(seconds))
    }

    #[test]
    fn a_token_opens_its_own_page_until_it_expires() {
        let tokens = SignedLinks::new(Arc::new(Backwards));
        let token = tokens.auth_token("in_1", at(5));
        let lifetime = PAGE_TOKEN_LIFETIME.as_secs();
        assert_eq!(tokens.subject(&token, at(5)), Some("in_1"));
        assert_eq!(tokens.subject(&token, at(4 + lifetime)), Some("in_1"));
        assert_eq!(tokens.subject(&token, at(5 + lifetime)), None);
    }

    #[test]
    fn a_token_that_was_changed_opens_nothing() {
        let tokens = SignedLinks::new(Arc::new(Backwards));
        let token = tokens.auth_token("in_1", at(5));
        for changed in [token.replace("in_1", "in_2"), token.replacen(".2", ".9", 1), format!("{token}x"), "in_1".to_owned(), String::new()]
        {
            assert_eq!(tokens.subject(&changed, at(5)), None, "{changed}");
        }
        assert_eq!(tokens.subject(&token.repeat(50), at(5)), None);
    }
}
