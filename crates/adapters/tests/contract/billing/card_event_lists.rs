//! The processors' lists of events, which find what lost webhook deliveries would have told.

use super::card_bench::CardBuyer;
use souk_adapters::on_one;
use souk_domain::billing;

impl CardBuyer {
    async fn scheduled_checks(&self) -> usize {
        let mut connection = self.billing.database().read().await.expect("reads");
        connection.query("SELECT payload FROM outbox WHERE topic = 'check_card'").all().await.expect("reads").len()
    }

    fn an_hour_passes(&self) {
        self.billing.networks.clock.advance(billing::EVENT_LIST_INTERVAL);
    }
}

on_one! {
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
