//! The switch of the sandbox, which test mode pays against. While it is off, nothing is sent to it, nothing is concluded from its silence,
//! and the jobs of its methods are paused.

use super::{Method, MethodSettings};
use crate::context::Context;
use crate::shared::{MethodId, Mode, StorageError};
use crate::storage::UnitOfWork;
use std::time::Duration;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sandbox {
    #[default]
    On,
    Off,
}

/// The method belongs to the sandbox, which is off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("The sandbox of this store is switched off. Test payments continue once it is switched on again.")]
pub struct SandboxOff;

/// How long something that cannot stay due waits before it is looked at again while the sandbox is off.
pub const SANDBOX_PAUSE: Duration = Duration::from_secs(60);

impl MethodSettings {
    /// Whether the network is this store's own sandbox.
    #[must_use]
    pub fn is_sandbox(&self) -> bool {
        match self {
            Self::Arcblock { api_host, .. } | Self::Evm { api_host, .. } | Self::Stripe { api_host, .. } => api_host.starts_with('/'),
            Self::Bitcoin { .. } => false,
        }
    }
}

impl Sandbox {
    #[must_use]
    pub fn is_paused(self, method: &Method) -> bool {
        self == Self::Off && method.settings.is_sandbox()
    }
}

/// The methods whose jobs are paused. None of a live method ever is, because the sandbox exists in test mode only.
pub async fn paused_methods(ctx: &Context) -> Result<Vec<MethodId>, StorageError> {
    if ctx.networks.sandbox() == Sandbox::On {
        return Ok(Vec::new());
    }
    let methods = ctx.store.read().await?.methods().list(Mode::Test).await?;
    Ok(methods.into_iter().filter(|method| ctx.networks.is_paused(method)).map(|method| method.id).collect())
}

/// Whether nobody could pay a new order of this mode, because the sandbox is off and no other active method accepts payments.
pub async fn lacks_sandbox(ctx: &Context, unit: &mut dyn UnitOfWork, mode: Mode) -> Result<bool, StorageError> {
    if mode.is_live() || ctx.networks.sandbox() == Sandbox::On {
        return Ok(false);
    }
    let methods = unit.methods().list(mode).await?;
    Ok(!methods.iter().any(|method| method.active && !ctx.networks.is_paused(method)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::payment::{MethodKind, Secret};
    use crate::shared::Timestamp;

    fn method(settings: MethodSettings) -> Method {
        let at = Timestamp::from_seconds(0);
        Method {
            id: MethodId::parse("pm_1").expect("an id"),
            mode: Mode::Test,
            kind: MethodKind::Stripe,
            active: true,
            name: String::new(),
            description: String::new(),
            logo: String::new(),
            settings,
            default_currency_id: None,
            created_at: at,
            updated_at: at,
        }
    }

    fn cards(api_host: &str) -> Method {
        method(MethodSettings::Stripe {
            api_host: api_host.to_owned(),
            dashboard: String::new(),
            publishable_key: String::new(),
            secret_key: Secret::new(""),
            webhook_signing_secret: Secret::new(""),
        })
    }

    fn chain(api_host: &str) -> Method {
        method(MethodSettings::Arcblock {
            chain_id: "beta".to_owned(),
            api_host: api_host.to_owned(),
            explorer_host: "/sandbox/arcblock/explorer".to_owned(),
        })
    }

    #[test]
    fn only_methods_of_the_sandbox_are_paused_and_only_while_it_is_off() {
        // An empty host is Stripe's own.
        for (method, is_sandbox) in [
            (cards("/sandbox/stripe"), true),
            (chain("/sandbox/arcblock/api/"), true),
            (cards(""), false),
            (cards("https://api.stripe.example"), false),
            (chain("https://beta.abtnetwork.example/api/"), false),
            (method(MethodSettings::Bitcoin { explorer_host: "/sandbox".to_owned() }), false),
        ] {
            assert_eq!((Sandbox::Off.is_paused(&method), Sandbox::On.is_paused(&method)), (is_sandbox, false), "{method:?}");
        }
    }
}
