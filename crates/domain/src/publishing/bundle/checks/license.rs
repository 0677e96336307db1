//! Whether a version says under which license it is used.

use super::{Finding, Rule};

/// How npm's manifests name a license that is a file of the package.
const SEE_FILE: &str = "SEE LICENSE IN ";
/// How npm's manifests say that nobody else may use it.
const UNLICENSED: &str = "UNLICENSED";

/// Checks the license of a manifest. `has_text`: the bundle contains the text of a license.
#[must_use]
pub fn check_license(license: &str, has_text: bool) -> Vec<Finding> {
    let license = license.trim();
    if license.is_empty() {
        return vec![Finding::of(Rule::LicenseMissing, "")];
    }
    if license == UNLICENSED {
        return Vec::new();
    }
    let is_file = license.starts_with(SEE_FILE);
    if !is_file && spdx::Expression::parse(license).is_err() {
        return vec![Finding::of(Rule::LicenseUnknown, license)];
    }
    if has_text { Vec::new() } else { vec![Finding::of(Rule::LicenseTextMissing, license)] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_license_is_an_expression_with_its_text() {
        for (license, has_text, rule) in [
            ("MIT", true, None),
            ("Apache-2.0 OR MIT", true, None),
            ("GPL-3.0-or-later WITH Classpath-exception-2.0", true, None),
            ("UNLICENSED", false, None),
            ("SEE LICENSE IN LICENSE.md", true, None),
            ("SEE LICENSE IN LICENSE.md", false, Some(Rule::LicenseTextMissing)),
            ("MIT", false, Some(Rule::LicenseTextMissing)),
            ("", true, Some(Rule::LicenseMissing)),
            (" ", true, Some(Rule::LicenseMissing)),
            ("My own license", true, Some(Rule::LicenseUnknown)),
        ] {
            assert_eq!(check_license(license, has_text).first().map(|finding| finding.rule), rule, "{license}");
        }
    }
}
