//! Searches for printed numbers. A printed number begins with a text if the stored number is in one of a few ranges, so that a search
//! reads an index and never compares a pattern.

use super::{DocumentType, series};
use crate::shared::Mode;

/// Printed numbers have at least this many digits.
const PRINTED_DIGITS: u32 = 6;
/// The most digits of a stored number: databases store it as `i64`.
const MAX_DIGITS: u32 = 19;
/// The word with which all printed numbers begin.
const WORD: &str = "SOUK-";

/// Numbers of one document type from `first` to `last`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NumberRange {
    pub document: DocumentType,
    pub first: u64,
    pub last: u64,
}

/// The documents whose number a search text names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NumberSearch {
    /// Empty: the text names no number.
    pub ranges: Vec<NumberRange>,
    /// Whether the text is the beginning of a printed number with its series, so that it cannot be meant as a word of a description.
    pub names_series: bool,
}

/// Finds the invoices and statements of a mode whose printed number begins with `text`, in any letter case. Digits without a series are
/// the beginning of a printed number or a number without its leading zeros: `SOUK-000042`, `souk-0000`, `0000`, `42`.
#[must_use]
pub fn search_number(text: &str, mode: Mode) -> NumberSearch {
    let text = text.trim().to_ascii_uppercase();
    let documents = [DocumentType::Invoice, DocumentType::Statement];
    let ranges: Vec<_> = match text.starts_with(WORD) {
        true => documents.into_iter().flat_map(|document| ranges_of_series(document, &text, mode)).collect(),
        false if !text.is_empty() => documents.into_iter().flat_map(|document| ranges_of_digits(document, &text)).collect(),
        false => Vec::new(),
    };
    NumberSearch { names_series: text.starts_with(WORD) && !ranges.is_empty(), ranges }
}

fn ranges_of_series(document: DocumentType, text: &str, mode: Mode) -> Vec<NumberRange> {
    let printed = format!("{}-", series(mode, document));
    match text.strip_prefix(&printed) {
        Some("") => all(document),
        Some(digits) => ranges_of_digits(document, digits),
        None if printed.starts_with(text) => all(document),
        None => Vec::new(),
    }
}

fn all(document: DocumentType) -> Vec<NumberRange> {
    vec![NumberRange { document, first: 0, last: i64::MAX.cast_unsigned() }]
}

/// The number with these digits, and the numbers that begin with them when printed: one range for each possible length.
fn ranges_of_digits(document: DocumentType, digits: &str) -> Vec<NumberRange> {
    let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
    let Some(value) = digits.parse::<u128>().ok().filter(|_| is_number) else { return Vec::new() };
    let length = u32::try_from(digits.len()).unwrap_or(u32::MAX);
    // Only numbers with fewer digits are printed with leading zeros.
    let is_padded = digits.starts_with('0');
    let lengths = PRINTED_DIGITS..=if is_padded { PRINTED_DIGITS } else { MAX_DIGITS };
    let most = i64::MAX.cast_unsigned();
    let range = |first: u128, last: u128| {
        let first = u64::try_from(first).ok().filter(|first| *first <= most)?;
        Some(NumberRange { document, first, last: u64::try_from(last).map_or(most, |last| last.min(most)) })
    };
    let printed = lengths.filter_map(|printed| {
        let unit = 10_u128.pow(printed.checked_sub(length)?);
        range(value.checked_mul(unit)?, value.checked_add(1)?.checked_mul(unit)?.checked_sub(1)?)
    });
    let without_zeros = range(value, value).filter(|_| !is_padded);
    let mut ranges: Vec<_> = without_zeros.into_iter().chain(printed).collect();
    ranges.dedup();
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(text: &str, mode: Mode, document: DocumentType, number: u64) -> bool {
        let search = search_number(text, mode);
        search.ranges.iter().any(|range| range.document == document && (range.first..=range.last).contains(&number))
    }

    #[test]
    fn every_beginning_of_a_printed_number_finds_it() {
        for mode in [Mode::Live, Mode::Test] {
            for document in [DocumentType::Invoice, DocumentType::Statement] {
                for number in [1, 42, 999_999, 1_000_000, 12_345_678, i64::MAX.cast_unsigned()] {
                    let printed = document.number_text(mode, number).to_lowercase();
                    for end in WORD.len()..=printed.len() {
                        let search = search_number(&printed[..end], mode);
                        assert!(
                            search.names_series && matches(&printed[..end], mode, document, number),
                            "{} of {printed}",
                            &printed[..end]
                        );
                    }
                    let digits = printed.rsplit('-').next().expect("digits");
                    for end in 1..=digits.len() {
                        assert!(matches(&digits[..end], mode, document, number), "{} of {digits}", &digits[..end]);
                        assert!(!search_number(&digits[..end], mode).names_series, "digits can be words of a description");
                    }
                }
            }
        }
    }

    #[test]
    fn other_numbers_are_not_found() {
        for (text, number) in [
            ("SOUK-00004", 4),
            ("SOUK-00004", 50),
            ("SOUK-00004", 400_000),
            ("SOUK-0000042", 4_200_000),
            ("SOUK-12", 2),
            ("SOUK-12", 1_300_000),
            ("SOUK-CN-000001", 1),
            ("SOUK-ST-000001", 1),
            ("SOUK-TEST-000001", 1),
        ] {
            assert!(!matches(text, Mode::Live, DocumentType::Invoice, number), "{text} is not the beginning of {number}");
        }
        assert!(matches(" 42 ", Mode::Live, DocumentType::Invoice, 42) && matches("SOUK-42", Mode::Live, DocumentType::Invoice, 42));
    }

    #[test]
    fn texts_that_are_not_numbers_name_none() {
        for text in ["", " ", "-", "souk", "SOUK_", "SOUK-%", "SOUK-0000%", "%", "_", "4 2", "+42", "4.2", "９", "99999999999999999999999"]
        {
            assert_eq!(search_number(text, Mode::Live), NumberSearch::default(), "{text}");
        }
        let most = "9".repeat(100);
        assert_eq!(search_number(&most, Mode::Test), NumberSearch::default());
    }
}
