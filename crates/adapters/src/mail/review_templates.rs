//! The emails about steps of a review, to developers and to reviewers.

use super::Outgoing;
use super::email_layout::{Block, as_html, as_text};
use super::email_service::EmailService;
use super::mailbox::one_line;
use super::strings::{developer_footer, greeting, reviewer_footer, translate};
use souk_domain::publishing::review::{EntryKind, ReviewEmail, Unpublished};
use souk_domain::publishing::staking::PUBLISH_STAKE_REVOKED;
use souk_domain::shared::Language;

/// The heading of the email, which is its subject as well, and what follows from the step.
struct Content {
    heading: String,
    text: String,
}

impl EmailService<'_> {
    pub fn review_step(&self, email: &ReviewEmail) -> Outgoing {
        let language = email.recipient.language;
        let (name, store_name) = (one_line(&email.recipient.name), one_line(self.store_name));
        let Content { heading, text } = content(email, language);
        let side = if email.is_developer { "developer/apps" } else { "console/reviews" };
        let url = self.address(&format!("/{side}/{}/{}", email.app, email.version));
        let mut blocks = vec![Block::Heading(heading.clone())];
        if !name.is_empty() {
            blocks.push(Block::Paragraph(greeting(&name, language)));
        }
        if !text.is_empty() {
            blocks.push(Block::Paragraph(text));
        }
        let comment = comment(email, language);
        if !comment.is_empty() {
            blocks.push(Block::Rows { rows: vec![(translate(language, "Comment", "说明"), comment)], sum: false });
        }
        blocks.push(Block::Action { label: translate(language, "Open the version", "查看此版本"), url });
        let footer = if email.is_developer { developer_footer } else { reviewer_footer };
        blocks.push(Block::Foot(footer(&store_name, &self.address("/"), language)));
        Outgoing {
            message_id: format!("review-{}-{}", email.entry, email.to),
            date: email.at,
            name,
            address: email.recipient.email.clone(),
            text: as_text(&blocks, language),
            html: as_html(&blocks, language, &heading),
            subject: heading,
            attachments: Vec::new(),
        }
    }
}

/// What the step says, unless the text of the email says it.
fn comment(email: &ReviewEmail, language: Language) -> String {
    match email.kind {
        EntryKind::NotPublished => String::new(),
        EntryKind::AppBlocked if email.comment == PUBLISH_STAKE_REVOKED => {
            translate(language, "The deposit for this app was revoked by its developer", "开发者撤回了此应用的押金")
        }
        _ => email.comment.clone(),
    }
}

/// The reason why automatic publishing stopped, and what the developer can do about it.
fn unpublished(why: &str) -> (&'static str, &'static str) {
    match Unpublished::from_name(why).unwrap_or(Unpublished::Other) {
        Unpublished::ChecksFailed => (
            "One of its checks has failed. Open the version to see what was found, and upload a higher version.",
            "有检查未通过。请查看检查结果，然后上传更高的版本。",
        ),
        Unpublished::NotDeveloper => (
            "You are not a developer of the store any more. Join again, then publish the version yourself.",
            "你已不再是本商店的开发者。请重新加入，然后自行发布此版本。",
        ),
        Unpublished::DepositRequired => (
            "The store requires a deposit for the app. Pay it, then publish the version yourself.",
            "商店要求为此应用支付押金。请支付押金，然后自行发布此版本。",
        ),
        Unpublished::BlockedContent => (
            "It contains content that the store has blocked. Upload a higher version without it.",
            "此版本含有商店禁用的内容。请删除该内容，然后上传更高的版本。",
        ),
        Unpublished::Terms => (
            "The store does not accept the price that would come into force with it. Change or withdraw the price, then publish the version yourself.",
            "商店不再接受将随此版本生效的价格。请修改或撤回价格，然后自行发布此版本。",
        ),
        Unpublished::AppBlocked => (
            "The app is blocked. You can publish the version yourself once it is unblocked.",
            "此应用已被屏蔽。解除屏蔽后，你可以自行发布此版本。",
        ),
        Unpublished::Outdated => ("A higher version of the app is published already.", "此应用的更高版本已经发布。"),
        Unpublished::Other => ("Open the version to see its state, and publish it yourself.", "请查看此版本的状态，然后自行发布。"),
    }
}

fn content(email: &ReviewEmail, language: Language) -> Content {
    let app = one_line(&email.app_name);
    let of = format!("{app} {}", email.version);
    let make = |heading: (String, String), text: (&str, &str)| Content {
        heading: translate(language, heading.0, heading.1),
        text: translate(language, text.0, text.1),
    };
    match email.kind {
        EntryKind::Requested => make(
            (format!("{of} is waiting for review"), format!("{of} 等待审核")),
            ("Its developer has requested a review.", "开发者已提交审核申请。"),
        ),
        EntryKind::Started | EntryKind::Renewed => make(
            (format!("The review of {of} has started"), format!("{of} 已开始审核")),
            ("You will get an email when the reviewer has decided.", "审核结果将通过邮件通知你。"),
        ),
        EntryKind::TakenOver => make(
            (format!("Another reviewer has taken over {of}"), format!("{of} 已由其他审核员接手")),
            ("You don't have to do anything.", "你无需处理。"),
        ),
        EntryKind::Commented => make((format!("New comment on {of}"), format!("{of} 有新评论")), ("", "")),
        EntryKind::ChangesRequested => make(
            (format!("Changes are requested for {of}"), format!("{of} 需要修改")),
            ("Upload a higher version with the changes. It continues this review.", "请修改后上传更高的版本，审核将继续进行。"),
        ),
        EntryKind::Approved => make(
            (format!("{of} is approved"), format!("{of} 已通过审核")),
            match email.is_published_by_store {
                true => ("The store publishes the version automatically, as you have arranged.", "商店将按照你的设置自动发布此版本。"),
                false => ("You can publish the version now.", "你现在可以发布此版本。"),
            },
        ),
        EntryKind::Rejected => make(
            (format!("{of} is rejected"), format!("{of} 未通过审核")),
            (
                "This decision is final for the version. You can upload a higher version, or appeal on the page of this version.",
                "此版本的审核结果不可更改。你可以上传更高的版本，或在此版本的页面上申诉。",
            ),
        ),
        EntryKind::Cancelled => make(
            (format!("The review of {of} is canceled"), format!("{of} 的审核已取消")),
            ("Its developer has canceled it. You don't have to do anything.", "开发者已取消审核，你无需处理。"),
        ),
        EntryKind::Appealed => make(
            (format!("Appeal against the rejection of {of}"), format!("{of} 收到申诉")),
            ("A reviewer who has not rejected the version decides.", "申诉由未拒绝此版本的审核员处理。"),
        ),
        EntryKind::AppealGranted => make(
            (format!("Your appeal for {of} is granted"), format!("{of} 的申诉已通过")),
            ("Another reviewer will review the next version that you upload.", "你上传的下一个版本将由其他审核员审核。"),
        ),
        EntryKind::AppealDenied => make(
            (format!("Your appeal for {of} is denied"), format!("{of} 的申诉被驳回")),
            ("The rejection stands. You can upload a higher version.", "维持拒绝的决定。你可以上传更高的版本。"),
        ),
        EntryKind::Published => {
            make((format!("{of} is published"), format!("{of} 已发布")), ("New installs get it from now on.", "新用户安装时将获得此版本。"))
        }
        EntryKind::Scheduled => make((format!("The publication of {of} is scheduled"), format!("{of} 已安排定时发布")), ("", "")),
        EntryKind::Unscheduled => make(
            (format!("{of} was not published as scheduled"), format!("{of} 未能按时发布")),
            (
                "It could not be published at its time. Open the version to see its state, and publish it or schedule it again.",
                "到达预定时间时，此版本无法发布。请查看其状态，然后发布或重新安排。",
            ),
        ),
        EntryKind::NotPublished => {
            make((format!("{of} was not published automatically"), format!("{of} 未能自动发布")), unpublished(&email.comment))
        }
        EntryKind::Replaced => make(
            (format!("{of} is replaced by a higher version"), format!("{of} 已被更高的版本取代")),
            ("The review continues with the higher version.", "审核将针对更高的版本继续进行。"),
        ),
        EntryKind::Yanked => make(
            (format!("The store has withdrawn {of}"), format!("商店已撤回 {of}")),
            ("Nobody can download the version any more; installed copies keep working.", "此版本不再提供下载，已安装的不受影响。"),
        ),
        EntryKind::YankUndone => {
            make((format!("{of} was restored"), format!("{of} 已恢复")), ("The version can be downloaded again.", "此版本可以重新下载。"))
        }
        EntryKind::RolledBack => make(
            (format!("The store has rolled {app} back to {}", email.version), format!("商店已将 {app} 回退到 {}", email.version)),
            ("New installs get this version instead of the highest one.", "新用户安装时将获得此版本，而不是最高版本。"),
        ),
        EntryKind::AppBlocked => make(
            (format!("{app} is blocked"), format!("{app} 已被屏蔽")),
            (
                "The store does not offer the app any more. You can't upload or publish versions until it is unblocked.",
                "商店不再提供此应用。解除屏蔽之前，你无法上传或发布新版本。",
            ),
        ),
        EntryKind::DepositKept => make(
            (format!("The deposit for {app} was forfeited"), format!("商店扣除了 {app} 的押金")),
            ("The app stays blocked. The reason is stated below.", "此应用仍被屏蔽，原因见下文。"),
        ),
        EntryKind::AppUnblocked => make(
            (format!("{app} is not blocked any more"), format!("{app} 已解除屏蔽")),
            ("You can upload and publish versions again.", "你可以重新上传和发布版本。"),
        ),
    }
}
