//! Whose objects a caller may read.

use super::named_customer;
use crate::auth::{Reader, Resource};
use crate::problem::Problem;
use crate::state::App;
use souk_domain::customer::Customer;
use souk_domain::shared::CustomerId;
use souk_domain::storage::UnitOfWork;

/// Whose objects a list shows.
pub enum ListOwner {
    /// All of the store.
    Store,
    Customer(CustomerId),
    /// The caller, or the customer they name, has never bought anything.
    Nobody,
}

impl ListOwner {
    /// The filter of a list by customer. `None`: the list is empty.
    #[must_use]
    pub fn filter(self) -> Option<Option<CustomerId>> {
        match self {
            Self::Store => Some(None),
            Self::Customer(id) => Some(Some(id)),
            Self::Nobody => None,
        }
    }
}

/// Whose objects a list shows: the caller's own; for the store those of the customer it names by id or DID, or all.
///
/// # Errors
/// 403 when a customer names another one.
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

/// The customer who is named by id or DID, if the reader may read what is theirs. Anybody else's customer does not exist for them.
///
/// # Errors
/// 404.
pub async fn readable_customer<R: Resource>(
    app: &App,
    unit: &mut dyn UnitOfWork,
    reader: &Reader<R>,
    named: &str,
) -> Result<Customer, Problem> {
    let customer = named_customer(app, unit, reader.mode(), named).await?;
    customer.filter(|customer| reader.may_read(&customer.did, customer.mode)).ok_or_else(Problem::not_found)
}
