//! The list of card payments, which a restored store imports.

use super::bench::{ACCEPTED, Bench};
use souk_adapters::on_both;
use souk_domain::payment::{CardRail, ChargeRequest, ChargedPeriod, Outcome};
use souk_domain::shared::{Amount, AttemptId, Clock, InvoiceId, SubscriptionId, Timestamp};
use std::time::Duration;

on_both! {
    async fn every_page_of_payments_is_read_with_the_attempt_and_the_period(db: &TestDatabase) {
        let bench = Bench::open(db).await;
        let saved = bench.saved("att_1", ACCEPTED).await;
        bench.charge("att_before", 100, &saved).await;
        bench.clock.advance(Duration::from_secs(60));
        let since = bench.clock.now();
        let period = ChargedPeriod {
            invoice: InvoiceId::parse("in_2").expect("an id"),
            subscription: SubscriptionId::parse("sub_2").expect("an id"),
            start: Timestamp::from_micros(1_700_000_000_123_456),
        };
        let request = ChargeRequest {
            attempt: AttemptId::parse("att_2").expect("an id"),
            amount: Amount::new(900),
            description: "pi_2".to_owned(),
            card: saved.clone(),
            period: Some(period.clone()),
            is_late: false,
        };
        let charged = bench.rail.charge(&bench.method, &bench.currency, &request).await.expect("charges");
        // More than one page.
        for number in 0..100 {
            let other = bench.charge(&format!("att_page_{number}"), 100, &saved).await;
            assert!(matches!(other.outcome, Outcome::Settled(_)), "{other:?}");
        }
        // A form that nobody has paid is no movement.
        bench.open_intent("att_open", 500).await;
        let list = async |since| bench.rail.movements(&bench.method, std::slice::from_ref(&bench.currency), since).await.expect("lists");
        let movements = list(since).await;
        assert_eq!(movements.len(), 101);
        let Outcome::Settled(settlement) = charged.outcome else { panic!("{charged:?}") };
        let found = movements.iter().find(|movement| movement.reference == settlement.reference).expect("is listed");
        assert_eq!((&found.attempt, &found.period), (&Some(request.attempt), &Some(period)));
        assert_eq!((found.is_incoming, found.amount, &found.currency_id), (true, Amount::new(900), &bench.currency.id));
        assert!(found.at >= since);
        assert_eq!(list(Timestamp::from_seconds(1)).await.len(), 102);
        assert_eq!(bench.rail.movements(&bench.method, &[], since).await, Ok(Vec::new()), "no currency of the method");
    }
}
