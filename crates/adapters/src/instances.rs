//! Implements the domain's [`InstanceProbe`] port: asks an instance of an app, at the address that it gives, who it is.

use crate::outbound::{DocumentReader, PrivateNetworks};
use async_trait::async_trait;
use serde_json::Value;
use souk_domain::publishing::instances::{InstanceProbe, InstanceProbeError};
use std::time::Duration;
use tokio::sync::Semaphore;
use url::Url;

/// How long an instance may take for its whole answer (reference/store.md 1.7).
const TIMEOUT: Duration = Duration::from_secs(10);
/// The largest answer, in bytes.
const ANSWER_MAX: usize = 64 << 10;
/// How many instances are asked at a time: several times as many as one address can keep in progress at its rate (`api/src/limits.rs`), so
/// that addresses which never answer do not keep others from being asked.
const CHECKS_MAX: usize = 64;
/// Where servers of apps say who they are. With this query, they answer with JSON.
const IDENTITY: &str = ".well-known/service/__blocklet__.js";
const AS_JSON: &str = "type=json";
/// What stands before the object, if the answer is a script.
const ASSIGNMENT: &str = "window.blocklet";

pub struct HttpInstanceProbe {
    reader: DocumentReader,
    slots: Semaphore,
}

impl HttpInstanceProbe {
    /// `private`: whether instances may be in a private network. In a store they never are, because strangers name them. For the same reason
    /// they are not asked through a proxy.
    ///
    /// # Errors
    /// The system has no certificates.
    pub fn new(private: PrivateNetworks) -> Result<Self, reqwest::Error> {
        Ok(Self { reader: DocumentReader::without_proxy(private, TIMEOUT)?, slots: Semaphore::new(CHECKS_MAX) })
    }
}

#[async_trait]
impl InstanceProbe for HttpInstanceProbe {
    async fn app_id(&self, url: &str) -> Result<String, InstanceProbeError> {
        let address = identity_of(url).ok_or(InstanceProbeError::NoInstance)?;
        let _slot = self.slots.try_acquire().map_err(|_| InstanceProbeError::Busy)?;
        let answer = self.reader.read(&address, ANSWER_MAX).await.map_err(|error| {
            tracing::debug!(%error, "an instance does not answer");
            InstanceProbeError::NoInstance
        })?;
        read_app_id(&answer).ok_or(InstanceProbeError::NoInstance)
    }
}

/// Where the instance at this address says who it is.
fn identity_of(url: &str) -> Option<Url> {
    let mut base = Url::parse(url).ok().filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host())?;
    base.set_query(None);
    base.set_fragment(None);
    let path = format!("{}/", base.path().trim_end_matches('/'));
    base.set_path(&path);
    let mut address = base.join(IDENTITY).ok()?;
    address.set_query(Some(AS_JSON));
    Some(address)
}

/// The id in an object, which may be assigned to a variable.
fn read_app_id(answer: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(answer).ok()?.trim();
    let object = match text.strip_prefix(ASSIGNMENT) {
        Some(rest) => rest.trim_start().strip_prefix('=')?.trim().trim_end_matches(';'),
        None => text,
    };
    let value: Value = serde_json::from_str(object).ok()?;
    value.get("appId")?.as_str().map(ToOwned::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{SiteAnswer, site};

    #[test]
    fn an_instance_says_who_it_is_below_its_address() {
        for (url, address) in [
            ("https://app.example", "https://app.example/.well-known/service/__blocklet__.js?type=json"),
            ("https://app.example/", "https://app.example/.well-known/service/__blocklet__.js?type=json"),
            ("http://app.example:81/blog/?a=1#b", "http://app.example:81/blog/.well-known/service/__blocklet__.js?type=json"),
        ] {
            assert_eq!(identity_of(url).expect(url).as_str(), address);
        }
        for url in ["ftp://app.example", "file:///etc/passwd", "app.example", "https://", ""] {
            assert_eq!(identity_of(url), None, "{url}");
        }
    }

    #[test]
    fn the_id_is_read_from_json_and_from_a_script() {
        let (script, short) = (" window.blocklet = {\"appId\": \"zNK1\"};\n", "window.blocklet={\"appId\":\"zNK1\"}");
        for answer in [r#"{"appId":"zNK1","more":{}}"#, script, short] {
            assert_eq!(read_app_id(answer.as_bytes()).as_deref(), Some("zNK1"), "{answer}");
        }
        for answer in ["", "{}", "[]", r#"{"appId":5}"#, "window.blocklet", "<html>", "window.blocklet = {appId: 'zNK1'}"] {
            assert_eq!(read_app_id(answer.as_bytes()), None, "{answer}");
        }
        assert_eq!(read_app_id(&[0xff]), None);
    }

    #[tokio::test]
    async fn an_instance_is_asked_within_its_limits() {
        let address = site(|path| match path {
            "/.well-known/service/__blocklet__.js?type=json" => SiteAnswer::ok(r#"{"appId":"zNK1"}"#),
            "/large/.well-known/service/__blocklet__.js?type=json" => {
                SiteAnswer::ok(format!(r#"{{"appId":"zNK1","filler":"{}"}}"#, "x".repeat(ANSWER_MAX)))
            }
            "/moved/.well-known/service/__blocklet__.js?type=json" => {
                SiteAnswer::redirect("/.well-known/service/__blocklet__.js?type=json")
            }
            _ => SiteAnswer { status: 404, ..SiteAnswer::ok(r#"{"appId":"zNK1"}"#) },
        })
        .await;
        let probe = HttpInstanceProbe::new(PrivateNetworks::Allowed).expect("a client");
        assert_eq!(probe.app_id(&address).await, Ok("zNK1".to_owned()));
        for path in ["/large", "/moved", "/none"] {
            assert_eq!(probe.app_id(&format!("{address}{path}")).await, Err(InstanceProbeError::NoInstance), "{path}");
        }
        let all: Vec<_> = (0..CHECKS_MAX).map(|_| probe.slots.try_acquire().expect("a slot")).collect();
        assert_eq!(probe.app_id(&address).await, Err(InstanceProbeError::Busy));
        drop(all);
        let guarded = HttpInstanceProbe::new(PrivateNetworks::Refused).expect("a client");
        for private in [address.clone(), address.replace("127.0.0.1", "localhost"), "http://169.254.169.254".to_owned()] {
            assert_eq!(guarded.app_id(&private).await, Err(InstanceProbeError::NoInstance), "{private}");
        }
    }
}
