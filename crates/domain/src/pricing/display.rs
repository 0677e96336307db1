//! The text of a billing cycle, for invoices and emails. Web pages have their own texts with the same words.

use super::{Interval, RecurringInterval};
use crate::shared::Language;

/// The grammatical form of a cycle. Cycles of several intervals have the same text in all forms: `every 2 weeks`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IntervalStyle {
    /// `monthly`.
    Adverb,
    /// `per month`, after an amount.
    Per,
    /// `/ month`, after an amount.
    Slash,
}

impl RecurringInterval {
    #[must_use]
    pub fn text(&self, style: IntervalStyle, language: Language) -> String {
        match (language, self.interval, self.count, style) {
            (Language::English, interval, 1, style) => english(interval, style),
            (Language::English, interval, count, _) => format!("every {count} {}s", interval.name()),
            (Language::Chinese, interval, 1, IntervalStyle::Slash) => format!("/ {}", chinese(interval)),
            (Language::Chinese, interval, 1, _) => format!("每{}", chinese(interval)),
            (Language::Chinese, Interval::Month, 3, _) => "每季度".to_owned(),
            (Language::Chinese, Interval::Month, 6, _) => "每半年".to_owned(),
            (Language::Chinese, Interval::Month, count, _) => format!("每 {count} 个月"),
            (Language::Chinese, interval, count, _) => format!("每 {count} {}", chinese(interval)),
        }
    }
}

fn english(interval: Interval, style: IntervalStyle) -> String {
    let name = interval.name();
    match style {
        IntervalStyle::Adverb if interval == Interval::Day => "daily".to_owned(),
        IntervalStyle::Adverb => format!("{name}ly"),
        IntervalStyle::Per => format!("per {name}"),
        IntervalStyle::Slash => format!("/ {name}"),
    }
}

const fn chinese(interval: Interval) -> &'static str {
    match interval {
        Interval::Hour => "小时",
        Interval::Day => "天",
        Interval::Week => "周",
        Interval::Month => "月",
        Interval::Year => "年",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pricing::Anchoring;

    fn texts(interval: Interval, count: u32) -> [String; 4] {
        let cycle = RecurringInterval::new(interval, count, Anchoring::Fixed).expect("a cycle");
        let text = |style, language| cycle.text(style, language);
        [
            text(IntervalStyle::Adverb, Language::English),
            text(IntervalStyle::Per, Language::English),
            text(IntervalStyle::Slash, Language::English),
            text(IntervalStyle::Per, Language::Chinese),
        ]
    }

    #[test]
    fn a_single_interval_is_written_by_its_name() {
        assert_eq!(texts(Interval::Hour, 1), ["hourly", "per hour", "/ hour", "每小时"]);
        assert_eq!(texts(Interval::Day, 1), ["daily", "per day", "/ day", "每天"]);
        assert_eq!(texts(Interval::Week, 1), ["weekly", "per week", "/ week", "每周"]);
        assert_eq!(texts(Interval::Month, 1), ["monthly", "per month", "/ month", "每月"]);
        assert_eq!(texts(Interval::Year, 1), ["yearly", "per year", "/ year", "每年"]);
    }

    #[test]
    fn quarters_and_half_years_have_their_own_chinese_words() {
        let english = |count: u32| format!("every {count} months");
        assert_eq!(texts(Interval::Month, 3), [english(3), english(3), english(3), "每季度".to_owned()]);
        assert_eq!(texts(Interval::Month, 6), [english(6), english(6), english(6), "每半年".to_owned()]);
        assert_eq!(texts(Interval::Month, 2)[3], "每 2 个月");
        assert_eq!(texts(Interval::Week, 2)[3], "每 2 周");
        assert_eq!(texts(Interval::Hour, 12)[1], "every 12 hours");
    }
}
