//! Whether the sandbox of test mode runs.

use super::Common;
use clap::ValueEnum;
use souk_domain::payment::Sandbox;
use url::Url;

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SandboxSwitch {
    On,
    Off,
}

/// Whether the sandbox runs, and why. Its `Display` is a sentence for the operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SandboxChoice {
    pub sandbox: Sandbox,
    pub reason: SandboxReason,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SandboxReason {
    /// `--sandbox` or its variable decides.
    Option,
    Demo,
    /// The public address is under https, so the store may be a real one.
    Https,
    NotHttps,
}

impl std::fmt::Display for SandboxChoice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let state = if self.sandbox == Sandbox::On { "on" } else { "off" };
        let reason = match self.reason {
            SandboxReason::Option => format!("--sandbox {state} is set"),
            SandboxReason::Demo => "this is a demo store".to_owned(),
            SandboxReason::Https => "the store's address is under https; --sandbox on starts it".to_owned(),
            SandboxReason::NotHttps => "the store's address is not under https".to_owned(),
        };
        write!(f, "The sandbox of test mode is {state}, because {reason}.")
    }
}

impl Common {
    /// Whether the sandbox runs. `address`: where people reach the store. `is_demo`: this process loads the demo store.
    #[must_use]
    pub fn sandbox(&self, address: &Url, is_demo: bool) -> SandboxChoice {
        let (sandbox, reason) = match self.sandbox {
            Some(SandboxSwitch::On) => (Sandbox::On, SandboxReason::Option),
            Some(SandboxSwitch::Off) => (Sandbox::Off, SandboxReason::Option),
            None if is_demo => (Sandbox::On, SandboxReason::Demo),
            None if address.scheme() == "https" => (Sandbox::Off, SandboxReason::Https),
            None => (Sandbox::On, SandboxReason::NotHttps),
        };
        SandboxChoice { sandbox, reason }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Cli, Command};
    use clap::Parser;

    #[test]
    fn the_sandbox_is_off_by_default_only_where_a_store_under_https_is_no_demo() {
        use SandboxReason::{Demo, Https, NotHttps, Option as ByOption};
        let choice = |options: &[&str], address: &str, is_demo| {
            let cli = Cli::try_parse_from([&["souk", "migrate"], options].concat()).expect("parses");
            let Command::Migrate(common) = cli.command else { panic!("another command") };
            let common = Common { sandbox: if options.is_empty() { None } else { common.sandbox }, ..common };
            common.sandbox(&Url::parse(address).expect("an address"), is_demo)
        };
        let (https, http) = ("https://store.example/", "http://127.0.0.1:8080/");
        for (options, address, is_demo, sandbox, reason) in [
            (&[][..], https, false, Sandbox::Off, Https),
            (&[], https, true, Sandbox::On, Demo),
            (&[], http, false, Sandbox::On, NotHttps),
            (&["--sandbox", "on"], https, false, Sandbox::On, ByOption),
            (&["--sandbox", "off"], http, false, Sandbox::Off, ByOption),
        ] {
            assert_eq!(choice(options, address, is_demo), SandboxChoice { sandbox, reason }, "{options:?} {address} {is_demo}");
        }
        let sentence = choice(&[], https, false).to_string();
        assert_eq!(sentence, "The sandbox of test mode is off, because the store's address is under https; --sandbox on starts it.");
    }
}
