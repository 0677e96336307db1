//! What the routes work with.

use souk_domain::access::{DidAuthTokens, SignedLinks};
use souk_domain::billing::{CreditNotePrinter, InvoicePrinter};
use souk_domain::context::Context;
use souk_domain::events::Realtime;
use souk_domain::shared::Text;
use souk_domain::store::Files;
use std::sync::Arc;
use url::Url;

/// What this store is, as configured.
#[derive(Debug, Clone)]
pub struct Site {
    pub name: String,
    pub description: Text,
    /// The configured public address. The Host header is never believed.
    pub public_url: Url,
    /// Whether demo data was loaded: a fresh browser then begins in test mode.
    pub demo: bool,
    pub analytics_script: Option<Url>,
    pub errors_url: Option<Url>,
    /// From 0 to 1.
    pub errors_sample_rate: f64,
}

impl Site {
    /// An address of this store, for links that leave it.
    #[must_use]
    pub fn address(&self, path: &str) -> String {
        format!("{}{path}", self.public_url.as_str().trim_end_matches('/'))
    }

    /// A host of a method's settings: one that begins with `/` is this store's own.
    #[must_use]
    pub fn host(&self, host: &str) -> String {
        if host.starts_with('/') { self.address(host) } else { host.to_owned() }
    }

    /// Whether a browser's `Origin` is this store. On loopback its names stand for each other.
    #[must_use]
    pub fn is_own_origin(&self, origin: &str) -> bool {
        let Ok(origin) = Url::parse(origin) else { return false };
        let loopback = |url: &Url| matches!(url.host_str(), Some("127.0.0.1" | "localhost" | "[::1]"));
        origin.scheme() == self.public_url.scheme()
            && origin.port_or_known_default() == self.public_url.port_or_known_default()
            && (origin.host_str() == self.public_url.host_str() || (loopback(&origin) && loopback(&self.public_url)))
    }
}

/// Whether something that is not the database answers.
#[async_trait::async_trait]
pub trait Probe: Send + Sync {
    async fn ping(&self) -> Result<(), String>;
}

/// Draws invoices and credit notes.
pub trait DocumentPrinter: InvoicePrinter + CreditNotePrinter {}

impl<P: InvoicePrinter + CreditNotePrinter> DocumentPrinter for P {}

pub struct App {
    pub ctx: Context,
    pub site: Site,
    pub envelopes: Arc<dyn DidAuthTokens>,
    /// What the links in mails open.
    pub tokens: SignedLinks,
    pub files: Arc<dyn Files>,
    pub printer: Arc<dyn DocumentPrinter>,
    pub realtime: Arc<dyn Realtime>,
    pub limits: crate::Limits,
    /// The queue.
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
            analytics_script: None,
            errors_url: None,
            errors_sample_rate: 0.0,
        }
    }

    #[test]
    fn only_the_store_itself_and_on_loopback_its_other_name_is_an_own_origin() {
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
    fn own_hosts_are_completed_and_foreign_ones_kept() {
        let site = site("https://store.example/");
        assert_eq!(site.host("/sandbox/arcblock/api/"), "https://store.example/sandbox/arcblock/api/");
        assert_eq!(site.host("https://chain.example/api/"), "https://chain.example/api/");
    }
}
