//! Disputes: the effects of withdrawn, reinstated and lost funds.

use super::bench::{DAY, MONTHLY};
use super::card_bench::{CardBuyer, InvoiceSummary, Used};
use super::cases::Shop;
use crate::catalogue::{app, product, shelve};
use crate::checkout_fixtures::{did, id, session};
use souk_adapters::persistence::SqlProducts;
use souk_adapters::testing::TestDatabase;
use souk_adapters::{on_both, on_one};
use souk_domain::billing::{self, CreditNoteOrder, CreditNoteReason, CreditTo, Invoice, InvoiceStatus, PLAN_GROUP, Subscription};
use souk_domain::checkout::{Session, SubscriptionTerms};
use souk_domain::ledger::EntryType;
use souk_domain::payment::{CardEvent, CardHint, DisputeStatus, ProviderDispute};
use souk_domain::pricing::{Product, Products};
use souk_domain::shared::{Amount, Mode};
use souk_domain::store::Entitlement;

const FEE: i128 = 1_500;

fn named(accounts: &[(&str, i128)]) -> Vec<(String, i128)> {
    accounts.iter().map(|(name, sum)| ((*name).to_owned(), *sum)).collect()
}

impl CardBuyer {
    /// The bank disputes `cents` cents of a payment. Returns the provider's id of the dispute.
    pub async fn dispute(&self, payment: &str, cents: u128) -> String {
        let form = [("payment_intent", payment), ("amount", &cents.to_string())];
        self.cards.post_test_endpoint("disputes", &form).await["id"].as_str().expect("an id").to_owned()
    }

    pub async fn decide(&self, dispute: &str, status: &str) {
        self.cards.post_test_endpoint(&format!("disputes/{dispute}"), &[("status", status)]).await;
    }

    pub async fn credit_to_balance(&self, invoice: &Invoice, cents: u128) {
        let order = CreditNoteOrder {
            invoice_id: invoice.id.clone(),
            items: Vec::new(),
            amount: Some(Amount::new(cents)),
            reason: CreditNoteReason::Other,
            memo: String::new(),
            to: CreditTo::Balance,
        };
        billing::create_credit_note(&self.billing.ctx, Mode::Test, &order).await.expect("is issued");
    }

    /// Grants the customer an app that the invoice's line paid for.
    async fn grant(&self, db: &TestDatabase, invoice: &Invoice) {
        shelve(db, &[app("z1", "One")]).await;
        let line = self.billing.lines(invoice).await.remove(0);
        let entitlement = Entitlement {
            id: id("ent_1"),
            mode: Mode::Test,
            holder: did("z1buyer"),
            app: did("z1"),
            session_id: id("cs_1"),
            subscription_id: None,
            invoice_id: Some(invoice.id.clone()),
            invoice_item_id: Some(line.id),
            acquired_at: self.billing.start,
            revoked_at: None,
            suspended_at: None,
        };
        let mut unit = self.billing.ctx.store.begin().await.expect("begins");
        unit.entitlements().grant(&entitlement).await.expect("grants");
        unit.commit().await.expect("commits");
    }

    async fn may_download(&self) -> bool {
        let mut unit = self.billing.ctx.store.read().await.expect("reads");
        unit.entitlements().holds(Mode::Test, &did("z1buyer"), &did("z1"), self.billing.ctx.now()).await.expect("reads")
    }

    /// Counts the requested emails of a kind in the outbox.
    pub async fn emails(&self, kind: &str) -> usize {
        let mut connection = self.billing.database().read().await.expect("reads");
        let rows =
            connection.query("SELECT payload FROM outbox WHERE topic IN ('billing_mail', 'reminder_mail')").all().await.expect("reads");
        let is_kind = |row: &souk_adapters::persistence::Row| row.get::<serde_json::Value>("payload").expect("ids")["kind"] == kind;
        rows.iter().filter(|row| is_kind(row)).count()
    }
}

on_both! {
    async fn withdrawn_funds_are_posted_and_return_when_the_dispute_is_won(db: &TestDatabase) {
        let buyer = CardBuyer::open(db).await;
        let (invoice, payment) = buyer.paid(5_000).await;
        buyer.grant(db, &invoice).await;
        let dispute = buyer.dispute(&payment, 5_000).await;
        buyer.check(&payment).await;
        assert_eq!(buyer.used(&invoice).await, Used { refunded: 0, disputed: 5_000, reversed: 0 });
        assert_eq!(buyer.summary(&invoice).await, InvoiceSummary { status: InvoiceStatus::Paid, total: 5_000, paid: 5_000, credited: 0 }, "an undecided dispute leaves nothing due");
        let withdrawn = [("assets:cash", -FEE), ("assets:disputes", 5_000), ("expenses:fees", FEE), ("income:revenue", -5_000)];
        assert_eq!(buyer.accounts().await, named(&withdrawn));
        assert!(!buyer.may_download().await, "suspended until it is decided");
        buyer.billing.is_sound().await;

        buyer.decide(&dispute, "won").await;
        buyer.check(&payment).await;
        assert_eq!(buyer.used(&invoice).await, Used { refunded: 0, disputed: 0, reversed: 0 });
        let won = [("assets:cash", 5_000 - FEE), ("expenses:fees", FEE), ("income:revenue", -5_000)];
        assert_eq!(buyer.accounts().await, named(&won));
        assert!(buyer.may_download().await);
        let recorded = buyer.disputes().await;
        assert_eq!((recorded.len(), recorded[0].status, recorded[0].movements), (1, DisputeStatus::Won, 3));
        assert_eq!(buyer.emails("disputed").await, 2, "one when it begins, one when it is decided");
        buyer.billing.is_sound().await;
    }

    async fn a_lost_dispute_gets_a_credit_note_over_the_creditable_amount_of_the_lines(db: &TestDatabase) {
        let buyer = CardBuyer::open(db).await;
        let (invoice, payment) = buyer.paid(5_000).await;
        buyer.grant(db, &invoice).await;
        let dispute = buyer.dispute(&payment, 5_000).await;
        buyer.decide(&dispute, "lost").await;
        buyer.check(&payment).await;
        assert_eq!(buyer.used(&invoice).await, Used { refunded: 0, disputed: 0, reversed: 5_000 });
        assert_eq!(buyer.summary(&invoice).await, InvoiceSummary { status: InvoiceStatus::Void, total: 5_000, paid: 0, credited: 5_000 });
        assert_eq!(buyer.accounts().await, named(&[("assets:cash", -FEE), ("expenses:fees", FEE)]));
        let notes = buyer.billing.notes().await;
        assert_eq!((notes.len(), notes[0].reason, notes[0].due_reduced), (1, CreditNoteReason::Dispute, Amount::new(5_000)));
        assert_eq!(buyer.disputes().await[0].credit_note_ids, [notes[0].id.clone()]);
        assert!(!buyer.may_download().await, "the line is credited in full");
        buyer.billing.is_sound().await;
    }

    async fn an_amount_credited_to_the_balance_before_is_owed_after_the_loss(db: &TestDatabase) {
        let buyer = CardBuyer::open(db).await;
        let (invoice, payment) = buyer.paid(1_000).await;
        buyer.credit_to_balance(&invoice, 500).await;
        let dispute = buyer.dispute(&payment, 1_000).await;
        buyer.decide(&dispute, "lost").await;
        buyer.check(&payment).await;
        assert_eq!(buyer.summary(&invoice).await, InvoiceSummary { status: InvoiceStatus::Uncollectible, total: 1_000, paid: 0, credited: 500 }, "a credit note of 500, due 500");
        assert_eq!(buyer.billing.reload(&invoice).await.retry_at, None, "nothing is tried automatically");
        assert_eq!(buyer.billing.customer_balance().await, 500);
        buyer.billing.is_sound().await;
        buyer.billing.deliver().await;
        assert_eq!(buyer.summary(&invoice).await, InvoiceSummary { status: InvoiceStatus::Paid, total: 1_000, paid: 500, credited: 500 }, "the balance pays the amount due");
        buyer.billing.is_sound().await;
    }

    async fn a_plan_change_during_a_dispute_gives_no_access_to_the_apps_of_the_new_plan(db: &TestDatabase) {
        let shop = Shop::open(db).await;
        shelve(db, &[app("z1", "One"), app("z2", "Two")]).await;
        let mut connection = shop.billing().database().begin().await.expect("begins");
        for (name, contained) in [("prod_small", "z1"), ("prod_large", "z2")] {
            let metadata = [(PLAN_GROUP.to_owned(), "apps".to_owned())].into();
            let one = Product { app: Some(did(contained)), metadata, ..product(name) };
            SqlProducts(&mut connection).insert(&one).await.expect("inserts");
        }
        connection.commit().await.expect("commits");
        let small = shop.plan("price_small", 1_000, MONTHLY).await;
        shop.plan("price_large", 3_000, MONTHLY).await;
        shop.billing().write("UPDATE prices SET product_id = REPLACE(id, 'price_', 'prod_')").await;
        let mut unit = shop.billing().ctx.store.begin().await.expect("begins");
        unit.sessions().insert(&Session { terms: SubscriptionTerms::default(), ..session("cs_1") }).await.expect("inserts");
        unit.commit().await.expect("commits");
        shop.billing().write("UPDATE checkout_sessions SET status = 'complete', invoice_id = NULL").await;
        shop.subscribe(&small, |one| Subscription { session_id: Some(id("cs_1")), ..one }).await;
        let payment = shop.payment_of(&shop.last_invoice().await).await;
        let holder = shop.billing().networks.wallet.did().clone();
        let may_download = async |contained: &str| {
            let mut unit = shop.billing().ctx.store.read().await.expect("reads");
            unit.entitlements().holds(Mode::Test, &holder, &did(contained), shop.billing().ctx.now()).await.expect("reads")
        };
        let dispute = shop.buyer.dispute(&payment, 1_000).await;
        shop.buyer.check(&payment).await;
        shop.wait(DAY * 15);
        shop.change_plan("price_large").await;
        assert!(!may_download("z2").await, "suspended until the dispute is decided");
        shop.buyer.decide(&dispute, "won").await;
        shop.buyer.check(&payment).await;
        assert!(may_download("z2").await);
        shop.billing().is_sound().await;
    }

    async fn an_inquiry_posts_nothing(db: &TestDatabase) {
        let buyer = CardBuyer::open(db).await;
        let (invoice, payment) = buyer.paid(5_000).await;
        let inquiry = ProviderDispute {
            provider_id: "du_inquiry".to_owned(),
            payment: payment.clone(),
            amount: Amount::new(5_000),
            currency: "usd".to_owned(),
            fee: Amount::ZERO,
            fee_currency: "usd".to_owned(),
            status: DisputeStatus::Inquiry,
            funds_withdrawn: false,
            reason: "unrecognized".to_owned(),
            respond_by: None,
            created: buyer.billing.start,
        };
        let record = async |dispute: &ProviderDispute| billing::record_dispute(&buyer.billing.ctx, &buyer.method, dispute).await;
        record(&inquiry).await.expect("is recorded");
        let closed = ProviderDispute { status: DisputeStatus::InquiryClosed, ..inquiry };
        record(&closed).await.expect("is recorded");
        assert_eq!(buyer.used(&invoice).await, Used { refunded: 0, disputed: 0, reversed: 0 });
        assert_eq!(buyer.accounts().await, named(&[("assets:cash", 5_000), ("income:revenue", -5_000)]));
        assert_eq!((buyer.disputes().await[0].status, buyer.disputes().await[0].movements), (DisputeStatus::InquiryClosed, 0));
        buyer.billing.is_sound().await;
    }

    async fn each_fund_movement_of_a_dispute_has_its_own_entry(db: &TestDatabase) {
        let buyer = CardBuyer::open(db).await;
        let (invoice, payment) = buyer.paid(5_000).await;
        buyer.dispute(&payment, 2_000).await;
        let opened = buyer.provider_dispute(&payment).await;
        for (status, funds_withdrawn, disputed) in [
            (DisputeStatus::NeedsResponse, true, 2_000),
            (DisputeStatus::UnderReview, false, 0),
            (DisputeStatus::UnderReview, true, 2_000),
            (DisputeStatus::Lost, true, 0),
        ] {
            let dispute = ProviderDispute { status, funds_withdrawn, ..opened.clone() };
            billing::record_dispute(&buyer.billing.ctx, &buyer.method, &dispute).await.expect("is recorded");
            assert_eq!(buyer.used(&invoice).await.disputed, disputed, "{status:?} {funds_withdrawn}");
        }
        let dispute = buyer.disputes().await.remove(0);
        let mut kinds = Vec::new();
        for movement in 1..=dispute.movements {
            kinds.extend(buyer.entries(&format!("{}/{movement}", dispute.id)).await);
        }
        use EntryType::{DisputeLost, DisputeReinstated, DisputeWithdrawn, NetworkFee};
        assert_eq!(kinds, [DisputeWithdrawn, NetworkFee, DisputeReinstated, DisputeWithdrawn, DisputeLost]);
        assert_eq!(buyer.summary(&invoice).await, InvoiceSummary { status: InvoiceStatus::Paid, total: 5_000, paid: 3_000, credited: 2_000 }, "the rest of the payment stands");
        buyer.billing.is_sound().await;
    }

    async fn a_disputed_amount_beyond_the_invoices_goes_to_suspense_and_back(db: &TestDatabase) {
        let buyer = CardBuyer::open(db).await;
        let (invoice, payment) = buyer.paid(1_000).await;
        buyer.billing.refund(&invoice, Some(400)).await.expect("is ordered");
        buyer.billing.send_all().await;
        let opened = ProviderDispute { amount: Amount::new(1_000), ..ProviderDispute {
            provider_id: "du_1".to_owned(),
            payment: payment.clone(),
            amount: Amount::ZERO,
            currency: "usd".to_owned(),
            fee: Amount::ZERO,
            fee_currency: "eur".to_owned(),
            status: DisputeStatus::NeedsResponse,
            funds_withdrawn: true,
            reason: "fraudulent".to_owned(),
            respond_by: None,
            created: buyer.billing.start,
        } };
        let record = async |dispute: &ProviderDispute| billing::record_dispute(&buyer.billing.ctx, &buyer.method, dispute).await;
        record(&opened).await.expect("is recorded");
        assert_eq!(buyer.used(&invoice).await, Used { refunded: 400, disputed: 600, reversed: 0 });
        let withdrawn = [("assets:cash", -400), ("assets:disputes", 600), ("income:revenue", -600), ("liabilities:suspense", 400)];
        assert_eq!(buyer.accounts().await, named(&withdrawn));
        buyer.billing.is_sound().await;
        record(&ProviderDispute { status: DisputeStatus::Won, funds_withdrawn: false, ..opened.clone() }).await.expect("is recorded");
        assert_eq!(buyer.used(&invoice).await, Used { refunded: 400, disputed: 0, reversed: 0 });
        assert_eq!(buyer.accounts().await, named(&[("assets:cash", 600), ("income:revenue", -600)]));
        // A fee in a currency that the method does not have is stored with the dispute but not posted.
        record(&ProviderDispute { status: DisputeStatus::Won, funds_withdrawn: false, fee: Amount::new(7), ..opened }).await.expect("is recorded");
        assert_eq!((buyer.disputes().await[0].fee, buyer.disputes().await[0].fee_currency_id.clone()), (Amount::new(7), None));
        buyer.billing.is_sound().await;
    }

    async fn a_dispute_of_one_payment_for_two_invoices_takes_the_newest_first(db: &TestDatabase) {
        let buyer = CardBuyer::open(db).await;
        let invoices = [buyer.invoice("in_1", 1_000).await, buyer.invoice("in_2", 2_000).await];
        let payment = buyer.pay("both", &invoices).await;
        let dispute = buyer.dispute(&payment, 2_500).await;
        buyer.check(&payment).await;
        let disputed = [buyer.used(&invoices[0]).await.disputed, buyer.used(&invoices[1]).await.disputed];
        assert_eq!(disputed.iter().sum::<u128>(), 2_500);
        buyer.decide(&dispute, "lost").await;
        buyer.check(&payment).await;
        let reversed = [buyer.used(&invoices[0]).await.reversed, buyer.used(&invoices[1]).await.reversed];
        assert_eq!(reversed, disputed);
        assert_eq!(buyer.billing.notes().await.len(), 2);
        buyer.billing.is_sound().await;
    }

    async fn a_dispute_event_publishes_a_job_that_records_it(db: &TestDatabase) {
        let buyer = CardBuyer::open(db).await;
        let (_, payment) = buyer.paid(1_000).await;
        let dispute = buyer.dispute(&payment, 1_000).await;
        let ctx = &buyer.billing.ctx;
        let event = |hint| CardEvent { id: "evt_1".to_owned(), kind: "charge.dispute.created".to_owned(), hint: Some(hint) };
        let about = |payment: &str| CardHint::Dispute { provider_id: dispute.clone(), payment: Some(payment.to_owned()) };
        billing::receive_card_event(ctx, &buyer.method, &event(about(&payment))).await.expect("is taken");
        billing::receive_card_event(ctx, &buyer.method, &event(about("pi_of_somebody_else"))).await.expect("is taken");
        let mut connection = buyer.billing.database().read().await.expect("reads");
        let rows = connection.query("SELECT payload FROM outbox WHERE topic = 'check_card'").all().await.expect("reads");
        assert_eq!(rows.len(), 1, "an event of another store's payment schedules no check");
        drop(connection);
        billing::check_card_hint(ctx, &buyer.method.id, &about(&payment)).await.expect("is recorded");
        assert_eq!(buyer.disputes().await[0].provider_id, dispute);
        buyer.billing.is_sound().await;
    }

    async fn a_dispute_without_webhook_delivery_is_found_in_the_list_of_events(db: &TestDatabase) {
        let buyer = CardBuyer::open(db).await;
        let (invoice, payment) = buyer.paid(1_000).await;
        let ctx = &buyer.billing.ctx;
        let scheduled = async || {
            let mut connection = buyer.billing.database().read().await.expect("reads");
            let rows = connection.query("SELECT payload FROM outbox WHERE topic = 'check_card'").all().await.expect("reads");
            rows.iter().map(|row| row.get::<serde_json::Value>("payload").expect("ids")["dispute"].clone()).collect::<Vec<_>>()
        };
        // A range that could not be read is read again in shorter ranges.
        buyer.cards.fault(serde_json::json!({ "mode": "error_500", "count": 3 })).await;
        buyer.dispute(&payment, 1_000).await;
        buyer.billing.networks.clock.advance(billing::EVENT_LIST_INTERVAL);
        billing::read_event_lists(ctx).await.expect("is read in parts");
        let provider_id = buyer.provider_dispute(&payment).await.provider_id;
        let mut messages = scheduled().await;
        // Ranges overlap; a second message about a dispute finds nothing new.
        messages.dedup();
        assert_eq!(messages, [provider_id.as_str()], "one dispute, however many events");
        let hint = CardHint::Dispute { provider_id, payment: None };
        billing::check_card_hint(ctx, &buyer.method.id, &hint).await.expect("is recorded");
        assert_eq!(buyer.used(&invoice).await, Used { refunded: 0, disputed: 1_000, reversed: 0 });
        buyer.billing.is_sound().await;
    }

    async fn a_dispute_received_before_its_payment_is_recorded_after_it(db: &TestDatabase) {
        let buyer = CardBuyer::open(db).await;
        let invoice = buyer.invoice("in_1", 1_000).await;
        let attempt = buyer.begin("1", std::slice::from_ref(&invoice)).await;
        let payment = buyer.enter_card(&attempt).await;
        buyer.dispute(&payment, 1_000).await;
        buyer.check(&payment).await;
        assert_eq!(buyer.used(&invoice).await, Used { refunded: 0, disputed: 1_000, reversed: 0 });
        buyer.billing.is_sound().await;
    }
}

on_one! {
    async fn funds_that_return_after_a_loss_wait_for_the_owner(db: &TestDatabase) {
        let buyer = CardBuyer::open(db).await;
        let (invoice, payment) = buyer.paid(1_000).await;
        let dispute = buyer.dispute(&payment, 1_000).await;
        buyer.decide(&dispute, "lost").await;
        buyer.check(&payment).await;
        let lost = buyer.provider_dispute(&payment).await;
        let won = ProviderDispute { status: DisputeStatus::Won, funds_withdrawn: false, ..lost };
        billing::record_dispute(&buyer.billing.ctx, &buyer.method, &won).await.expect("is recorded");
        assert_eq!(buyer.summary(&invoice).await, InvoiceSummary { status: InvoiceStatus::Void, total: 1_000, paid: 0, credited: 1_000 }, "the invoice has been credited");
        let returned = [("assets:cash", 1_000 - FEE), ("expenses:fees", FEE), ("liabilities:suspense", -1_000)];
        assert_eq!(buyer.accounts().await, named(&returned));
        buyer.billing.is_sound().await;
    }
}
