//! Line breaks.

use unicode_linebreak::{BreakOpportunity, linebreaks};

/// Breaks `text` into lines of at most `limit`, measured by `width`. Breaks at spaces and between Chinese characters, and within a word
/// only if it is wider than a line (a hash, for example). Line feeds break lines; other control characters are removed. An empty text
/// gives no lines.
pub(super) fn wrap(text: &str, limit: f32, width: impl Fn(&str) -> f32) -> Vec<String> {
    let clean: String = text.trim().chars().filter(|c| *c == '\n' || !c.is_control()).collect();
    let mut lines = Vec::new();
    let mut line = String::new();
    let mut start = 0;
    if clean.is_empty() {
        return lines;
    }
    for (end, opportunity) in linebreaks(&clean) {
        let piece = &clean[start..end];
        start = end;
        if !line.is_empty() && width(&format!("{line}{}", piece.trim_end())) > limit {
            lines.push(std::mem::take(&mut line));
        }
        for character in piece.chars().filter(|c| *c != '\n') {
            let fits = character.is_whitespace() || line.is_empty() || width(&format!("{line}{character}")) <= limit;
            if !fits {
                lines.push(std::mem::take(&mut line));
            }
            line.push(character);
        }
        if opportunity == BreakOpportunity::Mandatory {
            lines.push(std::mem::take(&mut line));
        }
    }
    lines.into_iter().map(|line| line.trim_end().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Measures a text: Chinese characters are two columns wide, all others one.
    fn columns(text: &str) -> f32 {
        text.chars().map(|c| if c > '\u{2e80}' { 2.0 } else { 1.0 }).sum()
    }

    #[test]
    fn words_stay_whole_and_long_ones_are_cut() {
        assert_eq!(wrap("one two three", 8.0, columns), ["one two", "three"]);
        assert_eq!(wrap("0123456789abcdef", 6.0, columns), ["012345", "6789ab", "cdef"]);
        assert_eq!(wrap("a\nb", 8.0, columns), ["a", "b"]);
        assert_eq!(wrap("  \u{7} ", 8.0, columns), [""; 0]);
    }

    #[test]
    fn chinese_breaks_between_characters_but_not_before_a_full_stop() {
        assert_eq!(wrap("一二三四五", 6.0, columns), ["一二三", "四五"]);
        assert_eq!(wrap("一二三。四", 6.0, columns), ["一二", "三。四"]);
    }
}
