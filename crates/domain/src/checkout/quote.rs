//! Quotes of sessions: the amounts due now and later, the required stake, and the split into subscriptions.

use super::{LineItem, Session, SessionMode, SubscriptionTerms, TermAmounts};
use crate::payment::Currency;
use crate::pricing::{CartError, CartItem, CatalogueItem, Due, Price, RecurringInterval, line_amounts, stake};
use crate::shared::{Amount, AmountError, CurrencyId, Timestamp};

/// Items with the same billing cycle, which form one subscription. One-time items belong to the first group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubscriptionGroup {
    /// `None`: the session has no recurring item.
    pub cycle: Option<RecurringInterval>,
    /// Indexes of the session's items.
    pub items: Vec<usize>,
    pub now: Amount,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quote {
    /// At least one.
    pub groups: Vec<SubscriptionGroup>,
    /// The amount of each item due now; zero if it is due later.
    pub amounts: Vec<Amount>,
    pub due: Due,
    /// The stake that a wallet must place; zero if none is required.
    pub stake: Amount,
    /// The billing threshold; zero: there is none.
    pub threshold: Amount,
    pub trial_end: Option<Timestamp>,
}

impl Quote {
    /// What the payer sees as the total: the amount due now and the refundable deposit.
    pub fn total(&self) -> Result<Amount, AmountError> {
        self.due.now.plus(self.stake)
    }
}

/// What a quote is computed for.
#[derive(Debug, Clone, Copy)]
pub struct QuoteRequest<'a> {
    pub kind: SessionMode,
    pub terms: &'a SubscriptionTerms,
    pub items: &'a [LineItem],
    /// The sold prices with their products, in the order of the items.
    pub sold: &'a [CatalogueItem],
    /// Whether a wallet pays, which can be required to place a stake.
    pub by_wallet: bool,
}

impl<'a> QuoteRequest<'a> {
    /// The quote of a session by its own terms.
    #[must_use]
    pub fn of(session: &'a Session, sold: &'a [CatalogueItem], by_wallet: bool) -> Self {
        Self { kind: session.kind, terms: &session.terms, items: &session.items, sold, by_wallet }
    }
}

/// Computes the quote in a currency.
pub fn quote(request: &QuoteRequest<'_>, currency: &Currency, now: Timestamp) -> Result<Quote, CartError> {
    let QuoteRequest { kind, terms, items, sold, by_wallet } = *request;
    let cart: Vec<_> = items.iter().zip(sold).map(|(item, sold)| cart_item(item, &sold.price)).collect();
    let full_amounts = line_amounts(&cart, &currency.id)?;
    let has_recurring = cart.iter().any(|item| item.price.is_recurring());
    let trial_end = if has_recurring { terms.trial.end_at(now, &currency.id) } else { None };
    let is_deferred = trial_end.is_some() || kind == SessionMode::Setup;
    let is_due_later = |price: &Price| price.is_recurring() && (is_deferred || price.is_metered());
    let amounts: Vec<_> =
        cart.iter().zip(&full_amounts).map(|(item, amount)| if is_due_later(item.price) { Amount::ZERO } else { *amount }).collect();
    let renew = Amount::sum(cart.iter().zip(&full_amounts).filter(|(item, _)| item.price.is_recurring()).map(|(_, amount)| *amount))?;
    let due = Due { now: Amount::sum(amounts.iter().copied())?, renew };
    let TermAmounts { minimum_stake, threshold } = terms.amounts(currency.decimals)?;
    let stake = if has_recurring && by_wallet && !terms.no_stake { stake(threshold, minimum_stake, renew) } else { Amount::ZERO };
    Ok(Quote { groups: groups_of(sold, &amounts)?, amounts, due, stake, threshold, trial_end })
}

/// Refuses items whose total in a currency is out of range. `prices` are the sold prices, in any order. Items that cannot be priced in the
/// currency, for another reason, are not refused here.
pub(super) fn check_total(items: &[LineItem], prices: &[Price], currency: &CurrencyId) -> Result<(), AmountError> {
    let find = |item: &LineItem| prices.iter().find(|price| price.id == *item.sold()).map(|price| cart_item(item, price));
    let cart: Vec<_> = items.iter().filter_map(find).collect();
    match line_amounts(&cart, currency) {
        Ok(amounts) => Amount::sum(amounts).map(drop),
        Err(CartError::Amount(error)) => Err(error),
        Err(CartError::CurrencyNotConfigured | CartError::SeveralCustomAmounts) => Ok(()),
    }
}

fn cart_item<'a>(item: &LineItem, price: &'a Price) -> CartItem<'a> {
    CartItem { price, quantity: item.quantity, custom_amount: item.custom_amount }
}

fn groups_of(sold: &[CatalogueItem], amounts: &[Amount]) -> Result<Vec<SubscriptionGroup>, CartError> {
    let group = |IntervalGroup { cycle, items }: IntervalGroup| {
        let now = Amount::sum(items.iter().map(|place| amounts[*place]))?;
        Ok(SubscriptionGroup { cycle, items, now })
    };
    group_by_interval(sold).into_iter().map(group).collect()
}

/// A [`SubscriptionGroup`] without amounts.
#[derive(Debug)]
pub(super) struct IntervalGroup {
    pub cycle: Option<RecurringInterval>,
    pub items: Vec<usize>,
}

/// Splits items by billing cycle into at least one group.
pub(super) fn group_by_interval(sold: &[CatalogueItem]) -> Vec<IntervalGroup> {
    let mut groups: Vec<IntervalGroup> = Vec::new();
    for (place, CatalogueItem { price, .. }) in sold.iter().enumerate() {
        let Some(recurring) = &price.recurring else { continue };
        match groups.iter_mut().find(|group| group.cycle == Some(recurring.cycle)) {
            Some(group) => group.items.push(place),
            None => groups.push(IntervalGroup { cycle: Some(recurring.cycle), items: vec![place] }),
        }
    }
    if groups.is_empty() {
        groups.push(IntervalGroup { cycle: None, items: Vec::new() });
    }
    let once = sold.iter().enumerate().filter(|(_, item)| !item.price.is_recurring()).map(|(place, _)| place);
    groups[0].items.extend(once);
    groups[0].items.sort_unstable();
    groups
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::billing::TrialTerms;
    use crate::pricing::{Aggregate, Anchoring, Interval, Metadata, Product, Recurring, Usage};
    use crate::shared::{MethodId, Mode, PriceId, ProductId};

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

    fn sold(name: &str, unit: u128, recurring: Option<(Interval, Usage)>) -> CatalogueItem {
        let product_id = ProductId::parse("prod_1").expect("id");
        let cycle = |interval| RecurringInterval::new(interval, 1, Anchoring::Fixed).expect("a cycle");
        let price = Price {
            id: PriceId::parse(name).expect("id"),
            mode: Mode::Test,
            product_id: product_id.clone(),
            active: true,
            locked: false,
            replaced_by: None,
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
            stock_of: None,
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
        CatalogueItem { price, product }
    }

    /// One-time 3, monthly 10, monthly metered 1 per unit, weekly 2.
    fn mixed() -> Vec<CatalogueItem> {
        vec![
            sold("price_1", 300, None),
            sold("price_2", 1_000, Some((Interval::Month, Usage::Licensed))),
            sold("price_3", 100, Some((Interval::Month, Usage::Metered(Aggregate::Sum)))),
            sold("price_4", 200, Some((Interval::Week, Usage::Licensed))),
        ]
    }

    fn quote_of(kind: SessionMode, terms: &SubscriptionTerms, sold: &[CatalogueItem], by_wallet: bool) -> Quote {
        let items: Vec<_> = sold.iter().map(|sold| LineItem::new(sold.price.id.clone(), 1)).collect();
        quote(&QuoteRequest { kind, terms, items: &items, sold, by_wallet }, &currency(), at()).expect("a quote")
    }

    fn places(quote: &Quote) -> Vec<(Vec<usize>, u128)> {
        quote.groups.iter().map(|group| (group.items.clone(), group.now.base_units())).collect()
    }

    #[test]
    fn items_are_grouped_by_cycle_and_one_time_items_join_the_first_group() {
        let quote = quote_of(SessionMode::Subscription, &SubscriptionTerms::default(), &mixed(), true);
        assert_eq!(places(&quote), [(vec![0, 1, 2], 1_300), (vec![3], 200)]);
        assert_eq!((quote.due.now, quote.due.renew), (Amount::new(1_500), Amount::new(1_300)));
        assert_eq!(quote.stake, Amount::new(1_300), "the price of all recurring items for one period");
    }

    #[test]
    fn recurring_items_are_due_later_in_trials_and_set_ups() {
        let terms = SubscriptionTerms { trial: TrialTerms { days: 7, ..TrialTerms::default() }, ..SubscriptionTerms::default() };
        let trialing = quote_of(SessionMode::Subscription, &terms, &mixed(), false);
        assert_eq!((trialing.due.now, trialing.due.renew), (Amount::new(300), Amount::new(1_300)));
        assert_eq!(trialing.trial_end, Some(Timestamp::from_seconds(1_000 + 7 * 86_400)));
        assert_eq!(trialing.stake, Amount::ZERO, "cards need no stake");
        let setup = quote_of(SessionMode::Setup, &SubscriptionTerms::default(), &mixed()[1..], false);
        assert_eq!((setup.due.now, setup.trial_end), (Amount::ZERO, None));
    }

    #[test]
    fn the_terms_can_replace_or_waive_the_stake() {
        let with_minimum = SubscriptionTerms { min_stake_amount: Some("25".to_owned()), ..SubscriptionTerms::default() };
        assert_eq!(quote_of(SessionMode::Subscription, &with_minimum, &mixed(), true).stake, Amount::new(2_500));
        let threshold = SubscriptionTerms { billing_threshold_amount: Some("0.5".to_owned()), ..SubscriptionTerms::default() };
        let with_terms = |terms| quote_of(SessionMode::Subscription, terms, &mixed(), true);
        assert_eq!((with_terms(&threshold).stake, with_terms(&threshold).threshold), (Amount::new(50), Amount::new(50)));
        assert_eq!(with_terms(&SubscriptionTerms { no_stake: true, ..with_minimum }).stake, Amount::ZERO);
    }

    #[test]
    fn without_recurring_items_there_is_no_trial() {
        let terms = SubscriptionTerms { trial: TrialTerms { days: 7, ..TrialTerms::default() }, ..SubscriptionTerms::default() };
        let quote = quote_of(SessionMode::Payment, &terms, &mixed()[..1], true);
        assert_eq!((quote.trial_end, quote.stake, places(&quote)), (None, Amount::ZERO, vec![(vec![0], 300)]));
    }
}
