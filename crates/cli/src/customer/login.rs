//! `souk login` and `souk logout`: the page of a store creates a key for this computer, and sends it sealed.

use super::contact::{Contact, Expected};
use super::error::CustomerError;
use super::stores::{StoredLogin, Stores, StoresError};
use crate::args::{LoginArgs, LogoutArgs};
use crate::connect::mount_point;
use crate::report::printable;
use crate::tool_session::{POLL_EVERY, ToolRequest, ask};
use anstream::println;
use serde::Deserialize;
use serde_json::{Value, json};
use souk_adapters::identity::AppKey;
use souk_adapters::system::host_name;
use souk_domain::publishing::tools::TOOL_SOURCE_MAX;
use souk_domain::shared::Random;
use url::Url;

/// The content of the sealed answer.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Config {
    customer_did: String,
    secret_key: String,
    #[serde(default)]
    name: String,
}

/// Signs in. A former sign-in at the store ends.
pub async fn log_in(args: &LoginArgs, stores: &Stores, random: &dyn Random) -> Result<Value, CustomerError> {
    let address = mount_point(&args.store).await?;
    let expected = Expected::new(args.expected.store_did.as_ref(), args.output.json);
    let contact = match args.new_key {
        true => Contact::open_with_new_key(stores, address, expected).await?,
        false => Contact::open(stores, address, expected).await?,
    };
    let (store, source) = (contact.http.address.clone(), source(&host_name()));
    let request = ToolRequest { action: "login-cli", command: "souk login", source: &source };
    // On the standard error, because scripts read the other output.
    let show = |page: &Url, code: &str| eprintln!("Open this page, compare the code {code}, and approve the sign-in:\n\n{page}\n");
    let opened = ask(&contact.http, random, &request, POLL_EVERY, &show).await?;
    let config: Config = serde_json::from_slice(&opened).map_err(|_| request.sealed())?;
    let key = AppKey::from_token_secret(&config.secret_key).ok_or_else(|| request.sealed())?;
    end_former(&contact, stores).await;
    let Config { customer_did, secret_key, name } = config;
    let shown = printable(if name.is_empty() { &customer_did } else { &name });
    let signed_in = json!({
        "store": store.as_str(),
        "store_did": contact.key.did.as_str(),
        "customer_did": customer_did,
        "device": key.did().as_str(),
    });
    stores.set_login(&store, Some(StoredLogin { customer_did, secret_key, name }))?;
    if !args.output.json {
        println!("Signed in to {store} as {shown}.");
        println!("The key of this computer is in {}. Anybody who can read it can download what you have bought.", stores.file().display());
    }
    Ok(signed_in)
}

/// Signs out. The licenses on this computer are valid until they expire.
pub async fn log_out(args: &LogoutArgs, stores: &Stores) -> Result<Value, CustomerError> {
    let store = stores.choose(args.store.as_ref())?;
    let Some(login) = stores.login(&store)? else { return Err(CustomerError::SignedOut(store.into())) };
    let contact = Contact::open(stores, store.clone(), Expected::Known).await?;
    match contact.sign_out(&login).await {
        // It was signed out on the page of the store.
        Err(error) if error.code() != "DEVICE_SIGNED_OUT" => return Err(error.into()),
        _ => stores.set_login(&store, None)?,
    }
    if !args.output.json {
        println!("Signed out of {store}.");
    }
    Ok(json!({ "store": store.as_str() }))
}

/// Signs out the key that this computer had before, so that it does not stay in the list of computers.
async fn end_former(contact: &Contact, stores: &Stores) {
    let former: Result<_, StoresError> = stores.login(&contact.http.address);
    if let Ok(Some(former)) = former
        && contact.sign_out(&former).await.is_err()
    {
        eprintln!("The former sign-in of this computer could not be ended: end it on the security page of the store.");
    }
}

/// What the page shows as the program that asks.
fn source(host: &str) -> String {
    let plain: String = host.chars().filter(|letter| !letter.is_control()).collect();
    let text = if plain.is_empty() { "Souk CLI".to_owned() } else { format!("Souk CLI on {plain}") };
    text.chars().take(TOOL_SOURCE_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_shows_the_name_of_the_computer() {
        assert_eq!(source("laptop"), "Souk CLI on laptop");
        assert_eq!(source(""), "Souk CLI");
        assert_eq!(source("a\tb"), "Souk CLI on ab");
        assert_eq!(source(&"n".repeat(99)).chars().count(), TOOL_SOURCE_MAX);
    }
}
