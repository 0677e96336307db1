//! Who may know whom (DESIGN.md 1), read from `cargo metadata`.

use cargo_metadata::{DependencyKind, MetadataCommand};
use std::collections::BTreeMap;

/// What each of our crates may name. `dev-dependencies` of tests stand apart.
const ALLOWED: [(&str, &[&str]); 5] = [
    ("souk-domain", &[]),
    ("souk-adapters", &["souk-domain"]),
    ("souk-api", &["souk-domain"]),
    ("souk-workers", &["souk-domain"]),
    ("souk-server", &["souk-domain", "souk-adapters", "souk-api", "souk-workers"]),
];

/// What the domain never names: an async runtime, a database, HTTP, a queue.
const NOT_IN_THE_DOMAIN: [&str; 7] = ["tokio", "sqlx", "poem", "poem-openapi", "reqwest", "redis", "apalis"];

/// The names that each of our crates depends on outside its tests.
fn edges() -> BTreeMap<String, Vec<String>> {
    let metadata = MetadataCommand::new().no_deps().exec().expect("cargo describes the workspace");
    let named = |package: &cargo_metadata::Package| {
        let names = package.dependencies.iter().filter(|dependency| dependency.kind != DependencyKind::Development);
        names.map(|dependency| dependency.name.clone()).collect()
    };
    metadata.packages.iter().map(|package| (package.name.to_string(), named(package))).collect()
}

#[test]
fn crates_know_only_whom_they_may_know() {
    let edges = edges();
    let ours: Vec<_> = edges.keys().cloned().collect();
    let expected: Vec<_> = {
        let mut names = ALLOWED.map(|(name, _)| name.to_owned()).to_vec();
        names.sort();
        names
    };
    assert_eq!(ours, expected, "a crate was added or taken away: say in ALLOWED whom it may know");
    for (name, allowed) in ALLOWED {
        for known in edges[name].iter().filter(|known| ours.contains(known)) {
            assert!(allowed.contains(&known.as_str()), "{name} must not depend on {known}");
        }
    }
}

#[test]
fn the_domain_has_no_runtime_no_database_and_no_http() {
    let edges = edges();
    for forbidden in NOT_IN_THE_DOMAIN {
        assert!(!edges["souk-domain"].iter().any(|known| known == forbidden), "souk-domain must not depend on {forbidden}");
    }
}
