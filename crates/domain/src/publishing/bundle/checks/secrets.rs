//! Secrets that were packed by mistake. The patterns are those of keys and tokens with a form of their own, so that what they find is
//! hardly ever anything else.

use super::Rule;
use regex::RegexSet;

/// The longest part of a line that is searched, in bytes. Longer lines are those of minified code.
const LINE_MAX: usize = 1 << 16;

const PATTERNS: [(&str, Rule); 12] = [
    (r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----", Rule::PrivateKey),
    (r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b", Rule::CloudKey),
    (r"\bAIza[0-9A-Za-z_-]{35}\b", Rule::CloudKey),
    (r"\bgh[pousr]_[0-9A-Za-z]{36,}\b", Rule::AccessToken),
    (r"\bgithub_pat_[0-9A-Za-z_]{60,}\b", Rule::AccessToken),
    (r"\bglpat-[0-9A-Za-z_-]{20,}\b", Rule::AccessToken),
    (r"\bnpm_[0-9A-Za-z]{36}\b", Rule::AccessToken),
    (r"\bxox[abprs]-[0-9A-Za-z-]{10,}", Rule::AccessToken),
    (r"\b(?:sk|rk)_live_[0-9A-Za-z]{16,}\b", Rule::AccessToken),
    // The secret of an access token of a store: 64 bytes in base58.
    (r"\bz[1-9A-HJ-NP-Za-km-z]{87,88}\b", Rule::AccessToken),
    (r"//[^\s:]*:_authToken=[^\s$]+", Rule::AccessToken),
    (r#"\b(?:postgres(?:ql)?|mysql|mongodb(?:\+srv)?|redis|amqps?)://[^\s:/@"']*:[^\s:/@"'${<]{3,}@"#, Rule::PasswordInAddress),
];

/// Finds secrets in lines.
#[derive(Debug)]
pub struct SecretScanner {
    set: RegexSet,
}

impl SecretScanner {
    /// `None`: a pattern is malformed, which the tests exclude.
    #[must_use]
    pub fn new() -> Option<Self> {
        RegexSet::new(PATTERNS.map(|(pattern, _)| pattern)).ok().map(|set| Self { set })
    }

    /// The rule that a line breaks.
    #[must_use]
    pub fn find(&self, line: &str) -> Option<Rule> {
        let end = (0..=line.len().min(LINE_MAX)).rev().find(|end| line.is_char_boundary(*end))?;
        let found = self.set.matches(&line[..end]).iter().next()?;
        PATTERNS.get(found).map(|(_, rule)| *rule)
    }
}

/// Whether files of this name usually contain secrets.
#[must_use]
pub fn secret_file(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default().to_ascii_lowercase();
    let is_environment =
        name == ".env" || name.strip_prefix(".env.").is_some_and(|rest| !matches!(rest, "example" | "sample" | "template"));
    let is_key = matches!(name.as_str(), "id_rsa" | "id_dsa" | "id_ecdsa" | "id_ed25519" | ".netrc" | ".pypirc" | ".htpasswd");
    is_environment || is_key || matches!(name.rsplit_once('.'), Some((_, "p12" | "pfx" | "jks" | "keystore")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_found_by_their_form() {
        let scanner = SecretScanner::new().expect("the patterns are valid");
        let token = "z5HicV7RRRbTqoHUe1XfcngQsyNZhM7Vuiexg7hkDkBXFEk7s8zevb4jYQjHpUzm6VUfe1sh38437cCjiTKBftz8N";
        for (line, rule) in [
            (concat!("-----BEGIN RSA ", "PRIVATE KEY-----").to_owned(), Rule::PrivateKey),
            (concat!("-----BEGIN ", "PRIVATE KEY-----").to_owned(), Rule::PrivateKey),
            (format!("key = 'AKIA{}'", "Q".repeat(16)), Rule::CloudKey),
            (format!("AIza{}", "b".repeat(35)), Rule::CloudKey),
            (format!("token: ghp_{}", "a".repeat(36)), Rule::AccessToken),
            (format!("npm_{}", "a".repeat(36)), Rule::AccessToken),
            (format!("sk_live_{}", "a".repeat(24)), Rule::AccessToken),
            (format!("accessToken={token}"), Rule::AccessToken),
            ("//registry.example/:_authToken=abc".to_owned(), Rule::AccessToken),
            ("postgres://shop:hunter2@db.example/shop".to_owned(), Rule::PasswordInAddress),
        ] {
            assert_eq!(scanner.find(&line), Some(rule), "{line}");
        }
    }

    #[test]
    fn what_only_looks_like_a_secret_is_not_found() {
        let scanner = SecretScanner::new().expect("the patterns are valid");
        for line in [
            "-----BEGIN PUBLIC KEY-----",
            "postgres://user:${PASSWORD}@db/shop",
            "postgres://localhost/shop",
            "//registry.example/:_authToken=${NPM_TOKEN}",
            "sk_test_4eC39HqLyjWDarjtT1zdp7dc",
            "z1muQ3xqHQK2uiACHyChikobsiY5kLqtShA",
            "const AKIA = 1;",
        ] {
            assert_eq!(scanner.find(line), None, "{line}");
        }
        let long = "é".repeat(LINE_MAX);
        assert_eq!(scanner.find(&long), None, "a long line is cut at a character");
    }

    #[test]
    fn files_that_hold_secrets_are_known_by_name() {
        for path in [".env", "config/.env.production", "keys/id_rsa", "cert.P12"] {
            assert!(secret_file(path), "{path}");
        }
        for path in [".env.example", "env.js", "id_rsa.pub", "keystore.js", "README.md"] {
            assert!(!secret_file(path), "{path}");
        }
    }
}
