//! Free trials: one per customer and product.

use crate::checkout_fixtures::{all_at_once, at, begin, customer, id, read};
use souk_adapters::on_both;
use souk_domain::shared::{ProductId, SubscriptionId};

fn product(name: &str) -> ProductId {
    id(&format!("prod_{name}"))
}

fn subscription(name: &str) -> SubscriptionId {
    id(&format!("sub_{name}"))
}

on_both! {
    async fn each_customer_gets_one_trial_of_a_product(db: &TestDatabase) {
        let mut unit = begin(db).await;
        let (anna, ben) = (customer("cus_anna", "z1anna"), customer("cus_ben", "z1ben"));
        for one in [&anna, &ben] {
            unit.customers().upsert(one).await.expect("inserts");
        }
        let products = [product("desk"), product("lamp")];
        assert_eq!(unit.trials().used(&anna.id, &products).await.expect("reads"), []);
        assert!(unit.trials().start(&anna.id, &products[0], &subscription("1"), at(0)).await.expect("starts"));
        assert!(!unit.trials().start(&anna.id, &products[0], &subscription("2"), at(9)).await.expect("starts"));
        assert!(unit.trials().start(&anna.id, &products[1], &subscription("2"), at(9)).await.expect("starts"));
        assert!(unit.trials().start(&ben.id, &products[0], &subscription("3"), at(9)).await.expect("starts"));
        assert_eq!(unit.trials().used(&anna.id, &products).await.expect("reads"), products);
        assert_eq!(unit.trials().used(&ben.id, &products).await.expect("reads"), [product("desk")]);
        assert_eq!(unit.trials().used(&ben.id, &[]).await.expect("reads"), []);
    }

    async fn of_concurrent_starts_one_gets_the_trial(db: &TestDatabase) {
        let mut unit = begin(db).await;
        unit.customers().upsert(&customer("cus_anna", "z1anna")).await.expect("inserts");
        unit.commit().await.expect("commits");
        let granted = all_at_once(db, 8, |db, place| async move {
            let mut unit = begin(&db).await;
            let anna = customer("cus_anna", "z1anna").id;
            let is_first = unit.trials().start(&anna, &product("desk"), &subscription(&place.to_string()), at(0)).await.expect("starts");
            unit.commit().await.expect("commits");
            is_first
        })
        .await;
        assert_eq!(granted.into_iter().filter(|is_first| *is_first).count(), 1);
        let mut unit = read(db).await;
        let anna = customer("cus_anna", "z1anna").id;
        assert_eq!(unit.trials().used(&anna, &[product("desk")]).await.expect("reads").len(), 1);
    }
}
