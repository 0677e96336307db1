//! The file that is downloaded: a gzipped tar, every entry under `package/`.

use super::{DemoApp, DemoVersion};
use flate2::{Compression, GzBuilder};
use std::io;
use tar::{Builder, EntryType, Header};

static SHELL: &str = include_str!("../../assets/demo/shell.html");

/// `{name}-{version}.tgz`.
#[must_use]
pub fn bundle_name(app: &DemoApp, version: &DemoVersion) -> String {
    format!("{}-{}.tgz", app.name, version.version)
}

/// The bundle of one version. The same app and version give the same bytes: no dates, no owners.
pub fn bundle(app: &DemoApp, version: &DemoVersion) -> io::Result<Vec<u8>> {
    // 255: no operating system is named, so that the bytes do not depend on the one that packs.
    let gzip = GzBuilder::new().mtime(0).operating_system(255).write(Vec::new(), Compression::best());
    let mut tar = Builder::new(gzip);
    let files = [
        ("package/app.yml", manifest(app, version)),
        ("package/README.md", app.readme.en.clone()),
        ("package/README.zh.md", app.readme.zh.clone()),
        ("package/CHANGELOG.md", format!("# {}\n\n{}\n", version.version, version.changelog.en)),
        ("package/logo.svg", app.logo.to_owned()),
        ("package/index.html", page(app, version)),
    ];
    for (path, content) in files {
        let mut header = Header::new_ustar();
        header.set_entry_type(EntryType::Regular);
        header.set_mode(0o644);
        header.set_size(content.len() as u64);
        tar.append_data(&mut header, path, content.as_bytes())?;
    }
    tar.into_inner()?.finish()
}

fn page(app: &DemoApp, version: &DemoVersion) -> String {
    SHELL.replace("{{title}}", &app.title.en).replace("{{version}}", &version.version).replace("{{page}}", app.page)
}

/// JSON strings are YAML strings, and need no thought about quoting.
fn manifest(app: &DemoApp, version: &DemoVersion) -> String {
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    format!(
        "name: {}\nversion: {}\ntitle: {}\ndescription: {}\ngroup: static\nmain: index.html\nlogo: logo.svg\nlicense: {}\nauthor:\n  name: {}\n",
        app.name,
        quoted(&version.version),
        quoted(&app.title.en),
        quoted(&app.description.en),
        quoted(&app.license),
        quoted(&app.developer)
    )
}
