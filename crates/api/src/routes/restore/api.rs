use crate::auth::{RequestContext, SignedIn};
use crate::problem::Problem;
use crate::routes::payments::CurrencyModel;
use crate::state::App;
use poem::web::Data;
use poem_openapi::payload::Json;
use poem_openapi::{Object, OpenApi};
use souk_domain::access::Role;
use souk_domain::operation::{FoundPayment, Restore, confirm_stopped, find_restore};
use souk_domain::payment::Currency;
use souk_domain::shared::MethodId;
use std::sync::Arc;

#[derive(Debug, Clone, Default, Object)]
#[oai(rename = "Restore")]
pub struct RestoreModel {
    /// Whether the store sends nothing: it was restored, and its original may be running.
    pub held: bool,
    pub restored_at: Option<String>,
    /// When the backup was taken.
    pub backup_at: Option<String>,
    /// When an owner stated that the original is stopped.
    pub stopped_at: Option<String>,
    /// When the last complete import from the payment networks began.
    pub imported_at: Option<String>,
    /// Why the last import is not complete.
    pub import_failure: Option<String>,
}

impl From<Option<Restore>> for RestoreModel {
    fn from(restore: Option<Restore>) -> Self {
        let Some(restore) = restore else { return Self::default() };
        Self {
            held: restore.is_held(),
            restored_at: Some(restore.restored_at.to_iso()),
            backup_at: Some(restore.backup_at.to_iso()),
            stopped_at: restore.stopped_at.map(|at| at.to_iso()),
            imported_at: restore.imported_at.map(|at| at.to_iso()),
            import_failure: restore.import_failure.map(|failure| failure.reason),
        }
    }
}

/// A payment that a restored store has found at a network and that belongs to nothing it knows.
#[derive(Debug, Clone, Object)]
#[oai(rename = "FoundPayment")]
pub struct FoundPaymentModel {
    pub payment_method_id: String,
    /// The network's reference: a transaction hash, a card payment intent.
    pub reference: String,
    /// Whether the store received it; otherwise the store has sent it.
    pub incoming: bool,
    /// The other account; empty for cards.
    pub account: String,
    /// In base units.
    pub amount: String,
    pub currency: CurrencyModel,
    pub moved_at: String,
}

#[derive(Debug, Clone, Object)]
pub struct FoundPaymentList {
    pub count: u64,
    pub list: Vec<FoundPaymentModel>,
}

/// What an owner has dealt with.
#[derive(Debug, Clone, Object)]
pub struct HandledPayment {
    pub payment_method_id: String,
    pub reference: String,
}

pub struct RestoreApi;

#[OpenApi(prefix_path = "/api/restore")]
impl RestoreApi {
    /// Whether the store was restored from a backup and is held, for administrators.
    #[oai(path = "/", method = "get")]
    async fn restore(&self, app: Data<&Arc<App>>, caller: SignedIn) -> Result<Json<RestoreModel>, Problem> {
        match caller.0.is_admin() {
            true => Ok(Json(find_restore(&app.ctx).await?.into())),
            false => Err(Problem::forbidden()),
        }
    }

    /// State as an owner that the original of this store is stopped and will not be started again. Payments and emails continue once what
    /// the networks did since the backup is imported.
    #[oai(path = "/confirm", method = "put")]
    async fn confirm(&self, app: Data<&Arc<App>>, caller: SignedIn) -> Result<Json<RestoreModel>, Problem> {
        if caller.0.role() != Some(Role::Owner) {
            return Err(Problem::forbidden());
        }
        let restore = confirm_stopped(&app.ctx, caller.0.user.did.as_str()).await?;
        Ok(Json(Some(restore).into()))
    }

    /// Payments of the mode that the store has found at its networks after it was restored, that belong to nothing it knows, and that nobody
    /// has dealt with yet; newest first, for administrators.
    #[oai(path = "/found-payments", method = "get")]
    async fn found_payments(
        &self,
        app: Data<&Arc<App>>,
        context: RequestContext,
        caller: SignedIn,
    ) -> Result<Json<FoundPaymentList>, Problem> {
        if !caller.0.is_admin() {
            return Err(Problem::forbidden());
        }
        let mut unit = app.ctx.store.read().await?;
        let currencies = unit.methods().currencies(context.mode).await?;
        let found = unit.found_payments().open(context.mode).await?;
        let list: Vec<_> = found.into_iter().filter_map(|payment| model(&currencies, payment)).collect();
        Ok(Json(FoundPaymentList { count: list.len() as u64, list }))
    }

    /// Record as an owner that a found payment was dealt with, for example refunded at its network.
    #[oai(path = "/found-payments/handled", method = "put")]
    async fn set_handled(
        &self,
        app: Data<&Arc<App>>,
        context: RequestContext,
        caller: SignedIn,
        handled: Json<HandledPayment>,
    ) -> Result<Json<FoundPaymentList>, Problem> {
        if caller.0.role() != Some(Role::Owner) {
            return Err(Problem::forbidden());
        }
        let method = MethodId::parse(&handled.payment_method_id)?;
        let mut unit = app.ctx.store.begin().await?;
        let by = caller.0.user.did.as_str();
        if !unit.found_payments().set_handled(context.mode, &method, &handled.reference, by, app.ctx.now()).await? {
            return Err(Problem::not_found());
        }
        unit.commit().await?;
        self.found_payments(app, context, caller).await
    }
}

/// `None`: its currency is not one of the mode.
fn model(currencies: &[Currency], payment: FoundPayment) -> Option<FoundPaymentModel> {
    let currency = currencies.iter().find(|currency| currency.id == payment.currency_id)?;
    Some(FoundPaymentModel {
        payment_method_id: payment.method_id.to_string(),
        reference: payment.reference,
        incoming: payment.is_incoming,
        account: payment.account,
        amount: payment.amount.to_string(),
        currency: currency.into(),
        moved_at: payment.moved_at.to_iso(),
    })
}
