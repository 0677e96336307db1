//! Who may know whom (DESIGN.md 1): crates, read from `cargo metadata`, and modules of the domain, read from its sources.

use cargo_metadata::{DependencyKind, MetadataCommand};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// What each of our crates may name. `dev-dependencies` of tests stand apart.
const ALLOWED: [(&str, &[&str]); 7] = [
    ("souk-domain", &[]),
    ("souk-adapters", &["souk-domain"]),
    ("souk-api", &["souk-domain"]),
    ("souk-workers", &["souk-domain"]),
    ("souk-sandbox", &[]),
    ("souk-simulator", &["souk-domain", "souk-adapters"]),
    ("souk-server", &["souk-domain", "souk-adapters", "souk-api", "souk-workers", "souk-sandbox", "souk-simulator"]),
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

/// The modules of the domain in layers, the lowest first: a module knows those of the layers below its own.
const LAYERS: [&[&str]; 6] =
    [&["shared"], &["events", "ledger"], &["access", "customer", "pricing", "store"], &["payment"], &["billing"], &["checkout"]];

/// What modules of one layer may know of each other.
const WITHIN_A_LAYER: [(&str, &str); 3] = [("customer", "access"), ("pricing", "access"), ("store", "access")];

/// What every module may know although it names types of all of them: the surroundings of a use case, which hold no rules.
const SURROUNDINGS: [&str; 2] = ["context", "storage"];

/// Top-level modules that know everything, and that nobody but the crate's root knows.
const COMPOSITION: [&str; 1] = ["handlers"];

/// Edges against the rules that stand for now. An edge that goes away is removed here; none is added.
const KNOWN_EXCEPTIONS: [(&str, &str); 1] = [("pricing", "payment")];

/// The source files of the domain, with the top-level module that each belongs to.
fn domain_files() -> Vec<(String, PathBuf)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../domain/src");
    let (mut folders, mut files) = (vec![root.clone()], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder of the domain") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let inside = path.strip_prefix(&root).expect("a path inside the domain");
            let top = inside.components().next().expect("a name").as_os_str().to_string_lossy();
            files.push((top.trim_end_matches(".rs").to_owned(), path));
        }
    }
    files
}

/// The top-level modules that a source text names by `crate::`, comments aside.
fn named_modules(text: &str) -> BTreeSet<String> {
    let code = text.lines().map(|line| line.split("//").next().unwrap_or_default());
    let mut found = BTreeSet::new();
    for line in code {
        for (start, _) in line.match_indices("crate::") {
            let rest = &line[start + "crate::".len()..];
            let name: String = rest.chars().take_while(|letter| letter.is_ascii_lowercase() || *letter == '_').collect();
            assert!(!name.is_empty(), "one module in one `use`, so that this test can read it: {line}");
            found.insert(name);
        }
    }
    found
}

/// Who names whom among the domain's top-level modules.
fn module_edges() -> BTreeSet<(String, String)> {
    let mut edges = BTreeSet::new();
    for (module, path) in domain_files() {
        let text = fs::read_to_string(&path).expect("a source file");
        edges.extend(named_modules(&text).into_iter().filter(|named| *named != module).map(|named| (module.clone(), named)));
    }
    edges
}

fn layer_of(module: &str) -> usize {
    let found = LAYERS.iter().position(|layer| layer.contains(&module));
    found.unwrap_or_else(|| panic!("{module} is in no layer: say in LAYERS whom it may know"))
}

fn is_allowed(module: &str, named: &str) -> bool {
    layer_of(named) < layer_of(module) || WITHIN_A_LAYER.contains(&(module, named))
}

#[test]
fn modules_of_the_domain_know_only_the_layers_below_them() {
    let edges = module_edges();
    let exempt = |module: &str| SURROUNDINGS.contains(&module) || COMPOSITION.contains(&module) || module == "lib";
    for (module, named) in &edges {
        assert!(!COMPOSITION.contains(&named.as_str()), "{module} must not name {named}");
        let stands = exempt(module) || SURROUNDINGS.contains(&named.as_str()) || is_allowed(module, named);
        assert!(stands || KNOWN_EXCEPTIONS.contains(&(module.as_str(), named.as_str())), "{module} must not name {named}");
    }
    for (module, named) in KNOWN_EXCEPTIONS {
        assert!(edges.contains(&(module.to_owned(), named.to_owned())), "{module} does not name {named} any more: remove the exception");
    }
}

#[test]
fn payments_know_neither_billing_nor_checkout() {
    let edges = module_edges();
    for above in ["billing", "checkout", "handlers"] {
        assert!(!edges.contains(&("payment".to_owned(), above.to_owned())), "payment must not name {above}");
    }
}

#[test]
fn the_modules_that_a_source_names_are_read() {
    let text = "use crate::shared::Amount;\n/// See [`crate::billing::Notification`].\nfn f() -> crate::payment::Intent { crate::context::g() } // crate::store\n";
    let expected = ["context", "payment", "shared"].map(str::to_owned);
    assert_eq!(named_modules(text), BTreeSet::from(expected));
}
