//! Postal code patterns of about 50 countries (SPEC.md 5). For other countries every code is valid.

use std::collections::HashMap;
use std::sync::LazyLock;

/// Pairs of a country (lower-case ISO 3166-1 alpha-2) and the pattern of its codes, without anchors. Codes are compared in upper case.
pub const POSTAL_PATTERNS: [(&str, &str); 54] = [
    ("ar", r"([A-Z]\d{4}[A-Z]{3}|\d{4})"),
    ("at", r"\d{4}"),
    ("au", r"\d{4}"),
    ("be", r"\d{4}"),
    ("bg", r"\d{4}"),
    ("br", r"\d{5}-?\d{3}"),
    ("ca", r"[ABCEGHJ-NPRSTVXY]\d[ABCEGHJ-NPRSTV-Z] ?\d[ABCEGHJ-NPRSTV-Z]\d"),
    ("ch", r"\d{4}"),
    ("cn", r"\d{6}"),
    ("cy", r"\d{4}"),
    ("cz", r"\d{3} ?\d{2}"),
    ("de", r"\d{5}"),
    ("dk", r"\d{4}"),
    ("ee", r"\d{5}"),
    ("es", r"\d{5}"),
    ("fi", r"\d{5}"),
    ("fr", r"\d{5}"),
    ("gb", r"(GIR ?0AA|[A-Z]{1,2}\d[A-Z\d]? ?\d[A-Z]{2})"),
    ("gr", r"\d{3} ?\d{2}"),
    ("hr", r"\d{5}"),
    ("hu", r"\d{4}"),
    ("id", r"\d{5}"),
    ("ie", r"([AC-FHKNPRTV-Y]\d{2}|D6W) ?[0-9AC-FHKNPRTV-Y]{4}"),
    ("il", r"\d{5}(\d{2})?"),
    ("in", r"[1-9]\d{2} ?\d{3}"),
    ("is", r"\d{3}"),
    ("it", r"\d{5}"),
    ("jp", r"\d{3}-?\d{4}"),
    ("kr", r"\d{5}"),
    ("li", r"94\d{2}"),
    ("lt", r"(LT-?)?\d{5}"),
    ("lu", r"(L-?)?\d{4}"),
    ("lv", r"(LV-?)?\d{4}"),
    ("mc", r"980\d{2}"),
    ("mt", r"[A-Z]{3} ?\d{4}"),
    ("mx", r"\d{5}"),
    ("my", r"\d{5}"),
    ("nl", r"[1-9]\d{3} ?[A-Z]{2}"),
    ("no", r"\d{4}"),
    ("nz", r"\d{4}"),
    ("ph", r"\d{4}"),
    ("pl", r"\d{2}-?\d{3}"),
    ("pt", r"\d{4}(-?\d{3})?"),
    ("ro", r"\d{6}"),
    ("ru", r"\d{6}"),
    ("se", r"\d{3} ?\d{2}"),
    ("sg", r"\d{6}"),
    ("si", r"(SI-?)?\d{4}"),
    ("sk", r"\d{3} ?\d{2}"),
    ("th", r"\d{5}"),
    ("tr", r"\d{5}"),
    ("tw", r"\d{3}(\d{2,3})?"),
    ("ua", r"\d{5}"),
    ("us", r"\d{5}(-\d{4})?"),
];

static COMPILED: LazyLock<HashMap<&'static str, regex::Regex>> = LazyLock::new(|| {
    POSTAL_PATTERNS.iter().filter_map(|(country, pattern)| Some((*country, regex::Regex::new(&format!("^(?:{pattern})$")).ok()?))).collect()
});

/// Whether the code matches the country's pattern; true for countries that are not in the table.
#[must_use]
pub fn postal_code_fits(country: &str, code: &str) -> bool {
    COMPILED.get(country.to_ascii_lowercase().as_str()).is_none_or(|pattern| pattern.is_match(&code.trim().to_ascii_uppercase()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_of_the_table_compiles() {
        assert_eq!(COMPILED.len(), POSTAL_PATTERNS.len());
    }

    #[test]
    fn codes_are_compared_by_country_and_without_case() {
        assert!(postal_code_fits("gb", "sw1a 1aa"));
        assert!(postal_code_fits("CA", "k1a0b1"));
        assert!(postal_code_fits("cn", "100000"));
        assert!(!postal_code_fits("cn", "10000"));
        assert!(!postal_code_fits("de", "1234"));
        assert!(postal_code_fits("zz", "whatever"));
    }
}
