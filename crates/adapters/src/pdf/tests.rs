use super::*;
use souk_domain::shared::Timestamp;
use std::io::Write;
use std::process::{Command, Stdio};

fn document() -> InvoiceDocument {
    InvoiceDocument {
        seller: Party {
            name: "Souk Demo Store".to_owned(),
            details: vec!["https://souk.example".to_owned(), "12 Harbour Street, 20457 Hamburg, Germany".to_owned()],
        },
        customer: Party {
            name: "王小明 Xiaoming Wang".to_owned(),
            details: vec!["xiaoming@example.com".to_owned(), "+86 138 0013 8000".to_owned(), "北京市朝阳区建国路 88 号，100022".to_owned()],
        },
        number: "TEST-000042".to_owned(),
        issued: format_time(Timestamp::from_seconds(1_795_226_700), Language::English),
        status: DocumentStatus::Paid,
        paid_on: Some(format_time(Timestamp::from_seconds(1_795_226_760), Language::English)),
        lines: vec![DocumentLine {
            description: "Larder: a pantry of passwords for the whole family".to_owned(),
            detail: Some("Version 2.1.0".to_owned()),
            quantity: "2".to_owned(),
            unit_price: "2.5 SKT".to_owned(),
            amount: "5 SKT".to_owned(),
        }],
        total: "5 SKT".to_owned(),
        credited: None,
        applied_credit: None,
        paid: "5 SKT".to_owned(),
        due: None,
        payment: Some(DocumentPayment {
            method: "DID Wallet (ArcBlock)".to_owned(),
            reference: Some("8F3A0C51D9E24B7766AA10F0C2D4E6F8091A2B3C4D5E6F708192A3B4C5D6E7F8".to_owned()),
            reference_url: Some("https://souk.example/explorer/txs/8F3A".to_owned()),
        }),
        live: false,
    }
}

/// Returns the text of a PDF as poppler extracts it.
fn text_of(pdf: &[u8]) -> String {
    let mut child = Command::new("pdftotext")
        .args(["-layout", "-", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("pdftotext runs (Debian: apt-get install poppler-utils)");
    child.stdin.take().expect("has an input").write_all(pdf).expect("takes the file");
    String::from_utf8(child.wait_with_output().expect("ends").stdout).expect("is UTF-8")
}

fn pdf(document: &InvoiceDocument, language: Language) -> Vec<u8> {
    invoice_pdf(document, language, &InvoiceFonts::default()).expect("is written")
}

/// Removes all whitespace, which joins lines that were broken at the edge of the page.
fn without_space(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).collect()
}

#[test]
fn an_invoice_shows_its_content_in_both_languages() {
    for (language, words) in [
        (Language::English, ["Invoice number", "Bill to", "Test mode", "Page 1 of 1", "Paid", "Payment method"]),
        (Language::Chinese, ["账单编号", "客户", "测试模式", "第 1 页，共 1 页", "已付款", "支付方式"]),
    ] {
        let text = text_of(&pdf(&document(), language));
        for word in words {
            assert!(text.contains(word), "{word} is missing from {text}");
        }
        let joined = without_space(&text);
        for word in ["SoukDemoStore", "TEST-000042", "王小明", "xiaoming@example.com", "北京市朝阳区建国路88号", "2.5SKT", "UTC"]
        {
            assert!(joined.contains(word), "{word} is missing from {text}");
        }
        assert!(joined.contains("8F3A0C51D9E24B7766AA10F0C2D4E6F8091A2B3C4D5E6F708192A3B4C5D6E7F8"), "{text}");
    }
}

#[test]
fn the_same_invoice_gives_the_same_bytes() {
    assert_eq!(pdf(&document(), Language::Chinese), pdf(&document(), Language::Chinese));
}

#[test]
fn a_live_invoice_has_no_test_banner_and_an_unpaid_one_shows_the_amount_due() {
    let open = InvoiceDocument {
        live: true,
        status: DocumentStatus::Open,
        paid_on: None,
        payment: None,
        due: Some("5 SKT".to_owned()),
        ..document()
    };
    let text = text_of(&pdf(&open, Language::English));
    assert!(!text.contains("Test mode"), "{text}");
    assert!(text.contains("Amount due") && text.contains("Unpaid"), "{text}");
}

#[test]
fn many_lines_take_several_pages_and_each_has_a_header_and_a_page_number() {
    let line = |n: usize| DocumentLine {
        description: format!("Item {n:03}: 一个名字特别长的应用程序，用来检查中文在单元格里能否逐字换行"),
        detail: None,
        quantity: "1".to_owned(),
        unit_price: "123456789012345678901234567890.000000000000000001 SKT".to_owned(),
        amount: "1 SKT".to_owned(),
    };
    let long = InvoiceDocument { lines: (0..60).map(line).collect(), ..document() };
    let text = text_of(&pdf(&long, Language::English));
    let pages: Vec<&str> = text.split('\u{c}').filter(|page| !page.trim().is_empty()).collect();
    assert!(pages.len() >= 4, "{} pages", pages.len());
    for (index, page) in pages.iter().enumerate() {
        assert!(page.contains(&format!("Page {} of {}", index + 1, pages.len())), "{page}");
        assert!(page.contains("Test mode"), "{page}");
    }
    assert!(pages[1].contains("Unit price"), "{}", pages[1]);
    for n in 0..60 {
        assert_eq!(text.matches(&format!("Item {n:03}:")).count(), 1, "item {n}");
    }
}

#[test]
fn control_characters_and_missing_glyphs_do_no_harm() {
    let mut odd = document();
    odd.customer.name = format!("A\u{0}\u{1b}[31m\r\nB 𪚥 {}", "x".repeat(400));
    assert!(without_space(&text_of(&pdf(&odd, Language::English))).contains("[31m"));
}

#[test]
fn a_configured_font_draws_characters_that_the_bundled_font_lacks() {
    let whole = std::fs::read("/usr/share/fonts/opentype/noto/NotoSansCJK-Regular.ttc")
        .expect("the font collection is there (Debian: apt-get install fonts-noto-cjk)");
    let fonts = InvoiceFonts::with_extra(whole).expect("is a font");
    let mut rare = document();
    rare.customer.name = "陶喆 镕 犇 龘".to_owned();
    let text = text_of(&invoice_pdf(&rare, Language::Chinese, &fonts).expect("is written"));
    assert!(without_space(&text).contains("陶喆镕犇龘"), "{text}");
    assert!(InvoiceFonts::with_extra(b"no font".to_vec()).is_err());
}

#[test]
fn only_web_addresses_become_links() {
    let mut evil = document();
    evil.payment = evil.payment.map(|payment| DocumentPayment { reference_url: Some("javascript:alert(1)".to_owned()), ..payment });
    let contains = |pdf: Vec<u8>, word: &[u8]| pdf.windows(word.len()).any(|window| window == word);
    assert!(!contains(pdf(&evil, Language::English), b"javascript"));
    assert!(contains(pdf(&document(), Language::English), b"souk.example/explorer"));
}

#[test]
fn fonts_are_shared_between_threads() {
    let fonts = std::sync::Arc::new(InvoiceFonts::default());
    let writers: Vec<_> = (0..4)
        .map(|_| {
            let fonts = std::sync::Arc::clone(&fonts);
            std::thread::spawn(move || invoice_pdf(&document(), Language::English, &fonts).expect("is written"))
        })
        .collect();
    let expected = pdf(&document(), Language::English);
    for writer in writers {
        assert_eq!(writer.join().expect("ends"), expected);
    }
}

#[test]
fn an_invoice_shows_what_credit_notes_and_the_account_balance_took_off() {
    let credited = InvoiceDocument {
        credited: Some("–1 SKT".to_owned()),
        applied_credit: Some("–3 SKT".to_owned()),
        paid: "1 SKT".to_owned(),
        ..document()
    };
    for (language, words) in
        [(Language::English, ["Credit notes", "Account balance", "Amount paid"]), (Language::Chinese, ["减免", "账户余额", "已付金额"])]
    {
        let text = without_space(&text_of(&pdf(&credited, language)));
        let rows = [("–1SKT", words[0]), ("–3SKT", words[1]), ("1SKT", words[2])];
        assert!(rows.iter().all(|(amount, word)| text.contains(&format!("{}{amount}", without_space(word)))), "{text}");
    }
}

fn credit_note() -> CreditNoteDocument {
    let InvoiceDocument { seller, customer, .. } = document();
    CreditNoteDocument {
        seller,
        customer,
        number: "SOUK-TEST-CN-000007".to_owned(),
        issued: format_time(Timestamp::from_seconds(1_795_313_100), Language::English),
        invoice_number: "SOUK-TEST-000042".to_owned(),
        reason: "Cancellation".to_owned(),
        lines: vec![CreditNoteLine {
            description: "Larder: a pantry of passwords for the whole family".to_owned(),
            detail: Some("12.5 SKT × 12/30 days".to_owned()),
            amount: "5 SKT".to_owned(),
        }],
        total: "5 SKT".to_owned(),
        destinations: vec![
            CreditDestination { description: "Added to your account balance".to_owned(), amount: "2 SKT".to_owned() },
            CreditDestination { description: "Refunded via DID Wallet (ArcBlock)".to_owned(), amount: "3 SKT".to_owned() },
        ],
        memo: Some("Sorry to see you go.".to_owned()),
        live: false,
    }
}

fn note_pdf(note: &CreditNoteDocument, language: Language) -> Vec<u8> {
    credit_note_pdf(note, language, &InvoiceFonts::default()).expect("is written")
}

/// Returns the text without the spaces that only align it.
fn words_of(pdf: &[u8]) -> String {
    let text = text_of(pdf);
    let lines = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).filter(|line| !line.is_empty());
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn a_credit_note_in_english() {
    insta::assert_snapshot!(words_of(&note_pdf(&credit_note(), Language::English)));
}

#[test]
fn a_credit_note_in_chinese() {
    let mut note = credit_note();
    note.reason = "取消订阅".to_owned();
    note.destinations[0].description = "转入账户余额".to_owned();
    insta::assert_snapshot!(words_of(&note_pdf(&note, Language::Chinese)));
}

#[test]
fn a_live_credit_note_without_a_memo_has_neither_banner_nor_memo() {
    let note = CreditNoteDocument { live: true, memo: None, ..credit_note() };
    let text = text_of(&note_pdf(&note, Language::English));
    assert!(!text.contains("Test mode") && !text.contains("Sorry"), "{text}");
    assert_eq!(note_pdf(&note, Language::English), note_pdf(&note, Language::English), "the same note gives the same bytes");
}

#[test]
fn a_credit_note_of_many_items_takes_several_pages() {
    let line = |n: usize| CreditNoteLine { description: format!("Item {n:03}"), detail: None, amount: "1 SKT".to_owned() };
    let note = CreditNoteDocument { lines: (0..60).map(line).collect(), ..credit_note() };
    let text = text_of(&note_pdf(&note, Language::English));
    let pages: Vec<&str> = text.split('\u{c}').filter(|page| !page.trim().is_empty()).collect();
    assert!(pages.len() >= 3, "{} pages", pages.len());
    for (index, page) in pages.iter().enumerate() {
        assert!(page.contains(&format!("Page {} of {}", index + 1, pages.len())) && page.contains("Test mode"), "{page}");
    }
    for n in 0..60 {
        assert_eq!(text.matches(&format!("Item {n:03}")).count(), 1, "item {n}");
    }
}
