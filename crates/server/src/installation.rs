//! The facts of the running process for `souk doctor` and the owner's page.

use crate::config::Common;
use souk_domain::operation::{Installation, InstallationProbe, KeyPlace, SeenProxy};
use souk_domain::payment::Sandbox;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use url::Url;

/// The bits of a file's mode that permit others than its user anything.
const OTHERS: u32 = 0o077;

/// Reads what can change again whenever it is asked.
pub struct ProcessProbe {
    /// What the options say.
    options: Installation,
    /// The file of the store's key; `None`: the operator keeps it.
    key: Option<PathBuf>,
    seen: SeenProxy,
}

impl ProcessProbe {
    pub fn new(common: &Common, address: &Url, sandbox: Sandbox, seen: SeenProxy) -> Self {
        let is_https = address.scheme() == "https";
        let uses_postgres = !common.uses_sqlite();
        let options = Installation {
            insecure_address: (!is_https && !is_local(address)).then(|| address.to_string()),
            exposed_sandbox: is_https && sandbox == Sandbox::On,
            key: KeyPlace::Configured,
            mails_to_folder: common.smtp_url.is_none(),
            lacks_redis: uses_postgres && common.redis_url.is_none(),
            untrusted_proxy: None,
            version: env!("CARGO_PKG_VERSION").to_owned(),
        };
        let key = common.secret_key.is_none().then(|| common.data.join("secret.key"));
        Self { options, key, seen }
    }
}

impl InstallationProbe for ProcessProbe {
    fn inspect(&self) -> Installation {
        let key = self.key.as_ref().map_or(KeyPlace::Configured, |path| KeyPlace::Folder {
            path: path.display().to_string(),
            others_read: std::fs::metadata(path).is_ok_and(|file| file.permissions().mode() & OTHERS != 0),
        });
        Installation { key, untrusted_proxy: self.seen.address(), ..self.options.clone() }
    }
}

/// Whether an address is reached on this machine only.
fn is_local(address: &Url) -> bool {
    match address.host() {
        Some(url::Host::Domain(name)) => name == "localhost",
        Some(url::Host::Ipv4(address)) => address.is_loopback(),
        Some(url::Host::Ipv6(address)) => address.is_loopback(),
        None => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Cli, Command};
    use clap::Parser;
    use std::path::Path;

    fn probe(folder: &Path, address: &str, options: &[&str]) -> Installation {
        let words = [&["souk", "migrate", "--data", folder.to_str().expect("text")], options].concat();
        let Command::Migrate(common) = Cli::try_parse_from(words).expect("parses").command else { unreachable!("it says migrate") };
        let common = Common { database_url: None, redis_url: None, secret_key: None, ..common };
        ProcessProbe::new(&common, &Url::parse(address).expect("an address"), Sandbox::On, SeenProxy::default()).inspect()
    }

    #[test]
    fn the_facts_follow_the_options_and_the_key_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let key = folder.path().join("secret.key");
        std::fs::write(&key, "00").expect("writes");
        for (mode, others_read) in [(0o600, false), (0o640, true)] {
            std::fs::set_permissions(&key, std::fs::Permissions::from_mode(mode)).expect("sets");
            let facts = probe(folder.path(), "http://127.0.0.1:8080/", &[]);
            assert_eq!(facts.key, KeyPlace::Folder { path: key.display().to_string(), others_read }, "{mode:o}");
            assert_eq!((facts.insecure_address, facts.exposed_sandbox, facts.mails_to_folder), (None, false, true));
        }
        let public = probe(folder.path(), "http://store.example/", &["--smtp-url", "smtp://mail.example"]);
        assert_eq!((public.insecure_address.as_deref(), public.mails_to_folder), (Some("http://store.example/"), false));
        assert!(probe(folder.path(), "https://store.example/", &[]).exposed_sandbox);
    }
}
