use super::api::authorize_action;
use crate::auth::{Actor, resources};
use crate::problem::Problem;
use crate::state::App;
use poem::Request;
use poem::web::Data;
use poem_openapi::param::Path;
use poem_openapi::payload::Json;
use poem_openapi::{Object, OpenApi};
use souk_domain::billing;
use souk_domain::shared::{CurrencyId, MethodId};
use std::sync::Arc;

#[derive(Debug, Clone, Object)]
#[oai(rename = "PaymentChange")]
pub struct PaymentChangeModel {
    pub payment_method: String,
    pub payment_currency: String,
}

/// The parameters of the card form.
#[derive(Debug, Clone, Object)]
#[oai(rename = "SetupContext")]
pub struct SetupContextModel {
    pub client_secret: String,
    /// Always `setup_intent`.
    pub intent_type: String,
    pub status: String,
}

#[derive(Debug, Clone, Default, Object)]
#[oai(rename = "ConnectParams", rename_all = "camelCase", skip_serializing_if_is_none)]
pub struct ConnectParamsModel {
    pub subscription_id: String,
    pub currency_id: String,
    /// This and the following fields name the plan that the wallet has to authorize. The plan changes once the wallet has signed.
    pub price_id: Option<String>,
    pub quantity: Option<String>,
    pub item_id: Option<String>,
    /// Unix seconds.
    pub proration_date: Option<String>,
    pub expected_total: Option<String>,
    pub expected_credited: Option<String>,
}

/// The wallet action to open.
#[derive(Debug, Clone, Object)]
#[oai(rename = "ConnectOrder")]
pub struct ConnectOrderModel {
    pub action: String,
    #[oai(rename = "extraParams")]
    pub extra_params: ConnectParamsModel,
}

/// Either the parameters of a card form or a wallet action.
#[derive(Debug, Clone, Object)]
#[oai(rename = "PaymentChangeRequest")]
pub struct PaymentChangeStepModel {
    #[oai(rename = "stripeContext")]
    pub stripe_context: Option<SetupContextModel>,
    pub connect: Option<ConnectOrderModel>,
}

pub struct PaymentChangesApi;

#[OpenApi(prefix_path = "/api/subscriptions")]
impl PaymentChangesApi {
    /// Start changing the payment method of future invoices. It changes once the card is saved or the wallet has signed.
    #[oai(path = "/:id/change-payment", method = "post")]
    async fn change(
        &self,
        app: Data<&Arc<App>>,
        request: &Request,
        actor: Actor<resources::Subscriptions>,
        id: Path<String>,
        change: Json<PaymentChangeModel>,
    ) -> Result<Json<PaymentChangeStepModel>, Problem> {
        let subscription = authorize_action(&app, &actor, &id).await?.subscription;
        let (method, currency) = (MethodId::parse(&change.payment_method)?, CurrencyId::parse(&change.payment_currency)?);
        if !billing::takes_card(&app.ctx, &subscription.id, &method, &currency).await? {
            let subscription_id = subscription.id.to_string();
            let extra_params = ConnectParamsModel { subscription_id, currency_id: currency.to_string(), ..ConnectParamsModel::default() };
            let connect = ConnectOrderModel { action: "change-payment".to_owned(), extra_params };
            return Ok(Json(PaymentChangeStepModel { stripe_context: None, connect: Some(connect) }));
        }
        let network = app.limits.visitor_network(request, &app.tokens);
        let secret = billing::change_to_card(&app.ctx, &subscription.id, &method, &currency, &network).await?;
        let context = SetupContextModel {
            client_secret: secret,
            intent_type: "setup_intent".to_owned(),
            status: "requires_payment_method".to_owned(),
        };
        Ok(Json(PaymentChangeStepModel { stripe_context: Some(context), connect: None }))
    }
}
