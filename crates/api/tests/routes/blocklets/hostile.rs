//! Hostile uploads: each is refused with its message, and nothing of it is left on disk.

use super::{BOUNDARY, Publishing, form};
use poem::http::StatusCode;
use serde_json::{Value, json};
use souk_adapters::testing::upload::{SignedUpload, TestUpload, png};
use std::time::Duration;

/// What is wrong with an upload, and what the answer says.
struct Case {
    what: &'static str,
    body: Vec<u8>,
    status: StatusCode,
    error: &'static str,
}

fn whole(upload: &SignedUpload) -> Vec<u8> {
    form(&[("blocklet-meta", &upload.document), ("blocklet-tarball", &upload.bundle), ("source", b"CLI")])
}

fn case(what: &'static str, upload: &SignedUpload, status: StatusCode, error: &'static str) -> Case {
    Case { what, body: whole(upload), status, error }
}

/// A bundle with one more file.
fn with_file(store: &Publishing, path: &str, content: &[u8]) -> TestUpload {
    let mut upload = store.version("hello", "1.0.0");
    upload.files.push((path.to_owned(), content.to_vec()));
    upload
}

/// A bundle whose file has another content.
fn replaced(store: &Publishing, path: &str, content: Option<Vec<u8>>) -> TestUpload {
    let mut upload = store.version("hello", "1.0.0");
    upload.files.retain(|(name, _)| name != path);
    upload.files.extend(content.map(|content| (path.to_owned(), content)));
    upload
}

fn of_members(store: &Publishing, members: Value) -> TestUpload {
    TestUpload { members, ..store.version("hello", "1.0.0") }
}

/// A bundle whose link is named as a file of the package.
fn with_link() -> Vec<u8> {
    let mut tar = tar::Builder::new(flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast()));
    let mut header = tar::Header::new_ustar();
    header.set_entry_type(tar::EntryType::Symlink);
    header.set_size(0);
    tar.append_link(&mut header, "package/link", "/etc/passwd").expect("writes");
    tar.into_inner().and_then(flate2::write::GzEncoder::finish).expect("writes")
}

/// The header of an empty entry, also one that no packer writes.
pub(super) fn entry_header(name: &str, kind: tar::EntryType) -> tar::Header {
    let mut header = tar::Header::new_ustar();
    header.as_mut_bytes()[..name.len()].copy_from_slice(name.as_bytes());
    header.set_entry_type(kind);
    header.set_mode(0o644);
    header.set_size(0);
    header.set_cksum();
    header
}

/// A bundle of empty entries.
pub(super) fn with_headers(headers: impl Iterator<Item = tar::Header>) -> Vec<u8> {
    let mut tar = tar::Builder::new(flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast()));
    for header in headers {
        tar.append(&header, std::io::empty()).expect("writes");
    }
    tar.into_inner().and_then(flate2::write::GzEncoder::finish).expect("writes")
}

/// 64 MiB of zeros.
pub(super) fn bomb() -> Vec<u8> {
    let mut tar = tar::Builder::new(flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best()));
    let mut header = tar::Header::new_ustar();
    header.set_entry_type(tar::EntryType::Regular);
    header.set_mode(0o644);
    header.set_size(64 << 20);
    tar.append_data(&mut header, "package/zeros", std::io::Read::take(std::io::repeat(0), 64 << 20)).expect("writes");
    tar.into_inner().and_then(flate2::write::GzEncoder::finish).expect("writes")
}

fn manifest_cases(store: &Publishing) -> Vec<Case> {
    use StatusCode as S;
    let valid = store.version("hello", "1.0.0").sign();
    let altered = |from: &str, to: &str| {
        let text = String::from_utf8(valid.document.clone()).expect("text").replace(from, to);
        SignedUpload { document: text.into_bytes(), bundle: valid.bundle.clone() }
    };
    let raw = |document: &[u8]| SignedUpload { document: document.to_vec(), bundle: valid.bundle.clone() };
    let stale = TestUpload { signed_at: store.app.ctx.now().minus(Duration::from_secs(25 * 3_600)), ..store.version("hello", "1.0.0") };
    let early = TestUpload { signed_at: store.app.ctx.now().plus(Duration::from_secs(3_600)), ..store.version("hello", "1.0.0") };
    let two = format!("{{\"name\":\"evil\",{}", &String::from_utf8_lossy(&valid.document)[1..]);
    vec![
        case("altered metadata", &altered("Says hello", "Says nothing"), S::UNAUTHORIZED, "invalid signature"),
        case("another version", &altered("\"1.0.0\"", "\"9.0.0\""), S::UNAUTHORIZED, "invalid signature"),
        case("a replayed signature", &stale.sign(), S::UNAUTHORIZED, "created more than 24 hours ago"),
        case("a signature of the future", &early.sign(), S::UNAUTHORIZED, "or in the future"),
        case("a member twice", &raw(two.as_bytes()), S::BAD_REQUEST, "the member \"name\" occurs twice"),
        case("an empty manifest", &raw(b""), S::BAD_REQUEST, "Invalid blocklet meta file, found empty"),
        case("no JSON", &raw(b"{"), S::BAD_REQUEST, "Invalid blocklet meta: not JSON"),
        case("deep JSON", &raw("[".repeat(100_000).as_bytes()), S::BAD_REQUEST, "Invalid blocklet meta"),
        case("a large manifest", &raw(&vec![b' '; (1 << 20) + 1]), S::PAYLOAD_TOO_LARGE, "larger than 1048576 bytes"),
        case(
            "an unsigned manifest",
            &of_members(store, json!({ "signatures": [] })).sign(),
            S::BAD_REQUEST,
            "signatures must be a list of one signature",
        ),
        case(
            "a path in the file name",
            &of_members(store, json!({ "dist": { "tarball": "../../x.tgz", "integrity": "", "size": 1 } })).sign(),
            S::BAD_REQUEST,
            "dist.tarball is not a path inside the bundle",
        ),
        case(
            "a path in the logo",
            &of_members(store, json!({ "logo": "../../../logo.png" })).sign(),
            S::BAD_REQUEST,
            "logo is not a path inside the bundle",
        ),
        case(
            "a foreign DID",
            &of_members(store, json!({ "did": "z8iZyFxvvqwW98MiqKv1tmws2o3iTZnTajE3B" })).sign(),
            S::BAD_REQUEST,
            "did must be the DID of an app's key, or the one that is derived from the name",
        ),
        case(
            "a price",
            &of_members(store, json!({ "payment": { "price": [{ "value": 1 }] } })).sign(),
            S::FORBIDDEN,
            "Paid blocklets are not allowed in this store",
        ),
        case(
            "too few screenshots",
            &of_members(store, json!({ "screenshots": ["1.png"] })).sign(),
            S::BAD_REQUEST,
            "there must be 3 to 5 screenshots",
        ),
    ]
}

fn bundle_cases(store: &Publishing) -> Vec<Case> {
    use StatusCode as S;
    let valid = store.version("hello", "1.0.0");
    let of_bundle = |bundle: Vec<u8>| SignedUpload { document: valid.sign_with(&bundle), bundle };
    let signed = valid.sign();
    let longer = SignedUpload { bundle: [signed.bundle.as_slice(), b"x"].concat(), ..signed.clone() };
    let shorter = SignedUpload { bundle: signed.bundle[..signed.bundle.len() - 1].to_vec(), ..signed.clone() };
    let mut changed = signed.clone();
    *changed.bundle.last_mut().expect("bytes") ^= 1;
    let size = |size: u64| json!({ "dist": { "tarball": "a.tgz", "integrity": format!("sha512-{}==", "A".repeat(86)), "size": size } });
    let with_entry = |name: &str, kind: tar::EntryType| of_bundle(with_headers(std::iter::once(entry_header(name, kind))));
    let large_picture = |seed| [png(1_280, 720, seed), vec![7; 6 << 20]].concat();
    vec![
        case("a wrong digest", &changed, S::BAD_REQUEST, "invalid tarball"),
        case("a longer bundle", &longer, S::BAD_REQUEST, "and the manifest says"),
        case("a shorter bundle", &shorter, S::BAD_REQUEST, "and the manifest says"),
        case(
            "an oversize bundle",
            &of_members(store, size((500 << 20) + 1)).sign(),
            S::PAYLOAD_TOO_LARGE,
            "exceeded max bundle size(524288000) of store",
        ),
        case(
            "an empty bundle",
            &SignedUpload { bundle: Vec::new(), ..signed.clone() },
            S::BAD_REQUEST,
            "Invalid blocklet tarball file, found empty",
        ),
        case(
            "no archive",
            &of_bundle([b"PK\x03\x04".as_slice(), &[7; 60]].concat()),
            S::BAD_REQUEST,
            "invalid tarball: the bundle is not a gzip-compressed tar archive",
        ),
        case(
            "a path out of the bundle",
            &with_entry("package/../../evil", tar::EntryType::Regular),
            S::BAD_REQUEST,
            "invalid tarball: entry 1 (\"package/../../evil\"): the path has an empty segment, '.' or '..'",
        ),
        case(
            "a hard link",
            &with_entry("package/link", tar::EntryType::Link),
            S::BAD_REQUEST,
            "invalid tarball: entry 1: hard links are not allowed",
        ),
        case(
            "a device",
            &with_entry("package/null", tar::EntryType::Char),
            S::BAD_REQUEST,
            "invalid tarball: entry 1: devices are not allowed",
        ),
        case("a link", &of_bundle(with_link()), S::BAD_REQUEST, "invalid tarball: entry 1: symbolic links are not allowed"),
        case("a bomb", &of_bundle(bomb()), S::BAD_REQUEST, "invalid tarball: the archive unpacks to more than 200 times its size"),
        case(
            "a second member",
            &of_bundle([signed.bundle.as_slice(), &signed.bundle].concat()),
            S::BAD_REQUEST,
            "data after the end of its gzip member",
        ),
        case("a colliding path", &with_file(store, "LOGO.png", b"x").sign(), S::BAD_REQUEST, "differs from another path only in case"),
        case("a device of Windows", &with_file(store, "aux.js", b"x").sign(), S::BAD_REQUEST, "the name of a device on Windows"),
        case(
            "no manifest",
            &replaced(store, "blocklet.yml", None).sign(),
            S::BAD_REQUEST,
            "\"package/blocklet.yml\" is missing in the bundle",
        ),
        case("no logo", &replaced(store, "logo.png", None).sign(), S::BAD_REQUEST, "logo.png: the file is missing in the bundle"),
        case(
            "a script as logo",
            &replaced(store, "logo.png", Some(b"<script>".to_vec())).sign(),
            S::BAD_REQUEST,
            "logo.png: the file is not a picture of an accepted format",
        ),
        case(
            "a small logo",
            &replaced(store, "logo.png", Some(png(100, 100, 0))).sign(),
            S::BAD_REQUEST,
            "logo.png: the picture must be at least 256 by 256 pixels",
        ),
        case(
            "a large screenshot",
            &replaced(store, "screenshots/1.png", Some(large_picture(1))).sign(),
            S::BAD_REQUEST,
            "is larger than 5242880 bytes",
        ),
        case(
            "one picture twice",
            &replaced(store, "screenshots/1.png", Some(png(1_280, 720, 2))).sign(),
            S::BAD_REQUEST,
            "has the same content as another one",
        ),
    ]
}

fn form_cases(store: &Publishing) -> Vec<Case> {
    let signed = store.version("hello", "1.0.0").sign();
    let (meta, bundle): (&[u8], &[u8]) = (&signed.document, &signed.bundle);
    let cut = whole(&signed);
    let cut = cut[..cut.len() / 2].to_vec();
    let header = vec![b'a'; 1 << 20];
    let long_header = [format!("--{BOUNDARY}\r\ncontent-disposition: form-data; name=\"").as_bytes(), &header].concat();
    let bad = |what, body, error| Case { what, body, status: StatusCode::BAD_REQUEST, error };
    vec![
        bad("the bundle first", form(&[("blocklet-tarball", bundle), ("blocklet-meta", meta)]), "in this order: blocklet-meta is missing"),
        bad("no bundle", form(&[("blocklet-meta", meta)]), "in this order: blocklet-tarball is missing"),
        bad(
            "the source first",
            form(&[("blocklet-meta", meta), ("source", b"CLI"), ("blocklet-tarball", bundle)]),
            "blocklet-tarball is missing",
        ),
        bad("the manifest twice", form(&[("blocklet-meta", meta), ("blocklet-meta", meta)]), "blocklet-tarball is missing"),
        bad("another part", form(&[("blocklet-meta", meta), ("blocklet-tarball", bundle), ("other", b"x")]), "source is missing"),
        bad(
            "a part after the source",
            form(&[("blocklet-meta", meta), ("blocklet-tarball", bundle), ("source", b"CLI"), ("x", b"y")]),
            "a part after its source",
        ),
        bad("an unknown source", form(&[("blocklet-meta", meta), ("blocklet-tarball", bundle), ("source", b"X")]), "source is invalid"),
        bad("no parts", form(&[]), "blocklet-meta is missing"),
        bad("a cut connection", cut, "Sorry, request error"),
        Case { what: "an endless header", body: long_header, status: StatusCode::PAYLOAD_TOO_LARGE, error: "The body is too large" },
    ]
}

#[tokio::test]
async fn a_hostile_upload_is_refused_with_its_message_and_leaves_nothing() {
    let store = Publishing::open().await;
    for Case { what, body, status, error } in manifest_cases(&store).into_iter().chain(bundle_cases(&store)).chain(form_cases(&store)) {
        // The rate of uploads is another test's.
        let (found, answer) = store.send_body(body).await;
        let text = answer["error"].as_str().unwrap_or_default();
        assert!(found == status && text.contains(error), "{what}: {found} {answer}");
        assert!(answer["code"].is_string(), "{what}: every refusal has a code: {answer}");
        assert_eq!(store.files(), 0, "{what}: something is left on disk");
    }
    let did = store.version("hello", "1.0.0").did();
    let app = store.app.ctx.store.read().await.expect("reads").uploads().find_app(&did).await.expect("reads");
    assert_eq!(app, None, "nothing is recorded");
    assert_eq!(store.upload(&store.version("hello", "1.0.0").sign()).await.0, StatusCode::OK, "an honest upload succeeds");
}

#[tokio::test]
async fn a_request_that_is_no_form_is_refused() {
    let store = Publishing::open().await;
    let request = store.app.client.post("/api/blocklets/upload").content_type("application/json").body("{}");
    assert_eq!(request.send().await.0.status(), StatusCode::UNSUPPORTED_MEDIA_TYPE);
}
