//! What of a version its users should agree to, as its manifest says.

use super::need::RiskyDifferences;
use std::collections::{BTreeMap, BTreeSet};

/// The risky parts of a version.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RiskProfile {
    pub permissions: BTreeSet<String>,
    /// The command of each script that runs at installation, start or removal.
    pub scripts: BTreeMap<String, String>,
    /// The hosts from which it fetches other apps.
    pub hosts: BTreeSet<String>,
}

impl RiskProfile {
    /// What this version adds to another one. Removing something is no risk.
    #[must_use]
    pub fn added_to(&self, other: &Self) -> RiskyDifferences {
        let added = |mine: &BTreeSet<String>, others: &BTreeSet<String>| mine.difference(others).cloned().collect();
        let is_changed = |(name, command): &(&String, &String)| other.scripts.get(*name) != Some(*command);
        RiskyDifferences {
            permissions: added(&self.permissions, &other.permissions),
            lifecycle_scripts: self.scripts.iter().filter(is_changed).map(|(name, _)| name.clone()).collect(),
            outgoing_hosts: added(&self.hosts, &other.hosts),
            price: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile(permissions: &[&str], scripts: &[(&str, &str)], hosts: &[&str]) -> RiskProfile {
        let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let scripts = scripts.iter().map(|(name, command)| ((*name).to_owned(), (*command).to_owned())).collect();
        RiskProfile { permissions: set(permissions), scripts, hosts: set(hosts) }
    }

    #[test]
    fn what_is_added_or_changed_is_a_risk_and_what_is_removed_is_not() {
        let published = profile(&["camera"], &[("preInstall", "a"), ("preStop", "b")], &["a.example"]);
        assert!(published.added_to(&published).is_empty());
        assert!(profile(&[], &[], &[]).added_to(&published).is_empty());
        let next = profile(&["camera", "files"], &[("preInstall", "c"), ("preStop", "b")], &["a.example", "b.example"]);
        let added = next.added_to(&published);
        assert_eq!(added.permissions, ["files"]);
        assert_eq!(added.lifecycle_scripts, ["preInstall"]);
        assert_eq!(added.outgoing_hosts, ["b.example"]);
    }
}
