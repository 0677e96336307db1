//! The processors' lists of events, which find what lost webhook deliveries would have told.

use super::card_bench::CardBuyer;
use souk_adapters::on_one;
use souk_adapters::persistence::statement_counter;
use souk_domain::billing;
use souk_domain::operation::CLOCK_TOLERANCE;

impl CardBuyer {
    async fn scheduled_checks(&self) -> usize {
        let mut connection = self.billing.database().read().await.expect("reads");
        connection.query("SELECT payload FROM outbox WHERE topic = 'check_card'").all().await.expect("reads").len()
    }

    /// At the store and at the provider.
    fn an_hour_passes(&self) {
        self.billing.networks.clock.advance(billing::EVENT_LIST_INTERVAL);
        self.cards.clock.advance(billing::EVENT_LIST_INTERVAL);
    }

    async fn read_lists(&self) {
        billing::read_event_lists(&self.billing.ctx).await.expect("is read");
    }
}

on_one! {
    async fn more_events_than_one_commit_takes_are_all_handled(db: &TestDatabase) {
        const MANY: usize = 101;
        let buyer = CardBuyer::open(db).await;
        let (_, payment) = buyer.paid(1_000).await;
        buyer.an_hour_passes();
        buyer.read_lists().await;
        assert_eq!(buyer.scheduled_checks().await, 0);
        for _ in 0..MANY {
            buyer.refund_in_dashboard(&payment, 1).await;
        }
        buyer.an_hour_passes();
        let commits = statement_counter::sent().commits;
        buyer.read_lists().await;
        // One for each refund, and one for all events of the charge.
        assert_eq!(buyer.scheduled_checks().await, MANY + 1);
        assert_eq!(statement_counter::sent().commits - commits, 3, "one claims the list, and two write the messages");
    }

    async fn an_event_is_read_although_the_clock_of_the_store_is_ahead_of_the_providers(db: &TestDatabase) {
        let buyer = CardBuyer::open(db).await;
        let (_, payment) = buyer.paid(1_000).await;
        buyer.billing.networks.clock.advance(CLOCK_TOLERANCE);
        buyer.an_hour_passes();
        buyer.read_lists().await;
        // By the store's clock, the provider makes it ten minutes before the list was read.
        buyer.refund_in_dashboard(&payment, 1).await;
        buyer.an_hour_passes();
        buyer.read_lists().await;
        assert!(buyer.scheduled_checks().await > 0);
    }

    async fn a_list_that_cannot_be_read_is_read_again_from_the_same_time(db: &TestDatabase) {
        let buyer = CardBuyer::open(db).await;
        let (_, payment) = buyer.paid(1_000).await;
        buyer.refund_in_dashboard(&payment, 1).await;
        buyer.an_hour_passes();
        buyer.cards.fault(serde_json::json!({ "mode": "error_500", "count": 10 })).await;
        assert!(billing::read_event_lists(&buyer.billing.ctx).await.is_err());
        assert_eq!(buyer.scheduled_checks().await, 0);
        buyer.an_hour_passes();
        while billing::read_event_lists(&buyer.billing.ctx).await.is_err() {
            buyer.an_hour_passes();
        }
        assert!(buyer.scheduled_checks().await > 0);
    }
}
