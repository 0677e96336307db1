//! What the commands print.

use anstream::{print, println};
use indicatif::{ProgressBar, ProgressStyle};
use serde::Deserialize;

/// The most files that are listed.
const FILES_SHOWN: usize = 100;
/// The state of a check that only the store can carry out.
const OF_STORE: &str = "store";
const FAILED: &str = "failed";

/// The result of a check, as the store answers.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Check {
    pub name: String,
    /// passed, failed or errored.
    pub state: String,
    pub findings: Vec<Finding>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Finding {
    pub rule: String,
    /// Empty: it concerns the whole version.
    pub file: String,
    pub line: Option<u32>,
    pub detail: String,
    pub hint: String,
}

impl Check {
    /// A check that is not carried out on this computer.
    pub fn of_store(name: &str) -> Self {
        Self { name: name.to_owned(), state: OF_STORE.to_owned(), findings: Vec::new() }
    }

    pub fn has_failed(&self) -> bool {
        self.state == FAILED
    }
}

/// Prints checks with what they have found.
pub fn print_checks(checks: &[Check]) {
    print!("{}", describe_checks(checks));
}

fn describe_checks(checks: &[Check]) -> String {
    let mut text = String::new();
    let mut line = |words: String| {
        text.push_str(&words);
        text.push('\n');
    };
    for check in checks {
        let name = printable(&check.name);
        match check.state.as_str() {
            OF_STORE => line(format!("        {name}: checked by the store")),
            "errored" => line(format!("errored {name}: the check could not be carried out, which says nothing about the app")),
            state => line(format!("{:7} {name}", printable(state))),
        }
        for Finding { rule, file, line: number, detail, hint } in &check.findings {
            let place = match number {
                Some(number) => format!(" {}:{number}", printable(file)),
                None if file.is_empty() => String::new(),
                None => format!(" {}", printable(file)),
            };
            let detail = if detail.is_empty() { String::new() } else { format!(" ({})", printable(detail)) };
            line(format!("          {}{place}{detail}", printable(rule)));
            line(format!("            {}", printable(hint)));
        }
    }
    text
}

/// Prints the files of a bundle with their sizes.
pub fn print_files<'f>(files: impl ExactSizeIterator<Item = (&'f str, u64)>) {
    let more = files.len().saturating_sub(FILES_SHOWN);
    for (name, size) in files.take(FILES_SHOWN) {
        println!("{:>10}  {}", bytes(size), printable(name));
    }
    if more > 0 {
        println!("            and {more} more");
    }
}

/// A number of bytes for readers.
pub fn bytes(count: u64) -> String {
    indicatif::HumanBytes(count).to_string()
}

/// A bar on the terminal, or nothing where there is none.
pub fn progress(size: u64, name: &str) -> ProgressBar {
    let style = ProgressStyle::with_template("{msg} {wide_bar} {bytes}/{total_bytes} {bytes_per_sec} {eta}");
    ProgressBar::new(size).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar())).with_message(printable(name))
}

/// A text from elsewhere without the characters that control a terminal or reorder its lines; its line breaks stay.
pub fn printable(text: &str) -> String {
    let is_plain = |letter: char| letter == '\n' || !(letter.is_control() || reorders(letter));
    text.chars().map(|letter| if is_plain(letter) { letter } else { '\u{fffd}' }).collect()
}

/// Whether a character changes the direction of the text around it, or begins a line without a line break.
const fn reorders(letter: char) -> bool {
    matches!(letter, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_from_elsewhere_neither_controls_the_terminal_nor_reorders_its_lines() {
        for (text, printed) in [
            ("one\ntwo", "one\ntwo"),
            ("\u{1b}[2J\r", "\u{fffd}[2J\u{fffd}"),
            ("a\u{202e}gpj.exe", "a\u{fffd}gpj.exe"),
            ("\u{2066}a\u{2069}", "\u{fffd}a\u{fffd}"),
            ("שלום 👨\u{200d}👩", "שלום 👨\u{200d}👩"),
        ] {
            assert_eq!(printable(text), printed);
        }
    }

    #[test]
    fn a_check_is_described_with_rule_file_line_and_hint() {
        let finding = |file: &str, line| Finding {
            rule: "secrets.private_key".to_owned(),
            file: file.to_owned(),
            line,
            detail: String::new(),
            hint: "Remove the private key.".to_owned(),
        };
        let check = |name: &str, state: &str, findings| Check { name: name.to_owned(), state: state.to_owned(), findings };
        let checks = [
            check("manifest", "passed", Vec::new()),
            check("secrets", "failed", vec![finding("lib/key.pem", Some(3)), finding("a\u{1b}[2J", None)]),
            check("pictures", "errored", Vec::new()),
            Check::of_store("look_alike"),
        ];
        let text = describe_checks(&checks);
        for line in [
            "passed  manifest\n",
            "failed  secrets\n          secrets.private_key lib/key.pem:3\n            Remove the private key.\n",
            "secrets.private_key a\u{fffd}[2J\n",
            "errored pictures: the check could not be carried out",
            "        look_alike: checked by the store\n",
        ] {
            assert!(text.contains(line), "{text}");
        }
    }
}
