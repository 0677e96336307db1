//! Changes of a user's own profile.

use super::{Contact, ContactForm, ContactRequirements, Customer, PageInfo, ValidationErrors, check_contact};
use crate::access::User;
use crate::context::Context;
use crate::shared::{Mode, StorageError};

#[derive(Debug, thiserror::Error)]
pub enum ProfileError {
    #[error("Validate failed")]
    Fields(ValidationErrors),
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// Writes a profile to the user and to the customer of this mode, if there is one. The phone number may be empty.
#[tracing::instrument(skip_all)]
pub async fn update_profile(ctx: &Context, user: &User, mode: Mode, form: &ContactForm) -> Result<(), ProfileError> {
    let requirements = ContactRequirements { phone: !form.phone.trim().is_empty(), address: false, card: false };
    let Contact { name, email, phone, address } = check_contact(form, requirements, &PageInfo::default()).map_err(ProfileError::Fields)?;
    let now = ctx.now();
    let mut unit = ctx.store.begin().await?;
    let user = User {
        full_name: name.clone(),
        email: email.clone(),
        phone: phone.clone(),
        address: Some(address.clone()),
        updated_at: now,
        ..user.clone()
    };
    unit.users().update_profile(&user).await?;
    let customer = unit.customers().find_by_did(mode, &user.did).await?;
    if let Some(customer) = customer {
        let customer = Customer { name, email, phone, address: Some(address), updated_at: now, ..customer };
        unit.customers().upsert(&customer).await?;
    }
    unit.commit().await?;
    Ok(())
}
