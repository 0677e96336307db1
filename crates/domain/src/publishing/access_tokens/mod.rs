//! Access tokens: key pairs with which tools publish in the name of a developer. The store keeps the public key only.

mod act;
mod create;
mod reminder;
mod signed_request;
mod token;
mod verify;

pub use act::{TokenAct, TokenActError, act_with_token};
pub use create::{
    CreateTokenError, CreatedToken, DeleteTokenError, NewAccessToken, TOKEN_LIFETIME_DAYS_MAX, TOKEN_NAME_MAX, TOKENS_MAX,
    create_access_token, delete_access_token, list_access_tokens,
};
pub(in crate::publishing) use create::{create_token_in, developer_passport};
pub use reminder::{ExpiryReminder, TokenMailer, compose_expiry_reminder, order_expiry_reminders};
pub(in crate::publishing) use signed_request::check_form;
pub use signed_request::{RequestPurpose, SIGNED_REQUEST_SKEW, SignedRequest, SignedRequestError, verify_request};
pub(in crate::publishing) use token::matches_app;
pub use token::{APP_PATTERNS_MAX, AccessToken, AccessTokens, AppPattern, NewTokenKey, TokenKeys, TokenScope};
pub use verify::{TokenError, TokenUse, authorize_token};
