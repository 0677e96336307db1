//! Differences of texts, line by line.

use super::super::named::named;
use similar::{Algorithm, DiffTag, capture_diff_slices, group_diff_ops};
use std::ops::Range;

/// The most lines of a text that are compared.
pub const LINES_MAX: usize = 1_000;
/// The most bytes of a text that are compared.
pub const TEXT_BYTES_MAX: usize = 64 << 10;
/// The lines that are shown before and after a difference.
const CONTEXT: usize = 3;

named! {
    LineChange {
        Same = "same",
        Added = "added",
        Removed = "removed",
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiffLine {
    pub change: LineChange,
    pub text: String,
}

/// Differences that are near each other, with the lines around them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hunk {
    /// The number of the first line in the text before, from 1.
    pub before: usize,
    /// The number of the first line in the text after.
    pub after: usize,
    pub lines: Vec<DiffLine>,
}

/// The differences of two texts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LineDiff {
    pub hunks: Vec<Hunk>,
    /// One of the texts is longer than what was compared.
    pub is_cut: bool,
}

/// Compares two texts. The work is bounded: of each, [`LINES_MAX`] lines within [`TEXT_BYTES_MAX`] bytes are compared.
#[must_use]
pub fn diff_lines(before: &str, after: &str) -> LineDiff {
    let (before, after) = (CutLines::of(before), CutLines::of(after));
    let operations = capture_diff_slices(Algorithm::Myers, &before.lines, &after.lines);
    let mut hunks = Vec::new();
    for group in group_diff_ops(operations, CONTEXT) {
        let Some((_, first_before, first_after)) = group.first().map(similar::DiffOp::as_tag_tuple) else { continue };
        let mut lines = Vec::new();
        for operation in &group {
            let (tag, old, new) = operation.as_tag_tuple();
            match tag {
                DiffTag::Equal => push(&mut lines, LineChange::Same, &before.lines, old),
                DiffTag::Delete | DiffTag::Insert | DiffTag::Replace => {
                    push(&mut lines, LineChange::Removed, &before.lines, old);
                    push(&mut lines, LineChange::Added, &after.lines, new);
                }
            }
        }
        hunks.push(Hunk { before: first_before.start + 1, after: first_after.start + 1, lines });
    }
    LineDiff { hunks, is_cut: before.is_cut || after.is_cut }
}

fn push(to: &mut Vec<DiffLine>, change: LineChange, lines: &[&str], range: Range<usize>) {
    let range = lines.get(range).unwrap_or_default();
    to.extend(range.iter().map(|line| DiffLine { change, text: (*line).to_owned() }));
}

/// The first lines of a text.
struct CutLines<'t> {
    lines: Vec<&'t str>,
    is_cut: bool,
}

impl<'t> CutLines<'t> {
    fn of(text: &'t str) -> Self {
        let end = text.floor_char_boundary(TEXT_BYTES_MAX);
        let lines: Vec<_> = text[..end].lines().take(LINES_MAX).collect();
        Self { is_cut: end < text.len() || text.lines().nth(LINES_MAX).is_some(), lines }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn lines(diff: &LineDiff) -> Vec<String> {
        let sign = |change| match change {
            LineChange::Same => ' ',
            LineChange::Added => '+',
            LineChange::Removed => '-',
        };
        diff.hunks.iter().flat_map(|hunk| &hunk.lines).map(|line| format!("{}{}", sign(line.change), line.text)).collect()
    }

    #[test]
    fn changed_lines_are_shown_with_those_around_them() {
        let before = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\n";
        let after = "one\ntwo\nthree\nfour\n5\nsix\nseven\neight\n";
        let diff = diff_lines(before, after);
        assert_eq!(lines(&diff), [" two", " three", " four", "-five", "+5", " six", " seven", " eight"]);
        assert_eq!((diff.hunks[0].before, diff.hunks[0].after, diff.is_cut), (2, 2, false));
        assert_eq!(diff_lines(before, before), LineDiff::default());
        // The ends of lines are no difference that a reader would see.
        assert_eq!(diff_lines("a\r\nb", "a\nb\n"), LineDiff::default());
    }

    #[test]
    fn a_new_text_is_added_and_a_missing_one_removed() {
        assert_eq!(lines(&diff_lines("", "a\nb")), ["+a", "+b"]);
        assert_eq!(lines(&diff_lines("a\nb", "")), ["-a", "-b"]);
    }

    #[test]
    fn long_texts_are_cut() {
        let many = "line\n".repeat(LINES_MAX + 1);
        let diff = diff_lines("", &many);
        assert_eq!((lines(&diff).len(), diff.is_cut), (LINES_MAX, true));
        assert!(!diff_lines("", &"line\n".repeat(LINES_MAX)).is_cut);
        // The limit is inside of a character of three bytes.
        let wide = diff_lines("", &"中".repeat(TEXT_BYTES_MAX));
        assert!(wide.is_cut && wide.hunks[0].lines[0].text.len() <= TEXT_BYTES_MAX);
    }

    proptest! {
        #[test]
        fn each_text_can_be_read_from_a_difference_with_all_lines(
            before in prop::collection::vec("[ab]{0,2}", 0..6),
            after in prop::collection::vec("[ab]{0,2}", 0..6),
        ) {
            // With so few lines, every difference is within the context of another one or the text is unchanged.
            let texts = [before.join("\n"), after.join("\n")];
            let diff = diff_lines(&texts[0], &texts[1]);
            let side = |left_out: LineChange| -> Vec<&str> {
                let all = diff.hunks.iter().flat_map(|hunk| &hunk.lines).filter(|line| line.change != left_out);
                all.map(|line| line.text.as_str()).collect()
            };
            if !diff.hunks.is_empty() && before.len() <= CONTEXT && after.len() <= CONTEXT {
                prop_assert_eq!(side(LineChange::Added), texts[0].lines().collect::<Vec<_>>());
                prop_assert_eq!(side(LineChange::Removed), texts[1].lines().collect::<Vec<_>>());
            }
        }
    }
}
