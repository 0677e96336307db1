//! Reserves the stock of a session.

use super::{LineItem, Session};
use crate::pricing::{CatalogueItem, StockReservation};
use crate::shared::{PriceId, StorageError, Timestamp};
use crate::storage::UnitOfWork;

/// The reserved quantity of a price.
pub(super) fn reserved_of(reserved: &[StockReservation], price: &PriceId) -> u64 {
    reserved.iter().find(|reservation| reservation.price_id == *price).map_or(0, |reservation| reservation.quantity)
}

/// Reserves exactly the quantities of the session. Stocks are locked in id order to avoid deadlocks between buyers. If another buyer has
/// taken the stock meanwhile, the unit of work conflicts, and the next try reports it. False: the reservations are as they were.
pub(super) async fn reserve_stock(
    unit: &mut dyn UnitOfWork,
    session: &Session,
    items: &[CatalogueItem],
    reserved: &[StockReservation],
    now: Timestamp,
) -> Result<bool, StorageError> {
    let mut by_stock: Vec<_> = session.items.iter().zip(items).collect();
    by_stock.sort_by(|(_, a), (_, b)| (a.price.stock_id(), &a.price.id).cmp(&(b.price.stock_id(), &b.price.id)));
    let reservation =
        |(item, sold): &(&LineItem, &CatalogueItem)| StockReservation { price_id: sold.price.id.clone(), quantity: item.quantity };
    let reservations: Vec<_> = by_stock.iter().map(reservation).collect();
    let is_unchanged = reservations.len() == reserved.len() && reservations.iter().all(|reservation| reserved.contains(reservation));
    if is_unchanged {
        return Ok(false);
    }
    if !reserved.is_empty() {
        unit.prices().release(&session.id).await?;
    }
    for reservation in &reservations {
        unit.prices().reserve(&session.id, reservation, now).await?;
    }
    Ok(true)
}
