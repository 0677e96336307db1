//! What a session comes to: due now, due later, to be staked, and split into its subscriptions.

use super::{LineItem, SessionMode, SubscriptionTerms};
use crate::payment::Currency;
use crate::pricing::{CartError, CartItem, Cycle, Due, Price, Product, line_amounts, stake};
use crate::shared::{Amount, Timestamp};

/// Items that are billed in one rhythm: one subscription. What is paid once goes with the first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// `None`: nothing of the session recurs.
    pub cycle: Option<Cycle>,
    /// Places of the items in the session.
    pub items: Vec<usize>,
    pub now: Amount,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    /// At least one.
    pub parts: Vec<Part>,
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
pub fn reckon(
    (kind, terms): (SessionMode, &SubscriptionTerms),
    items: &[LineItem],
    sold: &[(Price, Product)],
    currency: &Currency,
    by_wallet: bool,
    now: Timestamp,
) -> Result<Order, CartError> {
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
    Ok(Order { parts: parts(&cart, &amounts)?, amounts, due, stake, threshold, trial_end })
}

fn cart_item<'a>(item: &LineItem, price: &'a Price) -> CartItem<'a> {
    CartItem { price, quantity: item.quantity, custom_amount: item.custom_amount }
}

fn parts(cart: &[CartItem<'_>], amounts: &[Amount]) -> Result<Vec<Part>, CartError> {
    let mut parts: Vec<Part> = Vec::new();
    for (place, item) in cart.iter().enumerate() {
        let Some(recurring) = &item.price.recurring else { continue };
        match parts.iter_mut().find(|part| part.cycle == Some(recurring.cycle)) {
            Some(part) => part.items.push(place),
            None => parts.push(Part { cycle: Some(recurring.cycle), items: vec![place], now: Amount::ZERO }),
        }
    }
    if parts.is_empty() {
        parts.push(Part { cycle: None, items: Vec::new(), now: Amount::ZERO });
    }
    let once = cart.iter().enumerate().filter(|(_, item)| !item.price.is_recurring()).map(|(place, _)| place);
    parts[0].items.extend(once);
    parts[0].items.sort_unstable();
    for part in &mut parts {
        part.now = Amount::sum(part.items.iter().map(|place| amounts[*place]))?;
    }
    Ok(parts)
}
