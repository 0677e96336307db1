//! The layout of emails: one list of blocks becomes plain text and HTML, so that both have the same content.

use souk_domain::shared::Language;

pub(super) enum Block {
    Banner(String),
    Heading(String),
    Paragraph(String),
    /// Labels and values. With `sum`, the last row is bold.
    Rows {
        rows: Vec<(String, String)>,
        sum: bool,
    },
    /// The main button.
    Action {
        label: String,
        url: String,
    },
    Link {
        label: String,
        url: String,
    },
    Foot(String),
}

/// Renders plain text, with blank lines between blocks and with the addresses of links.
pub(super) fn as_text(blocks: &[Block], language: Language) -> String {
    let (after_label, before_line) = match language {
        Language::English => (": ", ":"),
        Language::Chinese => ("：", "："),
    };
    let mut text = String::new();
    for block in blocks {
        match block {
            Block::Banner(line) => text += &format!("* {line} *\n\n"),
            Block::Heading(line) => text += &format!("{line}\n\n"),
            Block::Paragraph(line) => text += &format!("{line}\n\n"),
            Block::Rows { rows, .. } => {
                for (label, value) in rows {
                    text += &format!("  {label}{after_label}{value}\n");
                }
                text.push('\n');
            }
            Block::Action { label, url } | Block::Link { label, url } => {
                text += &format!("{label}{before_line}\n{url}\n\n");
            }
            Block::Foot(line) => text += &format!("-- \n{line}\n"),
        }
    }
    text
}

const FONT: &str = "-apple-system,'Segoe UI',Roboto,'PingFang SC','Noto Sans SC','Microsoft YaHei',sans-serif";

/// Renders HTML: one column, at most 560 px wide, dark on white, without external resources.
pub(super) fn as_html(blocks: &[Block], language: Language, title: &str) -> String {
    let mut body = String::new();
    for block in blocks {
        body += &html_block(block);
    }
    let (tag, title) = (language.tag(), escape(title));
    format!(
        r#"<!DOCTYPE html>
<html lang="{tag}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light">
<title>{title}</title>
</head>
<body style="margin:0;padding:0;background:#ffffff;color:#1d1c1a;font-family:{FONT};font-size:16px;line-height:1.5">
<table role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0"><tr><td align="center" style="padding:32px 16px">
<table role="presentation" width="560" cellpadding="0" cellspacing="0" border="0" style="width:100%;max-width:560px;text-align:left"><tr><td style="overflow-wrap:anywhere">
{body}</td></tr></table>
</td></tr></table>
</body>
</html>
"#
    )
}

fn html_block(block: &Block) -> String {
    match block {
        Block::Banner(line) => format!(
            "<p style=\"margin:0 0 24px;padding:8px 12px;border-left:4px solid #6b3fa0;color:#6b3fa0;font-weight:600\">{}</p>\n",
            escape(line)
        ),
        Block::Heading(line) => {
            format!("<h1 style=\"margin:0 0 16px;font-size:22px;line-height:1.2;font-weight:600\">{}</h1>\n", escape(line))
        }
        Block::Paragraph(line) => format!("<p style=\"margin:0 0 16px\">{}</p>\n", escape(line)),
        Block::Rows { rows, sum } => {
            let mut table = "<table width=\"100%\" cellpadding=\"0\" cellspacing=\"0\" border=\"0\" style=\"margin:8px 0 24px;border-top:1px solid #e4e1db\">\n".to_owned();
            for (index, (label, value)) in rows.iter().enumerate() {
                let weight = if *sum && index + 1 == rows.len() { 600 } else { 400 };
                table += &format!(
                    "<tr><th scope=\"row\" align=\"left\" style=\"padding:10px 16px 10px 0;border-bottom:1px solid #e4e1db;font-weight:{weight};vertical-align:top\">{}</th>\
                     <td align=\"right\" style=\"padding:10px 0;border-bottom:1px solid #e4e1db;font-weight:{weight};vertical-align:top;font-variant-numeric:tabular-nums\">{}</td></tr>\n",
                    escape(label),
                    escape(value)
                );
            }
            table + "</table>\n"
        }
        Block::Action { label, url } => format!(
            "<p style=\"margin:0 0 24px\"><a href=\"{}\" style=\"display:inline-block;padding:11px 20px;border-radius:10px;background:#0b6e63;color:#ffffff;font-weight:600;text-decoration:none\">{}</a></p>\n",
            escape(url),
            escape(label)
        ),
        Block::Link { label, url } => {
            format!("<p style=\"margin:0 0 16px\"><a href=\"{}\" style=\"color:#0b6e63\">{}</a></p>\n", escape(url), escape(label))
        }
        Block::Foot(line) => {
            format!(
                "<p style=\"margin:32px 0 0;padding-top:16px;border-top:1px solid #e4e1db;font-size:13px;color:#5c5a55\">{}</p>\n",
                escape(line)
            )
        }
    }
}

/// Escapes text for elements and quoted attributes.
fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => safe += "&amp;",
            '<' => safe += "&lt;",
            '>' => safe += "&gt;",
            '"' => safe += "&quot;",
            '\'' => safe += "&#39;",
            other => safe.push(other),
        }
    }
    safe
}
