//! The endpoints of the checkout page.

use super::model::{
    AdjustModel, CheckoutModel, FastPayModel, FormModel, SessionModel, StripeContextModel, SubmittedModel, SufficientModel,
};
use crate::auth::{Caller, MaybeUser, RequestContext, SignedIn, VISITOR_COOKIE, browser_mark, cookie};
use crate::problem::Problem;
use crate::routes::payments::{CustomerModel, IntentModel};
use crate::state::App;
use poem::Request;
use poem::web::Data;
use poem_openapi::param::Path;
use poem_openapi::payload::Json;
use poem_openapi::{OpenApi, Tags};
use souk_domain::access::Did;
use souk_domain::checkout::{self, Expanded, FastPay, SessionStatus, Submission, SubmitError, Submitted, Visitor};
use souk_domain::payment;
use souk_domain::shared::{Amount, CurrencyId, Language, MethodId, PaymentLinkId, PriceId, SessionId};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

#[derive(Tags)]
enum Tag {
    #[oai(rename = "Checkout sessions")]
    CheckoutSessions,
}

pub struct CheckoutApi;

/// How long a submit waits for the network to report whether fast payment is possible.
const FAST_PAY_TIMEOUT: Duration = Duration::from_secs(3);
/// The error text is fixed by SPEC.md 5.
fn either_id() -> Problem {
    Problem::bad("Either a checkoutSession or a paymentLink id is required.").code("ID_REQUIRED")
}

#[OpenApi(prefix_path = "/api/checkout-sessions", tag = "Tag::CheckoutSessions")]
impl CheckoutApi {
    /// Start a session from a payment link. Repeated starts by one visitor within 3 s give one session.
    #[oai(path = "/start/:link", method = "post")]
    async fn start(
        &self,
        app: Data<&Arc<App>>,
        request: &Request,
        user: MaybeUser,
        context: RequestContext,
        link: Path<String>,
    ) -> Result<Json<CheckoutModel>, Problem> {
        let link = PaymentLinkId::parse(&link).map_err(|_| either_id())?;
        app.limits.admit_start(request)?;
        let id = checkout::start(&app.ctx, &link, &visitor(&app, request, &user)).await?;
        view(&app, &id, user.0.as_ref(), context.language).await
    }

    /// Read a session. While a payment is open, this polls its network.
    #[oai(path = "/retrieve/:id", method = "get")]
    async fn retrieve(
        &self,
        app: Data<&Arc<App>>,
        user: MaybeUser,
        context: RequestContext,
        id: Path<String>,
    ) -> Result<Json<CheckoutModel>, Problem> {
        let id = SessionId::parse(&id).map_err(|_| either_id())?;
        let expanded = load_for(&app, &id, user.0.as_ref()).await?;
        let is_open = expanded.session.status == SessionStatus::Open;
        // A stranger who knows the URL must not trigger calls to the network.
        if let Some(attempt) = expanded.attempt.as_ref().filter(|_| is_open && may_see(&expanded, user.0.as_ref())) {
            payment::poll_network(&app.ctx, attempt).await?;
        }
        view(&app, &id, user.0.as_ref(), context.language).await
    }

    /// Submit the form: reserves stock, drafts the invoice and starts the payment.
    #[oai(path = "/:id/submit", method = "put")]
    async fn submit(
        &self,
        app: Data<&Arc<App>>,
        request: &Request,
        caller: SignedIn,
        id: Path<String>,
        form: Json<FormModel>,
    ) -> Result<Json<SubmittedModel>, Problem> {
        let submission = Submission {
            session_id: SessionId::parse(&id)?,
            payer: caller.0.user.clone(),
            browser: browser_mark(request),
            network: app.limits.visitor_network(request, &app.tokens),
            form: form.contact(),
            method_id: MethodId::parse(&form.payment_method).map_err(|_| Problem::from(SubmitError::MethodNotSupported))?,
            currency_id: CurrencyId::parse(&form.payment_currency).map_err(|_| Problem::from(SubmitError::CurrencyNotConfigured))?,
            expected_total: expected_total(&form)?,
        };
        let submitted = checkout::submit(&app.ctx, &submission).await?;
        submitted_model(&app, submitted, &submission.payer.did).await
    }

    /// Read the answer of the last submit again, as it would be now, for a caller who lost it.
    #[oai(path = "/:id/submit", method = "get")]
    async fn submitted(&self, app: Data<&Arc<App>>, caller: SignedIn, id: Path<String>) -> Result<Json<SubmittedModel>, Problem> {
        let submitted = checkout::submitted(&app.ctx, &SessionId::parse(&id)?, &caller.0.user).await?;
        submitted_model(&app, submitted, &caller.0.user.did).await
    }

    /// Cancel the provider's intent after the visitor closed the card form, unless it has settled.
    #[oai(path = "/:id/abort-stripe", method = "post")]
    async fn abort_stripe(
        &self,
        app: Data<&Arc<App>>,
        caller: SignedIn,
        context: RequestContext,
        id: Path<String>,
    ) -> Result<Json<CheckoutModel>, Problem> {
        let id = SessionId::parse(&id)?;
        checkout::cancel_card(&app.ctx, &id, &caller.0.user).await?;
        view(&app, &id, Some(&caller.0), context.language).await
    }

    /// Change the quantity of an item.
    #[oai(path = "/:id/adjust-quantity", method = "put")]
    async fn adjust_quantity(
        &self,
        app: Data<&Arc<App>>,
        user: MaybeUser,
        id: Path<String>,
        change: Json<AdjustModel>,
    ) -> Result<Json<SessionModel>, Problem> {
        let id = SessionId::parse(&id)?;
        let expanded = load_for(&app, &id, user.0.as_ref()).await?;
        if expanded.session.payer.is_some() && !may_see(&expanded, user.0.as_ref()) {
            return Err(Problem::forbidden());
        }
        checkout::adjust_quantity(&app.ctx, &id, &PriceId::parse(&change.item_id)?, change.quantity).await?;
        let expanded = load_for(&app, &id, user.0.as_ref()).await?;
        let private = may_see(&expanded, user.0.as_ref());
        Ok(Json(SessionModel::new(&expanded, &app.site, private)))
    }
}

fn expected_total(form: &FormModel) -> Result<Option<Amount>, Problem> {
    let total = form.expected_total.as_deref().map(Amount::parse_base_units).transpose();
    total.map_err(|error| Problem::from(error).param("field", "expected_total"))
}

async fn submitted_model(app: &App, mut submitted: Submitted, payer: &Did) -> Result<Json<SubmittedModel>, Problem> {
    submitted.session.hide_store_metadata();
    let session = &submitted.session;
    let fast = if submitted.may_pay_fast { fast_pay(app, session, payer).await } else { FastPay::default() };
    let intent = session.intent.as_ref().map(|intent| IntentModel::new(intent, &session.methods, &session.currencies, &app.site));
    Ok(Json(SubmittedModel {
        checkout_session: SessionModel::new(session, &app.site, true),
        payment_intent: intent,
        customer: session.customer.as_ref().map(CustomerModel::from),
        stripe_context: submitted.card.map(|card| StripeContextModel {
            client_secret: card.client_secret,
            intent_type: if card.setup { "setup_intent" } else { "payment_intent" }.to_owned(),
            status: if card.settled { "succeeded" } else { "requires_payment_method" }.to_owned(),
        }),
        balance: SufficientModel { sufficient: fast.balance },
        delegation: SufficientModel { sufficient: fast.delegation },
        credit_sufficient: fast.credit,
        fast_pay_info: fast.offer.map(|offer| FastPayModel {
            kind: offer.by.name().to_owned(),
            amount: offer.amount.to_string(),
            payer: offer.payer.to_string(),
        }),
    }))
}

/// Returns whether the order can be paid without the wallet. A network that does not answer within [`FAST_PAY_TIMEOUT`] offers no
/// fast payment.
async fn fast_pay(app: &App, expanded: &Expanded, payer: &Did) -> FastPay {
    let session = &expanded.session;
    let by_wallet = expanded.methods.iter().any(|method| session.method_id.as_ref() == Some(&method.id) && !method.kind.is_card());
    if session.is_complete() || !by_wallet {
        return FastPay::default();
    }
    match tokio::time::timeout(FAST_PAY_TIMEOUT, checkout::fast_pay(&app.ctx, expanded, payer)).await {
        Ok(Ok(fast)) => fast,
        Ok(Err(error)) => {
            tracing::warn!(error = &error as &dyn std::error::Error, "cannot offer fast payment");
            FastPay::default()
        }
        Err(_) => FastPay::default(),
    }
}

/// Identifies the visitor by login, else by cookie or header. Without any of them each request is a new visitor, because many
/// visitors can share an IP address.
fn visitor(app: &App, request: &Request, user: &MaybeUser) -> Visitor {
    let name = match (&user.0, cookie(request, VISITOR_COOKIE), request.header("x-blocklet-visitor-id")) {
        (Some(caller), _, _) => format!("user:{}", caller.user.did),
        (None, Some(browser), _) => format!("browser:{browser}"),
        (None, None, Some(browser)) => format!("browser:{}", browser.chars().take(128).collect::<String>()),
        (None, None, None) => format!("nobody:{}", hex::encode(app.ctx.random.bytes::<16>())),
    };
    Visitor { name, browser: browser_mark(request), network: app.limits.visitor_network(request, &app.tokens) }
}

/// Loads a session with everything that the caller may see of it.
pub(super) async fn load_for(app: &App, id: &SessionId, caller: Option<&Caller>) -> Result<Expanded, Problem> {
    let mut expanded = load(app, id, caller).await?;
    if !caller.is_some_and(Caller::is_admin) {
        expanded.hide_store_metadata();
    }
    Ok(expanded)
}

/// Loads a session with everything that the store's view of it needs.
pub(crate) async fn load(app: &App, id: &SessionId, caller: Option<&Caller>) -> Result<Expanded, Problem> {
    let mut unit = app.ctx.store.read().await?;
    checkout::expand(&app.ctx, unit.as_mut(), id, caller.map(|caller| &caller.user.did)).await?.ok_or_else(Problem::not_found)
}

/// Returns whether the caller may see personal data of the session: its payer and admins may. Before the first submit a session
/// has none.
pub(super) fn may_see(expanded: &Expanded, caller: Option<&Caller>) -> bool {
    caller.is_some_and(|caller| expanded.session.payer.as_ref() == Some(&caller.user.did) || caller.is_admin())
}

async fn view(app: &App, id: &SessionId, caller: Option<&Caller>, language: Language) -> Result<Json<CheckoutModel>, Problem> {
    let expanded = load_for(app, id, caller).await?;
    let private = may_see(&expanded, caller);
    let mut model = CheckoutModel::new(&expanded, &app.site, private, caller.is_some(), language);
    if private && expanded.session.is_complete() {
        model.checkout_session.amount_refunded = Some(refunded(app, &expanded).await?.to_string());
    }
    Ok(Json(model))
}

/// The amount that was refunded, or is being refunded, of the payments of a session's invoices.
async fn refunded(app: &App, expanded: &Expanded) -> Result<Amount, Problem> {
    let paid = expanded.intent.as_ref().map(|intent| intent.invoices.as_slice()).unwrap_or_default();
    let invoices: BTreeSet<_> = paid.iter().chain(&expanded.session.invoice_id).cloned().collect();
    if invoices.is_empty() {
        return Ok(Amount::ZERO);
    }
    let invoices: Vec<_> = invoices.into_iter().collect();
    let payments = app.ctx.store.read().await?.invoice_payments().of_invoices(&invoices).await?;
    Ok(Amount::sum(payments.iter().map(|payment| payment.refunded))?)
}
