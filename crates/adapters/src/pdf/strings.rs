//! The texts of invoices and credit notes.

use super::DocumentStatus;
use souk_domain::billing::CreditNoteReason;
use souk_domain::payment::{Description, MethodKind};
use souk_domain::pricing::ProductNames;
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
    pub credited: &'static str,
    pub applied_credit: &'static str,
    pub total: &'static str,
    pub paid: &'static str,
    pub due: &'static str,
    pub payment: &'static str,
    pub method: &'static str,
    pub reference: &'static str,
    pub test: &'static str,
    pub credit_note: &'static str,
    pub note_number: &'static str,
    pub reason: &'static str,
    pub credited_total: &'static str,
    pub destinations: &'static str,
    pub memo: &'static str,
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
            credited: "Credit notes",
            applied_credit: "Account balance",
            total: "Total",
            paid: "Amount paid",
            due: "Amount due",
            payment: "Payment",
            method: "Payment method",
            reference: "Transaction",
            test: "Test mode: no real money is involved",
            credit_note: "Credit note",
            note_number: "Credit note number",
            reason: "Reason",
            credited_total: "Total credited",
            destinations: "Where the money went",
            memo: "Note",
        },
        Language::Chinese => &Strings {
            invoice: "账单",
            number: "账单编号",
            issued: "开具时间",
            status: "状态",
            paid_on: "付款时间",
            bill_to: "客户",
            description: "项目",
            quantity: "数量",
            unit_price: "单价",
            amount: "金额",
            credited: "减免",
            applied_credit: "账户余额",
            total: "合计",
            paid: "已付金额",
            due: "应付金额",
            payment: "付款信息",
            method: "支付方式",
            reference: "交易编号",
            test: "测试模式：不涉及真实资金",
            credit_note: "贷项通知单",
            note_number: "通知单编号",
            reason: "原因",
            credited_total: "减免合计",
            destinations: "款项去向",
            memo: "备注",
        },
    }
}

impl DocumentStatus {
    pub(super) const fn word(self, language: Language) -> &'static str {
        match (self, language) {
            (Self::Draft, Language::English) => "Draft",
            (Self::Draft, Language::Chinese) => "草稿",
            (Self::Open, Language::English) => "Unpaid",
            (Self::Open, Language::Chinese) => "待付款",
            (Self::Paid, Language::English) => "Paid",
            (Self::Paid, Language::Chinese) => "已付款",
            (Self::Uncollectible, Language::English) => "Past due",
            (Self::Uncollectible, Language::Chinese) => "已逾期",
            (Self::Void, Language::English) => "Void, no payment due",
            (Self::Void, Language::Chinese) => "已作废，无需付款",
        }
    }
}

/// Returns the reason of a credit note in words for the customer.
pub(crate) const fn credit_reason(reason: CreditNoteReason, language: Language) -> &'static str {
    match (reason, language) {
        (CreditNoteReason::PlanChange, Language::English) => "Plan change",
        (CreditNoteReason::PlanChange, Language::Chinese) => "更换方案",
        (CreditNoteReason::Cancellation, Language::English) => "Cancellation",
        (CreditNoteReason::Cancellation, Language::Chinese) => "取消订阅",
        (CreditNoteReason::UsageCorrection, Language::English) => "Usage correction",
        (CreditNoteReason::UsageCorrection, Language::Chinese) => "用量更正",
        (CreditNoteReason::Duplicate, Language::English) => "Duplicate payment",
        (CreditNoteReason::Duplicate, Language::Chinese) => "重复付款",
        (CreditNoteReason::Fraudulent, Language::English) => "Fraud",
        (CreditNoteReason::Fraudulent, Language::Chinese) => "欺诈",
        (CreditNoteReason::Dispute, Language::English) => "Payment dispute",
        (CreditNoteReason::Dispute, Language::Chinese) => "拒付争议",
        (CreditNoteReason::Other, Language::English) => "Other",
        (CreditNoteReason::Other, Language::Chinese) => "其他",
    }
}

pub(super) fn page_of(page: usize, pages: usize, language: Language) -> String {
    match language {
        Language::English => format!("Page {page} of {pages}"),
        Language::Chinese => format!("第 {page} 页，共 {pages} 页"),
    }
}

/// Formats a time to the minute with its zone: `21 November 2026, 02:05 UTC`, `2026年11月21日 02:05 UTC`.
#[must_use]
pub fn format_time(at: Timestamp, language: Language) -> String {
    let Some(at) = at.to_calendar() else { return String::new() };
    let (year, month, day, hour, minute) = (at.year(), at.month(), at.day(), at.hour(), at.minute());
    match language {
        Language::English => format!("{day} {month} {year}, {hour:02}:{minute:02} UTC"),
        Language::Chinese => format!("{year}年{}月{day}日 {hour:02}:{minute:02} UTC", u8::from(month)),
    }
}

/// Returns the names of products in the reader's language. English counts the others, Chinese counts all.
pub(crate) fn names_text(names: &ProductNames, language: Language) -> String {
    let first = names.first.in_language(language);
    match (language, names.others) {
        (_, 0) => first.to_owned(),
        (Language::English, others) => format!("{first} and {others} more"),
        (Language::Chinese, others) => format!("{first} 等 {} 件商品", u64::from(others) + 1),
    }
}

/// Returns a description in the reader's language.
pub(crate) fn describe(description: &Description, language: Language) -> String {
    let name = description.name().map(|names| names_text(names, language)).unwrap_or_default();
    let fixed = match (description, language) {
        (Description::Product(_), _) => return name,
        (Description::RemainingTime(_), Language::English) => return format!("Remaining time on {name}"),
        (Description::RemainingTime(_), Language::Chinese) => return format!("{name}（剩余周期）"),
        (Description::UnusedTime(_), Language::English) => return format!("Unused time on {name}"),
        (Description::UnusedTime(_), Language::Chinese) => return format!("{name}（未使用部分）"),
        (Description::Deposit | Description::DepositToResume | Description::DeveloperDeposit, Language::English) => "Refundable deposit",
        (Description::Deposit | Description::DepositToResume | Description::DeveloperDeposit, Language::Chinese) => "押金（可退）",
        (Description::DepositForPaymentChange, Language::English) => "Deposit for the new payment method",
        (Description::DepositForPaymentChange, Language::Chinese) => "更换支付方式的押金",
        (Description::DepositForPlanChange, Language::English) => "Deposit for the plan change",
        (Description::DepositForPlanChange, Language::Chinese) => "更换方案的押金",
        (Description::DepositForOverdraft, Language::English) => "Deposit for overdraft protection",
        (Description::DepositForOverdraft, Language::Chinese) => "透支保护押金",
        (Description::OverdraftFee, Language::English) => "Overdraft protection",
        (Description::OverdraftFee, Language::Chinese) => "透支保护",
        (Description::DepositForfeited, Language::English) => "Deposit forfeited",
        (Description::DepositForfeited, Language::Chinese) => "扣除押金",
        (Description::DepositReturned | Description::DeveloperDepositReturned, Language::English) => "Deposit returned",
        (Description::DepositReturned | Description::DeveloperDepositReturned, Language::Chinese) => "退还押金",
        (Description::TopUp, Language::English) => "Top-up",
        (Description::TopUp, Language::Chinese) => "充值",
    };
    fixed.to_owned()
}

/// Returns the name of a payment method as the pages show it.
pub(crate) const fn method_name(kind: MethodKind, language: Language) -> &'static str {
    match (kind, language) {
        (MethodKind::Arcblock, Language::English) => "Wallet (ArcBlock)",
        (MethodKind::Arcblock, Language::Chinese) => "钱包（ArcBlock）",
        (MethodKind::Ethereum, Language::English) => "Wallet (Ethereum)",
        (MethodKind::Ethereum, Language::Chinese) => "钱包（以太坊）",
        (MethodKind::Base, Language::English) => "Wallet (Base)",
        (MethodKind::Base, Language::Chinese) => "钱包（Base）",
        (MethodKind::Bitcoin, Language::English) => "Bitcoin",
        (MethodKind::Bitcoin, Language::Chinese) => "比特币",
        (MethodKind::Stripe, Language::English) => "Card",
        (MethodKind::Stripe, Language::Chinese) => "银行卡",
    }
}
