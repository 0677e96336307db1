//! The letters about subscriptions.

use super::Outgoing;
use super::letter::{Block, as_html, as_text};
use super::mailbox::one_line;
use super::wording::{marked, refusal, say, test_notice, written_day};
use crate::pdf::{money, written_time};
use souk_domain::access::PageTokens;
use souk_domain::billing::{BillingReason, CancelReason, Invoice, InvoiceStatus, Letter, News, StakeStatus, Subscribed, Subscription};
use souk_domain::payment::{Refund, RefundType};
use souk_domain::pricing::CycleForm;
use souk_domain::shared::{Amount, InvoiceId, Language, SubscriptionId, Timestamp};

/// Where letters are written, and in whose name.
pub(super) struct Desk<'a> {
    pub store_name: &'a str,
    pub public_url: &'a str,
    pub tokens: &'a PageTokens,
}

/// What one letter says.
struct Words {
    subject: String,
    heading: String,
    body: Vec<Block>,
}

impl Desk<'_> {
    /// Of a path within the store.
    pub fn address(&self, path: &str) -> String {
        format!("{}{path}", self.public_url.trim_end_matches('/'))
    }

    /// Opens the invoice, and nothing else, for as long as the token lives.
    pub fn invoice_url(&self, id: &InvoiceId, from: Timestamp) -> String {
        self.address(&format!("/customer/invoice/{id}?authToken={}", self.tokens.auth_token(id.as_str(), from)))
    }

    /// The same, where it is about to be paid.
    fn payment_url(&self, invoice: &Invoice, action: &str, from: Timestamp) -> String {
        let (id, token) = (&invoice.id, self.tokens.auth_token(invoice.id.as_str(), from));
        self.address(&format!("/customer/invoice/{id}?action={action}&authToken={token}"))
    }

    pub fn subscription_url(&self, id: &SubscriptionId, from: Timestamp) -> String {
        self.address(&format!("/customer/subscription/{id}?authToken={}", self.tokens.auth_token(id.as_str(), from)))
    }

    pub fn write(&self, letter: &Letter) -> Outgoing {
        let language = letter.customer.language;
        let pen = Pen { desk: self, letter, language };
        let (words, is_live) = match &letter.news {
            News::Started(plan, first) => (pen.started(plan, first.as_ref()), plan.subscription.mode.is_live()),
            News::TrialEnding(plan) => (pen.trial_ending(plan), plan.subscription.mode.is_live()),
            News::PaymentFailed { subscription, invoice, code } => {
                (pen.payment_failed(subscription, invoice, code), invoice.mode.is_live())
            }
            News::Overdue(plan, owed) => (pen.overdue(plan, owed), plan.subscription.mode.is_live()),
            News::Canceled(plan, owed) => (pen.canceled(plan, owed), plan.subscription.mode.is_live()),
            News::Refunded(refund, invoice) => (pen.refunded(refund, invoice.as_deref()), refund.mode.is_live()),
        };
        let store_name = one_line(self.store_name);
        let name = one_line(&letter.customer.name);
        let mut blocks = Vec::new();
        if !is_live {
            blocks.push(Block::Notice(test_notice(language)));
        }
        blocks.push(Block::Heading(words.heading));
        if !name.is_empty() {
            blocks.push(Block::Paragraph(say(language, format!("Hello {name},"), format!("{name}，您好："))));
        }
        blocks.extend(words.body);
        let store_url = self.address("/");
        blocks.push(Block::Foot(say(
            language,
            format!("You receive this mail because of your purchase at {store_name}, {store_url}"),
            format!("您收到这封邮件，是因为您在 {store_name}（{store_url}）购买了商品。"),
        )));
        let subject = marked(&words.subject, is_live, language);
        Outgoing {
            message_id: letter.id.clone(),
            date: letter.at,
            name,
            address: letter.customer.email.clone(),
            text: as_text(&blocks),
            html: as_html(&blocks, language, &subject),
            subject,
            attachments: Vec::new(),
        }
    }
}

/// Writes one letter.
struct Pen<'a> {
    desk: &'a Desk<'a>,
    letter: &'a Letter,
    language: Language,
}

impl Pen<'_> {
    fn say(&self, english: impl Into<String>, chinese: impl Into<String>) -> String {
        say(self.language, english, chinese)
    }

    fn paragraph(&self, english: impl Into<String>, chinese: impl Into<String>) -> Block {
        Block::Paragraph(self.say(english, chinese))
    }

    fn money(&self, amount: Amount) -> String {
        money(amount, &self.letter.currency)
    }

    fn time(&self, at: Timestamp) -> String {
        written_time(at, self.language)
    }

    fn store(&self) -> String {
        one_line(self.desk.store_name)
    }

    /// Without line breaks, which could write lines of their own into the text part.
    fn title(subscription: &Subscription) -> String {
        one_line(&subscription.description)
    }

    fn see(&self, subscription: &Subscription) -> Block {
        let url = self.desk.subscription_url(&subscription.id, self.letter.links_from);
        Block::Link { label: self.say("View your subscription", "查看订阅"), url }
    }

    /// What has ended is paid, and not renewed by it.
    fn pay(&self, invoice: &Invoice, subscription: &Subscription) -> Block {
        let renews = invoice.reason == BillingReason::SubscriptionCycle && subscription.ended_at.is_none();
        let url = self.desk.payment_url(invoice, if renews { "renew" } else { "pay" }, self.letter.links_from);
        Block::Action { label: self.say("Pay now", "立即支付"), url }
    }

    /// `10 TBA monthly`, `10 TBA monthly, and what you use`.
    fn price(&self, plan: &Subscribed) -> String {
        let cycle = plan.subscription.cycle.text(CycleForm::Adverb, self.language);
        let fixed = self.money(plan.fixed_sum());
        match (plan.has_usage(), plan.fixed_sum().is_zero()) {
            (false, _) => self.say(format!("{fixed} {cycle}"), format!("{cycle} {fixed}")),
            (true, true) => self.say(format!("what you use, {cycle}"), format!("{cycle}按用量计费")),
            (true, false) => self.say(format!("{fixed} {cycle}, and what you use"), format!("{cycle} {fixed}，另加用量费用")),
        }
    }

    /// What the subscription is for, and what it costs.
    fn lines(&self, plan: &Subscribed) -> Block {
        let mut rows: Vec<_> = plan
            .lines
            .iter()
            .map(|line| {
                let title = one_line(&line.title);
                let label = if line.quantity > 1 && line.amount.is_some() { format!("{title} × {}", line.quantity) } else { title };
                (label, line.amount.map_or_else(|| self.say("by use", "按用量"), |amount| self.money(amount)))
            })
            .collect();
        rows.push((self.say("Price", "价格"), self.price(plan)));
        rows.push((self.say("Payment method", "付款方式"), one_line(&self.letter.method.name)));
        Block::Rows { rows, sum: false }
    }

    fn started(&self, plan: &Subscribed, first: Option<&Invoice>) -> Words {
        let subscription = &plan.subscription;
        let (title, store) = (Self::title(subscription), self.store());
        let mut body = Vec::new();
        match &subscription.trial {
            Some(trial) => {
                let end = self.time(trial.end);
                body.push(self.paragraph(
                    format!("Your free trial of {title} has begun. Until {end} it costs nothing."),
                    format!("您的 {title} 免费试用已开始，{end} 之前无需付费。"),
                ));
                body.push(self.paragraph(
                    format!("If you do not cancel before, the first payment is taken then: {}.", self.price(plan)),
                    format!("如果您没有在此之前取消，届时将首次扣款：{}。", self.price(plan)),
                ));
            }
            None => {
                let paid = first.filter(|invoice| invoice.status == InvoiceStatus::Paid && !invoice.amount_paid.is_zero());
                if let Some(invoice) = paid {
                    let (amount, day) = (self.money(invoice.amount_paid), written_day(subscription.created_at, self.language));
                    body.push(self.paragraph(
                        format!(
                            "Your subscription of {title} has begun. You paid {amount} on {day}; the receipt comes in a mail of its own."
                        ),
                        format!("您的 {title} 订阅已开始。您已于 {day} 支付 {amount}，收据将另行发送。"),
                    ));
                } else {
                    body.push(self.paragraph(format!("Your subscription of {title} has begun."), format!("您的 {title} 订阅已开始。")));
                }
                let next = self.time(subscription.period.end);
                body.push(self.paragraph(
                    format!("It renews by itself: the next payment is taken on {next}."),
                    format!("订阅会自动续订，下次扣款时间为 {next}。"),
                ));
            }
        }
        body.push(self.lines(plan));
        body.push(self.see(subscription));
        let (subject, heading) = match subscription.trial {
            Some(_) => (
                self.say(format!("Your trial of {title} at {store} has begun"), format!("{store}：{title} 试用已开始")),
                self.say("Your trial has begun", "试用已开始"),
            ),
            None => (
                self.say(format!("Your subscription of {title} at {store} has begun"), format!("{store}：{title} 订阅已开始")),
                self.say("Your subscription has begun", "订阅已开始"),
            ),
        };
        Words { subject, heading, body }
    }

    fn trial_ending(&self, plan: &Subscribed) -> Words {
        let subscription = &plan.subscription;
        let title = Self::title(subscription);
        let end = subscription.trial.map_or(subscription.anchor, |trial| trial.end);
        let (day, end) = (written_day(end, self.language), self.time(end));
        let body = vec![
            self.paragraph(format!("Your free trial of {title} ends on {end}."), format!("您的 {title} 免费试用将于 {end} 结束。")),
            self.paragraph(
                format!("It then goes on as a paid subscription: {}. If you do not want that, cancel it before.", self.price(plan)),
                format!("之后将转为付费订阅：{}。如果您不想继续，请在此之前取消。", self.price(plan)),
            ),
            self.lines(plan),
            self.see(subscription),
        ];
        Words {
            subject: self.say(format!("Your trial of {title} ends on {day}"), format!("您的 {title} 试用将于 {day} 结束")),
            heading: self.say("Your trial ends soon", "试用即将结束"),
            body,
        }
    }

    fn payment_failed(&self, subscription: &Subscription, invoice: &Invoice, code: &str) -> Words {
        let (title, amount) = (Self::title(subscription), self.money(invoice.total));
        let number = invoice.number_text().unwrap_or_else(|| invoice.id.to_string());
        let why = refusal(code, self.letter.method.kind.is_card(), self.language);
        let mut body =
            vec![self.paragraph(
                format!("We could not collect {amount} for {title}. {why}"),
                format!("我们未能收取 {title} 的 {amount}。{why}"),
            )];
        let ended = subscription.ended_at.is_some();
        body.push(match invoice.retry_at.filter(|_| !ended) {
            Some(at) => {
                let at = self.time(at);
                self.paragraph(
                    format!("We try again on {at}. You need not wait for that: you can pay now."),
                    format!("我们将于 {at} 再次尝试扣款。您也可以现在就支付。"),
                )
            }
            None => self.paragraph("We do not try again by ourselves. Please pay now.", "我们不会再自动扣款，请您现在支付。"),
        });
        if let Some(at) = subscription.gives_up_at().filter(|_| !ended) {
            let at = self.time(at);
            body.push(self.paragraph(
                format!("If nothing is paid by {at}, your subscription is canceled."),
                format!("如果在 {at} 之前仍未支付，订阅将被取消。"),
            ));
        }
        body.push(self.pay(invoice, subscription));
        let rows = vec![
            (self.say("Invoice number", "账单编号"), number.clone()),
            (self.say("Payment method", "付款方式"), one_line(&self.letter.method.name)),
            (self.say("Amount due", "待支付"), amount.clone()),
        ];
        body.push(Block::Rows { rows, sum: true });
        body.push(self.see(subscription));
        Words {
            subject: self.say(format!("Your payment for {title} failed ({number})"), format!("{title} 付款失败（{number}）")),
            heading: self.say(format!("{amount} could not be collected"), format!("未能收取 {amount}")),
            body,
        }
    }

    /// The invoices that are owed, and their sum.
    fn owed(&self, owed: &[Invoice]) -> (Block, String) {
        let sum = self.money(Amount::sum(owed.iter().map(|invoice| invoice.total)).unwrap_or_default());
        let row = |invoice: &Invoice| {
            let number = invoice.number_text().unwrap_or_else(|| invoice.id.to_string());
            let day = written_day(invoice.created_at, self.language);
            (self.say(format!("{number}, {day}"), format!("{number}，{day}")), self.money(invoice.total))
        };
        let mut rows: Vec<_> = owed.iter().map(row).collect();
        rows.push((self.say("Amount due", "待支付"), sum.clone()));
        (Block::Rows { rows, sum: true }, sum)
    }

    /// One invoice is paid on its own page, several on their subscription's.
    fn settle(&self, subscription: &Subscription, owed: &[Invoice]) -> Block {
        match owed {
            [invoice] => self.pay(invoice, subscription),
            _ => Block::Action {
                label: self.say("Pay now", "立即支付"),
                url: self.desk.subscription_url(&subscription.id, self.letter.links_from),
            },
        }
    }

    fn overdue(&self, plan: &Subscribed, owed: &[Invoice]) -> Words {
        let subscription = &plan.subscription;
        let title = Self::title(subscription);
        let (rows, sum) = self.owed(owed);
        let since = subscription.past_due_since.map(|at| written_day(at, self.language)).unwrap_or_default();
        let mut body = vec![self.paragraph(
            format!("{sum} for {title} has been overdue since {since}. While it is, you cannot buy anything new."),
            format!("您的 {title} 自 {since} 起有 {sum} 逾期未付。在付清之前，您无法购买新的商品。"),
        )];
        if let Some(at) = subscription.gives_up_at() {
            let at = self.time(at);
            body.push(self.paragraph(
                format!("If it is not paid by {at}, your subscription is canceled."),
                format!("如果在 {at} 之前仍未支付，订阅将被取消。"),
            ));
        }
        body.extend([self.settle(subscription, owed), rows]);
        if owed.len() == 1 {
            body.push(self.see(subscription));
        }
        Words {
            subject: self.say(format!("Reminder: your payment for {title} is overdue"), format!("提醒：您的 {title} 付款已逾期")),
            heading: self.say(format!("{sum} is overdue"), format!("{sum} 已逾期")),
            body,
        }
    }

    fn canceled(&self, plan: &Subscribed, owed: &[Invoice]) -> Words {
        let subscription = &plan.subscription;
        let title = Self::title(subscription);
        let reason = subscription.cancellation.as_ref().map(|cancellation| cancellation.reason);
        let why = match reason {
            Some(CancelReason::StakeRevoked) => self.say("Its stake was taken back.", "原因是质押已被撤回。"),
            Some(CancelReason::PaymentFailed) => self.say("Its payment was overdue for too long.", "原因是付款逾期过久。"),
            Some(CancelReason::CancellationByStore) => {
                let store = self.store();
                self.say(format!("{store} canceled it."), format!("由 {store} 取消。"))
            }
            Some(CancelReason::CancellationRequested) | None => self.say("You asked for it.", "这是应您的要求进行的。"),
        };
        let first = match (subscription.ended_at, subscription.ends_at()) {
            (Some(ended), _) => {
                let ended = self.time(ended);
                self.paragraph(
                    format!("Your subscription of {title} ended on {ended}, and so did your access. {why}"),
                    format!("您的 {title} 订阅已于 {ended} 结束，使用权限也随之终止。{why}"),
                )
            }
            (None, ends_at) => {
                let end = self.time(ends_at.unwrap_or(subscription.period.end));
                let (resume, resume_zh) = match subscription.is_recoverable() {
                    true => ("; until then you can resume it.", "，在此之前可以恢复订阅。"),
                    false => (".", "。"),
                };
                self.paragraph(
                    format!("Your subscription of {title} is canceled. {why} You have access until {end}{resume}"),
                    format!("您的 {title} 订阅已取消。{why}您可以使用到 {end}{resume_zh}"),
                )
            }
        };
        let mut body = vec![first];
        let is_slashed = subscription.stake.as_ref().is_some_and(|stake| stake.status == StakeStatus::Slashing);
        if owed.is_empty() {
            body.push(self.paragraph("Nothing more is charged.", "不会再扣款。"));
        } else if is_slashed {
            let (rows, sum) = self.owed(owed);
            body.push(self.paragraph(
                format!("What is still owed, {sum}, is taken from your stake as far as it goes."),
                format!("仍欠的 {sum} 将从您的质押中扣除，以质押金额为限。"),
            ));
            body.push(rows);
        } else {
            let (rows, sum) = self.owed(owed);
            body.push(self.paragraph(format!("{sum} is still to be paid."), format!("仍有 {sum} 待支付。")));
            body.extend([self.settle(subscription, owed), rows]);
        }
        body.push(self.see(subscription));
        Words {
            subject: self.say(format!("Your subscription of {title} is canceled"), format!("您的 {title} 订阅已取消")),
            heading: self.say("Your subscription is canceled", "订阅已取消"),
            body,
        }
    }

    fn refunded(&self, refund: &Refund, invoice: Option<&Invoice>) -> Words {
        let (amount, store) = (self.money(refund.amount), self.store());
        let method = one_line(&self.letter.method.name);
        let what = match (refund.kind, invoice.map(|invoice| one_line(&invoice.description)).filter(|title| !title.is_empty())) {
            (RefundType::StakeReturn, _) => self.paragraph(
                format!("{store} returned your stake: {amount} went back to you by {method}."),
                format!("{store} 已退还您的质押：{amount} 已通过 {method} 返还。"),
            ),
            (RefundType::Credit, Some(title)) => self.paragraph(
                format!("{store} gave back {amount} of what you had paid for {title} by credit."),
                format!("{store} 已退还您以余额为 {title} 支付的 {amount}。"),
            ),
            (RefundType::Credit, None) => self.paragraph(
                format!("{store} gave back {amount} of what you had paid by credit."),
                format!("{store} 已退还您以余额支付的 {amount}。"),
            ),
            (RefundType::Refund, Some(title)) => self.paragraph(
                format!("{store} gave back {amount} of your payment for {title}, by {method}."),
                format!("{store} 已通过 {method} 退还您为 {title} 支付的 {amount}。"),
            ),
            (RefundType::Refund, None) => self.paragraph(
                format!("{store} gave back {amount} of your payment, by {method}."),
                format!("{store} 已通过 {method} 退还您支付的 {amount}。"),
            ),
        };
        let arrival = match (refund.kind, self.letter.method.kind.is_card()) {
            (RefundType::Credit, _) => self.paragraph(
                "It is credit with the store again, and pays your next invoices and purchases.",
                "该金额已重新计入您在商店的余额，可用于支付后续账单和购买。",
            ),
            (_, true) => self
                .paragraph("Your bank may take a few days until it shows on your account.", "银行可能需要几天时间才会显示在您的账户中。"),
            (_, false) => self.paragraph("It is in your wallet already.", "款项已到达您的钱包。"),
        };
        let mut rows = Vec::new();
        if let Some(number) = invoice.and_then(Invoice::number_text) {
            rows.push((self.say("Invoice number", "账单编号"), number));
        }
        if !refund.reference.is_empty() {
            rows.push((self.say("Transaction", "交易编号"), one_line(&refund.reference)));
        }
        rows.push((self.say("Refunded", "退款金额"), amount.clone()));
        let mut body = vec![what, arrival, Block::Rows { rows, sum: true }];
        if let Some(invoice) = invoice {
            let url = self.desk.invoice_url(&invoice.id, self.letter.links_from);
            body.push(Block::Link { label: self.say("View the invoice online", "在线查看账单"), url });
        }
        Words {
            subject: self.say(format!("Your refund from {store}"), format!("{store} 退款通知")),
            heading: self.say(format!("{amount} refunded"), format!("已退款 {amount}")),
            body,
        }
    }
}
