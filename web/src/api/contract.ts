import type { components } from './schema';
import type * as client from './types';

/**
 * Fails the type check when openapi.json lacks a field that the pages use. `npm run api:types` generates
 * `schema.d.ts`.
 */
type Schemas = components['schemas'];
type Missing<Client, Server, Ignored = never> = Exclude<keyof Client, keyof Server | Ignored>;

interface MissingFields {
  store: Missing<client.StoreInfo, Schemas['Store']>;
  user: Missing<client.SessionUser, Schemas['SessionUser']>;
  preferences: Missing<client.Preferences, Schemas['Preferences']>;
  token: Missing<client.AccessToken, Schemas['AccessToken']>;
  createdToken: Missing<client.CreatedAccessToken, Schemas['CreatedAccessToken']>;
  publisher: Missing<client.TrustedPublisher, Schemas['TrustedPublisher']>;
  publishers: Missing<client.TrustedPublisherList, Schemas['TrustedPublisherList']>;
  blockedDigest: Missing<client.BlockedDigest, Schemas['BlockedDigest']>;
  containing: Missing<client.ContainingVersion, Schemas['ContainingVersion']>;
  toolRequest: Missing<client.ToolRequest, Schemas['ToolRequest']>;
  approvedTool: Missing<client.ApprovedTool, Schemas['ApprovedTool']>;
  holder: Missing<client.PassportHolder, Schemas['PassportHolder']>;
  invitation: Missing<client.Invitation, Schemas['Invitation']>;
  createdInvitation: Missing<client.CreatedInvitation, Schemas['CreatedInvitation']>;
  invitationPreview: Missing<client.InvitationPreview, Schemas['InvitationPreview']>;
  category: Missing<client.Category, Schemas['Category']>;
  app: Missing<client.App, Schemas['App']>;
  detail: Missing<client.AppDetail, Schemas['AppDetail']>;
  version: Missing<client.AppVersion, Schemas['AppVersion']>;
  price: Missing<client.AppPrice, Schemas['AppPrice']>;
  entitlement: Missing<client.Entitlement, Schemas['Entitlement']>;
  invoice: Missing<client.InvoiceDetail, Schemas['Invoice'], 'tax' | 'status_transitions'>;
  line: Missing<client.InvoiceLine, Schemas['InvoiceLine'], 'price'>;
  reference: Missing<client.InvoiceSubscription, Schemas['SubscriptionReference']>;
  payment: Missing<client.PaymentIntent, Schemas['PaymentIntent'], 'checkoutSession'>;
  customer: Missing<client.Customer, Schemas['Customer'], 'fullName' | 'metadata'>;
  currency: Missing<client.PaymentCurrency, Schemas['PaymentCurrency']>;
  method: Missing<client.PaymentMethod, Schemas['PaymentMethod']>;
  plan: Missing<client.AppPlan, Schemas['AppPlan']>;
  recurring: Missing<client.Recurring, Schemas['Recurring']>;
  sold: Missing<client.Price, Schemas['Price']>;
}

/** Compiles only while every entry is `never`. */
export type AssertComplete<T extends Record<keyof MissingFields, never> = MissingFields> = T;
