//! Words that several mails share.

use crate::pdf::written_time;
use souk_domain::billing::Period;
use souk_domain::shared::{Language, Timestamp};

const DAY_SECONDS: u64 = 24 * 3_600;

/// The words of one language out of two.
pub(super) fn say(language: Language, english: impl Into<String>, chinese: impl Into<String>) -> String {
    match language {
        Language::English => english.into(),
        Language::Chinese => chinese.into(),
    }
}

/// A day as people write it: `21 November 2026`, `2026年11月21日`.
pub(super) fn written_day(at: Timestamp, language: Language) -> String {
    let Some(at) = at.to_calendar() else { return String::new() };
    let (year, month, day) = (at.year(), at.month(), at.day());
    say(language, format!("{day} {month} {year}"), format!("{year}年{}月{day}日", u8::from(month)))
}

/// From when to when: in days, or to the minute where it is no longer than a day.
pub(super) fn written_period(period: &Period, language: Language) -> String {
    let write = if period.seconds() > DAY_SECONDS { written_day } else { written_time };
    let (start, end) = (write(period.start, language), write(period.end, language));
    say(language, format!("{start} to {end}"), format!("{start} 至 {end}"))
}

/// What the mode of the store adds to every mail.
pub(super) fn test_notice(language: Language) -> String {
    say(language, "Test mode: no real money was moved.", "测试模式：没有发生真实的资金往来。")
}

/// A subject, marked in test mode.
pub(super) fn marked(subject: &str, is_live: bool, language: Language) -> String {
    match is_live {
        true => subject.to_owned(),
        false => say(language, format!("[Test] {subject}"), format!("【测试】{subject}")),
    }
}

/// Why a charge was refused, for whoever was to pay. `code` is the network's or the bank's.
pub(super) fn refusal(code: &str, is_card: bool, language: Language) -> String {
    let (english, chinese) = match code {
        "INSUFFICIENT_FUND" | "insufficient_funds" if is_card => {
            ("There was not enough money on the card's account.", "银行卡账户余额不足。")
        }
        "INSUFFICIENT_FUND" | "insufficient_funds" => ("There was not enough money in your wallet.", "您的钱包余额不足。"),
        "INSUFFICIENT_DELEGATION" => {
            ("The amount is higher than what you allowed us to take from your wallet.", "该金额超过了您授权我们从钱包扣款的限额。")
        }
        "DELEGATION_EXPIRED" => ("Your permission to charge your wallet has expired.", "您对钱包扣款的授权已过期。"),
        code if code == "DELEGATION_DENIED" || code.starts_with("INVALID_DELEGATION") => {
            ("Your permission to charge your wallet was withdrawn.", "您对钱包扣款的授权已被撤销。")
        }
        "no_mandate" => ("There is no payment method on file for this subscription.", "此订阅没有可用的付款方式。"),
        "expired_card" | "invalid_expiry_month" | "invalid_expiry_year" => ("Your card has expired.", "您的银行卡已过期。"),
        "lost_card" | "stolen_card" | "pickup_card" | "resource_missing" => ("This card can no longer be charged.", "此银行卡已无法扣款。"),
        "authentication_required" => ("Your bank asks you to confirm the payment yourself.", "银行要求您本人确认此付款。"),
        _ if is_card => ("Your bank declined the payment.", "银行拒绝了此付款。"),
        _ => ("The payment network refused the payment.", "支付网络拒绝了此付款。"),
    };
    say(language, english, chinese)
}
