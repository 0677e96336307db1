//! The input of payment links, and the parts that it shares with the input of sessions.

use crate::problem::Problem;
use crate::routes::checkout_sessions::{
    AdjustableModel, PaymentLinkModel, PhoneCollectionModel, RedirectModel, SubscriptionDataInputModel, TextModel, requires_cross_sell,
};
use crate::routes::input::read_metadata;
use poem_openapi::{Enum, Object};
use souk_domain::checkout::{LineItem, LinkFields, QuantityRange};
use souk_domain::shared::{CurrencyId, PriceId, Text};

/// A price and its quantity. Expanded objects that a client sends back are ignored.
#[derive(Debug, Clone, Object)]
#[oai(rename = "LineItemInput")]
pub struct LineItemInputModel {
    pub price_id: String,
    #[oai(default = "one")]
    pub quantity: u64,
    pub adjustable_quantity: Option<AdjustableModel>,
}

fn one() -> u64 {
    1
}

impl LineItemInputModel {
    pub fn read(self) -> Result<LineItem, Problem> {
        let price_id =
            PriceId::parse(&self.price_id).map_err(|_| Problem::invalid_value("price_id", "price_id is not the id of a price"))?;
        let adjustable = self.adjustable_quantity.filter(|adjustable| adjustable.enabled);
        let adjustable = adjustable.map(|adjustable| QuantityRange { minimum: adjustable.minimum, maximum: adjustable.maximum });
        Ok(LineItem { adjustable, ..LineItem::new(price_id, self.quantity) })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Enum)]
#[oai(rename = "AddressCollection", rename_all = "snake_case")]
pub enum AddressCollection {
    Auto,
    Required,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Enum)]
#[oai(rename = "AfterCompletionType", rename_all = "snake_case")]
pub enum AfterCompletionKind {
    Redirect,
    HostedConfirmation,
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "HostedConfirmationInput")]
pub struct ConfirmationInputModel {
    /// A message for both languages.
    pub custom_message: Option<String>,
    /// A message per language; overrides `custom_message`.
    pub custom_messages: Option<TextModel>,
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "AfterCompletionInput")]
pub struct AfterCompletionInputModel {
    #[oai(rename = "type")]
    pub kind: AfterCompletionKind,
    pub redirect: Option<RedirectModel>,
    pub hosted_confirmation: Option<ConfirmationInputModel>,
}

/// Fields of a payment link. In an update an absent field keeps its value.
#[derive(Debug, Clone, Object)]
#[oai(rename = "PaymentLinkInput")]
pub struct PaymentLinkInputModel {
    pub active: Option<bool>,
    /// Default of a new link: the name of its product.
    pub name: Option<String>,
    pub line_items: Option<Vec<LineItemInputModel>>,
    pub currency_id: Option<String>,
    pub after_completion: Option<AfterCompletionInputModel>,
    pub phone_number_collection: Option<PhoneCollectionModel>,
    pub billing_address_collection: Option<AddressCollection>,
    /// Terms of the subscriptions that its sessions create.
    pub subscription_data: Option<SubscriptionDataInputModel>,
    /// `auto`, or `required`: the buyer must accept the cross-sell offer.
    pub cross_sell_behavior: Option<String>,
    /// String values, and `page_info`.
    pub metadata: Option<serde_json::Value>,
}

impl PaymentLinkInputModel {
    pub fn read(self) -> Result<LinkFields, Problem> {
        let items = self.line_items.map(|items| items.into_iter().map(LineItemInputModel::read).collect::<Result<Vec<_>, _>>());
        let currency_id = self.currency_id.map(|id| CurrencyId::parse(&id)).transpose();
        let (metadata, page_info) = match self.metadata.map(read_metadata).transpose()? {
            Some(input) => (Some(input.metadata), Some(input.page_info.unwrap_or_default())),
            None => (None, None),
        };
        let redirect_url = match &self.after_completion {
            Some(after) if after.kind == AfterCompletionKind::Redirect => {
                let redirect = after.redirect.as_ref().ok_or_else(|| Problem::required("after_completion.redirect"))?;
                Some(Some(redirect.url.clone()))
            }
            Some(_) => Some(None),
            None => None,
        };
        let confirmation = self.after_completion.and_then(|after| after.hosted_confirmation);
        let custom_message = confirmation.and_then(|confirmation| match confirmation.custom_messages {
            Some(messages) => Some(Text::from(messages)),
            None => confirmation.custom_message.map(|message| Text::new(message, "")),
        });
        Ok(LinkFields {
            active: self.active,
            name: self.name,
            items: items.transpose()?,
            currency_id: currency_id.map_err(|_| Problem::invalid_value("currency_id", "currency_id is not the id of a currency"))?,
            collect_phone: self.phone_number_collection.map(|collection| collection.enabled),
            require_address: self.billing_address_collection.map(|collection| collection == AddressCollection::Required),
            custom_message,
            redirect_url,
            metadata,
            page_info,
            terms: self.subscription_data.map(SubscriptionDataInputModel::read).transpose()?,
            requires_cross_sell: self.cross_sell_behavior.map(|behavior| requires_cross_sell(Some(&behavior))),
        })
    }
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "PaymentLinkList")]
pub struct PaymentLinkListModel {
    pub count: u64,
    pub list: Vec<PaymentLinkModel>,
}
