//! What a session comes to: due now, due later, to be staked, and split into its subscriptions.

use super::{LineItem, SessionMode, SubscriptionTerms};
use crate::payment::Currency;
use crate::pricing::{CartError, CartItem, Due, Price, Product, RecurringInterval, line_amounts, stake};
use crate::shared::{Amount, Timestamp};

/// Items that are billed in one rhythm: one subscription. What is paid once goes with the first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubscriptionGroup {
    /// `None`: nothing of the session recurs.
    pub cycle: Option<RecurringInterval>,
    /// Places of the items in the session.
    pub items: Vec<usize>,
    pub now: Amount,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quote {
    /// At least one.
    pub parts: Vec<SubscriptionGroup>,
    /// What each item costs now; zero where it is due later.
    pub amounts: Vec<Amount>,
    pub due: Due,
    /// What a wallet stakes; zero where nothing is asked for.
    pub stake: Amount,
    /// From where billing of usage begins before the end of a period; zero: it does not.
    pub threshold: Amount,
    pub trial_end: Option<Timestamp>,
}

/// Reckons a session in a currency. `sold` are the prices that are paid, in the order of the items.
pub fn quote(
    (kind, terms): (SessionMode, &SubscriptionTerms),
    items: &[LineItem],
    sold: &[(Price, Product)],
    currency: &Currency,
    by_wallet: bool,
    now: Timestamp,
) -> Result<Quote, CartError> {
    let cart: Vec<_> = items.iter().zip(sold).map(|(item, (price, _))| cart_item(item, price)).collect();
    let whole = line_amounts(&cart, &currency.id)?;
    let recurs = cart.iter().any(|item| item.price.is_recurring());
    let trial_end = if recurs { terms.trial.end_at(now, &currency.id) } else { None };
    let later = trial_end.is_some() || kind == SessionMode::Setup;
    let is_later = |price: &Price| price.is_recurring() && (later || price.is_metered());
    let amounts: Vec<_> = cart.iter().zip(&whole).map(|(item, amount)| if is_later(item.price) { Amount::ZERO } else { *amount }).collect();
    let renew = Amount::sum(cart.iter().zip(&whole).filter(|(item, _)| item.price.is_recurring()).map(|(_, amount)| *amount))?;
    let due = Due { now: Amount::sum(amounts.iter().copied())?, renew };
    let (minimum, threshold) = terms.amounts(currency.decimals)?;
    let stake = if recurs && by_wallet && !terms.no_stake { stake(threshold, minimum, renew) } else { Amount::ZERO };
    Ok(Quote { parts: parts(sold, &amounts)?, amounts, due, stake, threshold, trial_end })
}

fn cart_item<'a>(item: &LineItem, price: &'a Price) -> CartItem<'a> {
    CartItem { price, quantity: item.quantity, custom_amount: item.custom_amount }
}

fn parts(sold: &[(Price, Product)], amounts: &[Amount]) -> Result<Vec<SubscriptionGroup>, CartError> {
    let part = |IntervalGroup { cycle, items }: IntervalGroup| {
        let now = Amount::sum(items.iter().map(|place| amounts[*place]))?;
        Ok(SubscriptionGroup { cycle, items, now })
    };
    rhythms(sold).into_iter().map(part).collect()
}

/// What a [`SubscriptionGroup`] is before anything is quoted.
#[derive(Debug)]
pub(super) struct IntervalGroup {
    pub cycle: Option<RecurringInterval>,
    pub items: Vec<usize>,
}

/// How items split into subscriptions: at least one.
pub(super) fn rhythms(sold: &[(Price, Product)]) -> Vec<IntervalGroup> {
    let mut parts: Vec<IntervalGroup> = Vec::new();
    for (place, (price, _)) in sold.iter().enumerate() {
        let Some(recurring) = &price.recurring else { continue };
        match parts.iter_mut().find(|part| part.cycle == Some(recurring.cycle)) {
            Some(part) => part.items.push(place),
            None => parts.push(IntervalGroup { cycle: Some(recurring.cycle), items: vec![place] }),
        }
    }
    if parts.is_empty() {
        parts.push(IntervalGroup { cycle: None, items: Vec::new() });
    }
    let once = sold.iter().enumerate().filter(|(_, (price, _))| !price.is_recurring()).map(|(place, _)| place);
    parts[0].items.extend(once);
    parts[0].items.sort_unstable();
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::billing::TrialTerms;
    use crate::pricing::{Aggregate, Anchoring, Interval, Metadata, Recurring, Usage};
    use crate::shared::{CurrencyId, MethodId, Mode, PriceId, ProductId};

    fn at() -> Timestamp {
        Timestamp::from_seconds(1_000)
    }

    fn currency() -> Currency {
        Currency {
            id: CurrencyId::parse("pc_1").expect("id"),
            method_id: MethodId::parse("pm_1").expect("id"),
            mode: Mode::Test,
            active: true,
            name: "Token".to_owned(),
            symbol: "TOK".to_owned(),
            logo: String::new(),
            decimals: 2,
            maximum_precision: 2,
            contract: String::new(),
            is_base: true,
            created_at: at(),
            updated_at: at(),
        }
    }

    fn sold(name: &str, unit: u128, recurring: Option<(Interval, Usage)>) -> (Price, Product) {
        let product_id = ProductId::parse("prod_1").expect("id");
        let cycle = |interval| RecurringInterval::new(interval, 1, Anchoring::Fixed).expect("a cycle");
        let price = Price {
            id: PriceId::parse(name).expect("id"),
            mode: Mode::Test,
            product_id: product_id.clone(),
            active: true,
            nickname: String::new(),
            lookup_key: None,
            currency_id: currency().id,
            unit_amount: Amount::new(unit),
            currency_options: Vec::new(),
            recurring: recurring.map(|(interval, usage)| Recurring { cycle: cycle(interval), usage }),
            tiers_mode: None,
            tiers: Vec::new(),
            custom: None,
            upsells_to: None,
            quantity_available: 0,
            quantity_sold: 0,
            quantity_limit_per_checkout: 0,
            metadata: Metadata::new(),
            created_at: at(),
            updated_at: at(),
        };
        let product = Product {
            id: product_id,
            mode: Mode::Test,
            active: true,
            name: name.to_owned(),
            name_zh: None,
            description: String::new(),
            description_zh: None,
            images: Vec::new(),
            features: Vec::new(),
            unit_label: None,
            unit_label_zh: None,
            statement_descriptor: None,
            default_price_id: None,
            app: None,
            cross_sells_to: None,
            metadata: Metadata::new(),
            created_at: at(),
            updated_at: at(),
        };
        (price, product)
    }

    /// Once 3, monthly 10, used by the month 1, weekly 2.
    fn mixed() -> Vec<(Price, Product)> {
        vec![
            sold("price_1", 300, None),
            sold("price_2", 1_000, Some((Interval::Month, Usage::Licensed))),
            sold("price_3", 100, Some((Interval::Month, Usage::Metered(Aggregate::Sum)))),
            sold("price_4", 200, Some((Interval::Week, Usage::Licensed))),
        ]
    }

    fn order(kind: SessionMode, terms: &SubscriptionTerms, sold: &[(Price, Product)], by_wallet: bool) -> Quote {
        let items: Vec<_> = sold.iter().map(|(price, _)| LineItem::new(price.id.clone(), 1)).collect();
        quote((kind, terms), &items, sold, &currency(), by_wallet, at()).expect("an order")
    }

    fn places(order: &Quote) -> Vec<(Vec<usize>, u128)> {
        order.parts.iter().map(|part| (part.items.clone(), part.now.base_units())).collect()
    }

    #[test]
    fn each_rhythm_is_a_part_and_what_is_paid_once_goes_with_the_first() {
        let order = order(SessionMode::Subscription, &SubscriptionTerms::default(), &mixed(), true);
        assert_eq!(places(&order), [(vec![0, 1, 2], 1_300), (vec![3], 200)]);
        assert_eq!((order.due.now, order.due.renew), (Amount::new(1_500), Amount::new(1_300)));
        assert_eq!(order.stake, Amount::new(1_300), "a period of all that recurs");
    }

    #[test]
    fn in_a_trial_and_in_setup_what_recurs_is_due_later() {
        let terms = SubscriptionTerms { trial: TrialTerms { days: 7, ..TrialTerms::default() }, ..SubscriptionTerms::default() };
        let tried = order(SessionMode::Subscription, &terms, &mixed(), false);
        assert_eq!((tried.due.now, tried.due.renew), (Amount::new(300), Amount::new(1_300)));
        assert_eq!(tried.trial_end, Some(Timestamp::from_seconds(1_000 + 7 * 86_400)));
        assert_eq!(tried.stake, Amount::ZERO, "a card stakes nothing");
        let setup = order(SessionMode::Setup, &SubscriptionTerms::default(), &mixed()[1..], false);
        assert_eq!((setup.due.now, setup.trial_end), (Amount::ZERO, None));
    }

    #[test]
    fn what_the_terms_ask_for_is_staked_instead_and_nothing_where_they_say_so() {
        let asked = SubscriptionTerms { min_stake_amount: Some("25".to_owned()), ..SubscriptionTerms::default() };
        assert_eq!(order(SessionMode::Subscription, &asked, &mixed(), true).stake, Amount::new(2_500));
        let threshold = SubscriptionTerms { billing_threshold_amount: Some("0.5".to_owned()), ..SubscriptionTerms::default() };
        let order_of = |terms| order(SessionMode::Subscription, terms, &mixed(), true);
        assert_eq!((order_of(&threshold).stake, order_of(&threshold).threshold), (Amount::new(50), Amount::new(50)));
        assert_eq!(order_of(&SubscriptionTerms { no_stake: true, ..asked }).stake, Amount::ZERO);
    }

    #[test]
    fn a_trial_is_no_matter_where_nothing_recurs() {
        let terms = SubscriptionTerms { trial: TrialTerms { days: 7, ..TrialTerms::default() }, ..SubscriptionTerms::default() };
        let order = order(SessionMode::Payment, &terms, &mixed()[..1], true);
        assert_eq!((order.trial_end, order.stake, places(&order)), (None, Amount::ZERO, vec![(vec![0], 300)]));
    }
}
