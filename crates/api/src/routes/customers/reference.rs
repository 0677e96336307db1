//! A customer as other objects name it.

use poem_openapi::Object;
use souk_domain::customer::Customer;
use souk_domain::shared::{CustomerId, StorageError};
use souk_domain::storage::UnitOfWork;

#[derive(Debug, Clone, Object)]
#[oai(rename = "CustomerReference")]
pub struct CustomerReference {
    pub id: String,
    pub did: String,
    pub name: String,
    pub email: String,
}

impl From<&Customer> for CustomerReference {
    fn from(customer: &Customer) -> Self {
        Self { id: customer.id.to_string(), did: customer.did.to_string(), name: customer.name.clone(), email: customer.email.clone() }
    }
}

/// The customers of the objects of a list, read in one query.
pub struct ListCustomers(Vec<Customer>);

impl ListCustomers {
    /// Reads these customers. `ids` may repeat an id.
    pub async fn read<'i>(unit: &mut dyn UnitOfWork, ids: impl Iterator<Item = &'i CustomerId>) -> Result<Self, StorageError> {
        let mut ids: Vec<_> = ids.cloned().collect();
        ids.sort();
        ids.dedup();
        Ok(Self(unit.customers().find_all(&ids).await?))
    }

    #[must_use]
    pub fn reference(&self, id: &CustomerId) -> Option<CustomerReference> {
        self.0.iter().find(|customer| customer.id == *id).map(CustomerReference::from)
    }
}
