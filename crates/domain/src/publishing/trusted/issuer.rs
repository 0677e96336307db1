//! The issuers of CI tokens that the owner allows.

use super::super::Preferences;
use super::super::named::named;

/// The issuer of GitHub Actions.
pub const GITHUB_ISSUER: &str = "https://token.actions.githubusercontent.com";
/// The issuer of gitlab.com.
pub const GITLAB_ISSUER: &str = "https://gitlab.com";
/// The longest address, in bytes.
const ADDRESS_MAX: usize = 200;

named! {
    /// Whose claims the tokens of an issuer have.
    CiProvider {
        /// GitHub Actions, also of an enterprise server.
        GitHub = "github",
        /// GitLab CI, also of one's own server.
        GitLab = "gitlab",
    }
}

/// An issuer whose tokens the store accepts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustedIssuer {
    /// As its tokens name it, without a slash at the end.
    pub address: String,
    pub provider: CiProvider,
}

/// Whether a text is the address of an issuer: https without user, query and slash at the end. Only an issuer on the same machine, which is
/// for tests, may do without https.
#[must_use]
pub fn is_issuer_address(text: &str) -> bool {
    let is_local = |rest: &str| matches!(rest.split(['/', ':']).next(), Some("127.0.0.1" | "localhost"));
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://").filter(|rest| is_local(rest)));
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_' | b'~' | b':' | b'/');
    rest.is_some_and(|rest| {
        let starts = rest.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric());
        starts && !rest.ends_with('/') && !rest.contains("//") && rest.bytes().all(is_allowed) && text.len() <= ADDRESS_MAX
    })
}

/// The issuers that the owner allows.
pub fn trusted_issuers(preferences: &Preferences) -> impl Iterator<Item = TrustedIssuer> {
    let of = |addresses: &[String], provider: CiProvider| {
        addresses.iter().map(|address| TrustedIssuer { address: address.clone(), provider }).collect::<Vec<_>>()
    };
    of(&preferences.github_issuers, CiProvider::GitHub).into_iter().chain(of(&preferences.gitlab_issuers, CiProvider::GitLab))
}

/// The allowed issuer of this address.
#[must_use]
pub fn trusted_issuer(preferences: &Preferences, address: &str) -> Option<TrustedIssuer> {
    trusted_issuers(preferences).find(|issuer| issuer.address == address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_issuer_is_an_address_with_https() {
        let others = ["https://git.example:8443/group_1/~x", "http://127.0.0.1:4000", "http://localhost/ci"];
        for address in [GITHUB_ISSUER, GITLAB_ISSUER].into_iter().chain(others) {
            assert!(is_issuer_address(address), "{address}");
        }
        for address in [
            "",
            "https://",
            "gitlab.com",
            "http://gitlab.com",
            "http://127.0.0.1.evil.example",
            "https://gitlab.com/",
            "https://user@gitlab.com",
            "https://gitlab.com?x=1",
            "https://gitlab.com#x",
            "https://gitlab.com//x",
            "https:///x",
            "https://gitläb.com",
            "ftp://gitlab.com",
            &format!("https://{}.example", "a".repeat(200)),
        ] {
            assert!(!is_issuer_address(address), "{address}");
        }
    }

    #[test]
    fn github_and_gitlab_are_allowed_by_default() {
        let preferences = Preferences::default();
        let provider = |address: &str| trusted_issuer(&preferences, address).map(|issuer| issuer.provider);
        assert_eq!((provider(GITHUB_ISSUER), provider(GITLAB_ISSUER)), (Some(CiProvider::GitHub), Some(CiProvider::GitLab)));
        assert_eq!(provider("https://other.example"), None);
        let none = Preferences { github_issuers: Vec::new(), gitlab_issuers: Vec::new(), ..Preferences::default() };
        assert_eq!(trusted_issuers(&none).count(), 0);
    }
}
