import { expect, it } from 'vitest';
import * as billing from '../../e2e/fixtures/billing';
import * as checkout from '../../e2e/fixtures/checkout';
import * as data from '../../e2e/fixtures/data';
import * as reviews from '../../e2e/fixtures/reviews';
import * as selling from '../../e2e/fixtures/selling';
import * as tools from '../../e2e/fixtures/tools';
import { schemaMismatches, schemaNamed } from './openapi';

const cases: Record<string, unknown[]> = {
  Store: [data.store],
  SessionUser: [data.user],
  Category: data.categories,
  App: data.apps,
  AppDetail: data.apps.map(data.detail),
  Entitlement: data.entitlements,
  Invoice: [
    ...data.invoices,
    ...billing.invoicesOf(billing.pastDue),
    billing.unpaidByCard,
    billing.planChange,
    billing.credited,
  ],
  PaymentIntent: data.payments,
  Settings: [billing.settings],
  Subscription: billing.billingState().subscriptions,
  Price: [...billing.plans, checkout.yearly],
  PlanPreview: [billing.preview],
  Overdue: [billing.overdueAll, billing.overdueOne, billing.nothingOverdue],
  Refund: [billing.refund],
  CreditNotePreview: [billing.notePreview],
  Dispute: [billing.dispute],
  CustomerBalance: billing.balances,
  BalanceTransaction: billing.transactions,
  TestClock: [billing.clock],
  VersionReview: [...reviews.versionsOf('app_owner'), reviews.claimed()],
  VersionCheck: reviews.checks,
  VersionComparison: [selling.comparison],
  AppPricing: [selling.pricing(), selling.pricing({ proposed: selling.oneTime('20') })],
  Earnings: [selling.sellingState().earnings],
  Payee: selling.sellingState().payees,
  SharePayout: selling.sellingState().payouts,
  ToolRequest: [tools.toolRequest(), tools.studioRequest, tools.keysRequest],
  Checkout: [
    checkout.checkout(),
    checkout.completed(),
    checkout.subscription(),
    checkout.checkout({}, { line_items: [checkout.customItem()] }),
  ],
  Submitted: [checkout.fastSubmit.body, checkout.cardSubmit.body],
};

it.each(Object.keys(cases))('mocked responses match the schema of %s', (name) => {
  const schema = schemaNamed(name);
  expect(cases[name]?.flatMap((value, index) => schemaMismatches(value, schema, `${name} ${index}`))).toEqual([]);
});

it('an unknown field, a wrong type and an unknown enum value are reported', () => {
  expect(schemaMismatches({ at: 'now', subject: 'in_1', note: 'x' }, schemaNamed('TestClockEvent'), 'event')).toEqual([
    'event.at: string instead of integer',
    'event.note is not in the document',
  ]);
});
