//! Names and titles that can be mistaken for those of other developers' apps (UTS 39).

use super::{Finding, Rule};
use unicode_normalization::UnicodeNormalization;
use unicode_security::confusable_detection::skeleton;
use unicode_security::mixed_script::MixedScript;

/// Names of this length or longer look alike if they differ in one letter. Shorter ones often differ no more than that.
const ONE_LETTER_FROM: usize = 6;

/// The name and title of an app of another developer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownName {
    pub name: String,
    pub title: String,
}

/// Compares a name and a title with those of other developers' apps.
#[must_use]
pub fn check_look_alike(name: &str, title: &str, others: &[KnownName]) -> Vec<Finding> {
    let (own_name, own_title, mut findings) = (reduced(name), reduced(title), Vec::new());
    for other in others {
        if look_alike(&own_name, &reduced(&other.name)) {
            findings.push(Finding::of(Rule::NameLooksAlike, other.name.clone()));
        }
        let title = reduced(&other.title);
        if !title.is_empty() && own_title == title {
            findings.push(Finding::of(Rule::TitleLooksAlike, other.title.clone()));
        }
    }
    // Chinese, Japanese and Korean are written with Latin letters beside their own.
    if title.split_whitespace().any(|word| !word.is_single_script() && !is_east_asian(word)) {
        findings.push(Finding::of(Rule::TitleMixesScripts, title));
    }
    findings
}

/// Whether a word has no letters other than ASCII and those of Chinese, Japanese and Korean, none of which looks like a Latin one.
fn is_east_asian(word: &str) -> bool {
    word.chars().all(|letter| letter.is_ascii() || letter >= '\u{2e80}')
}

/// What a reader sees of a name: letters that look alike are one letter, and separators are none.
fn reduced(text: &str) -> String {
    let folded: String = text.nfkc().flat_map(char::to_lowercase).filter(|letter| letter.is_alphanumeric()).collect();
    skeleton(&folded).flat_map(char::to_lowercase).collect()
}

fn look_alike(one: &str, other: &str) -> bool {
    one == other || (one.chars().count() >= ONE_LETTER_FROM && differs_by_one(one, other))
}

/// Whether one letter was replaced, added, removed, or exchanged with the next one.
fn differs_by_one(one: &str, other: &str) -> bool {
    let (one, other): (Vec<_>, Vec<_>) = (one.chars().collect(), other.chars().collect());
    let same = one.iter().zip(&other).take_while(|(left, right)| left == right).count();
    let (one, other) = (&one[same..], &other[same..]);
    match (one, other) {
        ([a, b, rest @ ..], [c, d, end @ ..]) if a == d && b == c && rest == end => true,
        ([_, rest @ ..], [_, end @ ..]) if rest == end => true,
        ([_, rest @ ..], end) | (end, [_, rest @ ..]) if rest == end => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(name: &str, title: &str) -> Vec<Rule> {
        let others = [
            KnownName { name: "time-keeper".to_owned(), title: "Time Keeper".to_owned() },
            KnownName { name: "api".to_owned(), title: String::new() },
        ];
        check_look_alike(name, title, &others).into_iter().map(|finding| finding.rule).collect()
    }

    #[test]
    fn names_that_readers_mistake_are_found() {
        for name in ["time-keeper2", "timekeeper", "time_keeper", "tlme-keeper", "tirne-keeper", "time-keepr", "time-kepeer", "t1me-keeper"]
        {
            assert_eq!(findings(name, ""), [Rule::NameLooksAlike], "{name}");
        }
        for name in ["time-tracker", "keeper", "apis", "app"] {
            assert_eq!(findings(name, ""), [], "{name}");
        }
    }

    #[test]
    fn titles_in_letters_of_another_script_are_found() {
        // A Cyrillic letter that looks like the Latin one.
        assert_eq!(findings("other", "Tim\u{435} Keeper"), [Rule::TitleLooksAlike, Rule::TitleMixesScripts]);
        assert_eq!(findings("other", "时间管理 App 2"), []);
        assert_eq!(findings("other", "时间管理App"), []);
    }
}
