//! Signed links in emails: without signing in, their holder can view one invoice or subscription, pay its unpaid amount, and undo the
//! scheduled cancellation of the subscription.

use crate::operation::PSEUDONYM_LENGTH;
use crate::shared::Timestamp;
use std::sync::Arc;
use std::time::Duration;

/// The lifetime of a link in an email.
pub const PAGE_TOKEN_LIFETIME: Duration = Duration::from_secs(30 * 24 * 3_600);

/// The longest accepted token, in bytes.
const TOKEN_MAX: usize = 300;

/// Signs texts by a MAC with a key that never leaves the server.
pub trait MacSigner: Send + Sync {
    /// Returns the MAC of a text: letters, digits, `-` and `_`.
    fn sign(&self, text: &str) -> String;
    /// Verifies a MAC in constant time.
    fn is_valid(&self, text: &str, mac: &str) -> bool;
}

/// A valid token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SignedLink<'t> {
    /// The id of the object that it grants access to.
    pub subject: &'t str,
    /// In whole seconds.
    pub issued_at: Timestamp,
}

/// What a valid token of any use says.
struct Read<'t> {
    subject: &'t str,
    expires_at: Timestamp,
}

/// Creates and verifies the tokens. A token names a single object.
#[derive(Clone)]
pub struct SignedLinks(Arc<dyn MacSigner>);

impl SignedLinks {
    #[must_use]
    pub fn new(signer: Arc<dyn MacSigner>) -> Self {
        Self(signer)
    }

    /// The `authToken` value for the page of an invoice or subscription.
    #[must_use]
    pub fn auth_token(&self, subject: &str, now: Timestamp) -> String {
        self.token(Use::Page, subject, now.plus(PAGE_TOKEN_LIFETIME))
    }

    /// The token of the link that confirms an email address.
    #[must_use]
    pub fn confirmation_token(&self, request: &str, expires_at: Timestamp) -> String {
        self.token(Use::Confirmation, request, expires_at)
    }

    /// The request that a token confirms; `None`: it is forged, changed or expired.
    #[must_use]
    pub fn confirmed_request<'t>(&self, token: &'t str, now: Timestamp) -> Option<&'t str> {
        self.read(Use::Confirmation, token, now).map(|read| read.subject)
    }

    /// The pseudonym of a network address: the same in every process of the store, and it reveals nothing without its key.
    #[must_use]
    pub fn pseudonym(&self, address: &str) -> String {
        self.0.sign(&Use::Visitor.text_to_sign(address)).chars().take(PSEUDONYM_LENGTH).collect()
    }

    /// What a token grants access to; `None`: it is forged, changed or expired.
    #[must_use]
    pub fn open<'t>(&self, token: &'t str, now: Timestamp) -> Option<SignedLink<'t>> {
        let Read { subject, expires_at } = self.read(Use::Page, token, now)?;
        Some(SignedLink { subject, issued_at: expires_at.minus(PAGE_TOKEN_LIFETIME) })
    }

    fn token(&self, purpose: Use, subject: &str, expires_at: Timestamp) -> String {
        let text = format!("{subject}.{}", expires_at.seconds());
        format!("{text}.{}", self.0.sign(&purpose.text_to_sign(&text)))
    }

    fn read<'t>(&self, purpose: Use, token: &'t str, now: Timestamp) -> Option<Read<'t>> {
        let (text, mac) = token.rsplit_once('.').filter(|_| token.len() <= TOKEN_MAX)?;
        let (subject, expires_at) = text.split_once('.')?;
        let expires_at = Timestamp::from_seconds(expires_at.parse().ok()?);
        (self.0.is_valid(&purpose.text_to_sign(text), mac) && now < expires_at).then_some(Read { subject, expires_at })
    }
}

/// What a token is for.
#[derive(Clone, Copy)]
enum Use {
    /// Viewing one invoice or subscription, and paying for it.
    Page,
    /// Confirming an email address.
    Confirmation,
    /// Naming the network of a visitor.
    Visitor,
}

impl Use {
    /// Separates the uses of the key, so that a token of one is not valid for another.
    fn text_to_sign(self, text: &str) -> String {
        match self {
            Self::Page => format!("page:{text}"),
            Self::Confirmation => format!("confirmation:{text}"),
            Self::Visitor => format!("visitor:{text}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct ReversingSigner;

    impl MacSigner for ReversingSigner {
        fn sign(&self, text: &str) -> String {
            text.chars().rev().filter(char::is_ascii_alphanumeric).collect()
        }
        fn is_valid(&self, text: &str, mac: &str) -> bool {
            self.sign(text) == mac
        }
    }

    fn at(seconds: u64) -> Timestamp {
        Timestamp::from_seconds(0).plus(Duration::from_secs(seconds))
    }

    #[test]
    fn a_token_is_valid_for_its_subject_until_it_expires() {
        let tokens = SignedLinks::new(Arc::new(ReversingSigner));
        let token = tokens.auth_token("in_1", at(5));
        let lifetime = PAGE_TOKEN_LIFETIME.as_secs();
        let opened = Some(SignedLink { subject: "in_1", issued_at: at(5) });
        assert_eq!(tokens.open(&token, at(5)), opened);
        assert_eq!(tokens.open(&token, at(4 + lifetime)), opened);
        assert_eq!(tokens.open(&token, at(5 + lifetime)), None);
    }

    #[test]
    fn a_token_of_one_use_is_not_valid_for_the_other() {
        let tokens = SignedLinks::new(Arc::new(ReversingSigner));
        let confirmation = tokens.confirmation_token("r1", at(9));
        assert_eq!((tokens.confirmed_request(&confirmation, at(8)), tokens.open(&confirmation, at(8))), (Some("r1"), None));
        assert_eq!(tokens.confirmed_request(&confirmation, at(9)), None, "it has expired");
        assert_eq!(tokens.confirmed_request(&tokens.auth_token("in_1", at(8)), at(8)), None);
    }

    #[test]
    fn changed_tokens_are_rejected() {
        let tokens = SignedLinks::new(Arc::new(ReversingSigner));
        let token = tokens.auth_token("in_1", at(5));
        for changed in [token.replace("in_1", "in_2"), token.replacen(".2", ".9", 1), format!("{token}x"), "in_1".to_owned(), String::new()]
        {
            assert_eq!(tokens.open(&changed, at(5)), None, "{changed}");
        }
        assert_eq!(tokens.open(&token.repeat(50), at(5)), None);
    }
}
