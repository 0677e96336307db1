//! The facts of the running process for `souk doctor` and the owner's page.

use crate::config::Common;
use souk_adapters::system::host_name;
use souk_domain::operation::{Installation, InstallationProbe, KeyPlace, SeenProxy};
use souk_domain::payment::Sandbox;
use std::collections::BTreeMap;
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
            host: host_name(),
            shared_options: BTreeMap::new(),
        };
        let key = common.secret_key.is_none().then(|| common.data.join("secret.key"));
        Self { options, key, seen }
    }

    /// Also reports the options that every process of the store must have, for a process that serves or works.
    pub fn with_shared_options(mut self, common: &Common, sandbox: Sandbox) -> Self {
        self.options.shared_options = shared_options(common, sandbox);
        self
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

/// The options that decide what a store bills, keeps, sends and permits. None of them is a secret.
fn shared_options(common: &Common, sandbox: Sandbox) -> BTreeMap<String, String> {
    let days = common.retry_days.0.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
    let caps = common.daily_caps.0.iter().map(|(symbol, units)| format!("{symbol}={units}")).collect::<Vec<_>>().join(",");
    let sandbox = if sandbox == Sandbox::On { "on" } else { "off" };
    [
        ("public-url", common.public_url.as_ref().map(Url::to_string).unwrap_or_default()),
        ("sandbox", sandbox.to_owned()),
        ("name", common.name.clone()),
        ("mail-from", common.mail_from.clone()),
        ("allow-private-networks", common.allow_private_networks.to_string()),
        ("retry-days", days),
        ("days-until-cancel", common.days_until_cancel.to_string()),
        ("unsubmitted-session-days", common.unsubmitted_session_days.to_string()),
        ("usage-limit", common.usage_limit.to_string()),
        ("overdraft-grace-days", common.overdraft_grace_days.to_string()),
        ("overdraft-fee", common.overdraft_fee.to_string()),
        ("daily-caps", caps),
        ("files-url", common.files.files_url.as_ref().map(|files| format!("s3://{}/{}", files.bucket, files.prefix)).unwrap_or_default()),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into()
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

    fn common(folder: &Path, options: &[&str]) -> Common {
        let words = [&["souk", "migrate", "--data", folder.to_str().expect("text")], options].concat();
        let Command::Migrate(common) = Cli::try_parse_from(words).expect("parses").command else { unreachable!("it says migrate") };
        Common { database_url: None, redis_url: None, secret_key: None, ..common }
    }

    fn probe(folder: &Path, address: &str, options: &[&str]) -> Installation {
        let common = common(folder, options);
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
    #[test]
    fn each_option_that_changes_what_the_store_does_is_shared_and_a_command_has_none() {
        let folder = tempfile::tempdir().expect("a folder");
        assert_eq!(probe(folder.path(), "http://127.0.0.1:8080/", &[]).shared_options, BTreeMap::new());
        let of = |options: &[&str], sandbox| shared_options(&common(folder.path(), options), sandbox);
        let usual = of(&[], Sandbox::Off);
        assert_eq!((usual["retry-days"].as_str(), usual["sandbox"].as_str()), ("1,3,5,7,10,14", "off"));
        let different = |other: &BTreeMap<String, String>| {
            usual.iter().filter(|(name, value)| other[*name] != **value).map(|(name, _)| name.clone()).collect::<Vec<_>>()
        };
        for (name, options) in [
            ("public-url", ["--public-url", "https://store.example/"]),
            ("name", ["--name", "Lantern"]),
            ("mail-from", ["--mail-from", "Lantern <store@lantern.example>"]),
            ("retry-days", ["--retry-days", "2,4"]),
            ("days-until-cancel", ["--days-until-cancel", "9"]),
            ("unsubmitted-session-days", ["--unsubmitted-session-days", "9"]),
            ("usage-limit", ["--usage-limit", "9"]),
            ("overdraft-grace-days", ["--overdraft-grace-days", "9"]),
            ("overdraft-fee", ["--overdraft-fee", "9"]),
            ("daily-caps", ["--daily-caps", "USD=9"]),
            ("files-url", ["--files-url", "s3://shop/souk"]),
        ] {
            assert_eq!(different(&of(&options, Sandbox::Off)), [name]);
        }
        assert_eq!(different(&of(&["--allow-private-networks"], Sandbox::On)), ["allow-private-networks", "sandbox"]);
    }
}
