//! The emails about the start, the end and the resumption of a subscription.

use super::email_layout::Block;
use super::template_writer::{Strings, TemplateWriter};
use souk_domain::billing::{
    CancelReason, Invoice, InvoiceStatus, ResumedFrom, STAKE_WAITING_DAYS, SubscribedPlan, Subscription, SubscriptionStatus,
};

fn cancel_reason(subscription: &Subscription) -> Option<CancelReason> {
    subscription.cancellation.as_ref().map(|cancellation| cancellation.reason)
}

impl TemplateWriter<'_> {
    pub fn started(&self, plan: &SubscribedPlan, first_invoice: Option<&Invoice>) -> Strings {
        let subscription = &plan.subscription;
        let (title, store) = (self.title(subscription), self.store());
        let trial = subscription.trial.filter(|_| subscription.index.is_none());
        let paid = first_invoice.filter(|invoice| invoice.status == InvoiceStatus::Paid && !invoice.amount_paid.is_zero());
        let first = match (trial, paid) {
            (Some(trial), _) => {
                let end = self.time(trial.end);
                self.paragraph(
                    format!("Your free trial of {title} has started. Your first payment is due on {end}."),
                    format!("你的 {title} 免费试用已开始，首次付款时间为 {end}。"),
                )
            }
            (None, Some(invoice)) => {
                let day = self.day(invoice.paid_at.unwrap_or(subscription.created_at));
                let amount = self.money(invoice.amount_paid);
                self.paragraph(
                    format!("Your {title} subscription has started. You paid {amount} on {day}. Your receipt is in a separate email."),
                    format!("你的 {title} 订阅已开始。你已于 {day} 支付 {amount}，收据见另一封邮件。"),
                )
            }
            (None, None) => self.paragraph(format!("Your {title} subscription has started."), format!("你的 {title} 订阅已开始。")),
        };
        let (subject, heading) = match trial {
            Some(_) => (
                self.translate(format!("Your {title} trial at {store} has started"), format!("你在 {store} 的 {title} 试用已开始")),
                self.translate("Your trial has started", "试用已开始"),
            ),
            None => (
                self.translate(format!("Your {title} subscription at {store} has started"), format!("你在 {store} 的 {title} 订阅已开始")),
                self.translate("Your subscription has started", "订阅已开始"),
            ),
        };
        let deposit = plan.deposit.map(|amount| {
            let amount = self.money(amount);
            self.paragraph(
                format!(
                    "You also paid a refundable deposit of {amount}. It is returned {STAKE_WAITING_DAYS} days after the subscription ends."
                ),
                format!("你另外支付了押金 {amount}（可退），订阅结束 {STAKE_WAITING_DAYS} 天后退还。"),
            )
        });
        let mut body = vec![first];
        body.extend(deposit);
        body.extend([self.renewal(plan), self.items(plan), self.subscription_link(subscription)]);
        Strings { subject, heading, body }
    }

    pub fn trial_ending(&self, plan: &SubscribedPlan) -> Strings {
        let subscription = &plan.subscription;
        let (title, price) = (self.title(subscription), self.price(plan));
        let end = subscription.trial.map_or(subscription.anchor, |trial| trial.end);
        let (day, end) = (self.day(end), self.time(end));
        let body = vec![
            self.paragraph(format!("Your free trial of {title} ends on {end}."), format!("你的 {title} 免费试用将于 {end} 结束。")),
            self.paragraph(
                format!("Your subscription renews automatically when the trial ends unless you cancel. Price after the trial: {price}."),
                format!("试用结束后会自动续费，价格：{price}。如不想继续，请在试用结束前取消。"),
            ),
            self.items(plan),
            self.subscription_link(subscription),
        ];
        Strings {
            subject: self.translate(format!("Your {title} trial ends on {day}"), format!("你的 {title} 试用将于 {day} 结束")),
            heading: self.translate("Your trial ends soon", "试用即将结束"),
            body,
        }
    }

    pub fn cancellation_scheduled(&self, plan: &SubscribedPlan, overdue: &[Invoice]) -> Strings {
        let subscription = &plan.subscription;
        let (title, store) = (self.title(subscription), self.store());
        let end = subscription.ends_at().unwrap_or(subscription.period.end);
        let (day, end) = (self.day(end), self.time(end));
        let why = match cancel_reason(subscription) {
            Some(CancelReason::StakeRevoked) => self.translate(
                format!("You withdrew the refundable deposit for your {title} subscription, so it won't renew."),
                format!("你已取回 {title} 订阅的押金，因此订阅不会再续费。"),
            ),
            Some(CancelReason::PaymentFailed) => self.translate(
                format!("Your {title} subscription was canceled because its payment was overdue for too long."),
                format!("由于付款逾期过久，你的 {title} 订阅已被取消。"),
            ),
            Some(CancelReason::CancellationByStore) => {
                self.translate(format!("{store} canceled your {title} subscription."), format!("{store} 已取消你的 {title} 订阅。"))
            }
            Some(CancelReason::CancellationRequested) | None => {
                self.translate(format!("You canceled your {title} subscription."), format!("你已取消 {title} 订阅。"))
            }
        };
        let until = match subscription.status {
            SubscriptionStatus::Paused => {
                self.translate(format!("It is paused and will end on {end}."), format!("订阅处于暂停状态，将于 {end} 结束。"))
            }
            _ => self.translate(
                format!("It will end on {end}. You have access until then."),
                format!("订阅将于 {end} 结束，在此之前你可以继续使用。"),
            ),
        };
        let mut body = vec![Block::Paragraph(self.translate(format!("{why} {until}"), format!("{why}{until}")))];
        // Only the store can undo a cancellation by the store.
        if subscription.is_recoverable() && !subscription.is_ended_by_store() {
            body.push(match cancel_reason(subscription) {
                Some(CancelReason::StakeRevoked) => self
                    .paragraph("To keep your subscription, pay the deposit again before then.", "如需保留订阅，请在此之前重新支付押金。"),
                _ => self.paragraph("You can resume it at any time before then.", "在此之前，你可以随时恢复订阅。"),
            });
        }
        body.extend(self.remaining_charges(plan, overdue));
        body.push(self.subscription_link(subscription));
        Strings {
            subject: self.translate(format!("Your {title} subscription will end on {day}"), format!("你的 {title} 订阅将于 {day} 结束")),
            heading: self.translate(format!("Your subscription will end on {day}"), format!("订阅将于 {day} 结束")),
            body,
        }
    }

    pub fn resumed(&self, plan: &SubscribedPlan, from: ResumedFrom, overdue: &[Invoice]) -> Strings {
        let subscription = &plan.subscription;
        let title = self.title(subscription);
        let (subject, heading, first) = match from {
            ResumedFrom::Cancellation => (
                self.translate(format!("Your {title} subscription will continue"), format!("你的 {title} 订阅将继续")),
                self.translate("Your subscription will continue", "订阅将继续"),
                self.paragraph(
                    format!("The cancellation of your {title} subscription was withdrawn, so the subscription will continue."),
                    format!("你的 {title} 订阅的取消操作已撤销，订阅将继续。"),
                ),
            ),
            ResumedFrom::Pause => (
                self.translate(format!("Your {title} subscription has resumed"), format!("你的 {title} 订阅已恢复")),
                self.translate("Your subscription has resumed", "订阅已恢复"),
                self.paragraph(format!("Your {title} subscription is no longer paused."), format!("你的 {title} 订阅已恢复，不再暂停。")),
            ),
        };
        let mut body = vec![first];
        if from == ResumedFrom::Pause && subscription.period.start == self.email.at {
            let start = self.time(subscription.period.start);
            body.push(self.paragraph(format!("A new billing period started on {start}."), format!("新的计费周期已于 {start} 开始。")));
        }
        if subscription.status == SubscriptionStatus::Trialing {
            let end = self.time(subscription.period.end);
            body.push(self.paragraph(format!("Your free trial ends on {end}."), format!("免费试用将于 {end} 结束。")));
        }
        body.push(self.renewal(plan));
        if !overdue.is_empty() {
            body.extend(self.overdue_block(subscription, overdue));
        }
        body.extend([self.items(plan), self.subscription_link(subscription)]);
        Strings { subject, heading, body }
    }

    pub fn ended(&self, plan: &SubscribedPlan, overdue: &[Invoice]) -> Strings {
        let subscription = &plan.subscription;
        let (title, store) = (self.title(subscription), self.store());
        let ended = self.time(subscription.ended_at.unwrap_or(self.email.at));
        let why = match cancel_reason(subscription) {
            Some(CancelReason::StakeRevoked) => self.translate(
                format!("Your {title} subscription ended on {ended} because you withdrew its refundable deposit."),
                format!("由于你取回了押金，你的 {title} 订阅已于 {ended} 结束。"),
            ),
            Some(CancelReason::PaymentFailed) => self.translate(
                format!("Your {title} subscription ended on {ended} because its payment was overdue for too long."),
                format!("由于付款逾期过久，你的 {title} 订阅已于 {ended} 结束。"),
            ),
            Some(CancelReason::CancellationByStore) => self.translate(
                format!("{store} ended your {title} subscription on {ended}."),
                format!("{store} 已于 {ended} 终止你的 {title} 订阅。"),
            ),
            Some(CancelReason::CancellationRequested) => self.translate(
                format!("Your {title} subscription ended on {ended}, as you requested."),
                format!("你的 {title} 订阅已按你的要求于 {ended} 结束。"),
            ),
            None => self.translate(format!("Your {title} subscription ended on {ended}."), format!("你的 {title} 订阅已于 {ended} 结束。")),
        };
        let mut body = vec![self.paragraph(format!("{why} You no longer have access."), format!("{why}你已无法继续使用。"))];
        body.extend(self.remaining_charges(plan, overdue));
        body.push(self.subscription_link(subscription));
        Strings {
            subject: self.translate(format!("Your {title} subscription has ended"), format!("你的 {title} 订阅已结束")),
            heading: self.translate("Your subscription has ended", "订阅已结束"),
            body,
        }
    }

    /// Lists the charges that remain for a subscription that will end or has ended.
    fn remaining_charges(&self, plan: &SubscribedPlan, overdue: &[Invoice]) -> Vec<Block> {
        let subscription = &plan.subscription;
        if overdue.is_empty() {
            return vec![match (plan.has_usage(), subscription.ended_at) {
                (false, _) => self.paragraph("You won't be charged again.", "之后不会再扣款。"),
                (true, None) => {
                    self.paragraph("Usage until then will be charged when the subscription ends.", "在此之前的用量费用将在订阅结束时收取。")
                }
                (true, Some(_)) => {
                    self.paragraph("Usage that hasn't been billed yet will still be charged.", "尚未结算的用量费用仍会收取。")
                }
            }];
        }
        if plan.stake_pays {
            let sum = self.overdue_sum(overdue);
            let text = self.paragraph(
                format!("You still owe {sum}. We'll deduct as much as possible from your refundable deposit."),
                format!("你还有 {sum} 未付，将从押金中扣除，以押金余额为限。"),
            );
            return vec![text, self.overdue_rows(overdue)];
        }
        self.overdue_block(subscription, overdue)
    }

    fn overdue_block(&self, subscription: &Subscription, overdue: &[Invoice]) -> Vec<Block> {
        let sum = self.overdue_sum(overdue);
        let text = self.paragraph(format!("You still owe {sum}."), format!("你还有 {sum} 未付。"));
        vec![text, self.pay_overdue(subscription, overdue), self.overdue_rows(overdue)]
    }
}
