//! What of a manifest the users of an app should agree to.

use super::super::review::RiskProfile;
use super::manifest::{ComponentSource, Manifest};

/// The risky parts of a version.
#[must_use]
pub fn risks_of(manifest: &Manifest) -> RiskProfile {
    let address = |source: &ComponentSource| match source {
        ComponentSource::Url(url) => url.clone(),
        ComponentSource::Store { store, .. } => store.clone(),
    };
    RiskProfile {
        permissions: manifest.capabilities.iter().cloned().collect(),
        scripts: manifest.scripts.clone(),
        hosts: manifest.components.iter().filter_map(|component| host(&address(&component.source))).collect(),
    }
}

/// The host of a web address.
fn host(address: &str) -> Option<String> {
    let (_, rest) = address.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let host = authority.rsplit('@').next()?.split(':').next()?;
    (!host.is_empty()).then(|| host.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_of_an_address_is_found_without_user_and_port() {
        for (address, expected) in [
            ("https://Store.example/api?x=1", Some("store.example")),
            ("http://user:secret@a.example:8080", Some("a.example")),
            ("https://", None),
            ("a.example", None),
        ] {
            assert_eq!(host(address).as_deref(), expected, "{address}");
        }
    }
}
