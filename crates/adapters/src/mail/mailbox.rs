//! Delivers emails to an SMTP server, or to a folder.

use super::mail_folder::MailFolder;
use super::{MailError, Outgoing};
use lettre::message::header::ContentType;
use lettre::message::{Attachment, Mailbox as Person, MultiPart, SinglePart};
use lettre::{Address, AsyncSmtpTransport, AsyncTransport, Message, Tokio1Executor};
use sha2::{Digest, Sha256};
use souk_domain::shared::Timestamp;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

/// If the server does not respond within this time, the email is retried later.
const SMTP_TIMEOUT: Duration = Duration::from_secs(30);
const EXPECTED_SERVER: &str = "expected a mail server like smtps://user:password@mail.example:465 or smtp://mail.example:587?tls=required";
/// The last second of the year 9999, because the Date header of an email has four digits for the year.
const LAST_SECOND: i64 = 253_402_300_799;

/// The transport of emails, and their sender.
#[derive(Clone)]
pub struct Mailbox {
    sender: Person,
    delivery: Delivery,
}

#[derive(Clone)]
enum Delivery {
    Smtp(AsyncSmtpTransport<Tokio1Executor>),
    Folder(MailFolder),
}

impl Mailbox {
    /// `url`: `smtp://user:password@host:587?tls=required`, or `smtps://...`. `sender`: `Name <name@host>`.
    /// Requires a tokio runtime, which runs the pool of connections.
    pub fn smtp(url: &str, sender: &str) -> Result<Self, MailError> {
        let builder = AsyncSmtpTransport::<Tokio1Executor>::from_url(url).map_err(|_| MailError::Settings(EXPECTED_SERVER.to_owned()))?;
        Ok(Self { sender: parse_sender(sender)?, delivery: Delivery::Smtp(builder.timeout(Some(SMTP_TIMEOUT)).build()) })
    }

    /// Writes each email as an `.eml` file into `folder`. The name derives from the message id, so that sending an email twice creates one
    /// file. The folder keeps a limited number of emails for a limited time.
    pub fn folder(folder: impl Into<PathBuf>, sender: &str) -> Result<Self, MailError> {
        Ok(Self { sender: parse_sender(sender)?, delivery: Delivery::Folder(MailFolder::new(folder.into())) })
    }

    pub async fn deliver(&self, mail: &Outgoing) -> Result<(), MailError> {
        let message = self.message(mail)?;
        match &self.delivery {
            Delivery::Smtp(transport) => match transport.send(message).await {
                Ok(_) => Ok(()),
                Err(error) if error.is_permanent() => Err(MailError::Rejected(error.to_string())),
                Err(error) => Err(MailError::Unavailable(error.to_string())),
            },
            Delivery::Folder(folder) => {
                let name = format!("{}.eml", file_stem(&mail.message_id));
                folder.write(&name, &message.formatted()).await.map_err(|error| MailError::Unavailable(error.to_string()))
            }
        }
    }

    /// Deletes emails that the folder keeps no longer; a mail server has nothing to delete. Returns their number.
    pub async fn prune(&self, now: Timestamp) -> Result<u64, MailError> {
        match &self.delivery {
            Delivery::Smtp(_) => Ok(0),
            Delivery::Folder(folder) => folder.prune(now).await.map_err(|error| MailError::Unavailable(error.to_string())),
        }
    }

    fn message(&self, mail: &Outgoing) -> Result<Message, MailError> {
        let rejected = |error: &dyn std::fmt::Display| MailError::Rejected(error.to_string());
        let address: Address = mail.address.parse().map_err(|error| rejected(&error))?;
        let name = one_line(&mail.name);
        let seconds = u64::try_from(mail.date.seconds().clamp(0, LAST_SECOND)).unwrap_or_default();
        let builder = Message::builder()
            .from(self.sender.clone())
            .to(Person::new((!name.is_empty()).then_some(name), address))
            .subject(one_line(&mail.subject))
            .date(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds))
            .message_id(Some(format!("<{}@{}>", file_stem(&mail.message_id), self.sender.email.domain())));
        // The boundaries derive from the message id, so that each attempt sends the same bytes.
        let boundary = |part: &str| format!("{part}-{}", &hex::encode(Sha256::digest(&mail.message_id))[..32]);
        let body = MultiPart::alternative()
            .boundary(boundary("words"))
            .singlepart(SinglePart::plain(mail.text.clone()))
            .singlepart(SinglePart::html(mail.html.clone()));
        let mut mixed = MultiPart::mixed().boundary(boundary("parts")).multipart(body);
        for attached in &mail.attachments {
            let media_type = ContentType::parse(&attached.media_type).map_err(|error| rejected(&error))?;
            mixed = mixed.singlepart(Attachment::new(one_line(&attached.file_name)).body(attached.bytes.clone(), media_type));
        }
        builder.multipart(mixed).map_err(|error| rejected(&error))
    }
}

/// Checks the address of a mail server as [`Mailbox::smtp`] does. The message does not contain it.
pub fn check_smtp(url: &str) -> Result<(), MailError> {
    AsyncSmtpTransport::<Tokio1Executor>::from_url(url).map(drop).map_err(|_| MailError::Settings(EXPECTED_SERVER.to_owned()))
}

/// Checks a sender, such as `Our Store <store@example.com>`.
pub fn check_sender(sender: &str) -> Result<(), MailError> {
    parse_sender(sender).map(drop)
}

fn parse_sender(sender: &str) -> Result<Person, MailError> {
    sender.parse().map_err(|_| MailError::Settings("expected a sender like \"Our Store <store@example.com>\"".to_owned()))
}

/// Removes line breaks and other control characters, which a header must not contain.
pub(super) fn one_line(text: &str) -> String {
    text.split(|c: char| c.is_control() || c == '\u{2028}' || c == '\u{2029}').filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
}

/// Derives a name that is safe in a file system and in a message id. Equal ids give equal names.
fn file_stem(message_id: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    if !message_id.is_empty() && message_id.len() <= 100 && !message_id.starts_with('.') && message_id.chars().all(plain) {
        message_id.to_owned()
    } else {
        hex::encode(Sha256::digest(message_id))
    }
}
