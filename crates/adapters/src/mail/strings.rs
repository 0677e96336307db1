//! Strings shared by several emails.

use crate::pdf::format_time;
use souk_domain::billing::Period;
use souk_domain::payment::{Currency, DEFAULT_MAXIMUM_PRECISION};
use souk_domain::pricing::{Interval, RecurringInterval};
use souk_domain::shared::{Amount, Language, Timestamp};

const DAY_SECONDS: u64 = 24 * 3_600;

/// Returns the text in `language`.
pub(super) fn translate(language: Language, english: impl Into<String>, chinese: impl Into<String>) -> String {
    match language {
        Language::English => english.into(),
        Language::Chinese => chinese.into(),
    }
}

/// Formats an amount as the pages do: `1,234.56789 SKT`. The attached PDF shows it exactly.
pub(super) fn money(amount: Amount, currency: &Currency) -> String {
    format!("{} {}", amount.to_display(currency.decimals, DEFAULT_MAXIMUM_PRECISION), currency.symbol)
}

/// Formats a date: `21 November 2026`, `2026年11月21日`.
pub(super) fn format_day(at: Timestamp, language: Language) -> String {
    let Some(at) = at.to_calendar() else { return String::new() };
    let (year, month, day) = (at.year(), at.month(), at.day());
    translate(language, format!("{day} {month} {year}"), format!("{year}年{}月{day}日", u8::from(month)))
}

/// Formats a period by days, or to the minute if it is not longer than a day.
pub(super) fn format_period(period: &Period, language: Language) -> String {
    let format = if period.seconds() > DAY_SECONDS { format_day } else { format_time };
    let (start, end) = (format(period.start, language), format(period.end, language));
    translate(language, format!("{start} to {end}"), format!("{start} 至 {end}"))
}

/// How often a subscription is billed: `monthly`, `every 2 weeks`.
pub(super) fn frequency(cycle: &RecurringInterval, language: Language) -> String {
    let chinese = match cycle.interval {
        Interval::Hour => "小时",
        Interval::Day => "天",
        Interval::Week => "周",
        Interval::Month => "月",
        Interval::Year => "年",
    };
    match (language, cycle.interval, cycle.count) {
        (Language::English, Interval::Day, 1) => "daily".to_owned(),
        (Language::English, interval, 1) => format!("{}ly", interval.name()),
        (Language::English, interval, count) => format!("every {count} {}s", interval.name()),
        (Language::Chinese, _, 1) => format!("每{chinese}"),
        (Language::Chinese, Interval::Month, 3) => "每季度".to_owned(),
        (Language::Chinese, Interval::Month, 6) => "每半年".to_owned(),
        (Language::Chinese, Interval::Month, count) => format!("每 {count} 个月"),
        (Language::Chinese, _, count) => format!("每 {count} {chinese}"),
    }
}

/// The first line of every email in test mode.
pub(super) fn test_banner(language: Language) -> String {
    translate(language, "Test mode: no real money is involved.", "测试模式：不涉及真实资金。")
}

/// Adds a prefix to the subject in test mode.
pub(super) fn mark_test(subject: &str, is_live: bool, language: Language) -> String {
    match is_live {
        true => subject.to_owned(),
        false => translate(language, format!("[Test] {subject}"), format!("【测试】{subject}")),
    }
}

pub(super) fn greeting(name: &str, language: Language) -> String {
    translate(language, format!("Hello {name},"), format!("{name}，你好："))
}

/// The last line of every email to a customer, which says why the customer receives it.
pub(super) fn footer(store_name: &str, store_url: &str, language: Language) -> String {
    translate(
        language,
        format!("You're receiving this email because you made a purchase at {store_name} ({store_url})."),
        format!("你收到这封邮件，是因为你在 {store_name}（{store_url}）购买过商品。"),
    )
}

/// The last line of every email to a developer.
pub(super) fn developer_footer(store_name: &str, store_url: &str, language: Language) -> String {
    translate(
        language,
        format!("You're receiving this email because you are a developer at {store_name} ({store_url})."),
        format!("你收到这封邮件，是因为你是 {store_name}（{store_url}）的开发者。"),
    )
}

/// The last line of every email to a beneficiary of sales.
pub(super) fn beneficiary_footer(store_name: &str, store_url: &str, language: Language) -> String {
    translate(
        language,
        format!("You're receiving this email because you have a share of sales at {store_name} ({store_url})."),
        format!("你收到这封邮件，是因为你在 {store_name}（{store_url}）的销售中享有份额。"),
    )
}

/// The last line of every email to a reviewer.
pub(super) fn reviewer_footer(store_name: &str, store_url: &str, language: Language) -> String {
    translate(
        language,
        format!("You're receiving this email because you review apps at {store_name} ({store_url})."),
        format!("你收到这封邮件，是因为你是 {store_name}（{store_url}）的审核员。"),
    )
}

/// The last line of every email to the owner of the store.
pub(super) fn owner_footer(store_name: &str, store_url: &str, language: Language) -> String {
    translate(
        language,
        format!("You're receiving this email because you own {store_name} ({store_url})."),
        format!("你收到这封邮件，是因为你是 {store_name}（{store_url}）的所有者。"),
    )
}

/// Explains to the payer why a payment failed. `code` is the decline code of the network or bank.
pub(super) fn decline_reason(code: &str, is_card: bool, language: Language) -> String {
    let (english, chinese) = match code {
        "INSUFFICIENT_FUND" | "insufficient_funds" if is_card => ("Your card has insufficient funds.", "你的银行卡余额不足。"),
        "INSUFFICIENT_FUND" | "insufficient_funds" => ("Your wallet has insufficient funds.", "你的钱包余额不足。"),
        "INSUFFICIENT_DELEGATION" => {
            ("The amount exceeds the limit that you authorized for your wallet.", "金额超过了你授权的钱包扣款限额。")
        }
        "DELEGATION_EXPIRED" => ("Your wallet authorization has expired.", "你的钱包扣款授权已过期。"),
        code if code == "DELEGATION_DENIED" || code.starts_with("INVALID_DELEGATION") => {
            ("Your wallet authorization has been revoked.", "你的钱包扣款授权已被撤销。")
        }
        "no_mandate" => ("This subscription has no payment method on file.", "此订阅没有可用的支付方式。"),
        "expired_card" | "invalid_expiry_month" | "invalid_expiry_year" => ("Your card has expired.", "你的银行卡已过期。"),
        "lost_card" | "stolen_card" | "pickup_card" | "resource_missing" => ("This card can no longer be charged.", "此银行卡已无法扣款。"),
        "authentication_required" => ("Your bank requires you to verify this payment.", "银行要求你本人验证此付款。"),
        _ if is_card => ("Your card was declined.", "你的银行卡被拒绝。"),
        _ => ("The payment network declined the payment.", "支付网络拒绝了此付款。"),
    };
    translate(language, english, chinese)
}

/// Returns why a cardholder disputes a payment. `reason` is the card network's code; an unknown code is shown unchanged.
pub(super) fn dispute_reason(reason: &str, language: Language) -> String {
    let (english, chinese) = match reason {
        "fraudulent" => ("Fraudulent", "欺诈交易"),
        "product_not_received" => ("Product not received", "未收到商品"),
        "product_unacceptable" => ("Product unacceptable", "商品不符合要求"),
        "duplicate" => ("Duplicate charge", "重复扣款"),
        "subscription_canceled" => ("Subscription canceled", "订阅已取消"),
        "credit_not_processed" => ("Refund not received", "未收到退款"),
        "unrecognized" => ("Payment not recognized", "不认识这笔付款"),
        "general" => ("General", "一般争议"),
        other => (other, other),
    };
    translate(language, english, chinese)
}

#[cfg(test)]
mod tests {
    use super::*;
    use souk_domain::pricing::Anchoring;

    fn both(interval: Interval, count: u32) -> [String; 2] {
        let cycle = RecurringInterval::new(interval, count, Anchoring::Fixed).expect("a cycle");
        [frequency(&cycle, Language::English), frequency(&cycle, Language::Chinese)]
    }

    #[test]
    fn a_single_interval_is_an_adverb() {
        assert_eq!(both(Interval::Hour, 1), ["hourly", "每小时"]);
        assert_eq!(both(Interval::Day, 1), ["daily", "每天"]);
        assert_eq!(both(Interval::Week, 1), ["weekly", "每周"]);
        assert_eq!(both(Interval::Month, 1), ["monthly", "每月"]);
        assert_eq!(both(Interval::Year, 1), ["yearly", "每年"]);
    }

    #[test]
    fn quarters_and_half_years_have_their_own_chinese_words() {
        assert_eq!(both(Interval::Month, 2), ["every 2 months", "每 2 个月"]);
        assert_eq!(both(Interval::Month, 3), ["every 3 months", "每季度"]);
        assert_eq!(both(Interval::Month, 6), ["every 6 months", "每半年"]);
        assert_eq!(both(Interval::Week, 2), ["every 2 weeks", "每 2 周"]);
        assert_eq!(both(Interval::Hour, 12)[0], "every 12 hours");
    }
}
