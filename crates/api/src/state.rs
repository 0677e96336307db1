//! The state that routes share.

pub use crate::upload_slots::UploadSlots;

use souk_domain::access::{DidAuthTokens, SignedLinks};
use souk_domain::billing::{CreditNotePrinter, InvoicePrinter};
use souk_domain::context::Context;
use souk_domain::events::Realtime;
use souk_domain::payment::MethodKind;
use souk_domain::privacy::PersonalDataExports;
use souk_domain::publishing::access_tokens::TokenKeys;
use souk_domain::publishing::bundle::{AppDids, BundleReader, Spool};
use souk_domain::publishing::instances::InstanceProbe;
use souk_domain::publishing::tools::ToolSeals;
use souk_domain::publishing::trusted::CiTokens;
use souk_domain::shared::Text;
use souk_domain::store::Files;
use std::sync::Arc;
use std::time::Duration;
use url::Url;

/// The configured identity of this store.
#[derive(Debug, Clone)]
pub struct Site {
    pub name: String,
    pub description: Text,
    /// The configured public URL. The Host header is never trusted.
    pub public_url: Url,
    /// Whether demo data was loaded; if so, a new browser starts in test mode.
    pub demo: bool,
    /// The store's DID, which is its account at ArcBlock networks.
    pub did: String,
    pub analytics_script: Option<Url>,
    pub errors_url: Option<Url>,
    /// The share of client errors to report, from 0 to 1.
    pub errors_sample_rate: f64,
    /// Whether emails are sent. Without a mail server they are files in the mail folder.
    pub has_mail_server: bool,
}

impl Site {
    /// The absolute URL of a path of this store, for links in emails, wallets and API responses.
    #[must_use]
    pub fn address(&self, path: &str) -> String {
        format!("{}{path}", self.public_url.as_str().trim_end_matches('/'))
    }

    /// The store's account at the networks of a method type, which receives payments and sends refunds. `None` for cards, and for networks
    /// whose account is not derived from the store's DID.
    #[must_use]
    pub fn account(&self, kind: MethodKind) -> Option<&str> {
        (kind == MethodKind::Arcblock).then_some(self.did.as_str())
    }

    /// Resolves a host of a method's settings: a path that begins with `/` refers to this store.
    #[must_use]
    pub fn host(&self, host: &str) -> String {
        if host.starts_with('/') { self.address(host) } else { host.to_owned() }
    }

    /// Returns whether a browser's `Origin` is this store. All loopback names count as the same host.
    #[must_use]
    pub fn is_own_origin(&self, origin: &str) -> bool {
        let Ok(origin) = Url::parse(origin) else { return false };
        let loopback = |url: &Url| matches!(url.host_str(), Some("127.0.0.1" | "localhost" | "[::1]"));
        origin.scheme() == self.public_url.scheme()
            && origin.port_or_known_default() == self.public_url.port_or_known_default()
            && (origin.host_str() == self.public_url.host_str() || (loopback(&origin) && loopback(&self.public_url)))
    }
}

/// A readiness check of a service other than the database.
#[async_trait::async_trait]
pub trait Probe: Send + Sync {
    async fn ping(&self) -> Result<(), String>;
}

/// How long an upload may make no progress.
pub const UPLOAD_PROGRESS: Duration = Duration::from_secs(30);
/// The longest time that the answer to an upload waits for the store to publish the version. Its checks take a second or two. It is less
/// than what a process that ends gives to requests.
pub const UPLOAD_PUBLICATION: Duration = Duration::from_secs(6);

/// What uploads need.
#[derive(Clone)]
pub struct Publishing {
    pub dids: Arc<dyn AppDids>,
    pub reader: Arc<dyn BundleReader>,
    pub spool: Arc<dyn Spool>,
    /// How long an upload may make no progress: [`UPLOAD_PROGRESS`], except in tests.
    pub progress: Duration,
    /// How long the answer to an upload waits for the store to publish the version: [`UPLOAD_PUBLICATION`], except in tests.
    pub publication: Duration,
    pub slots: UploadSlots,
}

/// Renders invoices and credit notes as PDF.
pub trait DocumentPrinter: InvoicePrinter + CreditNotePrinter {}

impl<P: InvoicePrinter + CreditNotePrinter> DocumentPrinter for P {}

#[derive(Clone)]
pub struct App {
    pub ctx: Context,
    pub site: Site,
    pub did_auth_tokens: Arc<dyn DidAuthTokens>,
    /// The keys of access tokens.
    pub token_keys: Arc<dyn TokenKeys>,
    /// Seals what the tools of developers are answered.
    pub tool_seals: Arc<dyn ToolSeals>,
    /// Verifies the tokens of CI with the keys that their issuers publish.
    pub ci_tokens: Arc<dyn CiTokens>,
    /// Asks public instances of apps who they are.
    pub instances: Arc<dyn InstanceProbe>,
    /// The signed links in emails.
    pub tokens: SignedLinks,
    pub files: Arc<dyn Files>,
    pub publishing: Publishing,
    pub printer: Arc<dyn DocumentPrinter>,
    pub exports: Arc<dyn PersonalDataExports>,
    pub realtime: Arc<dyn Realtime>,
    pub limits: Arc<crate::Limits>,
    /// How long after their sign-in users can refund, pay out, create access tokens and change who may publish without signing in again.
    pub sign_in_again_after: Duration,
    /// Checks the queue.
    pub probe: Arc<dyn Probe>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn site(public_url: &str) -> Site {
        Site {
            name: String::new(),
            description: Text::default(),
            public_url: Url::parse(public_url).expect("address"),
            demo: false,
            did: String::new(),
            analytics_script: None,
            errors_url: None,
            errors_sample_rate: 0.0,
            has_mail_server: false,
        }
    }

    #[test]
    fn own_origins_are_the_store_and_its_loopback_aliases() {
        let local = site("http://127.0.0.1:8080");
        assert!(local.is_own_origin("http://localhost:8080"));
        assert!(!local.is_own_origin("http://localhost:8081"));
        assert!(!local.is_own_origin("https://localhost:8080"));
        assert!(!local.is_own_origin("null"));
        let public = site("https://store.example");
        assert!(public.is_own_origin("https://store.example"));
        assert!(!public.is_own_origin("https://store.example.evil.example"));
        assert!(!public.is_own_origin("http://store.example"));
    }

    #[test]
    fn relative_hosts_are_resolved_and_absolute_ones_kept() {
        let site = site("https://store.example/");
        assert_eq!(site.host("/sandbox/arcblock/api/"), "https://store.example/sandbox/arcblock/api/");
        assert_eq!(site.host("https://chain.example/api/"), "https://chain.example/api/");
    }
}
