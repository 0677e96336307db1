//! Checks the allowed dependencies (DESIGN.md 1) between crates, from `cargo metadata`, and between modules of the domain, from its
//! sources.

use cargo_metadata::{DependencyKind, MetadataCommand};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The allowed dependencies of each crate on other crates of the workspace, without `dev-dependencies`.
const ALLOWED: [(&str, &[&str]); 8] = [
    ("souk-domain", &[]),
    ("souk-adapters", &["souk-domain"]),
    ("souk-api", &["souk-domain"]),
    ("souk-workers", &["souk-domain"]),
    ("souk-sandbox", &[]),
    ("souk-simulator", &["souk-domain", "souk-adapters"]),
    // A client of any store: it knows the rules of bundles, and nothing of this machine's store.
    ("souk-cli", &["souk-domain", "souk-adapters"]),
    ("souk-server", &["souk-domain", "souk-adapters", "souk-api", "souk-workers", "souk-sandbox", "souk-simulator", "souk-cli"]),
];

/// Dependencies that the domain must not have: an async runtime, a database, HTTP, a queue.
const NOT_IN_THE_DOMAIN: [&str; 7] = ["tokio", "sqlx", "poem", "poem-openapi", "reqwest", "redis", "apalis"];

/// The dependencies of each crate of the workspace, without `dev-dependencies`.
fn edges() -> BTreeMap<String, Vec<String>> {
    let metadata = MetadataCommand::new().no_deps().exec().expect("cargo describes the workspace");
    let named = |package: &cargo_metadata::Package| {
        let names = package.dependencies.iter().filter(|dependency| dependency.kind != DependencyKind::Development);
        names.map(|dependency| dependency.name.clone()).collect()
    };
    metadata.packages.iter().map(|package| (package.name.to_string(), named(package))).collect()
}

#[test]
fn crates_depend_only_on_allowed_crates() {
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

/// The modules of the domain in layers, lowest first. A module may use modules of lower layers.
const LAYERS: [&[&str]; 6] = [
    &["shared"],
    &["events", "ledger", "operation"],
    &["access", "customer", "mail", "pricing", "store"],
    &["payment"],
    &["billing"],
    &["checkout", "privacy", "profile", "publishing", "doctor"],
];

/// Allowed dependencies between modules of the same layer.
/// What developers publish is sold by payment links. A profile picture is measured and stored as the pictures of apps are.
const WITHIN_A_LAYER: [(&str, &str); 5] =
    [("customer", "access"), ("pricing", "access"), ("store", "access"), ("publishing", "checkout"), ("profile", "publishing")];

/// Modules that every module may use although they name types of all layers: the environment of use cases, which contains no rules.
const ENVIRONMENT: [&str; 2] = ["context", "storage"];

/// Top-level modules that may use all others, and that only the crate root uses.
const COMPOSITION: [&str; 1] = ["handlers"];

/// The source files of the domain, each with its top-level module.
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

/// The top-level modules that a source text names by `crate::`, ignoring comments.
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

/// The dependencies between the domain's top-level modules.
fn module_edges() -> BTreeSet<(String, String)> {
    let mut edges = BTreeSet::new();
    for (module, path) in domain_files() {
        let text = fs::read_to_string(&path).expect("a source file");
        edges.extend(named_modules(&text).into_iter().filter(|named| *named != module).map(|named| (module.clone(), named)));
    }
    edges
}

/// The longest chain of `super::` in code.
fn longest_super_chain(code: &str) -> usize {
    (1..).take_while(|length| code.contains(&"super::".repeat(*length))).last().unwrap_or_default()
}

#[test]
fn other_modules_are_named_only_in_forms_that_the_tests_of_layers_read() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../domain/src");
    for (module, path) in domain_files() {
        let inside = path.strip_prefix(&root).expect("a path inside the domain");
        let is_folder = inside.ends_with("mod.rs") || inside.ends_with("lib.rs");
        let depth = inside.components().count() - usize::from(is_folder);
        let code = code_of(&path);
        // A file of tests uses what it tests.
        if code.contains("#[test]") || code.contains("proptest!") {
            continue;
        }
        // A chain that reaches the crate root names a module without `crate::`.
        assert!(longest_super_chain(&code) < depth.max(1), "{}: name modules of the crate by `crate::`", inside.display());
        for hidden in ["super::*", "super as ", "crate::billing::*", "crate::billing;", "crate::billing as "] {
            assert!(!code.contains(hidden), "{}: `{hidden}` hides what is used", inside.display());
        }
        let names_itself = module == "billing" && code.contains("crate::billing::{self");
        assert!(!names_itself, "{}: `crate::billing::{{self` hides what is used", inside.display());
    }
}

fn layer_of(module: &str) -> usize {
    let found = LAYERS.iter().position(|layer| layer.contains(&module));
    found.unwrap_or_else(|| panic!("{module} is in no layer: say in LAYERS whom it may know"))
}

fn is_allowed(module: &str, named: &str) -> bool {
    layer_of(named) < layer_of(module) || WITHIN_A_LAYER.contains(&(module, named))
}

#[test]
fn domain_modules_depend_only_on_lower_layers() {
    let edges = module_edges();
    let exempt = |module: &str| ENVIRONMENT.contains(&module) || COMPOSITION.contains(&module) || module == "lib";
    for (module, named) in &edges {
        assert!(!COMPOSITION.contains(&named.as_str()), "{module} must not name {named}");
        let stands = exempt(module) || ENVIRONMENT.contains(&named.as_str()) || is_allowed(module, named);
        assert!(stands, "{module} must not name {named}");
    }
}

#[test]
fn payment_depends_neither_on_billing_nor_on_checkout() {
    let edges = module_edges();
    for above in ["billing", "checkout", "handlers"] {
        assert!(!edges.contains(&("payment".to_owned(), above.to_owned())), "payment must not name {above}");
    }
}

#[test]
fn module_names_are_extracted_from_sources() {
    let text = "use crate::shared::Amount;\n/// See [`crate::billing::Notification`].\nfn f() -> crate::payment::Intent { crate::context::g() } // crate::store\n";
    let expected = ["context", "payment", "shared"].map(str::to_owned);
    assert_eq!(named_modules(text), BTreeSet::from(expected));
}

/// The modules of billing in layers, lowest first (docs/ARCHITECTURE.md). A module may use modules of lower layers, and modules of its
/// own layer that do not use it.
const BILLING_LAYERS: [&[&str]; 12] = [
    &["clock", "period", "policy", "pricing_formula", "proration", "usage"],
    &["errors"],
    &["balance", "charges"],
    &["invoice"],
    &["notifications"],
    &["subscription", "unbillable"],
    &["hold", "limits", "recovery", "reminders"],
    &["credit"],
    &[
        "billing_batch",
        "mandate_limit",
        "payment_target",
        "pending_plan_change",
        "period_lines",
        "statement",
        "subscription_admin",
        "subscription_error",
        "trial",
        "usage_correction",
    ],
    &["stake"],
    &["dunning", "reversal", "transfer_decision"],
    &[
        // Use cases, and below them the contents of documents and emails.
        "balance_payments",
        "billing_email_content",
        "billing_emails",
        "billing_threshold",
        "cancel",
        "card_events",
        "change_payment",
        "change_plan",
        "credit_note_document",
        "credited_subscription",
        "end_refund",
        "gas_retry",
        "import",
        "invoice_document",
        "issue_invoice",
        "ordered_plan",
        "pause",
        "pay_by_card",
        "pay_overdue",
        "plan_mandate",
        "plan_preview",
        "recharge",
        "renew",
        "report_usage",
        "restake",
        "resume_billing",
        "sale_emails",
        "settlement",
        "share_payout_reversal",
        "share_payouts",
        "store_emails",
        "termination",
        "test_clock_admin",
        "test_clock_runner",
        "transfer_hold",
        "transfers_on_hold",
        "unused_time",
        "usage_carry_over",
        "view",
        "void",
    ],
];

/// The code of a source file, without comments and unit tests.
fn code_of(path: &Path) -> String {
    let text = fs::read_to_string(path).expect("a source file");
    let code = text.split("#[cfg(test)]").next().unwrap_or_default();
    code.lines().map(|line| line.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

/// The identifiers of a text.
fn identifiers(text: &str) -> impl Iterator<Item = &str> {
    text.split(|letter: char| !letter.is_alphanumeric() && letter != '_').filter(|word| !word.is_empty())
}

/// The public names of a file: unindented items and re-exports. `find` reads the module of a glob re-export.
fn declared_names(code: &str, find: &dyn Fn(&str) -> String) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for line in code.lines().filter(|line| line.starts_with("pub")) {
        let mut words = identifiers(line).skip_while(|word| !["fn", "struct", "enum", "trait", "type", "const"].contains(word));
        names.extend(words.find(|word| !["fn", "struct", "enum", "trait", "type", "const", "async"].contains(word)).map(str::to_owned));
    }
    for statement in code.split(';').filter(|statement| statement.trim_start().starts_with("pub") && statement.contains("use ")) {
        let path = statement.split("use ").nth(1).unwrap_or_default();
        let Some((module, list)) = path.split_once("::") else { continue };
        match list.trim() {
            "*" => names.extend(declared_names(&find(module), &|_| String::new())),
            list => names.extend(identifiers(list).map(str::to_owned)),
        }
    }
    names
}

/// The methods that code gives to types of other modules.
fn foreign_methods(code: &str, is_foreign: &dyn Fn(&str) -> bool) -> BTreeSet<(String, String)> {
    let (mut methods, mut extended) = (BTreeSet::new(), None);
    for line in code.lines() {
        if let Some(rest) = line.strip_prefix("impl").filter(|rest| rest.starts_with([' ', '<'])) {
            // `impl Type {` or `impl<'a> Type<'a> {`, and no trait.
            let name = rest.strip_suffix(" {").filter(|rest| !rest.contains(" for ")).and_then(|rest| rest.rsplit(' ').next());
            let name = name.and_then(|name| name.split('<').next());
            extended = name.filter(|name| is_foreign(name)).map(str::to_owned);
        } else if line == "}" {
            extended = None;
        } else if let Some(name) = extended.as_ref().filter(|_| line.trim_start().starts_with("pub")) {
            let method = identifiers(line).skip_while(|word| *word != "fn").nth(1);
            methods.extend(method.map(|method| (name.clone(), method.to_owned())));
        }
    }
    methods
}

fn billing_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../domain/src/billing")
}

/// The code of a module inside a folder: a file, or the `mod.rs` of a folder.
fn module_code(folder: &Path, module: &str) -> String {
    let file = folder.join(format!("{module}.rs"));
    code_of(&if file.exists() { file } else { folder.join(module).join("mod.rs") })
}

/// The declaring module of each name that billing's modules share.
fn billing_names() -> BTreeMap<String, String> {
    let folder = billing_folder();
    let mut names = BTreeMap::new();
    for module in BILLING_LAYERS.iter().flat_map(|layer| layer.iter()) {
        let inside = folder.join(module);
        let declared = declared_names(&module_code(&folder, module), &|inner| module_code(&inside, inner));
        for name in declared {
            let other = names.insert(name.clone(), (*module).to_owned());
            assert!(other.is_none(), "{module} and {other:?} both declare {name}: an edge to one of them would be hidden");
        }
    }
    names.extend(BILLING_LAYERS.iter().flat_map(|layer| layer.iter()).map(|module| ((*module).to_owned(), (*module).to_owned())));
    names
}

/// The names of billing that code inside it uses. `root`: the prefixes that lead to billing.
fn used_names(code: &str, roots: &[&str]) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for root in roots {
        for (start, _) in code.match_indices(root) {
            if code[..start].ends_with("::") {
                continue;
            }
            let rest = &code[start + root.len()..];
            let list = if rest.starts_with('{') { rest.split(';').next().unwrap_or_default() } else { rest };
            let count = if rest.starts_with('{') { usize::MAX } else { 1 };
            names.extend(identifiers(list).take(count).map(str::to_owned));
        }
    }
    names
}

/// The dependencies between the modules of billing.
fn billing_edges() -> BTreeSet<(String, String)> {
    let (names, files) = (billing_names(), billing_files());
    let mut methods: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for BillingFile { module, code, .. } in &files {
        let is_foreign = |name: &str| names.get(name).is_some_and(|declaring| declaring != module);
        for (name, method) in foreign_methods(code, &is_foreign) {
            for call in [format!(".{method}("), format!("{name}::{method}")] {
                methods.entry(call).or_default().insert(module.as_str());
            }
        }
    }
    let mut edges = BTreeSet::new();
    for BillingFile { module, code, is_top } in &files {
        let roots: &[&str] = if *is_top { &["super::", "crate::billing::"] } else { &["super::super::", "crate::billing::"] };
        let used = used_names(code, roots);
        let by_name = used.iter().filter_map(|name| names.get(name)).map(String::as_str);
        let by_method =
            methods.iter().filter(|(call, _)| code.contains(call.as_str())).flat_map(|(_, declaring)| declaring.iter().copied());
        edges.extend(by_name.chain(by_method).filter(|known| known != module).map(|known| (module.clone(), known.to_owned())));
    }
    edges
}

/// A source file of billing.
struct BillingFile {
    module: String,
    code: String,
    /// Whether the file is the module itself, and not a part of its folder.
    is_top: bool,
}

fn billing_files() -> Vec<BillingFile> {
    let folder = billing_folder();
    let mut files = Vec::new();
    for (_, path) in domain_files() {
        let Ok(inside) = path.strip_prefix(folder.canonicalize().expect("billing")).or_else(|_| path.strip_prefix(&folder)) else {
            continue;
        };
        let first = inside.components().next().expect("a name").as_os_str().to_string_lossy();
        let module = first.trim_end_matches(".rs").to_owned();
        let is_top = inside.components().count() == 1 || inside.ends_with("mod.rs");
        if module != "mod" {
            files.push(BillingFile { module, code: code_of(&path), is_top });
        }
    }
    files
}

fn billing_layer_of(module: &str) -> usize {
    let found = BILLING_LAYERS.iter().position(|layer| layer.contains(&module));
    found.unwrap_or_else(|| panic!("billing::{module} is in no layer: add it to BILLING_LAYERS"))
}

#[test]
fn billing_modules_depend_only_on_lower_layers() {
    let edges = billing_edges();
    assert!(edges.len() > 100, "the edges are read: {}", edges.len());
    for (module, known) in &edges {
        let (own, other) = (billing_layer_of(module), billing_layer_of(known));
        assert!(other <= own, "billing::{module} must not know billing::{known}");
    }
    // Repeatedly remove modules of one layer that use none of the remaining ones. If a cycle exists, some modules remain.
    let mut left: BTreeSet<_> = BILLING_LAYERS.iter().flat_map(|layer| layer.iter().map(|module| (*module).to_owned())).collect();
    loop {
        let free: Vec<_> =
            left.iter().filter(|module| !edges.iter().any(|(from, to)| from == *module && left.contains(to))).cloned().collect();
        if free.is_empty() {
            break;
        }
        left.retain(|module| !free.contains(module));
    }
    assert_eq!(left, BTreeSet::new(), "these modules know each other in a circle");
}

#[test]
fn declared_and_used_names_are_extracted_from_sources() {
    let code = "pub use inner::{Left, right};\npub(super) async fn act() {}\npub struct Thing;\n    pub fn hidden() {}\n";
    assert_eq!(declared_names(code, &|_| String::new()), ["Left", "Thing", "act", "right"].map(str::to_owned).into());
    let methods = "impl Thing {\n    pub(super) const fn act(self) {}\n    fn own() {}\n}\nimpl Own {\n    pub fn none() {}\n}\nimpl From<Thing> for Own {\n}\n";
    assert_eq!(foreign_methods(methods, &|name| name == "Thing"), [("Thing".to_owned(), "act".to_owned())].into());
    assert_eq!([longest_super_chain("use super::super::x;"), longest_super_chain("use crate::x;")], [2, 0]);
    let user = "use super::{A, b::C};\nuse crate::billing::notify;\nfn f() { super::renew::g() }\n";
    assert_eq!(used_names(user, &["super::", "crate::billing::"]), ["A", "C", "b", "notify", "renew"].map(str::to_owned).into());
}
