use super::news::Desk;
use super::receipt::ReceiptSubscription;
use super::tests::{receipt, snapshot};
use super::*;
use crate::identity::HmacSeals;
use souk_domain::access::{Did, PageTokens};
use souk_domain::billing::*;
use souk_domain::customer::Customer;
use souk_domain::payment::{Currency, Method, MethodKind, MethodSettings, Refund, RefundStatus, RefundType, Secret};
use souk_domain::pricing::{Anchoring, Cycle, Interval, Metadata};
use souk_domain::shared::*;
use std::sync::Arc;
use std::time::Duration;

const DAY: Duration = Duration::from_secs(24 * 3_600);

fn id<T: Id>(text: &str) -> T {
    T::parse(text).expect("an id")
}

/// 2026-11-21T10:00:00Z and some days.
fn at(days: u32) -> Timestamp {
    Timestamp::from_seconds(1_795_255_200).plus(DAY * days)
}

fn customer(language: Language) -> Customer {
    let name = if language == Language::Chinese { "王小明" } else { "Ada Miller" };
    Customer {
        id: id("cus_1"),
        mode: Mode::Live,
        did: Did::from_verified("z1ada"),
        name: name.to_owned(),
        email: "ada@example.com".to_owned(),
        phone: String::new(),
        address: None,
        language,
        created_at: at(0),
        updated_at: at(0),
    }
}

fn method(kind: MethodKind) -> Method {
    let (name, settings) = match kind {
        MethodKind::Stripe => (
            "Card",
            MethodSettings::Stripe {
                api_host: "https://api.example".to_owned(),
                dashboard: String::new(),
                publishable_key: "pk_1".to_owned(),
                secret_key: Secret::new("sk_secret"),
                webhook_signing_secret: Secret::new("whsec_secret"),
            },
        ),
        _ => (
            "DID Wallet",
            MethodSettings::Arcblock {
                chain_id: "main".to_owned(),
                api_host: "https://main.example".to_owned(),
                explorer_host: "https://explorer.example".to_owned(),
            },
        ),
    };
    Method {
        id: id("pm_1"),
        mode: Mode::Live,
        kind,
        active: true,
        name: name.to_owned(),
        description: String::new(),
        logo: String::new(),
        settings,
        default_currency_id: None,
        created_at: at(0),
        updated_at: at(0),
    }
}

fn currency() -> Currency {
    Currency {
        id: id("pc_1"),
        method_id: id("pm_1"),
        mode: Mode::Live,
        active: true,
        name: "ArcBlock Token".to_owned(),
        symbol: "ABT".to_owned(),
        logo: String::new(),
        decimals: 2,
        maximum_precision: 2,
        contract: "z35".to_owned(),
        is_base: true,
        created_at: at(0),
        updated_at: at(0),
    }
}

fn subscription() -> Subscription {
    Subscription {
        id: id("sub_1"),
        mode: Mode::Live,
        status: SubscriptionStatus::Active,
        description: "Ledgerleaf Pro".to_owned(),
        customer_id: id("cus_1"),
        method_id: id("pm_1"),
        currency_id: id("pc_1"),
        mandate_id: None,
        session_id: None,
        items: Vec::new(),
        cycle: Cycle::new(Interval::Month, 1, Anchoring::Fixed).expect("a cycle"),
        anchor: at(0),
        index: Some(0),
        period: Period { start: at(0), end: at(30) },
        trial: None,
        cancel_at_period_end: false,
        cancel_at: None,
        canceled_at: None,
        ended_at: None,
        cancellation: None,
        past_due_since: None,
        paused_at: None,
        days_until_cancel: 15,
        billing_threshold: None,
        stake: None,
        latest_invoice_id: None,
        clock_id: None,
        due_at: None,
        parked: None,
        metadata: Metadata::new(),
        created_at: at(0),
        updated_at: at(0),
        version: 0,
    }
}

fn on_trial() -> Subscription {
    let trial = Period { start: at(0), end: at(14) };
    Subscription { status: SubscriptionStatus::Trialing, trial: Some(trial), period: trial, index: None, anchor: at(14), ..subscription() }
}

fn past_due() -> Subscription {
    Subscription { status: SubscriptionStatus::PastDue, past_due_since: Some(at(30)), ..subscription() }
}

fn plan(subscription: Subscription) -> Subscribed {
    let line = |title: &str, quantity, amount| SubscribedLine { title: title.to_owned(), quantity, amount };
    Subscribed { subscription, lines: vec![line("Ledgerleaf Pro", 2, Some(Amount::new(1_990))), line("Scanned pages", 1, None)] }
}

fn invoice(number: u64, status: InvoiceStatus) -> Invoice {
    Invoice {
        id: id(&format!("in_{number}")),
        mode: Mode::Live,
        number: Some(number),
        status,
        reason: BillingReason::SubscriptionCycle,
        description: "Ledgerleaf Pro".to_owned(),
        customer_id: id("cus_1"),
        currency_id: id("pc_1"),
        method_id: id("pm_1"),
        session_id: None,
        subscription_id: Some(id("sub_1")),
        period: Some(Period { start: at(30), end: at(60) }),
        intent_id: None,
        reference: None,
        bill_to: BillTo { name: "Ada Miller".to_owned(), email: "ada@example.com".to_owned(), phone: String::new(), address: None },
        total: Amount::new(1_990),
        amount_paid: if status == InvoiceStatus::Paid { Amount::new(1_990) } else { Amount::ZERO },
        refusals: 1,
        retry_at: (status == InvoiceStatus::Uncollectible).then(|| at(31)),
        clock_id: None,
        created_at: at(30),
        finalized_at: Some(at(30)),
        paid_at: None,
        updated_at: at(30),
    }
}

fn letter(news: News, kind: MethodKind, language: Language) -> Letter {
    Letter {
        id: "started-sub_1".to_owned(),
        news,
        at: at(30),
        customer: customer(language),
        currency: currency(),
        method: method(kind),
        links_from: at(30),
    }
}

fn tokens() -> PageTokens {
    PageTokens::new(Arc::new(HmacSeals::new(&[6; 32])))
}

fn written(letter: &Letter) -> Outgoing {
    Desk { store_name: "Souk Store", public_url: "https://souk.example/", tokens: &tokens() }.write(letter)
}

/// The text of the letter in both languages; that HTML says the same is tested once for all.
fn both(news: &News, kind: MethodKind) -> String {
    let text = |language| {
        let mail = written(&letter(news.clone(), kind, language));
        assert_same_words(&mail);
        format!("Subject: {}\n\n{}", mail.subject, mail.text)
    };
    format!("{}\n=====\n\n{}", text(Language::English), text(Language::Chinese))
}

fn assert_same_words(mail: &Outgoing) {
    let html = mail.html.replace("&amp;", "&").replace("&#39;", "'");
    for line in mail.text.lines().map(|line| line.trim_matches([' ', '*', '-', ':'])).filter(|line| !line.is_empty()) {
        for part in line.split(": ").filter(|_| !line.starts_with("http")) {
            assert!(html.contains(part.trim()), "{part:?} is missing from {html}");
        }
    }
}

fn payment_failed(subscription: Subscription, invoice: Invoice, code: &str) -> News {
    News::PaymentFailed { subscription: Box::new(subscription), invoice: Box::new(invoice), code: code.to_owned() }
}

fn cancelled(reason: CancelReason) -> Option<Cancellation> {
    Some(Cancellation { reason, feedback: None, comment: String::new(), requested_at: at(20), taken_back_by: None })
}

fn refund(kind: RefundType) -> Refund {
    Refund {
        id: id("re_1"),
        mode: Mode::Live,
        kind,
        status: RefundStatus::Succeeded,
        amount: Amount::new(995),
        currency_id: id("pc_1"),
        method_id: id("pm_1"),
        customer_id: id("cus_1"),
        intent_id: None,
        invoice_id: Some(id("in_7")),
        subscription_id: Some(id("sub_1")),
        reason: "requested_by_customer".to_owned(),
        description: String::new(),
        reference: "0A1B2C".to_owned(),
        created_at: at(31),
        updated_at: at(31),
    }
}

#[test]
fn a_start_says_what_was_paid_and_when_the_next_payment_is() {
    let first = invoice(7, InvoiceStatus::Paid);
    insta::assert_snapshot!(both(&News::Started(plan(subscription()), Some(first)), MethodKind::Arcblock));
}

#[test]
fn a_start_with_a_trial_says_when_the_first_payment_is() {
    insta::assert_snapshot!(both(&News::Started(plan(on_trial()), None), MethodKind::Stripe));
}

#[test]
fn the_end_of_a_trial_is_announced_with_what_follows() {
    insta::assert_snapshot!(both(&News::TrialEnding(plan(on_trial())), MethodKind::Arcblock));
}

#[test]
fn a_failed_payment_says_why_and_when_it_is_tried_again() {
    let news = payment_failed(past_due(), invoice(7, InvoiceStatus::Uncollectible), "INSUFFICIENT_FUND");
    insta::assert_snapshot!(both(&news, MethodKind::Arcblock));
}

#[test]
fn a_failed_payment_that_is_not_tried_again_asks_to_pay_now() {
    let owed = Invoice { retry_at: None, ..invoice(7, InvoiceStatus::Uncollectible) };
    insta::assert_snapshot!(both(&payment_failed(past_due(), owed, "stolen_card"), MethodKind::Stripe));
}

#[test]
fn a_reminder_lists_what_is_owed() {
    let owed = vec![invoice(7, InvoiceStatus::Uncollectible), invoice(9, InvoiceStatus::Uncollectible)];
    insta::assert_snapshot!(both(&News::Overdue(plan(past_due()), owed), MethodKind::Arcblock));
}

#[test]
fn an_end_at_request_says_when_access_ended() {
    let cancellation = cancelled(CancelReason::CancellationRequested);
    let ended = Subscription { status: SubscriptionStatus::Canceled, ended_at: Some(at(30)), cancellation, ..subscription() };
    insta::assert_snapshot!(both(&News::Canceled(plan(ended), Vec::new()), MethodKind::Arcblock));
}

#[test]
fn an_end_to_come_says_until_when_there_is_access() {
    let cancellation = cancelled(CancelReason::CancellationRequested);
    let ending = Subscription { cancel_at_period_end: true, canceled_at: Some(at(20)), cancellation, ..subscription() };
    insta::assert_snapshot!(both(&News::Canceled(plan(ending), Vec::new()), MethodKind::Arcblock));
}

#[test]
fn an_end_for_a_revoked_stake_says_so() {
    let cancellation = cancelled(CancelReason::StakeRevoked);
    let ending = Subscription { cancel_at_period_end: true, canceled_at: Some(at(20)), cancellation, ..subscription() };
    let told = both(&News::Canceled(plan(ending), Vec::new()), MethodKind::Arcblock);
    assert!(told.contains("Its stake was taken back.") && told.contains("原因是质押已被撤回。"), "{told}");
}

#[test]
fn an_end_at_a_time_of_the_store_promises_no_way_back() {
    let cancellation = cancelled(CancelReason::CancellationByStore);
    let ending = Subscription { cancel_at: Some(at(12)), canceled_at: Some(at(10)), cancellation, ..subscription() };
    let text = both(&News::Canceled(plan(ending), Vec::new()), MethodKind::Arcblock);
    assert!(
        text.contains("You have access until 3 December 2026, 10:00 UTC.") && !text.contains("resume") && !text.contains("恢复"),
        "{text}"
    );
}

#[test]
fn an_end_for_debt_says_what_is_still_owed() {
    let cancellation = cancelled(CancelReason::PaymentFailed);
    let ended = Subscription { status: SubscriptionStatus::Canceled, ended_at: Some(at(45)), cancellation, ..past_due() };
    insta::assert_snapshot!(both(&News::Canceled(plan(ended), vec![invoice(7, InvoiceStatus::Uncollectible)]), MethodKind::Arcblock));
}

#[test]
fn an_end_for_debt_with_a_stake_says_that_it_pays() {
    let cancellation = cancelled(CancelReason::PaymentFailed);
    let stake = Stake {
        amount: Amount::new(1_000),
        payer: Did::from_verified("z1"),
        method_id: id("pm_1"),
        currency_id: id("pc_1"),
        status: StakeStatus::Slashing,
        reference: "s".to_owned(),
        return_at: None,
        refusals: 0,
        earlier: Vec::new(),
    };
    let ended =
        Subscription { status: SubscriptionStatus::Canceled, ended_at: Some(at(45)), cancellation, stake: Some(stake), ..past_due() };
    insta::assert_snapshot!(both(&News::Canceled(plan(ended), vec![invoice(7, InvoiceStatus::Uncollectible)]), MethodKind::Arcblock));
}

#[test]
fn a_refund_says_how_much_and_where_it_went() {
    let paid = Some(Box::new(invoice(7, InvoiceStatus::Paid)));
    insta::assert_snapshot!(both(&News::Refunded(Box::new(refund(RefundType::Refund)), paid), MethodKind::Stripe));
}

#[test]
fn a_refund_of_what_credit_paid_says_that_it_is_credit_again() {
    let paid = Some(Box::new(invoice(7, InvoiceStatus::Paid)));
    let given = Refund { reference: String::new(), ..refund(RefundType::Credit) };
    insta::assert_snapshot!(both(&News::Refunded(Box::new(given), paid), MethodKind::Arcblock));
}

#[test]
fn a_returned_stake_is_called_that() {
    insta::assert_snapshot!(both(&News::Refunded(Box::new(refund(RefundType::StakeReturn)), None), MethodKind::Arcblock));
}

#[test]
fn a_letter_as_html() {
    let news = payment_failed(past_due(), invoice(7, InvoiceStatus::Uncollectible), "INSUFFICIENT_FUND");
    insta::assert_snapshot!(written(&letter(news, MethodKind::Arcblock, Language::English)).html);
}

fn renewal() -> Receipt {
    let subscription = ReceiptSubscription {
        title: "Ledgerleaf Pro".to_owned(),
        reason: BillingReason::SubscriptionCycle,
        period: Some(Period { start: at(30), end: at(60) }),
        url: "https://souk.example/customer/subscription/sub_1?authToken=x".to_owned(),
    };
    Receipt { subscription: Some(subscription), downloads: Vec::new(), live: true, ..receipt() }
}

#[test]
fn the_receipt_of_a_renewal_says_its_period_in_english() {
    insta::assert_snapshot!(snapshot(&receipt_mail(&renewal(), Language::English)));
}

#[test]
fn the_receipt_of_a_renewal_says_its_period_in_chinese() {
    insta::assert_snapshot!(snapshot(&receipt_mail(&renewal(), Language::Chinese)));
}

#[test]
fn the_receipt_of_each_reason_tells_its_own_story() {
    let mut told = Vec::new();
    for reason in BillingReason::ALL.into_iter().filter(|reason| !reason.is_stake()) {
        for language in [Language::English, Language::Chinese] {
            let mut receipt = renewal();
            if let Some(subscription) = &mut receipt.subscription {
                subscription.reason = reason;
            }
            let text = receipt_mail(&receipt, language).text;
            told.push(format!("{}: {}", reason.name(), text.split("\n\n").nth(3).unwrap_or_default()));
        }
    }
    insta::assert_snapshot!(told.join("\n"));
}

/// The links of a text, without their labels.
fn links(mail: &Outgoing) -> Vec<String> {
    mail.text.lines().filter(|line| line.starts_with("https://")).map(ToOwned::to_owned).collect()
}

#[test]
fn a_link_opens_its_own_page_for_thirty_days() {
    let news = payment_failed(past_due(), invoice(7, InvoiceStatus::Uncollectible), "INSUFFICIENT_FUND");
    let mail = written(&letter(news, MethodKind::Arcblock, Language::English));
    let links = links(&mail);
    let token = |link: &str| link.split_once("authToken=").map(|(_, token)| token.to_owned()).expect("a token");
    assert!(links[0].starts_with("https://souk.example/customer/invoice/in_7?action=renew&authToken="), "{links:?}");
    assert!(links[1].starts_with("https://souk.example/customer/subscription/sub_1?authToken="), "{links:?}");
    let (pay, see) = (token(&links[0]), token(&links[1]));
    assert_eq!(tokens().subject(&pay, at(59)), Some("in_7"));
    assert_eq!(tokens().subject(&see, at(59)), Some("sub_1"));
    assert_eq!(tokens().subject(&pay, at(60)), None);
    assert!(!mail.subject.contains(&pay) && !mail.subject.contains("in_7"), "{}", mail.subject);
}

#[test]
fn test_mode_is_told_in_subject_and_letter() {
    let mut refund = refund(RefundType::Refund);
    refund.mode = Mode::Test;
    let news = News::Refunded(Box::new(refund), None);
    let mail = written(&letter(news, MethodKind::Arcblock, Language::English));
    assert!(mail.subject.starts_with("[Test] ") && mail.text.starts_with("* Test mode"), "{} {}", mail.subject, mail.text);
}

#[test]
fn names_of_strangers_stay_names() {
    let mut plan = plan(subscription());
    plan.subscription.description = "<script>alert(1)</script>\r\n\r\nYou owe us money".to_owned();
    plan.lines[0].title = "\"><img src=x onerror=alert(1)>".to_owned();
    let mut letter = letter(News::Started(plan, None), MethodKind::Arcblock, Language::English);
    letter.customer.name = "Eve\nPay here".to_owned();
    let mail = written(&letter);
    assert!(!mail.html.contains("<script") && !mail.html.contains("<img"), "{}", mail.html);
    assert!(!mail.text.lines().any(|line| line.starts_with("You owe") || line.starts_with("Pay here")), "{}", mail.text);
}

#[test]
fn no_code_of_a_network_stands_in_a_letter() {
    for code in ["INSUFFICIENT_FUND", "INVALID_DELEGATION", "no_mandate", "do_not_honor", "SOMETHING_NEW"] {
        let news = payment_failed(past_due(), invoice(7, InvoiceStatus::Uncollectible), code);
        let mail = written(&letter(news, MethodKind::Arcblock, Language::English));
        assert!(!mail.text.contains(code), "{}", mail.text);
    }
}
