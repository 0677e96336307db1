//! The signed-in customer, and the customers of the store.

mod api;
mod email_confirmation;
mod owner;
mod privacy;
mod reference;

pub use api::CustomersApi;
pub use email_confirmation::EmailConfirmationsApi;
pub use owner::{ListOwner, list_owner, readable_customer};
pub use privacy::PrivacyApi;
pub use reference::{CustomerReference, ListCustomers};

use crate::state::App;
use souk_domain::customer::Customer;
use souk_domain::shared::{CustomerId, Mode, StorageError};
use souk_domain::storage::UnitOfWork;

/// Finds a customer by id, or by DID within `mode`.
pub async fn named_customer(app: &App, unit: &mut dyn UnitOfWork, mode: Mode, named: &str) -> Result<Option<Customer>, StorageError> {
    match (CustomerId::parse(named), app.did_auth_tokens.parse_did(named)) {
        (Ok(id), _) => unit.customers().find(&id).await,
        (Err(_), Some(did)) => unit.customers().find_by_did(mode, &did).await,
        (Err(_), None) => Ok(None),
    }
}
