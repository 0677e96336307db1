use super::billing_email_tests::*;
use souk_domain::access::Did;
use souk_domain::billing::*;
use souk_domain::payment::{
    Decline, Description, Dispute, DisputeStatus, Intent, IntentStatus, MethodKind, Refund, RefundStatus, RefundType,
};
use souk_domain::pricing::Metadata;
use souk_domain::shared::Text;
use souk_domain::shared::*;

fn line() -> InvoiceItem {
    let pricing_formula = PricingFormula::Flat { amount: Amount::new(1_990) };
    InvoiceItem {
        id: id("ii_1"),
        invoice_id: id("in_7"),
        subscription_item_id: Some(id("si_1")),
        price_id: Some(id("price_1")),
        description: Description::Product(Text::new("Ledgerleaf Pro", "叶账本专业版").into()),
        quantity: 1,
        unit_amount: Amount::new(1_990),
        amount: Amount::new(1_990),
        credited: Amount::new(1_990),
        period: None,
        covers_until: None,
        pricing_formula,
    }
}

fn expanded() -> ExpandedCreditNote {
    let note = CreditNote {
        id: id("cn_1"),
        mode: Mode::Live,
        number: 12,
        invoice_id: id("in_7"),
        subscription_id: Some(id("sub_1")),
        customer_id: id("cus_1"),
        currency_id: id("pc_1"),
        method_id: id("pm_1"),
        reason: CreditNoteReason::Cancellation,
        memo: "Sorry to see you go.".to_owned(),
        total: Amount::new(1_990),
        due_reduced: Amount::new(490),
        to_balance: Amount::new(500),
        refunded: Amount::new(1_000),
        created_at: at(31),
    };
    let item = CreditNoteItem {
        note_id: id("cn_1"),
        invoice_item_id: id("ii_1"),
        amount: Amount::new(1_990),
        revokes: true,
        pricing_formula: None,
    };
    let sent = Refund { amount: Amount::new(1_000), credit_note_id: Some(id("cn_1")), ..refund(RefundType::Refund) };
    ExpandedCreditNote {
        note,
        items: vec![CreditedLine { item, line: line() }],
        invoice: invoice(7, InvoiceStatus::Paid),
        customer: customer(Language::English),
        currency: currency(),
        refunds: vec![RefundRoute { refund: sent, method: method(MethodKind::Arcblock) }],
    }
}

#[test]
fn a_credit_note_says_what_was_credited_and_where_the_money_went() {
    insta::assert_snapshot!(both(&BillingEmailContent::Credited(Box::new(expanded())), MethodKind::Arcblock));
}

#[test]
fn a_credit_note_that_only_lowers_the_amount_due_announces_no_money() {
    let mut unpaid = expanded();
    unpaid.note.due_reduced = unpaid.note.total;
    (unpaid.note.to_balance, unpaid.note.refunded) = (Amount::ZERO, Amount::ZERO);
    unpaid.refunds.clear();
    let text = both(&BillingEmailContent::Credited(Box::new(unpaid)), MethodKind::Arcblock);
    assert!(text.contains("Taken off the amount due: 19.9 ABT") && text.contains("抵减应付金额：19.9 ABT"), "{text}");
    assert!(!text.contains("balance") && !text.contains("Refunded") && !text.contains("余额"), "{text}");
}

fn failed_refund(kind: RefundType) -> BillingEmailContent {
    let failure = Decline { code: "lost_or_stolen_card".to_owned(), message: "The card's bank did not take the money back.".to_owned() };
    BillingEmailContent::RefundFailed(Box::new(Refund {
        status: RefundStatus::Failed,
        failure: Some(failure),
        failure_count: 1,
        ..refund(kind)
    }))
}

#[test]
fn the_owner_is_notified_of_a_failed_refund_and_what_can_be_done() {
    insta::assert_snapshot!(both(&failed_refund(RefundType::Refund), MethodKind::Stripe));
}

#[test]
fn a_failed_pay_out_is_balance_again() {
    let text = both(&failed_refund(RefundType::BalancePayout), MethodKind::Stripe);
    assert!(text.contains("The amount is back in the account balance of") && !text.contains("retry"), "{text}");
}

fn dispute(status: DisputeStatus) -> BillingEmailContent {
    BillingEmailContent::Disputed(Box::new(Dispute {
        id: id("dp_1"),
        mode: Mode::Live,
        method_id: id("pm_1"),
        provider_id: "du_1".to_owned(),
        intent_id: id("pi_1"),
        customer_id: id("cus_1"),
        amount: Amount::new(1_990),
        currency_id: id("pc_1"),
        fee: Amount::new(1_500),
        fee_currency_id: None,
        status,
        funds_withdrawn: !status.is_inquiry(),
        movements: 2,
        reason: "product_not_received".to_owned(),
        respond_by: (!status.is_closed()).then(|| at(40)),
        credit_note_ids: Vec::new(),
        created_at: at(31),
        updated_at: at(31),
    }))
}

#[test]
fn the_owner_is_notified_of_a_dispute_and_until_when_to_respond() {
    insta::assert_snapshot!(both(&dispute(DisputeStatus::NeedsResponse), MethodKind::Stripe));
}

#[test]
fn each_status_of_a_dispute_has_a_subject_and_a_sentence() {
    let mut texts = Vec::new();
    for status in DisputeStatus::ALL {
        for language in [Language::English, Language::Chinese] {
            let mail = render(&email(dispute(status), MethodKind::Stripe, language));
            texts.push(format!("{}: {} | {}", status.name(), mail.subject, mail.text.split("\n\n").nth(3).unwrap_or_default()));
        }
    }
    insta::assert_snapshot!(texts.join("\n"));
}

#[test]
fn the_owner_is_notified_of_a_dashboard_refund_that_no_item_could_give() {
    let intent = Intent {
        id: id("pi_1"),
        mode: Mode::Live,
        status: IntentStatus::Succeeded,
        description: Description::Product(Text::new("Ledgerleaf Pro", "叶账本专业版").into()),
        amount: Amount::new(1_990),
        amount_received: Amount::new(1_990),
        amount_refunded: Amount::ZERO,
        currency_id: id("pc_1"),
        method_id: id("pm_1"),
        customer_id: id("cus_1"),
        subscription_id: None,
        session_id: None,
        invoices: vec![id("in_7")],
        last_error: None,
        reference: "pi_provider".to_owned(),
        payer: String::new(),
        held_attempt_id: None,
        metadata: Metadata::new(),
        created_at: at(30),
        updated_at: at(31),
    };
    let (intent, reference) = (Box::new(intent), "re_provider".to_owned());
    let content = BillingEmailContent::DashboardRefund { intent, reference, amount: Amount::new(990) };
    insta::assert_snapshot!(both(&content, MethodKind::Stripe));
}

#[test]
fn an_email_to_the_owner_names_the_customer_and_greets_the_owner() {
    let owner = Recipient { name: "Olga".to_owned(), email: "olga@example.com".to_owned(), language: Language::English };
    let mail =
        render(&BillingEmail { recipient: owner, ..email(failed_refund(RefundType::Refund), MethodKind::Stripe, Language::English) });
    assert_eq!((mail.name.as_str(), mail.address.as_str()), ("Olga", "olga@example.com"));
    assert!(mail.text.contains("Hello Olga,") && mail.text.contains("Ada Miller (ada@example.com)"), "{}", mail.text);
    assert!(mail.text.contains("because you own Souk Store"), "{}", mail.text);
}

#[test]
fn names_of_strangers_add_no_lines_to_an_email_to_the_owner() {
    let mut email = email(dispute(DisputeStatus::Lost), MethodKind::Stripe, Language::English);
    email.customer.name = "Eve\nPay here".to_owned();
    email.customer.did = Did::from_verified("z1eve");
    let mail = render(&email);
    assert!(!mail.text.lines().any(|line| line.starts_with("Pay here")), "{}", mail.text);
}
