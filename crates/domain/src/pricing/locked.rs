//! Prices whose amounts are fixed because something refers to them.

use super::{CustomAmount, Price};
use crate::shared::{CurrencyId, StorageError};
use crate::storage::UnitOfWork;

/// Fixes the amounts of prices that this unit of work refers to: an item of a link or a session, an offer that a session shows, an item of
/// a subscription. Writes nothing if all of them are locked already, because a lock is permanent.
pub async fn lock_prices(unit: &mut dyn UnitOfWork, prices: &[Price]) -> Result<(), StorageError> {
    let ids: Vec<_> = prices.iter().filter(|price| !price.locked).map(|price| price.id.clone()).collect();
    if ids.is_empty() { Ok(()) } else { unit.prices().lock(&ids).await }
}

/// The first field of a locked price that a change may not touch but does. Fixed are the currency, `unit_amount`, tiers and the existing
/// currency options. A currency may be added, and the bounds and suggestions of a custom amount may change as long as the amount of a buyer
/// who chooses none stays the same.
#[must_use]
pub fn fixed_field_changed(before: &Price, after: &Price) -> Option<&'static str> {
    if after.currency_id != before.currency_id {
        return Some("currency_id");
    }
    if after.unit_amount != before.unit_amount {
        return Some("unit_amount");
    }
    if (after.tiers_mode, &after.tiers) != (before.tiers_mode, &before.tiers) {
        return Some("tiers");
    }
    if !proposes_the_same(before.custom.as_ref(), after.custom.as_ref()) {
        return Some("custom_unit_amount");
    }
    let is_kept = before.currency_options.iter().all(|option| {
        let same_currency = after.currency_options.iter().find(|other| other.currency_id == option.currency_id);
        same_currency.is_some_and(|other| {
            (other.unit_amount, &other.tiers) == (option.unit_amount, &option.tiers)
                && proposes_the_same(option.custom.as_ref(), other.custom.as_ref())
        })
    });
    // An option of the price's own currency would replace its own amounts.
    let is_overridden = has_option(after, &before.currency_id) && !has_option(before, &before.currency_id);
    if is_kept && !is_overridden { None } else { Some("currency_options") }
}

fn has_option(price: &Price, currency: &CurrencyId) -> bool {
    price.currency_options.iter().any(|option| option.currency_id == *currency)
}

fn proposes_the_same(before: Option<&CustomAmount>, after: Option<&CustomAmount>) -> bool {
    before.map(CustomAmount::proposed) == after.map(CustomAmount::proposed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pricing::{CurrencyOption, Metadata, Tier, TiersMode};
    use crate::shared::{Amount, Mode, PriceId, ProductId, Timestamp};

    fn currency(id: &str) -> CurrencyId {
        CurrencyId::parse(id).expect("an id")
    }

    fn option(id: &str, unit: u128) -> CurrencyOption {
        CurrencyOption::per_unit(currency(id), Amount::new(unit))
    }

    fn price() -> Price {
        Price {
            id: PriceId::parse("price_1").expect("an id"),
            mode: Mode::Test,
            product_id: ProductId::parse("prod_1").expect("an id"),
            active: true,
            locked: true,
            replaced_by: None,
            nickname: String::new(),
            lookup_key: None,
            currency_id: currency("pc_own"),
            unit_amount: Amount::new(10),
            currency_options: vec![option("pc_other", 20)],
            recurring: None,
            tiers_mode: None,
            tiers: Vec::new(),
            custom: None,
            upsells_to: None,
            stock_of: None,
            quantity_available: 0,
            quantity_sold: 0,
            quantity_limit_per_checkout: 0,
            metadata: Metadata::new(),
            created_at: Timestamp::from_seconds(0),
            updated_at: Timestamp::from_seconds(0),
        }
    }

    fn changed(after: Price) -> Option<&'static str> {
        fixed_field_changed(&price(), &after)
    }

    #[test]
    fn the_amounts_of_a_locked_price_are_fixed() {
        let tiers = vec![Tier { up_to: None, unit_amount: Amount::new(1), flat_amount: Amount::ZERO }];
        assert_eq!(changed(Price { unit_amount: Amount::new(90), ..price() }), Some("unit_amount"));
        assert_eq!(changed(Price { currency_id: currency("pc_new"), ..price() }), Some("currency_id"));
        assert_eq!(changed(Price { tiers_mode: Some(TiersMode::Volume), tiers, ..price() }), Some("tiers"));
        assert_eq!(changed(Price { custom: Some(CustomAmount::default()), ..price() }), Some("custom_unit_amount"));
        for options in [vec![], vec![option("pc_other", 21)], vec![option("pc_other", 20), option("pc_own", 1)]] {
            assert_eq!(changed(Price { currency_options: options, ..price() }), Some("currency_options"));
        }
    }

    #[test]
    fn a_locked_price_can_get_another_currency_and_everything_that_is_not_an_amount() {
        assert_eq!(changed(price()), None);
        let more = vec![option("pc_new", 5), option("pc_other", 20)];
        assert_eq!(changed(Price { currency_options: more, ..price() }), None);
        assert_eq!(changed(Price { active: false, nickname: "Old".to_owned(), quantity_limit_per_checkout: 1, ..price() }), None);
    }

    #[test]
    fn the_bounds_of_a_custom_amount_can_change_but_not_the_proposed_amount() {
        let custom = |preset: Option<u128>, presets: &[u128], minimum: Option<u128>| {
            let presets = presets.iter().copied().map(Amount::new).collect();
            Some(CustomAmount { preset: preset.map(Amount::new), presets, minimum: minimum.map(Amount::new), maximum: None })
        };
        let before = Price { custom: custom(None, &[5, 10], Some(1)), ..price() };
        let after = |custom| fixed_field_changed(&before, &Price { custom, ..before.clone() });
        assert_eq!(after(custom(None, &[5, 20, 50], Some(2))), None);
        assert_eq!(after(custom(Some(5), &[], None)), None);
        assert_eq!(after(custom(None, &[10, 5], Some(1))), Some("custom_unit_amount"));
        assert_eq!(after(custom(Some(6), &[5], Some(1))), Some("custom_unit_amount"));
        assert_eq!(after(None), Some("custom_unit_amount"));
        let lowest = Price { custom: custom(None, &[], Some(1)), ..price() };
        let raised = |custom| fixed_field_changed(&lowest, &Price { custom, ..lowest.clone() });
        assert_eq!(raised(custom(None, &[], Some(2))), Some("custom_unit_amount"), "the minimum is what it proposes");
        assert_eq!(raised(custom(Some(1), &[], Some(0))), None);
    }
}
