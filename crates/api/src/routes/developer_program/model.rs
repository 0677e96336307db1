use crate::problem::Problem;
use crate::routes::payments::CurrencyModel;
use crate::routes::stakes::{StakeModel, stakes};
use poem_openapi::Object;
use souk_domain::billing::Stake;
use souk_domain::publishing::staking::{AppDeposit, DepositTerms, DeveloperProgram, Standing, TERMS_VERSION};
use souk_domain::storage::UnitOfWork;

/// What a deposit costs.
#[derive(Debug, Clone, Object)]
#[oai(rename = "DepositTerms")]
pub struct DepositTermsModel {
    /// In base units of the currency.
    pub amount: String,
    pub currency: CurrencyModel,
    /// The type of the payment method, such as `arcblock`.
    pub method: String,
    /// For how many days its payer waits for its return.
    pub waiting_days: u32,
}

impl From<DepositTerms> for DepositTermsModel {
    fn from(terms: DepositTerms) -> Self {
        Self {
            amount: terms.amount.to_string(),
            currency: CurrencyModel::from(&terms.of.currency),
            method: terms.of.method.kind.name().to_owned(),
            waiting_days: terms.waiting_days,
        }
    }
}

/// Where the signed-in user stands on the way to becoming a developer.
#[derive(Debug, Clone, Object)]
#[oai(rename = "DeveloperStanding")]
pub struct StandingModel {
    /// The store has revoked their access: they get no passport.
    pub blocked: bool,
    /// When they agreed to the current version of the terms.
    #[oai(nullable)]
    pub agreed_at: Option<String>,
    /// Since when they are a developer; `null`: they are none.
    #[oai(nullable)]
    pub developer_since: Option<String>,
    /// Whether they are a developer by a deposit, which is returned when they leave.
    pub by_deposit: bool,
    /// Their deposit, until all of it has been returned.
    #[oai(nullable)]
    pub deposit: Option<StakeModel>,
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "DeveloperProgram")]
pub struct DeveloperProgramModel {
    /// How users become developers: `inviting` or `staking`.
    pub permission_mode: String,
    /// The version of the terms that users agree to before.
    pub terms_version: u32,
    /// The deposit for becoming a developer; `null`: it cannot be placed at present.
    #[oai(nullable)]
    pub membership: Option<DepositTermsModel>,
    /// The deposit for each published app; `null`: it cannot be placed at present.
    #[oai(nullable)]
    pub publication: Option<DepositTermsModel>,
    /// Whether apps can be sold.
    pub paid_apps_allowed: bool,
    /// `null`: nobody is signed in.
    #[oai(nullable)]
    pub standing: Option<StandingModel>,
}

impl DeveloperProgramModel {
    pub async fn new(unit: &mut dyn UnitOfWork, program: DeveloperProgram) -> Result<Self, Problem> {
        let standing = match program.standing {
            Some(Standing { blocked_at, agreement, passport, deposit }) => Some(StandingModel {
                blocked: blocked_at.is_some(),
                agreed_at: agreement.map(|agreement| agreement.agreed_at.to_iso()),
                developer_since: passport.as_ref().map(|passport| passport.issued_at.to_iso()),
                by_deposit: passport.is_some_and(|passport| passport.stake_id.is_some()),
                deposit: one(unit, deposit).await?,
            }),
            None => None,
        };
        Ok(Self {
            permission_mode: program.mode.name().to_owned(),
            terms_version: TERMS_VERSION,
            membership: program.membership.map(DepositTermsModel::from),
            publication: program.publication.map(DepositTermsModel::from),
            paid_apps_allowed: program.paid_apps_allowed,
            standing,
        })
    }
}

/// Without the payer's email, which reviewers must not see.
async fn one(unit: &mut dyn UnitOfWork, stake: Option<Stake>) -> Result<Option<StakeModel>, Problem> {
    let Some(stake) = stake else { return Ok(None) };
    let shown = stakes(unit, stake.mode, std::slice::from_ref(&stake), false).await?.pop();
    Ok(shown.map(|shown| StakeModel { customer: None, ..shown }))
}

/// What everybody may know about a developer.
#[derive(Debug, Clone, Object)]
#[oai(rename = "Developer")]
pub struct DeveloperModel {
    pub did: String,
    /// `null`: they are none.
    #[oai(nullable)]
    pub since: Option<String>,
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "TermsAgreement")]
pub struct AgreementModel {
    /// The version that the user has read.
    pub version: u32,
}

/// The deposit for an app.
#[derive(Debug, Clone, Object)]
#[oai(rename = "AppDeposit")]
pub struct AppDepositModel {
    /// Whether the store requires one to publish the app.
    pub required: bool,
    /// Whether the network holds all of it.
    pub complete: bool,
    /// `null`: it cannot be placed at present.
    #[oai(nullable)]
    pub terms: Option<DepositTermsModel>,
    /// The deposit, until all of it has been returned or forfeited.
    #[oai(nullable)]
    pub stake: Option<StakeModel>,
}

impl AppDepositModel {
    pub async fn new(unit: &mut dyn UnitOfWork, deposit: AppDeposit) -> Result<Self, Problem> {
        Ok(Self {
            required: deposit.is_required,
            complete: deposit.stake.as_ref().is_some_and(Stake::is_complete),
            terms: deposit.terms.map(DepositTermsModel::from),
            stake: one(unit, deposit.stake).await?,
        })
    }
}
