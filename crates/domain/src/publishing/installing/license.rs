//! Licenses: what a store says of an app that a customer has bought, for one of their computers.

use super::super::selling::is_sold;
use super::SignedStatement;
use super::statement;
use crate::access::{DEVICE_USE_INTERVAL, Device, Did, DidAuthTokens};
use crate::context::Context;
use crate::shared::{Mode, StorageError, Timestamp};
use crate::storage::UnitOfWork;
use crate::store::{App, Availability, Validity};
use std::time::Duration;

/// How long a license is valid, unless its holder has the app for a shorter time. It is renewed as long as they have it, and after a refund or
/// a block it is not.
pub const LICENSE_LIFETIME: Duration = Duration::from_secs(30 * 86_400);

const FORMAT: &str = "souk-license-1";
const FIELDS: [&str; 7] = ["store", "app", "holder", "device", "mode", "issued", "expires"];
const LIVE: &str = "live";
const TEST: &str = "test";

/// The right to use all versions of an app on a computer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct License {
    pub store: Did,
    pub app: Did,
    /// The customer who has the app.
    pub holder: Did,
    /// The key of the computer. Whoever shows the license elsewhere does not have it.
    pub device: Did,
    /// Whether the app was bought in test mode.
    pub mode: Mode,
    pub issued_at: Timestamp,
    pub expires_at: Timestamp,
}

impl License {
    /// The text that the store signs.
    #[must_use]
    pub fn text(&self) -> String {
        let values = [
            self.store.to_string(),
            self.app.to_string(),
            self.holder.to_string(),
            self.device.to_string(),
            if self.mode.is_live() { LIVE } else { TEST }.to_owned(),
            self.issued_at.to_iso(),
            self.expires_at.to_iso(),
        ];
        let fields: Vec<_> = FIELDS.into_iter().zip(values).collect();
        statement::write(FORMAT, &fields)
    }

    /// Reads such a text, whose signature the caller has verified. `None`: it is no such text.
    #[must_use]
    pub fn parse(text: &str, parse_did: &dyn Fn(&str) -> Option<Did>) -> Option<Self> {
        let [store, app, holder, device, mode, issued, expires] = statement::read(text, FORMAT, FIELDS)?;
        Some(Self {
            store: parse_did(store)?,
            app: parse_did(app)?,
            holder: parse_did(holder)?,
            device: parse_did(device)?,
            mode: match mode {
                LIVE => Mode::Live,
                TEST => Mode::Test,
                _ => return None,
            },
            issued_at: Timestamp::parse_iso(issued)?,
            expires_at: Timestamp::parse_iso(expires)?,
        })
    }
}

/// Why a license is not issued.
#[derive(Debug, thiserror::Error)]
pub enum LicenseError {
    #[error("There is no such app")]
    NotFound,
    #[error("This app has been blocked")]
    Blocked,
    #[error("This app is free, so it needs no license")]
    Free,
    /// It was not bought, or the purchase was refunded or is disputed, or the subscription has ended.
    #[error("You do not have this app: it was not bought, or its purchase was refunded, is disputed, or has ended")]
    NotBought,
    #[error("This computer is not signed in any more")]
    SignedOut,
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// The mode in which a user has an app, and until when, if they do. A purchase in test mode does not count if the app is sold in live mode.
///
/// # Errors
/// The storage fails.
pub async fn entitled_mode(
    unit: &mut dyn UnitOfWork,
    holder: &Did,
    app: &App,
    now: Timestamp,
) -> Result<Option<(Mode, Validity)>, StorageError> {
    for mode in [Mode::Live, Mode::Test] {
        if app.is_opened_by(mode)
            && let Some(validity) = unit.entitlements().validity(mode, holder, &app.did, now).await?
        {
            return Ok(Some((mode, validity)));
        }
    }
    Ok(None)
}

/// When a license ends that is issued now. `None`: its subscription has run out, and ends in a moment.
fn end_of(validity: Validity, now: Timestamp) -> Option<Timestamp> {
    let longest = now.plus(LICENSE_LIFETIME);
    Some(validity.ends_at.map_or(longest, |end| end.min(longest))).filter(|end| *end > now)
}

/// Issues a license for an app to a computer of its holder. A withdrawn app is licensed: who has it goes on using it. Nothing is written,
/// except from time to time when the computer was used last.
#[tracing::instrument(skip_all, fields(app = %app, device = %device.id))]
pub async fn issue_license(ctx: &Context, keys: &dyn DidAuthTokens, device: &Device, app: &Did) -> Result<SignedStatement, LicenseError> {
    let now = ctx.now();
    let mut unit = ctx.store.read().await?;
    // The user can have signed out on it since the request was verified.
    let device = unit.devices().find(&device.id, now).await?.ok_or(LicenseError::SignedOut)?;
    let shown = unit.apps().find(app).await?;
    let Some(app) = shown else {
        return Err(if is_sold(unit.as_mut(), app, None).await? { LicenseError::NotBought } else { LicenseError::NotFound });
    };
    if app.availability == Availability::Blocked {
        return Err(LicenseError::Blocked);
    }
    if app.is_free() {
        return Err(LicenseError::Free);
    }
    let (mode, validity) = entitled_mode(unit.as_mut(), &device.user, &app, now).await?.ok_or(LicenseError::NotBought)?;
    let expires_at = end_of(validity, now).ok_or(LicenseError::NotBought)?;
    drop(unit);
    if device.used_at <= now.minus(DEVICE_USE_INTERVAL) {
        let mut unit = ctx.store.begin().await?;
        unit.devices().touch(&device.id, now).await?;
        unit.commit().await?;
    }
    let license =
        License { store: keys.app_did().clone(), app: app.did, holder: device.user, device: device.id, mode, issued_at: now, expires_at };
    Ok(SignedStatement::sign(license.text(), keys))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_license_ends_after_thirty_days_or_with_the_subscription() {
        let now = Timestamp::from_seconds(1_800_000_000);
        let (longest, soon) = (now.plus(LICENSE_LIFETIME), now.plus(Duration::from_secs(1)));
        for (ends_at, expected) in [
            (None, Some(longest)),
            (Some(longest.plus(Duration::from_secs(1))), Some(longest)),
            (Some(soon), Some(soon)),
            (Some(now), None),
            (Some(now.minus(Duration::from_secs(1))), None),
        ] {
            assert_eq!(end_of(Validity { ends_at }, now), expected, "{ends_at:?}");
        }
    }

    #[test]
    fn a_license_names_app_holder_and_computer_and_is_read_again() {
        let did = |text: &str| Did::from_verified(text);
        let issued_at = Timestamp::from_seconds(1_800_000_000);
        let license = License {
            store: did("zNstore"),
            app: did("z8app"),
            holder: did("z1buyer"),
            device: did("z1device"),
            mode: Mode::Live,
            issued_at,
            expires_at: issued_at.plus(LICENSE_LIFETIME),
        };
        let text = license.text();
        assert_eq!(
            text,
            "souk-license-1\nstore: zNstore\napp: z8app\nholder: z1buyer\ndevice: z1device\nmode: live\n\
             issued: 2027-01-15T08:00:00.000Z\nexpires: 2027-02-14T08:00:00.000Z\n"
        );
        let parse = |text: &str| License::parse(text, &|did| did.starts_with('z').then(|| Did::from_verified(did)));
        assert_eq!(parse(&text), Some(license.clone()));
        let test = License { mode: Mode::Test, ..license };
        assert_eq!(parse(&test.text()), Some(test));
        for (from, to) in [("mode: live", "mode: both"), ("holder: z", "holder: "), ("expires: 2", "expires: "), ("license-1", "license-2")]
        {
            assert_eq!(parse(&text.replace(from, to)), None, "{to}");
        }
    }
}
