use super::email_service::EmailService;
use super::receipt::ReceiptSubscription;
use super::strings::decline_reason;
use super::tests::{assert_same_content, receipt, snapshot};
use super::*;
use crate::identity::HmacSigner;
use souk_domain::access::{Did, SignedLinks};
use souk_domain::billing::*;
use souk_domain::customer::Customer;
use souk_domain::payment::{Currency, Description, Method, MethodKind, MethodSettings, Refund, RefundStatus, RefundType, Secret};
use souk_domain::pricing::{Anchoring, Interval, Metadata, RecurringInterval};
use souk_domain::shared::Text;
use souk_domain::shared::*;
use std::sync::Arc;
use std::time::Duration;

const DAY: Duration = Duration::from_secs(24 * 3_600);

pub(super) fn id<T: Id>(text: &str) -> T {
    T::parse(text).expect("an id")
}

/// The given number of days after 2026-11-21T10:00:00Z.
pub(super) fn at(days: u32) -> Timestamp {
    Timestamp::from_seconds(1_795_255_200).plus(DAY * days)
}

pub(super) fn customer(language: Language) -> Customer {
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

pub(super) fn method(kind: MethodKind) -> Method {
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

pub(super) fn currency() -> Currency {
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
        description: String::new(),
        name: Text::new("Ledgerleaf Pro", "叶账本专业版").into(),
        customer_id: id("cus_1"),
        method_id: id("pm_1"),
        currency_id: id("pc_1"),
        mandate_id: None,
        session_id: None,
        items: Vec::new(),
        cycle: RecurringInterval::new(Interval::Month, 1, Anchoring::Fixed).expect("a cycle"),
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
        stake_id: None,
        overdraft_stake_id: None,
        overdraft_at: None,
        latest_invoice_id: None,
        clock_id: None,
        due_at: None,
        on_hold: None,
        bounds: Default::default(),
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

fn plan(subscription: Subscription) -> SubscribedPlan {
    let line = |en: &str, zh: &str, quantity, amount| SubscribedItem { title: Text::new(en, zh), quantity, amount };
    let lines = vec![line("Ledgerleaf Pro", "叶账本专业版", 2, Some(Amount::new(1_990))), line("Scanned pages", "扫描页数", 1, None)];
    SubscribedPlan { subscription, lines, stake_pays: false, deposit: None }
}

pub(super) fn invoice(number: u64, status: InvoiceStatus) -> Invoice {
    Invoice {
        id: id(&format!("in_{number}")),
        mode: Mode::Live,
        number: Some(number),
        status,
        reason: BillingReason::SubscriptionCycle,
        description: Description::Product(Text::new("Ledgerleaf Pro", "叶账本专业版").into()),
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
        amount_credited: Amount::ZERO,
        failure_count: 1,
        retry_at: (status == InvoiceStatus::Uncollectible).then(|| at(31)),
        clock_id: None,
        created_at: at(30),
        finalized_at: Some(at(30)),
        paid_at: None,
        updated_at: at(30),
    }
}

pub(super) fn email(content: BillingEmailContent, kind: MethodKind, language: Language) -> BillingEmail {
    BillingEmail {
        id: "started-sub_1".to_owned(),
        content,
        at: at(30),
        recipient: Recipient::of(&customer(language)),
        customer: customer(language),
        currency: currency(),
        method: method(kind),
        links_from: at(30),
    }
}

fn tokens() -> SignedLinks {
    SignedLinks::new(Arc::new(HmacSigner::new(&[6; 32])))
}

pub(super) fn render(email: &BillingEmail) -> Outgoing {
    EmailService { store_name: "Souk Store", public_url: "https://souk.example/", tokens: &tokens() }.render(email)
}

/// Renders the email's text in both languages.
pub(super) fn both(content: &BillingEmailContent, kind: MethodKind) -> String {
    let text = |language| {
        let mail = render(&email(content.clone(), kind, language));
        assert_same_content(&mail);
        format!("Subject: {}\n\n{}", mail.subject, mail.text)
    };
    format!("{}\n=====\n\n{}", text(Language::English), text(Language::Chinese))
}

fn payment_failed(subscription: Subscription, invoice: Invoice, code: &str) -> BillingEmailContent {
    BillingEmailContent::PaymentFailed { subscription: Box::new(subscription), invoice: Box::new(invoice), code: code.to_owned() }
}

fn cancellation(reason: CancelReason) -> Option<Cancellation> {
    Some(Cancellation { reason, feedback: None, comment: String::new(), requested_at: at(20), clearing_stake: None })
}

fn ended(reason: CancelReason) -> Subscription {
    Subscription {
        status: SubscriptionStatus::Canceled,
        canceled_at: Some(at(30)),
        ended_at: Some(at(30)),
        cancellation: cancellation(reason),
        ..subscription()
    }
}

fn ending(reason: CancelReason) -> Subscription {
    Subscription { cancel_at_period_end: true, canceled_at: Some(at(20)), cancellation: cancellation(reason), ..subscription() }
}

/// A plan without its usage-based item.
fn fixed_plan(subscription: Subscription) -> SubscribedPlan {
    let mut plan = plan(subscription);
    plan.lines.truncate(1);
    plan
}

fn scheduled(plan: SubscribedPlan) -> BillingEmailContent {
    BillingEmailContent::CancellationScheduled { plan, overdue: Vec::new() }
}

fn resumed(subscription: Subscription, from: ResumedFrom) -> BillingEmailContent {
    BillingEmailContent::Resumed { plan: plan(subscription), from, overdue: Vec::new() }
}

pub(super) fn refund(kind: RefundType) -> Refund {
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
        payment_id: None,
        credit_note_id: None,
        invoice_id: Some(id("in_7")),
        subscription_id: Some(id("sub_1")),
        reason: "requested_by_customer".to_owned(),
        description: String::new(),
        reference: "0A1B2C".to_owned(),
        failure: None,
        failure_count: 0,
        ordered_at: None,
        created_at: at(31),
        updated_at: at(31),
    }
}

#[test]
fn the_email_about_a_start_says_what_was_paid_and_when_the_next_payment_is() {
    let content = BillingEmailContent::Started { plan: plan(subscription()), first_invoice: Some(invoice(7, InvoiceStatus::Paid)) };
    insta::assert_snapshot!(both(&content, MethodKind::Arcblock));
}

#[test]
fn the_email_about_a_start_with_a_trial_says_when_the_first_payment_is() {
    let content = BillingEmailContent::Started { plan: plan(on_trial()), first_invoice: None };
    insta::assert_snapshot!(both(&content, MethodKind::Stripe));
}

#[test]
fn the_email_about_a_start_announces_no_renewal_to_a_subscription_that_will_end() {
    let subscription = ending(CancelReason::CancellationRequested);
    let text = both(&BillingEmailContent::Started { plan: plan(subscription), first_invoice: None }, MethodKind::Arcblock);
    assert!(text.contains("It will end on 21 December 2026, 10:00 UTC and won't renew.") && !text.contains("automatically"), "{text}");
    assert!(text.contains("订阅将于 2026年12月21日 10:00 UTC 结束，不会再续费。") && !text.contains("自动续费"), "{text}");
}

#[test]
fn the_reminder_of_a_trial_says_what_the_subscription_costs_afterwards() {
    insta::assert_snapshot!(both(&BillingEmailContent::TrialEnding(plan(on_trial())), MethodKind::Arcblock));
}

#[test]
fn a_failed_payment_says_why_and_when_it_is_tried_again() {
    let content = payment_failed(past_due(), invoice(7, InvoiceStatus::Uncollectible), "INSUFFICIENT_FUND");
    insta::assert_snapshot!(both(&content, MethodKind::Arcblock));
}

#[test]
fn a_failed_payment_that_is_not_tried_again_asks_to_pay_now() {
    let unpaid = Invoice { retry_at: None, ..invoice(7, InvoiceStatus::Uncollectible) };
    insta::assert_snapshot!(both(&payment_failed(past_due(), unpaid, "stolen_card"), MethodKind::Stripe));
}

#[test]
fn the_reason_of_every_decline_is_a_sentence_in_both_languages() {
    let codes = [
        "INSUFFICIENT_FUND",
        "insufficient_funds",
        "INSUFFICIENT_DELEGATION",
        "DELEGATION_EXPIRED",
        "DELEGATION_DENIED",
        "INVALID_DELEGATION_TARGET",
        "no_mandate",
        "expired_card",
        "stolen_card",
        "authentication_required",
        "do_not_honor",
    ];
    let mut reasons = Vec::new();
    for (code, is_card) in codes.iter().flat_map(|code| [(code, false), (code, true)]) {
        let of = |language| decline_reason(code, is_card, language);
        reasons.push(format!("{code}, card {is_card}: {} {}", of(Language::English), of(Language::Chinese)));
    }
    insta::assert_snapshot!(reasons.join("\n"));
}

#[test]
fn what_was_paid_or_credited_of_an_overdue_invoice_is_not_asked_for_again() {
    let partly = Invoice { amount_paid: Amount::new(500), amount_credited: Amount::new(490), ..invoice(7, InvoiceStatus::Uncollectible) };
    let text = both(&BillingEmailContent::Overdue { plan: plan(past_due()), overdue: vec![partly.clone()] }, MethodKind::Arcblock);
    assert!(text.contains("10 ABT is overdue") && text.contains("Amount due: 10 ABT"), "{text}");
    let text = both(&payment_failed(past_due(), partly, "INSUFFICIENT_FUND"), MethodKind::Arcblock);
    assert!(text.contains("We couldn't collect 10 ABT for Ledgerleaf Pro."), "{text}");
}

#[test]
fn a_reminder_lists_the_overdue_invoices() {
    let overdue = vec![invoice(7, InvoiceStatus::Uncollectible), invoice(9, InvoiceStatus::Uncollectible)];
    insta::assert_snapshot!(both(&BillingEmailContent::Overdue { plan: plan(past_due()), overdue }, MethodKind::Arcblock));
}

#[test]
fn a_scheduled_cancellation_says_until_when_there_is_access() {
    let content = scheduled(fixed_plan(ending(CancelReason::CancellationRequested)));
    insta::assert_snapshot!(both(&content, MethodKind::Arcblock));
}

#[test]
fn a_scheduled_cancellation_says_that_usage_until_then_is_charged() {
    let text = both(&scheduled(plan(ending(CancelReason::CancellationRequested))), MethodKind::Arcblock);
    assert!(text.contains("Usage until then will be charged when the subscription ends."), "{text}");
    assert!(text.contains("在此之前的用量费用将在订阅结束时收取。") && !text.contains("charged again"), "{text}");
}

#[test]
fn a_scheduled_cancellation_of_a_paused_subscription_announces_no_access() {
    let ending = ending(CancelReason::CancellationRequested);
    let paused = Subscription { status: SubscriptionStatus::Paused, cancel_at: Some(ending.period.end), ..ending };
    let text = both(&scheduled(plan(paused)), MethodKind::Arcblock);
    assert!(text.contains("It is paused and will end on 21 December 2026, 10:00 UTC.") && !text.contains("access"), "{text}");
}

#[test]
fn a_scheduled_cancellation_for_a_withdrawn_deposit_asks_to_pay_it_again() {
    insta::assert_snapshot!(both(&scheduled(fixed_plan(ending(CancelReason::StakeRevoked))), MethodKind::Arcblock));
}

#[test]
fn a_scheduled_cancellation_by_the_store_announces_no_resumption() {
    let cancellation = cancellation(CancelReason::CancellationByStore);
    let at_a_date = Subscription { cancel_at: Some(at(12)), canceled_at: Some(at(10)), cancellation, ..subscription() };
    for (subscription, end) in [(at_a_date, "3 December 2026"), (ending(CancelReason::CancellationByStore), "21 December 2026")] {
        let text = both(&scheduled(plan(subscription)), MethodKind::Arcblock);
        let says = format!("Souk Store canceled your Ledgerleaf Pro subscription. It will end on {end}, 10:00 UTC.");
        assert!(text.contains(&says) && !text.contains("resume") && !text.contains("恢复"), "{text}");
    }
}

#[test]
fn a_withdrawn_cancellation_says_that_the_subscription_renews() {
    insta::assert_snapshot!(both(&resumed(subscription(), ResumedFrom::Cancellation), MethodKind::Arcblock));
}

#[test]
fn a_withdrawn_cancellation_of_a_paused_subscription_says_that_it_is_still_paused() {
    let paused = Subscription { status: SubscriptionStatus::Paused, paused_at: Some(at(25)), ..subscription() };
    let text = both(&resumed(paused, ResumedFrom::Cancellation), MethodKind::Arcblock);
    assert!(text.contains("It is paused. You won't be charged until it resumes.") && !text.contains("automatically"), "{text}");
    assert!(text.contains("订阅处于暂停状态，恢复前不会扣款。"), "{text}");
}

#[test]
fn the_end_of_a_pause_says_when_the_next_payment_is() {
    let new_period = Subscription { period: Period { start: at(30), end: at(60) }, ..subscription() };
    insta::assert_snapshot!(both(&resumed(new_period, ResumedFrom::Pause), MethodKind::Arcblock));
}

#[test]
fn the_end_of_a_pause_in_a_trial_says_when_the_trial_ends() {
    let text = both(&resumed(on_trial(), ResumedFrom::Pause), MethodKind::Arcblock);
    assert!(text.contains("Your free trial ends on 5 December 2026, 10:00 UTC.") && !text.contains("billing period"), "{text}");
}

#[test]
fn the_end_of_a_pause_mentions_the_coming_end_and_overdue_invoices() {
    let subscription =
        Subscription { past_due_since: Some(at(20)), status: SubscriptionStatus::PastDue, ..ending(CancelReason::CancellationRequested) };
    let overdue = vec![invoice(7, InvoiceStatus::Uncollectible)];
    let content = BillingEmailContent::Resumed { plan: plan(subscription), from: ResumedFrom::Pause, overdue };
    let text = both(&content, MethodKind::Arcblock);
    assert!(text.contains("It will end on 21 December 2026, 10:00 UTC and won't renew."), "{text}");
    assert!(text.contains("You still owe 19.9 ABT.") && text.contains("Pay now:"), "{text}");
}

#[test]
fn the_email_about_a_requested_end_says_when_access_ended() {
    let content = BillingEmailContent::Ended { plan: fixed_plan(ended(CancelReason::CancellationRequested)), overdue: Vec::new() };
    insta::assert_snapshot!(both(&content, MethodKind::Arcblock));
}

#[test]
fn the_email_about_an_end_names_its_reason() {
    let of = |reason| both(&BillingEmailContent::Ended { plan: plan(ended(reason)), overdue: Vec::new() }, MethodKind::Arcblock);
    for (reason, english, chinese) in [
        (CancelReason::CancellationByStore, "Souk Store ended your Ledgerleaf Pro subscription on", "Souk Store 已于"),
        (CancelReason::StakeRevoked, "because you withdrew its refundable deposit.", "由于你取回了押金"),
        (CancelReason::PaymentFailed, "because its payment was overdue for too long.", "由于付款逾期过久"),
    ] {
        let text = of(reason);
        assert!(text.contains(english) && text.contains(chinese), "{text}");
        assert!(text.contains("Usage that hasn't been billed yet will still be charged."), "{text}");
    }
}

#[test]
fn the_email_about_an_end_for_an_overdue_invoice_says_what_is_still_unpaid() {
    let overdue = vec![invoice(7, InvoiceStatus::Uncollectible)];
    let content = BillingEmailContent::Ended { plan: plan(ended(CancelReason::PaymentFailed)), overdue };
    insta::assert_snapshot!(both(&content, MethodKind::Arcblock));
}

#[test]
fn the_email_about_an_end_for_an_overdue_invoice_says_that_the_deposit_pays() {
    let plan = SubscribedPlan { stake_pays: true, ..plan(ended(CancelReason::PaymentFailed)) };
    let content = BillingEmailContent::Ended { plan, overdue: vec![invoice(7, InvoiceStatus::Uncollectible)] };
    insta::assert_snapshot!(both(&content, MethodKind::Arcblock));
}

fn refunded(refund: Refund, invoice: Option<Invoice>) -> BillingEmailContent {
    BillingEmailContent::Refunded { refund: Box::new(refund), invoice: invoice.map(Box::new) }
}

#[test]
fn a_refund_says_how_much_was_refunded_and_how() {
    let content = refunded(refund(RefundType::Refund), Some(invoice(7, InvoiceStatus::Paid)));
    insta::assert_snapshot!(both(&content, MethodKind::Stripe));
}

#[test]
fn a_pay_out_of_the_account_balance_says_so() {
    insta::assert_snapshot!(both(&refunded(refund(RefundType::BalancePayout), None), MethodKind::Arcblock));
}

#[test]
fn an_email_as_html() {
    let content = payment_failed(past_due(), invoice(7, InvoiceStatus::Uncollectible), "INSUFFICIENT_FUND");
    insta::assert_snapshot!(render(&email(content, MethodKind::Arcblock, Language::English)).html);
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
fn the_receipt_of_each_billing_reason_says_what_the_payment_is_for() {
    let mut purposes = Vec::new();
    for reason in BillingReason::ALL.into_iter().filter(|reason| !reason.is_stake()) {
        for language in [Language::English, Language::Chinese] {
            let mut receipt = renewal();
            if let Some(subscription) = &mut receipt.subscription {
                subscription.reason = reason;
            }
            let text = receipt_mail(&receipt, language).text;
            purposes.push(format!("{}: {}", reason.name(), text.split("\n\n").nth(3).unwrap_or_default()));
        }
    }
    insta::assert_snapshot!(purposes.join("\n"));
}

/// The links of a text, without their labels.
fn links(mail: &Outgoing) -> Vec<String> {
    mail.text.lines().filter(|line| line.starts_with("https://")).map(ToOwned::to_owned).collect()
}

#[test]
fn a_link_opens_its_own_page_for_thirty_days() {
    let content = payment_failed(past_due(), invoice(7, InvoiceStatus::Uncollectible), "INSUFFICIENT_FUND");
    let mail = render(&email(content, MethodKind::Arcblock, Language::English));
    let links = links(&mail);
    let token = |link: &str| link.split_once("authToken=").map(|(_, token)| token.to_owned()).expect("a token");
    assert!(links[0].starts_with("https://souk.example/customer/invoice/in_7?action=renew&authToken="), "{links:?}");
    assert!(links[1].starts_with("https://souk.example/customer/subscription/sub_1?authToken="), "{links:?}");
    let (pay, see) = (token(&links[0]), token(&links[1]));
    assert_eq!(tokens().open(&pay, at(59)).map(|link| link.subject), Some("in_7"));
    assert_eq!(tokens().open(&see, at(59)).map(|link| link.subject), Some("sub_1"));
    assert_eq!(tokens().open(&pay, at(60)).map(|link| link.subject), None);
    assert!(!mail.subject.contains(&pay) && !mail.subject.contains("in_7"), "{}", mail.subject);
}

#[test]
fn the_email_about_a_start_names_the_deposit() {
    let plan = SubscribedPlan { deposit: Some(Amount::new(100)), ..plan(on_trial()) };
    let content = BillingEmailContent::Started { plan, first_invoice: None };
    let mail = render(&email(content, MethodKind::Arcblock, Language::English));
    assert!(
        mail.text.contains("You also paid a refundable deposit of 1 ABT. It is returned 14 days after the subscription ends."),
        "{}",
        mail.text
    );
}

#[test]
fn test_mode_is_named_in_subject_and_text() {
    let refund = Refund { mode: Mode::Test, ..refund(RefundType::Refund) };
    let mail = render(&email(refunded(refund, None), MethodKind::Arcblock, Language::English));
    assert!(mail.subject.starts_with("[Test] ") && mail.text.starts_with("* Test mode"), "{} {}", mail.subject, mail.text);
}

#[test]
fn names_of_strangers_cannot_add_markup_or_lines() {
    let mut plan = plan(subscription());
    plan.subscription.description = "<script>alert(1)</script>\r\n\r\nYou owe us money".to_owned();
    plan.lines[0].title = Text::with_fallback("\"><img src=x onerror=alert(1)>", None);
    let content = BillingEmailContent::Started { plan, first_invoice: None };
    let mut email = email(content, MethodKind::Arcblock, Language::English);
    email.recipient.name = "Eve\nPay here".to_owned();
    let mail = render(&email);
    assert!(!mail.html.contains("<script") && !mail.html.contains("<img"), "{}", mail.html);
    assert!(!mail.text.lines().any(|line| line.starts_with("You owe") || line.starts_with("Pay here")), "{}", mail.text);
}

#[test]
fn no_error_code_of_a_network_appears_in_an_email() {
    for code in ["INSUFFICIENT_FUND", "INVALID_DELEGATION", "no_mandate", "do_not_honor", "SOMETHING_NEW"] {
        let content = payment_failed(past_due(), invoice(7, InvoiceStatus::Uncollectible), code);
        let mail = render(&email(content, MethodKind::Arcblock, Language::English));
        assert!(!mail.text.contains(code), "{}", mail.text);
    }
}
