//! Deposits of developers: becoming one by a deposit instead of an invitation, and the deposit for each published app (reference/store.md
//! 4). They are stakes with purposes of their own, so that their payments, returns, forfeits and retries are those of every stake.

mod app_deposit;
mod block_user;
mod currency;
mod emails;
mod join;
mod membership;
mod passport;
mod publication;
mod terms;

pub use app_deposit::{
    AppDeposit, AppDepositError, PUBLISH_STAKE_REVOKED, ReturnAppDepositError, check_app_deposit, find_app_deposit, prepare_app_deposit,
    return_app_deposit, submit_signed_app_deposit,
};
pub(super) use app_deposit::{forfeit_app_deposits, lacks_app_deposit};
pub use block_user::{BLOCKED_USERS_MAX, BlockUserError, block_user, unblock_user};
pub(super) use currency::has_stake_currency;
pub use currency::{DepositTerms, StakeCurrency};
pub use emails::{DeveloperEmail, DeveloperMailer, DeveloperNews, compose_developer_email};
pub use join::{DeveloperProgram, JoinError, Standing, check_join, developer_since, find_program, prepare_join, submit_signed_join};
pub use membership::Membership;
pub(super) use passport::end_passport;
pub use passport::{LeaveError, leave_developers, revoke_passport};
pub use publication::Publication;
pub use terms::{AgreeError, Agreement, Agreements, TERMS_VERSION, agree_to_terms};
