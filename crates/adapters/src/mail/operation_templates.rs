//! The emails to the owner about findings of the running store.

use super::Outgoing;
use super::email_layout::{Block, as_html, as_text};
use super::email_service::EmailService;
use super::mailbox::one_line;
use super::strings::{greeting, owner_footer, translate};
use souk_domain::doctor::OwnerNotice;
use souk_domain::operation::{Finding, FindingCode};
use souk_domain::shared::Language;

/// Bytes in a mebibyte, the unit of the option with the reserve.
const MEBIBYTE: u64 = 1 << 20;

/// What an email says about a finding.
struct NoticeText {
    subject: String,
    text: String,
    /// The page where the owner acts.
    path: String,
}

impl EmailService<'_> {
    pub fn owner_notice(&self, notice: &OwnerNotice) -> Outgoing {
        let language = notice.recipient.language;
        let NoticeText { subject, text, path } = text_of(&notice.finding, language);
        let name = one_line(&notice.recipient.name);
        let mut blocks = vec![Block::Heading(subject.clone())];
        if !name.is_empty() {
            blocks.push(Block::Paragraph(greeting(&name, language)));
        }
        blocks.push(Block::Paragraph(text));
        blocks.push(Block::Action { label: translate(language, "Open in console", "在控制台查看"), url: self.address(&path) });
        blocks.push(Block::Paragraph(translate(
            language,
            "You get this email at most once a day for the same matter.",
            "同一事项每天最多发送一封邮件。",
        )));
        blocks.push(Block::Foot(owner_footer(&one_line(self.store_name), &self.address("/"), language)));
        Outgoing {
            message_id: format!("notice-{}", notice.id),
            date: notice.at,
            name,
            address: notice.recipient.email.clone(),
            text: as_text(&blocks, language),
            html: as_html(&blocks, language, &subject),
            subject,
            attachments: Vec::new(),
        }
    }
}

fn text_of(finding: &Finding, language: Language) -> NoticeText {
    let value = |name: &str| one_line(finding.value(name));
    let tr = |english: String, chinese: String| translate(language, english, chinese);
    let doctor = || "/console/doctor".to_owned();
    match finding.code {
        FindingCode::Holds => NoticeText {
            subject: tr(format!("Subscriptions with billing on hold: {}", value("count")), format!("有 {} 个订阅暂停计费", value("count"))),
            text: tr(
                "Their customers keep their access and are not charged until you decide.".to_owned(),
                "在你做出决定之前，这些客户可以继续使用，且不会被扣款。".to_owned(),
            ),
            path: "/console/on-hold".to_owned(),
        },
        FindingCode::HeldPayments => NoticeText {
            subject: tr(format!("Payments on hold: {}", value("count")), format!("有 {} 笔付款待处理", value("count"))),
            text: tr(
                "Their network moved a different amount than requested. Refund the money, or let it pay the invoices or the balance."
                    .to_owned(),
                "支付网络的实际到账金额与应付金额不符。你可以退款，或将款项用于支付账单、存入余额。".to_owned(),
            ),
            path: "/console/on-hold#payments".to_owned(),
        },
        FindingCode::HeldTransfers => NoticeText {
            subject: tr(
                format!("Refunds, payouts and deposits on hold: {}", value("count")),
                format!("有 {} 笔退款、提现或押金转账待处理", value("count")),
            ),
            text: tr(
                "Their network moved a different amount than ordered. Decide what happens to the difference.".to_owned(),
                "支付网络的实际转账金额与应转金额不符，请决定如何处理差额。".to_owned(),
            ),
            path: "/console/on-hold#transfers".to_owned(),
        },
        FindingCode::DeadLetters => NoticeText {
            subject: tr(
                format!("Messages that could not be delivered: {}", value("count")),
                format!("有 {} 条消息投递失败", value("count")),
            ),
            text: tr(
                "Emails or payments may be waiting. List them with `souk dead-letters`, fix the cause, and retry them there.".to_owned(),
                "可能有邮件或付款因此停滞。请运行 `souk dead-letters` 查看，排除原因后重试。".to_owned(),
            ),
            path: doctor(),
        },
        FindingCode::Disk => NoticeText {
            subject: tr("The disk of your store is nearly full".to_owned(), "商店的磁盘空间即将用尽".to_owned()),
            text: tr(
                format!(
                    "{} on {} has {} MiB left, less than the {} MiB that are kept for payments in progress. New orders are refused until \
                     you free some space or enlarge the disk.",
                    value("path"),
                    value("host"),
                    mebibytes(finding, "free"),
                    mebibytes(finding, "reserve")
                ),
                format!(
                    "{} 上的 {} 仅剩 {} MiB，低于为处理中的付款保留的 {} MiB。在清理空间或扩容之前，商店暂停接受新订单。",
                    value("host"),
                    value("path"),
                    mebibytes(finding, "free"),
                    mebibytes(finding, "reserve")
                ),
            ),
            path: doctor(),
        },
        FindingCode::Clock => NoticeText {
            subject: tr("Automatic billing has stopped: the clock may be wrong".to_owned(), "自动计费已停止：时钟可能不准".to_owned()),
            text: tr(
                format!(
                    "The clock of {} differs by {} seconds. Correct the clock, or confirm it if it is accurate.",
                    value("host"),
                    value("seconds")
                ),
                format!("{} 的时钟相差 {} 秒。请校准时钟；如果时钟无误，请确认。", value("host"), value("seconds")),
            ),
            path: doctor(),
        },
        FindingCode::Breaker => NoticeText {
            subject: tr(
                format!("A payment network does not answer: {}", value("network")),
                format!("支付网络没有响应：{}", value("network")),
            ),
            text: tr(
                "Renewals and refunds over it wait and continue when it answers. Other networks are not affected.".to_owned(),
                "经该网络的续费和退款将等待其恢复后继续。其他网络不受影响。".to_owned(),
            ),
            path: format!("/console/payment-methods/{}", value("method")),
        },
        FindingCode::MixedOptions => NoticeText {
            subject: tr("The processes of your store have different options".to_owned(), "商店各进程的启动选项不一致".to_owned()),
            text: tr(
                format!(
                    "These options differ: {}. Give all processes the same options and environment variables, and start them again.",
                    value("options")
                ),
                format!("以下选项不一致：{}。请为所有进程设置相同的选项和环境变量，并重新启动。", value("options")),
            ),
            path: doctor(),
        },
        FindingCode::ProcessWithoutMail => NoticeText {
            subject: tr("Some emails of your store are not sent".to_owned(), "商店的部分邮件没有发送".to_owned()),
            text: tr(
                format!(
                    "Processes on {} have no mail server and write emails to their data folders. Set SMTP_URL for all processes, and start \
                     them again.",
                    value("hosts")
                ),
                format!("{} 上的进程没有配置邮件服务器，只把邮件写入了数据文件夹。请为所有进程设置 SMTP_URL，并重新启动。", value("hosts")),
            ),
            path: doctor(),
        },
        code => NoticeText {
            subject: tr(format!("Your store needs attention: {}", code.name()), format!("你的商店需要处理：{}", code.name())),
            text: tr("See the details and the remedy in the console.".to_owned(), "请在控制台查看详情和解决办法。".to_owned()),
            path: doctor(),
        },
    }
}

/// A number of bytes in whole mebibytes.
fn mebibytes(finding: &Finding, name: &str) -> u64 {
    finding.value(name).parse::<u64>().unwrap_or_default() / MEBIBYTE
}
