//! Shows what an app may do, and asks whether to go on.

use super::error::CustomerError;
use super::record::Record;
use crate::args::ConsentArgs;
use crate::report::printable;
use serde_json::{Value, json};
use souk_domain::access::Did;
use souk_domain::publishing::review::RiskProfile;
use std::io::{self, BufRead, IsTerminal, Write};

/// The characters of a script that are shown.
const SCRIPT_SHOWN: usize = 200;

/// Whether somebody sits at the terminal, who reads what is shown and answers.
pub fn has_terminal(is_json: bool) -> bool {
    !is_json && io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// How a command may ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asking<'a> {
    /// The user has agreed in advance to what the apps may do.
    is_agreed: bool,
    /// The developers to whom the user has agreed in advance.
    accepted: &'a [Did],
    has_terminal: bool,
}

impl<'a> Asking<'a> {
    pub fn new(args: &'a ConsentArgs) -> Self {
        Self { is_agreed: args.yes, accepted: &args.accept_developer, has_terminal: has_terminal(args.output.json) }
    }

    /// Asks whether to install a version, in the place of the installed one if there is one. Another developer is asked for by name: who has
    /// agreed in advance to what an app may do has trusted its developer with it.
    ///
    /// # Errors
    /// The answer is not yes, or nobody can be asked.
    pub fn ask(self, record: &Record, installed: Option<&Record>, question: &str) -> Result<(), CustomerError> {
        let is_accepted = installed.is_none_or(|installed| installed.developer == record.developer)
            || self.accepted.iter().any(|accepted| accepted.as_str() == record.developer);
        match (self.is_agreed && is_accepted, self.has_terminal) {
            (true, _) => Ok(()),
            (false, false) if is_accepted => Err(CustomerError::NobodyToAsk),
            (false, false) => Err(CustomerError::OtherDeveloper(record.developer.clone())),
            (false, true) => {
                eprint!("{question} [y/N] ");
                let mut line = String::new();
                let answered = io::stderr().flush().and_then(|()| io::stdin().lock().read_line(&mut line));
                match (answered, line.trim().to_ascii_lowercase().as_str()) {
                    (Ok(_), "y" | "yes") => Ok(()),
                    _ => Err(CustomerError::Declined),
                }
            }
        }
    }
}

/// What is shown before an app is installed or updated. What an update adds is marked with a plus.
pub fn describe(record: &Record, installed: Option<&Record>) -> String {
    let (risks, former) = (record.risks(), installed.map(Record::risks).unwrap_or_default());
    let added = risks.added_to(&former);
    let mark = |is_added: bool| if installed.is_some() && is_added { '+' } else { ' ' };
    let mut lines = vec![
        format!("{} {} ({})", record.title, record.version, record.name),
        format!("  from {} of the store {}", record.developer, record.store),
    ];
    if let Some(state) = record.review_state() {
        lines.push(format!("! it is not published, and only its developer and reviewers get it: {state}"));
    }
    if let Some(installed) = installed {
        let state = installed.review_state().map(|state| format!(", which was not published: {state}")).unwrap_or_default();
        lines.push(format!("  replaces {}{state}", installed.version));
        if installed.developer != record.developer {
            lines.push(format!("+ its developer has changed: it was {}", installed.developer));
        }
        lines.extend(key_change(record, installed).map(|change| format!("+ {change}")));
        if record.is_paid && !installed.is_paid && installed.unpublished.is_none() {
            lines.push("+ it is no longer free".to_owned());
        }
    }
    if risks == RiskProfile::default() {
        lines.push("  its manifest asks for no permissions, runs no scripts and names no host to load other apps from".to_owned());
    }
    lines.extend(risks.permissions.iter().map(|name| format!("{} permission: {name}", mark(added.permissions.contains(name)))));
    lines.extend(risks.scripts.iter().map(|(name, command)| {
        let shown: String = command.chars().take(SCRIPT_SHOWN).collect();
        format!("{} script {name}: {shown}", mark(added.lifecycle_scripts.contains(name)))
    }));
    lines.extend(risks.hosts.iter().map(|host| format!("{} host: {host}", mark(added.outgoing_hosts.contains(host)))));
    lines.iter().map(|line| one_line(line) + "\n").collect()
}

/// One line for each fact, so that no text can pretend to be another fact.
pub fn one_line(text: &str) -> String {
    printable(text).replace('\n', "\u{fffd}")
}

/// That a version is signed with another key than the installed one, if it is. Access tokens are replaced, and each CI job has its own key,
/// so this is said and not asked.
pub fn key_change(record: &Record, installed: &Record) -> Option<String> {
    (record.signer != installed.signer).then(|| format!("it is signed with another key than the installed version: {}", record.signer))
}

/// Whether an update must be agreed to: it may do more than the installed version, or somebody else has made it, or one of the two is not
/// published. A price is agreed to on the page of the store: what is not bought is not installed.
pub fn needs_consent(record: &Record, installed: &Record) -> bool {
    record.developer != installed.developer
        || !record.risks().added_to(&installed.risks()).is_empty()
        || record.unpublished.is_some()
        || installed.unpublished.is_some()
}

/// What an app may do, for scripts.
pub fn json_of(risks: &RiskProfile) -> Value {
    json!({ "permissions": risks.permissions, "scripts": risks.scripts, "hosts": risks.hosts })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(version: &str, permissions: &[&str], scripts: &[(&str, &str)], hosts: &[&str]) -> Record {
        let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        Record {
            format: 1,
            store: "https://store.example/".to_owned(),
            store_did: "zNstore".to_owned(),
            app: "z8app".to_owned(),
            name: "night-sky".to_owned(),
            title: "Night sky".to_owned(),
            version: version.to_owned(),
            developer: "z1dev".to_owned(),
            signer: "z1key".to_owned(),
            bundle_sha256: String::new(),
            is_paid: false,
            unpublished: None,
            permissions: texts(permissions),
            scripts: scripts.iter().map(|(name, command)| ((*name).to_owned(), (*command).to_owned())).collect(),
            hosts: texts(hosts),
            installed_at: String::new(),
        }
    }

    #[test]
    fn an_installation_shows_everything_that_the_app_may_do() {
        let shown = describe(&record("1.0.0", &["camera"], &[("preInstall", "node a.js\nrm -r x\u{1b}[2J")], &["a.example"]), None);
        for line in [
            "Night sky 1.0.0 (night-sky)\n",
            "from z1dev of the store https://store.example/",
            "  permission: camera\n",
            "  host: a.example\n",
        ] {
            assert!(shown.contains(line), "{shown}");
        }
        assert!(shown.contains("  script preInstall: node a.js\u{fffd}rm -r x\u{fffd}[2J\n"), "{shown}");
        assert!(describe(&record("1.0.0", &[], &[], &[]), None).contains("asks for no permissions"));
    }

    #[test]
    fn an_update_marks_what_it_adds_and_asks_only_then() {
        let installed = record("1.0.0", &["camera"], &[("preStop", "a")], &["a.example"]);
        let same = record("1.1.0", &["camera"], &[], &["a.example"]);
        assert!(!needs_consent(&same, &installed));
        let draft = Record { unpublished: Some("IN_REVIEW".to_owned()), ..same.clone() };
        assert!(needs_consent(&draft, &installed) && needs_consent(&same, &draft));
        let state = "! it is not published, and only its developer and reviewers get it: in review\n";
        assert!(describe(&draft, None).contains(state) && !describe(&same, None).contains('!'));
        assert!(describe(&same, Some(&draft)).contains("  replaces 1.1.0, which was not published: in review\n"));
        let more = record("1.1.0", &["camera", "files"], &[("preStop", "b")], &["a.example", "b.example"]);
        assert!(needs_consent(&more, &installed));
        let shown = describe(&more, Some(&installed));
        for line in [
            "  replaces 1.0.0\n",
            "  permission: camera\n",
            "+ permission: files\n",
            "+ script preStop: b\n",
            "  host: a.example\n",
            "+ host: b.example\n",
        ] {
            assert!(shown.contains(line), "{shown}");
        }
        for (other, needs, line) in [
            (Record { developer: "z1other".to_owned(), ..same.clone() }, true, "+ its developer has changed: it was z1dev\n"),
            (
                Record { signer: "z1new".to_owned(), ..same.clone() },
                false,
                "+ it is signed with another key than the installed version: z1new\n",
            ),
            (Record { is_paid: true, ..same }, false, "+ it is no longer free\n"),
        ] {
            assert_eq!(needs_consent(&other, &installed), needs, "{line}");
            assert!(describe(&other, Some(&installed)).contains(line));
        }
    }

    #[test]
    fn a_script_must_agree_in_advance_and_to_another_developer_by_name() {
        let installed = record("1.0.0", &[], &[], &[]);
        let other = Record { developer: "z1other".to_owned(), ..record("1.1.0", &[], &[], &[]) };
        let named = [Did::from_verified("z1other")];
        let asking = |is_agreed, accepted| Asking { is_agreed, accepted, has_terminal: false };
        let script = asking(false, &[]);
        assert!(matches!(script.ask(&other, None, "Install?"), Err(CustomerError::NobodyToAsk)));
        assert!(matches!(script.ask(&other, Some(&installed), "Update?"), Err(CustomerError::OtherDeveloper(_))));
        let agreed = asking(true, &[]);
        assert!(agreed.ask(&other, None, "Install?").is_ok());
        assert!(agreed.ask(&installed, Some(&installed), "Update?").is_ok());
        let refused = agreed.ask(&other, Some(&installed), "Update?").expect_err("refused");
        assert!(refused.to_string().contains("--accept-developer z1other"), "{refused}");
        assert!(asking(true, &named).ask(&other, Some(&installed), "Update?").is_ok());
        assert!(asking(true, &named).ask(&installed, Some(&other), "Update?").is_err(), "a third one");
    }
}
