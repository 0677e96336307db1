//! Derives the outcome of a transaction from a chain's response.

use serde_json::Value;
use souk_domain::access::Did;
use souk_domain::payment::{Currency, Decline, Outcome, Settlement};
use souk_domain::shared::Amount;

pub const OK: &str = "OK";
/// Actions in receipts that are the chain's fees. They do not count as moved amounts.
const FEE_ACTIONS: [&str; 2] = ["gas", "fee"];

/// The GraphQL fields of a transaction that [`read`] needs.
pub const FIELDS: &str = "code info{code hash sender tx{from itxJson} receipts{address changes{target action value}}}";

/// Derives the outcome from the response. The transaction's own code must be OK: a chain also keeps failed transactions, which moved
/// nothing.
pub fn read(answer: &Value, app: &Did, currency: &Currency, hash: &str) -> Outcome {
    if !answer.is_object() {
        return Outcome::Unknown("the network answered without a result".to_owned());
    }
    let info = &answer["info"];
    if info.is_null() {
        return Outcome::NotFound;
    }
    if info["hash"].as_str().is_none_or(|found| !found.eq_ignore_ascii_case(hash)) {
        return Outcome::Unknown("the network answered about another transaction".to_owned());
    }
    match info["code"].as_str() {
        Some(OK) => {}
        Some(code) => {
            return Outcome::Declined(Decline { code: code.to_owned(), message: format!("The network declined the payment ({code}).") });
        }
        None => return Outcome::Unknown("the network answered without a code".to_owned()),
    }
    let payer = info["tx"]["from"].as_str().or(info["sender"].as_str()).unwrap_or_default();
    let Some(amount) = amount_moved(info, payer == app.as_str(), app, currency) else {
        return Outcome::Unknown("the network's receipts are not amounts".to_owned());
    };
    Outcome::Settled(Settlement { reference: hash.to_owned(), payer: payer.to_owned(), amount, card: None })
}

/// Returns the amount that a transaction moved. An inner transaction with an address concerns that address: a stake holds money, a
/// delegation does not. A wallet's transfer concerns its receiver, which was verified before sending. All others concern this store.
fn amount_moved(info: &Value, by_app: bool, app: &Did, currency: &Currency) -> Option<Amount> {
    let itx = &info["tx"]["itxJson"];
    let holding_address = itx["address"].as_str().filter(|address| !address.is_empty());
    let receiver = itx["outputs"][0]["owner"].as_str().filter(|owner| !by_app && !owner.is_empty());
    let address = holding_address.or(receiver).unwrap_or(app.as_str());
    let TokenChanges { gained, lost } = changes_of(address, &info["receipts"], currency)?;
    let net = if by_app { lost.minus(gained) } else { gained.minus(lost) };
    Some(net.unwrap_or(Amount::ZERO))
}

/// The net amount of a token that an address gained or lost.
pub struct NetChange {
    pub is_gain: bool,
    pub amount: Amount,
}

/// Returns the net change of an address's tokens according to the receipts, without fees. `None` if the receipts cannot be read.
pub fn net_change(address: &str, receipts: &Value, currency: &Currency) -> Option<NetChange> {
    let TokenChanges { gained, lost } = changes_of(address, receipts, currency)?;
    let is_gain = gained >= lost;
    let amount = if is_gain { gained.minus(lost) } else { lost.minus(gained) };
    Some(NetChange { is_gain, amount: amount.ok()? })
}

/// The amounts of a token that an address gained and lost, without fees.
#[derive(Default)]
struct TokenChanges {
    gained: Amount,
    lost: Amount,
}

/// Returns the amounts of a token that an address gained and lost according to the receipts, without fees. `None` if the receipts cannot
/// be read.
fn changes_of(address: &str, receipts: &Value, currency: &Currency) -> Option<TokenChanges> {
    let TokenChanges { mut gained, mut lost } = TokenChanges::default();
    for receipt in receipts.as_array()?.iter().filter(|receipt| receipt["address"] == address) {
        for change in receipt["changes"].as_array()?.iter().filter(|change| change["target"] == currency.contract.as_str()) {
            if change["action"].as_str().is_some_and(|action| FEE_ACTIONS.contains(&action)) {
                continue;
            }
            let value = change["value"].as_str()?;
            let (sum, digits) = match value.strip_prefix('-') {
                Some(digits) => (&mut lost, digits),
                None => (&mut gained, value.strip_prefix('+').unwrap_or(value)),
            };
            *sum = sum.plus(Amount::parse_base_units(digits).ok()?).ok()?;
        }
    }
    Some(TokenChanges { gained, lost })
}
