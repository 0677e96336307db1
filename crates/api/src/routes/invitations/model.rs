use poem_openapi::Object;
use souk_domain::access::{Passport, User};
use souk_domain::publishing::invitations::Invitation;
use souk_domain::shared::Timestamp;

#[derive(Debug, Clone, Object)]
#[oai(rename = "Invitation")]
pub struct InvitationModel {
    pub id: String,
    /// `developer`, `reviewer` or `admin`.
    pub role: String,
    /// `open`, `used`, `revoked` or `expired`.
    pub status: String,
    /// The DID of the administrator who created it.
    pub created_by: String,
    pub created_at: String,
    pub expires_at: String,
    /// The DID of the user who accepted it.
    #[oai(nullable)]
    pub used_by: Option<String>,
    #[oai(nullable)]
    pub used_at: Option<String>,
}

impl InvitationModel {
    pub fn new(invitation: Invitation, now: Timestamp) -> Self {
        Self {
            status: invitation.status(now).name().to_owned(),
            id: invitation.id.to_string(),
            role: invitation.role.name().to_owned(),
            created_by: invitation.created_by.to_string(),
            created_at: invitation.created_at.to_iso(),
            expires_at: invitation.expires_at.to_iso(),
            used_by: invitation.used_by.map(|did| did.to_string()),
            used_at: invitation.used_at.map(|at| at.to_iso()),
        }
    }
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "InvitationList")]
pub struct InvitationListModel {
    pub count: u64,
    pub list: Vec<InvitationModel>,
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "InvitationInput")]
pub struct InvitationInputModel {
    /// `developer`, `reviewer` or `admin`.
    pub role: String,
    pub lifetime_days: u32,
}

/// A new invitation.
#[derive(Clone, Object)]
#[oai(rename = "CreatedInvitation")]
pub struct CreatedInvitationModel {
    pub invitation: InvitationModel,
    /// The link to send. It cannot be shown again.
    pub link: String,
}

#[derive(Clone, Object)]
#[oai(rename = "InvitationToken")]
pub struct InvitationTokenModel {
    /// The secret of the link.
    #[oai(validator(max_length = 128))]
    pub token: String,
}

/// What the holder of a link would accept.
#[derive(Debug, Clone, Object)]
#[oai(rename = "InvitationPreview")]
pub struct InvitationPreviewModel {
    pub role: String,
    /// The name of the administrator; empty if they have none.
    pub invited_by: String,
    pub expires_at: String,
}

/// Somebody who holds a passport.
#[derive(Debug, Clone, Object)]
#[oai(rename = "PassportHolder")]
pub struct HolderModel {
    /// The id of the passport. Somebody with several roles has one entry for each.
    pub id: String,
    pub did: String,
    /// Empty if they have none.
    pub name: String,
    pub role: String,
    pub since: String,
    /// How many apps they publish.
    pub apps: u64,
}

impl HolderModel {
    pub fn new(passport: Passport, user: Option<&User>, apps: u64) -> Self {
        Self {
            id: passport.id.to_string(),
            did: passport.holder.to_string(),
            name: user.map(|user| user.full_name.clone()).unwrap_or_default(),
            role: passport.role.name().to_owned(),
            since: passport.issued_at.to_iso(),
            apps,
        }
    }
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "PassportHolderList")]
pub struct HolderListModel {
    pub count: u64,
    pub list: Vec<HolderModel>,
}
