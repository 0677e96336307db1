//! `souk pack --check`: the checks of the store, on the packed bundle.

use crate::pack::Packed;
use crate::report::{Check, Finding};
use souk_adapters::bundles::LocalBundleReader;
use souk_domain::publishing::bundle::UploadLimits;
use souk_domain::publishing::bundle::checks::{self, CheckName, CheckResult, check_bundle};
use souk_domain::shared::Timestamp;

/// The results of all checks, in the order of the store. It compares with other apps and its own lists what is known there only.
pub async fn check(packed: &Packed, now: Timestamp) -> Vec<Check> {
    let (reader, limits) = (LocalBundleReader::default(), UploadLimits::default());
    let results = check_bundle(&reader, &packed.manifest, &packed.bundle, &limits, now).await;
    let of_name = |name: CheckName| results.iter().find(|result| result.name == name);
    CheckName::ALL.iter().map(|name| of_name(*name).map_or_else(|| Check::of_store(name.name()), Check::from)).collect()
}

impl From<&CheckResult> for Check {
    fn from(result: &CheckResult) -> Self {
        let findings = result.findings.iter().map(Finding::from).collect();
        Self { name: result.name.name().to_owned(), state: result.state.name().to_owned(), findings }
    }
}

impl From<&checks::Finding> for Finding {
    fn from(finding: &checks::Finding) -> Self {
        let checks::Finding { rule, file, line, detail } = finding;
        let (rule, hint) = (rule.name().to_owned(), rule.hint().to_owned());
        Self { rule, file: file.clone(), line: *line, detail: detail.clone(), hint }
    }
}
