//! Whether the manifest inside the bundle says what the signed one says.

use super::super::manifest::Manifest;
use super::super::wanted::FileRole;
use super::{Finding, Rule};
use crate::shared::Json;

/// What both manifests must agree about. The rest is filled in when a bundle is packed.
const FIELDS: [&str; 4] = ["name", "did", "version", "license"];

/// Compares the manifests. `inner`: the path of the one in the bundle, and its content or why it cannot be read. `roles`: the files that
/// the version has.
#[must_use]
pub fn check_manifest(manifest: &Manifest, inner: &str, content: Result<&Json, &str>, roles: &[FileRole]) -> Vec<Finding> {
    let mut findings = Vec::new();
    match content {
        Err(reason) => findings.push(Finding::in_file(Rule::ManifestUnreadable, inner, first_line(reason))),
        Ok(content) => {
            let version = manifest.version.to_string();
            let signed = [manifest.name.as_str(), manifest.did.as_str(), &version, &manifest.license];
            for (field, signed) in FIELDS.into_iter().zip(signed) {
                let found = content.get(field);
                let is_equal = match found {
                    Some(Json::Text(text)) => text == signed,
                    // Packers fill in the DID of an app whose name yields it.
                    None | Some(Json::Null) => signed.is_empty() || field == "did",
                    Some(_) => false,
                };
                if !is_equal {
                    findings.push(Finding::in_file(Rule::ManifestDiffers, inner, field));
                }
            }
        }
    }
    if !roles.contains(&FileRole::Readme) {
        findings.push(Finding::of(Rule::ReadmeMissing, ""));
    }
    findings
}

/// A parser's message shows the text around an error on further lines.
fn first_line(reason: &str) -> String {
    reason.lines().next().unwrap_or_default().chars().take(200).collect()
}
