//! Authorization of lists and reads by customer.

use super::named_customer;
use crate::auth::{Reader, Resource};
use crate::problem::Problem;
use crate::state::App;
use souk_domain::customer::Customer;
use souk_domain::shared::CustomerId;
use souk_domain::storage::UnitOfWork;

/// The customer whose objects a list contains.
pub enum ListOwner {
    /// All customers of the store.
    Store,
    Customer(CustomerId),
    /// The caller, or the requested customer, has never bought anything.
    Nobody,
}

impl ListOwner {
    /// The customer filter of a list. The outer `None` means an empty list; `Some(None)` means no filter.
    #[must_use]
    pub fn filter(self) -> Option<Option<CustomerId>> {
        match self {
            Self::Store => Some(None),
            Self::Customer(id) => Some(Some(id)),
            Self::Nobody => None,
        }
    }
}

/// Determines the customer of a list: a customer sees their own objects; the store sees those of the customer that it names by id
/// or DID, or all.
///
/// # Errors
/// 403 if a customer names another customer.
pub async fn list_owner<R: Resource>(
    app: &App,
    unit: &mut dyn UnitOfWork,
    reader: &Reader<R>,
    named: Option<String>,
) -> Result<ListOwner, Problem> {
    let of = |customer: Option<Customer>| customer.map_or(ListOwner::Nobody, |customer| ListOwner::Customer(customer.id));
    match (reader, named.filter(|named| !named.is_empty())) {
        (reader, None) if reader.is_store() => Ok(ListOwner::Store),
        (Reader::Person(caller, mode), None) => Ok(of(unit.customers().find_by_did(*mode, &caller.user.did).await?)),
        (Reader::Key(..), None) => Ok(ListOwner::Store),
        (reader, Some(named)) => match named_customer(app, unit, reader.mode(), &named).await? {
            Some(customer) if !reader.may_read(&customer.did, customer.mode) => Err(Problem::forbidden()),
            found => Ok(of(found)),
        },
    }
}

/// Finds a customer by id or DID and checks that the reader may read their objects.
///
/// # Errors
/// 404 if there is no such customer or the reader may not read their objects.
pub async fn readable_customer<R: Resource>(
    app: &App,
    unit: &mut dyn UnitOfWork,
    reader: &Reader<R>,
    named: &str,
) -> Result<Customer, Problem> {
    let customer = named_customer(app, unit, reader.mode(), named).await?;
    customer.filter(|customer| reader.may_read(&customer.did, customer.mode)).ok_or_else(Problem::not_found)
}
