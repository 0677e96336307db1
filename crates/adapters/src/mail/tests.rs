use super::receipt::ReceiptDeposit;
use super::*;
use souk_domain::shared::Language;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpListener;

pub(super) fn receipt() -> Receipt {
    Receipt {
        invoice_id: "in_01jd".to_owned(),
        invoice_number: "TEST-000042".to_owned(),
        invoice_url: "https://souk.example/customer/invoice/in_01jd".to_owned(),
        invoice_pdf: b"%PDF-1.7".to_vec(),
        store_name: "Souk Demo Store".to_owned(),
        store_url: "https://souk.example".to_owned(),
        customer_name: "王小明".to_owned(),
        customer_email: "xiaoming@example.com".to_owned(),
        items: vec![
            ReceiptItem { title: "Larder".to_owned(), quantity: 2, amount: "5 SKT".to_owned() },
            ReceiptItem { title: "Ledgerleaf".to_owned(), quantity: 1, amount: "4 SKT".to_owned() },
        ],
        deductions: Vec::new(),
        total: "9 SKT".to_owned(),
        deposit: None,
        paid_by: PaidBy::Method("DID Wallet (ArcBlock)".to_owned()),
        paid_at: Timestamp::from_seconds(1_795_226_760),
        downloads: vec![Download { title: "Larder".to_owned(), url: "https://souk.example/apps/z1?a=1&b=2".to_owned() }],
        subscription: None,
        live: false,
    }
}

pub(super) fn snapshot(mail: &Outgoing) -> String {
    format!("Subject: {}\n\n{}\n=====\n{}", mail.subject, mail.text, mail.html)
}

#[test]
fn a_receipt_in_english() {
    insta::assert_snapshot!(snapshot(&receipt_mail(&receipt(), Language::English)));
}

#[test]
fn a_receipt_in_chinese() {
    insta::assert_snapshot!(snapshot(&receipt_mail(&Receipt { live: true, ..receipt() }, Language::Chinese)));
}

#[test]
fn a_receipt_shows_the_deposit_and_the_sum_that_was_paid() {
    let deposit = || Some(ReceiptDeposit { amount: "1 SKT".to_owned(), sum: "10 SKT".to_owned() });
    for language in [Language::English, Language::Chinese] {
        let mail = receipt_mail(&Receipt { deposit: deposit(), ..receipt() }, language);
        let heading = if language == Language::English { "Payment successful: 10 SKT" } else { "付款成功：10 SKT" };
        assert!(mail.text.contains("1 SKT") && mail.text.contains(heading), "{}", mail.text);
        let returned = if language == Language::English {
            "It is returned 14 days after the subscription ends."
        } else {
            "订阅结束 14 天后退还"
        };
        assert!(mail.text.contains(returned), "{}", mail.text);
    }
}

#[test]
fn a_receipt_says_that_the_account_balance_paid_or_that_nothing_was_due() {
    let balance = || ReceiptDeduction { kind: Deduction::AccountBalance, amount: "−9 SKT".to_owned() };
    let mut texts = Vec::new();
    for (paid_by, deductions) in [(PaidBy::Balance("9 SKT".to_owned()), vec![balance()]), (PaidBy::Nothing, Vec::new())] {
        for language in [Language::English, Language::Chinese] {
            let (paid_by, deductions) = (paid_by.clone(), deductions.clone());
            texts.push(receipt_mail(&Receipt { paid_by, deductions, total: "0 SKT".to_owned(), ..receipt() }, language).text);
        }
    }
    insta::assert_snapshot!(texts.join("\n=====\n"));
}

#[test]
fn a_receipt_lists_what_a_credit_note_and_the_account_balance_took_off() {
    let deductions = vec![
        ReceiptDeduction { kind: Deduction::CreditNotes, amount: "−1 SKT".to_owned() },
        ReceiptDeduction { kind: Deduction::AccountBalance, amount: "−3 SKT".to_owned() },
    ];
    let receipt = Receipt { deductions, total: "5 SKT".to_owned(), ..receipt() };
    for (language, lines) in [
        (Language::English, ["Credit notes: −1 SKT", "Account balance: −3 SKT", "Total: 5 SKT"]),
        (Language::Chinese, ["减免：−1 SKT", "账户余额：−3 SKT", "合计：5 SKT"]),
    ] {
        let text = receipt_mail(&receipt, language).text;
        assert!(lines.iter().all(|line| text.contains(line)), "{text}");
    }
}

/// Asserts that the HTML part contains every line of the text part.
pub(super) fn assert_same_content(mail: &Outgoing) {
    let html = mail.html.replace("&amp;", "&").replace("&#39;", "'");
    for line in mail.text.lines().map(|line| line.trim_matches([' ', '*', '-', ':', '：'])).filter(|line| !line.is_empty()) {
        for part in line.split(": ").flat_map(|part| part.split('：')).filter(|_| !line.starts_with("http")) {
            assert!(html.contains(part.trim()), "{part:?} is missing from {html}");
        }
    }
}

#[test]
fn text_and_html_have_the_same_content() {
    for language in [Language::English, Language::Chinese] {
        let mail = receipt_mail(&receipt(), language);
        assert_same_content(&mail);
    }
}

#[test]
fn text_of_strangers_cannot_add_markup_or_lines() {
    let mut evil = receipt();
    evil.customer_name = "<script>alert(1)</script>\r\n\r\nYou owe us money".to_owned();
    evil.items[0].title = "\"><img src=x onerror=alert(1)>".to_owned();
    evil.downloads[0].url = "javascript:alert(1)".to_owned();
    let mail = receipt_mail(&evil, Language::English);
    assert!(!mail.html.contains("<script") && !mail.html.contains("<img") && !mail.html.contains("javascript:"), "{}", mail.html);
    assert!(!mail.text.lines().any(|line| line.starts_with("You owe us")), "{}", mail.text);
}

async fn delivered(mail: &Outgoing) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().expect("has a folder");
    let mailbox = Mailbox::folder(folder.path(), "Souk <store@souk.example>").expect("is set up");
    mailbox.deliver(mail).await.expect("leaves");
    mailbox.deliver(mail).await.expect("leaves again");
    let files: Vec<_> = std::fs::read_dir(folder.path()).expect("is a folder").map(|one| one.expect("is an entry").path()).collect();
    assert_eq!(files.len(), 1, "{files:?}");
    let text = std::fs::read_to_string(&files[0]).expect("is read");
    (folder, text)
}

#[tokio::test]
async fn sending_an_email_twice_leaves_one_file_with_both_parts_and_the_pdf() {
    let (folder, eml) = delivered(&receipt_mail(&receipt(), Language::Chinese)).await;
    assert!(folder.path().join("receipt-in_01jd.eml").exists());
    for part in ["Message-ID: <receipt-in_01jd@souk.example>", "text/plain", "text/html", "filename=\"TEST-000042.pdf\"", "21 Nov 2026"] {
        assert!(eml.contains(part), "{part} is missing from {eml}");
    }
}

#[tokio::test]
async fn a_name_with_line_breaks_adds_no_header() {
    let mut mail = receipt_mail(&receipt(), Language::English);
    mail.name = "Eve\r\nBcc: all@example.com".to_owned();
    mail.subject = "Hello\nX-Evil: 1\r\n\r\nbody".to_owned();
    mail.message_id = "../../etc/x\r\nX-Evil: 2".to_owned();
    mail.attachments[0].file_name = "a\r\nX-Evil: 3\".pdf".to_owned();
    let (_folder, eml) = delivered(&mail).await;
    assert!(!eml.lines().any(|line| line.starts_with("Bcc:") || line.starts_with("X-Evil:")), "{eml}");
}

#[tokio::test]
async fn an_invalid_address_is_rejected_for_good() {
    let folder = tempfile::tempdir().expect("has a folder");
    let mailbox = Mailbox::folder(folder.path(), "store@souk.example").expect("is set up");
    for address in ["", "nobody", "a@b\r\nBcc: c@d.example", "a@b.example, c@d.example"] {
        let mail = Outgoing { address: address.to_owned(), ..receipt_mail(&receipt(), Language::English) };
        let error = mailbox.deliver(&mail).await.expect_err("is refused");
        assert!(!error.is_worth_a_retry(), "{address}: {error}");
    }
}

/// Starts a mail server that responds to the recipient with `verdict`. Returns its address and the data that it receives.
async fn mail_server(verdict: &'static str) -> (String, tokio::task::JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("listens");
    let url = format!("smtp://{}", listener.local_addr().expect("has an address"));
    let server = tokio::spawn(async move {
        let (stream, _) = listener.accept().await.expect("is called");
        let (reader, mut writer) = stream.into_split();
        let mut lines = BufReader::new(reader).lines();
        let mut received = String::new();
        writer.write_all(b"220 ready\r\n").await.expect("greets");
        let mut in_data = false;
        while let Ok(Some(line)) = lines.next_line().await {
            received += &format!("{line}\n");
            let answer = match line.as_str() {
                "." => {
                    in_data = false;
                    "250 taken"
                }
                _ if in_data => continue,
                "DATA" => {
                    in_data = true;
                    "354 go on"
                }
                "QUIT" => break,
                line if line.starts_with("RCPT") => verdict,
                _ => "250 fine",
            };
            writer.write_all(format!("{answer}\r\n").as_bytes()).await.expect("answers");
            if in_data || !answer.starts_with("250 taken") {
                continue;
            }
            break;
        }
        received
    });
    (url, server)
}

#[tokio::test]
async fn a_server_accepts_the_email() {
    let (url, server) = mail_server("250 fine").await;
    let mailbox = Mailbox::smtp(&url, "Souk <store@souk.example>").expect("is set up");
    mailbox.deliver(&receipt_mail(&receipt(), Language::English)).await.expect("leaves");
    let received = server.await.expect("ends");
    assert!(received.contains("RCPT TO:<xiaoming@example.com>") && received.contains("[Test] Your receipt"), "{received}");
}

#[tokio::test]
async fn a_rejection_is_final_and_a_delay_is_not() {
    for (verdict, retry) in [("550 no such person", false), ("451 come back later", true)] {
        let (url, _server) = mail_server(verdict).await;
        let mailbox = Mailbox::smtp(&url, "store@souk.example").expect("is set up");
        let error = mailbox.deliver(&receipt_mail(&receipt(), Language::English)).await.expect_err("is not taken");
        assert_eq!(error.is_worth_a_retry(), retry, "{error}");
    }
}

#[tokio::test]
async fn an_unreachable_server_is_worth_a_retry() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("listens");
    let url = format!("smtp://{}", listener.local_addr().expect("has an address"));
    drop(listener);
    let mailbox = Mailbox::smtp(&url, "store@souk.example").expect("is set up");
    let error = mailbox.deliver(&receipt_mail(&receipt(), Language::English)).await.expect_err("is not taken");
    assert!(error.is_worth_a_retry(), "{error}");
}

#[tokio::test]
async fn the_error_about_invalid_settings_says_what_is_expected() {
    for (url, sender, word) in [("http://mail.example", "a@b.example", "smtps://"), ("smtp://mail.example", "nobody", "Our Store <")] {
        let Err(error) = Mailbox::smtp(url, sender) else { panic!("{url} {sender} was accepted") };
        assert!(error.to_string().contains(word), "{error}");
    }
}
