use super::{named_customer, readable_customer};
use crate::auth::{Caller, LinkHolder, Reader, Reads, RequestContext, SignedIn, Writes, resources};
use crate::problem::Problem;
use crate::routes::input::{page, words};
use crate::routes::payments::{AddressModel, CustomerModel};
use crate::routes::subscriptions::{OverdueModel, overdue_model};
use crate::state::App;
use poem::web::Data;
use poem_openapi::param::{Path, Query};
use poem_openapi::payload::Json;
use poem_openapi::{Object, OpenApi};
use souk_domain::access::User;
use souk_domain::billing::overdue_of;
use souk_domain::customer::{self, ContactForm, Customer};
use souk_domain::shared::{CustomerId, Mode, Page};
use std::sync::Arc;

/// The fields that a user can change about themselves. Absent fields keep their value.
#[derive(Debug, Clone, Object)]
#[oai(rename = "ProfileUpdate")]
pub struct ProfileModel {
    pub name: Option<String>,
    pub email: Option<String>,
    pub phone: Option<String>,
    pub address: Option<AddressModel>,
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "CustomerList")]
pub struct CustomerListModel {
    pub count: u64,
    pub list: Vec<CustomerModel>,
}

/// Links in emails from before this time are not valid.
#[derive(Debug, Clone, Object)]
#[oai(rename = "RevokedLinks")]
pub struct RevokedLinksModel {
    pub revoked_at: String,
}

/// Whether the data of a user was copied to their space.
#[derive(Debug, Clone, Object)]
#[oai(rename = "SpaceSync")]
pub struct SpaceSyncModel {
    pub success: bool,
}

pub struct CustomersApi;

#[OpenApi(prefix_path = "/api/customers")]
impl CustomersApi {
    /// The signed-in customer; for a user who has never bought anything, the data of their profile.
    #[oai(path = "/me", method = "get")]
    async fn me(&self, app: Data<&Arc<App>>, caller: SignedIn, context: RequestContext) -> Result<Json<CustomerModel>, Problem> {
        me(&app, &caller.0, context.mode).await
    }

    /// Change name, email, phone or address.
    #[oai(path = "/me", method = "put")]
    async fn update(
        &self,
        app: Data<&Arc<App>>,
        caller: SignedIn,
        context: RequestContext,
        profile: Json<ProfileModel>,
    ) -> Result<Json<CustomerModel>, Problem> {
        let current = me(&app, &caller.0, context.mode).await?.0;
        let ProfileModel { name, email, phone, address } = profile.0;
        let form = ContactForm {
            name: name.unwrap_or(current.name),
            email: email.unwrap_or(current.email),
            phone: phone.unwrap_or(current.phone),
            address: address.or(current.address).unwrap_or_default().into(),
        };
        customer::update_profile(&app.ctx, &caller.0.user, context.mode, &form).await.map_err(|error| match error {
            customer::ProfileError::Fields(errors) => Problem::fields(&errors),
            customer::ProfileError::Storage(error) => error.into(),
        })?;
        let user = app.ctx.store.read().await?.users().find(&caller.0.user.did).await?;
        let caller = Caller { user: user.unwrap_or(caller.0.user), ..caller.0 };
        me(&app, &caller, context.mode).await
    }

    /// Copy the signed-in user's orders to their space. No user of this store has a space yet, so nothing is copied and `success` is false.
    #[oai(path = "/sync-to-space", method = "post")]
    async fn sync_to_space(&self, _caller: SignedIn) -> Result<Json<SpaceSyncModel>, Problem> {
        Ok(Json(SpaceSyncModel { success: false }))
    }

    /// Revoke all links in emails that the signed-in user has received until now. Later emails contain valid links.
    #[oai(path = "/me/revoke-links", method = "post")]
    async fn revoke_own_links(&self, app: Data<&Arc<App>>, caller: SignedIn) -> Result<Json<RevokedLinksModel>, Problem> {
        customer::revoke_links(&app.ctx, &caller.0.user.did).await?;
        Ok(Json(RevokedLinksModel { revoked_at: app.ctx.now().to_iso() }))
    }

    /// Revoke all links in emails that a customer has received until now, in both modes; `id` is the customer's id or DID.
    #[oai(path = "/:id/revoke-links", method = "post")]
    async fn revoke_links(
        &self,
        app: Data<&Arc<App>>,
        writes: Writes<resources::Customers>,
        id: Path<String>,
    ) -> Result<Json<RevokedLinksModel>, Problem> {
        let customer = named_customer(&app, app.ctx.store.read().await?.as_mut(), writes.mode, &id).await?;
        let customer = customer.filter(|customer| customer.mode == writes.mode).ok_or_else(Problem::not_found)?;
        customer::revoke_links(&app.ctx, &customer.did).await?;
        Ok(Json(RevokedLinksModel { revoked_at: app.ctx.now().to_iso() }))
    }

    /// The customers of the store, newest first.
    #[oai(path = "/", method = "get")]
    async fn list(
        &self,
        app: Data<&Arc<App>>,
        reads: Reads<resources::Customers>,
        #[oai(name = "page")] number: Query<Option<u32>>,
        #[oai(name = "pageSize")] page_size: Query<Option<u32>>,
        limit: Query<Option<u32>>,
        starting_after: Query<Option<String>>,
    ) -> Result<Json<CustomerListModel>, Problem> {
        let page = page::<CustomerId>(number.0, page_size.0.or(limit.0), starting_after.0)?;
        let found = app.ctx.store.read().await?.customers().list(reads.mode, &page).await?;
        Ok(Json(CustomerListModel { count: found.count, list: found.list.iter().map(CustomerModel::from).collect() }))
    }

    /// Customers whose name, email or phone contains a text, or whose id or DID equals it.
    #[oai(path = "/search", method = "get")]
    async fn search(
        &self,
        app: Data<&Arc<App>>,
        reads: Reads<resources::Customers>,
        query: Query<Option<String>>,
        #[oai(name = "page")] number: Query<Option<u32>>,
        #[oai(name = "pageSize")] page_size: Query<Option<u32>>,
    ) -> Result<Json<CustomerListModel>, Problem> {
        let page = Page::new(number.0, page_size.0);
        let found = app.ctx.store.read().await?.customers().search(reads.mode, &words(query.0), &page).await?;
        Ok(Json(CustomerListModel { count: found.count, list: found.list.iter().map(CustomerModel::from).collect() }))
    }

    /// Read a customer by id or DID.
    #[oai(path = "/:id", method = "get")]
    async fn retrieve(
        &self,
        app: Data<&Arc<App>>,
        reader: Reader<resources::Customers>,
        id: Path<String>,
    ) -> Result<Json<CustomerModel>, Problem> {
        let mut unit = app.ctx.store.read().await?;
        let customer = readable_customer(&app, unit.as_mut(), &reader, &id).await?;
        Ok(Json(CustomerModel::from(&customer)))
    }

    /// The overdue invoices of a customer and their sums by currency; `id` is the customer's id or DID.
    #[oai(path = "/:id/overdue/invoices", method = "get")]
    async fn overdue(
        &self,
        app: Data<&Arc<App>>,
        visitor: LinkHolder<resources::Customers>,
        id: Path<String>,
    ) -> Result<Json<OverdueModel>, Problem> {
        let mut unit = app.ctx.store.read().await?;
        let found = named_customer(&app, unit.as_mut(), visitor.mode(), &id).await?;
        let is_allowed = |customer: &Customer| visitor.may_open(&[customer.id.as_str()], &customer.did, customer.mode);
        let customer = found.filter(is_allowed).ok_or_else(Problem::not_found)?;
        let overdue = overdue_of(unit.as_mut(), &customer.id, None).await?;
        Ok(Json(overdue_model(&overdue, None, &app.site)))
    }
}

async fn me(app: &App, caller: &Caller, mode: Mode) -> Result<Json<CustomerModel>, Problem> {
    let mut unit = app.ctx.store.read().await?;
    let customer = unit.customers().find_by_did(mode, &caller.user.did).await?;
    Ok(Json(customer.as_ref().map_or_else(|| of_user(&caller.user, mode), CustomerModel::from)))
}

/// The address that the customer's emails go to.
pub(super) async fn email_of(app: &App, caller: &Caller, mode: Mode) -> Result<String, Problem> {
    Ok(me(app, caller, mode).await?.0.email)
}

fn of_user(user: &User, mode: Mode) -> CustomerModel {
    CustomerModel {
        id: None,
        livemode: mode.is_live(),
        did: user.did.to_string(),
        name: user.full_name.clone(),
        email: user.email.clone(),
        phone: user.phone.clone(),
        address: user.address.as_ref().map(AddressModel::from),
        created_at: user.created_at.to_iso(),
        updated_at: user.updated_at.to_iso(),
    }
}
