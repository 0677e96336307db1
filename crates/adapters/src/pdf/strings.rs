//! The texts of an invoice document.

use super::DocumentStatus;
use souk_domain::shared::{Language, Timestamp};

pub(super) struct Strings {
    pub invoice: &'static str,
    pub number: &'static str,
    pub issued: &'static str,
    pub status: &'static str,
    pub paid_on: &'static str,
    pub bill_to: &'static str,
    pub description: &'static str,
    pub quantity: &'static str,
    pub unit_price: &'static str,
    pub amount: &'static str,
    pub subtotal: &'static str,
    pub applied_credit: &'static str,
    pub total: &'static str,
    pub paid: &'static str,
    pub due: &'static str,
    pub payment: &'static str,
    pub method: &'static str,
    pub reference: &'static str,
    pub test: &'static str,
}

pub(super) const fn strings(language: Language) -> &'static Strings {
    match language {
        Language::English => &Strings {
            invoice: "Invoice",
            number: "Invoice number",
            issued: "Issued",
            status: "Status",
            paid_on: "Paid on",
            bill_to: "Bill to",
            description: "Description",
            quantity: "Quantity",
            unit_price: "Unit price",
            amount: "Amount",
            subtotal: "Subtotal",
            applied_credit: "Applied credit",
            total: "Total",
            paid: "Amount paid",
            due: "Amount due",
            payment: "Payment",
            method: "Payment method",
            reference: "Transaction",
            test: "Test mode: no real money is involved",
        },
        Language::Chinese => &Strings {
            invoice: "账单",
            number: "账单编号",
            issued: "开具时间",
            status: "状态",
            paid_on: "支付时间",
            bill_to: "客户",
            description: "项目",
            quantity: "数量",
            unit_price: "单价",
            amount: "金额",
            subtotal: "小计",
            applied_credit: "抵扣余额",
            total: "合计",
            paid: "已付金额",
            due: "应付金额",
            payment: "支付信息",
            method: "支付方式",
            reference: "交易编号",
            test: "测试模式：不涉及真实资金",
        },
    }
}

impl DocumentStatus {
    pub(super) const fn word(self, language: Language) -> &'static str {
        match (self, language) {
            (Self::Draft, Language::English) => "Draft",
            (Self::Draft, Language::Chinese) => "草稿",
            (Self::Open, Language::English) => "Unpaid",
            (Self::Open, Language::Chinese) => "待支付",
            (Self::Paid, Language::English) => "Paid",
            (Self::Paid, Language::Chinese) => "已支付",
            (Self::Uncollectible, Language::English) => "Past due",
            (Self::Uncollectible, Language::Chinese) => "已逾期",
            (Self::Void, Language::English) => "Void, no payment due",
            (Self::Void, Language::Chinese) => "已作废，无需支付",
        }
    }
}

pub(super) fn page_of(page: usize, pages: usize, language: Language) -> String {
    match language {
        Language::English => format!("Page {page} of {pages}"),
        Language::Chinese => format!("第 {page} 页，共 {pages} 页"),
    }
}

/// A time to the minute, with its zone: `21 November 2026, 02:05 UTC`, `2026年11月21日 02:05 UTC`.
#[must_use]
pub fn format_time(at: Timestamp, language: Language) -> String {
    let Some(at) = at.to_calendar() else { return String::new() };
    let (year, month, day, hour, minute) = (at.year(), at.month(), at.day(), at.hour(), at.minute());
    match language {
        Language::English => format!("{day} {month} {year}, {hour:02}:{minute:02} UTC"),
        Language::Chinese => format!("{year}年{}月{day}日 {hour:02}:{minute:02} UTC", u8::from(month)),
    }
}
