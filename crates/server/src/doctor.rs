//! The command `souk doctor`: checks what the store needs outside its own database, and says how to provide what is missing.

use crate::commands::audited;
use crate::compose::{Failure, open_with_networks};
use crate::config::DoctorArgs;
use souk_domain::access::Operation;
use souk_domain::doctor;
use souk_domain::operation::{DiskShortage, Finding, FindingCode, Severity};
use souk_domain::payment::{self, GasState, GasStatus, Method, MethodCheck, RailError, Sandbox};
use souk_domain::shared::{Amount, Mode};
use url::Url;

/// Checks the disk space, every active payment method, whether strangers can reach the sandbox, and everything else that can be wrong or
/// risky. With `--stake-for-gas` it stakes first
/// where the store's account has the funds.
///
/// # Errors
/// Fails if the disk is short, if a method does not work or lacks a stake for gas, or if anything else needs attention.
pub async fn run(args: &DoctorArgs) -> Result<(), Failure> {
    let store = args.address()?;
    let ctx = open_with_networks(&args.common, &store).await?;
    let configured = args.common.sandbox(&store, false).sandbox;
    let mut is_sandbox_on = configured == Sandbox::On;
    let shortage = ctx.disk.shortage();
    println!("{}", disk_lines(shortage.as_ref()).join("\n"));
    let (mut missing, mut checked) = (0, 0);
    for mode in [Mode::Live, Mode::Test] {
        for method in payment::methods_of(&ctx, mode).await?.into_iter().filter(|method| method.active) {
            checked += 1;
            let mut check = payment::check_method(&ctx, &method).await?;
            if args.stake_for_gas && check.gas.as_ref().is_some_and(|gas| gas.status() == GasStatus::ReadyToStake) {
                check.gas = Some(
                    payment::stake_for_gas(&audited(&ctx, Operation::StakeForGas, vec![method.id.to_string()]), mode, &method.id).await?,
                );
            }
            // The running store may have been started with another option, and says so itself.
            is_sandbox_on |= method.settings.is_sandbox() && check.problem.is_none();
            let report = report(&method, &check, &store, configured);
            missing += usize::from(!report.is_complete);
            println!("{}", report.lines.join("\n"));
        }
    }
    for line in risk_of_sandbox(is_sandbox_on, &store) {
        println!("{line}");
    }
    let found = doctor::examine(&ctx).await?.into_iter().filter(|finding| !is_reported_above(finding.code));
    let mut errors = 0;
    for finding in found {
        errors += usize::from(finding.code.severity() == Severity::Error);
        println!("{}: {}", finding.code.severity().name(), described(&finding));
        println!("  {}", remedy(&finding));
    }
    if checked == 0 {
        println!("There are no active payment methods.");
    }
    let methods = counted(missing, "one payment method needs attention", "payment methods need attention");
    let findings = counted(errors, "one finding needs attention", "findings need attention");
    let problems: Vec<_> = shortage.map(|_| "the disk needs attention".to_owned()).into_iter().chain(methods).chain(findings).collect();
    if !problems.is_empty() {
        return Err(problems.join(", ").into());
    }
    if checked > 0 {
        println!("Everything is in place.");
    }
    Ok(())
}

/// The number of things of a kind; `None`: there are none.
fn counted(number: usize, one: &str, many: &str) -> Option<String> {
    match number {
        0 => None,
        1 => Some(one.to_owned()),
        _ => Some(format!("{number} {many}")),
    }
}

/// What is printed about the disk.
fn disk_lines(shortage: Option<&DiskShortage>) -> Vec<String> {
    const MIB: u64 = 1_024 * 1_024;
    let mut lines = vec!["Disk".to_owned()];
    match shortage {
        None => lines.push("  ok: enough space is free".to_owned()),
        Some(DiskShortage { folder, free_bytes, reserve_bytes, .. }) => lines.extend([
            format!("  not ok: {} MiB are free in {folder}, less than the reserve of {} MiB", free_bytes / MIB, reserve_bytes / MIB),
            "  The store refuses new sessions and uploads, and still records payments in progress.".to_owned(),
            "  Delete files that are not needed, or enlarge the disk. The store then continues automatically.".to_owned(),
        ]),
    }
    lines
}

/// Whether the command reports the disk, the methods and the sandbox itself, with more detail.
const fn is_reported_above(code: FindingCode) -> bool {
    matches!(code, FindingCode::Disk | FindingCode::MethodFails | FindingCode::Gas | FindingCode::SandboxOn)
}

/// What a finding says, in words.
fn described(finding: &Finding) -> String {
    let value = |name: &str| finding.value(name);
    match finding.code {
        FindingCode::Clock => {
            format!("the clock of {} differs by {} seconds, so automatic billing has stopped", value("host"), value("seconds"))
        }
        FindingCode::Disk => {
            format!("only {} bytes are free at {}, less than the reserve of {}", value("free"), value("path"), value("reserve"))
        }
        FindingCode::KeyReadable => format!("other users of this machine can read the store's key {}", value("path")),
        FindingCode::DeadLetters => format!("messages that could not be delivered: {}", value("count")),
        FindingCode::MethodFails => format!("the payment method {} does not work: {}", value("name"), value("problem")),
        FindingCode::Holds => format!("subscriptions with billing on hold: {}", value("count")),
        FindingCode::HeldPayments => {
            format!("payments on hold, because their network moved a different amount than requested: {}", value("count"))
        }
        FindingCode::HeldTransfers => {
            format!(
                "refunds, payouts and deposits on hold, because their network moved a different amount than ordered: {}",
                value("count")
            )
        }
        FindingCode::Breaker => format!("the network of the payment method {} does not answer", value("method")),
        FindingCode::Gas => format!("the store has not staked for gas at the network of {}", value("name")),
        FindingCode::NoHttps => format!("the store's address {} is not under https", value("address")),
        FindingCode::SandboxOn => "the sandbox is on although the store's address is under https".to_owned(),
        FindingCode::UntrustedProxy => format!("{} forwards requests but is not a trusted proxy", value("address")),
        FindingCode::MixedVersions => format!("processes of different versions run: {}", value("versions")),
        FindingCode::MixedOptions => format!("processes were started with different options: {}", value("options")),
        FindingCode::ProcessWithoutMail => {
            format!("processes without a mail server write emails to their data folders instead of sending them: {}", value("hosts"))
        }
        FindingCode::NoMailServer => "emails are written to the data folder, not sent".to_owned(),
        FindingCode::NoOwnerEmail => "no owner has an email address".to_owned(),
        FindingCode::NoRedis => "PostgreSQL is used without Redis, so only one process may run".to_owned(),
        FindingCode::DefaultDailyCap => format!(
            "refunds and payouts in {} have the default cap: in 24 hours, what the store received in the last 30 days",
            value("symbol")
        ),
        FindingCode::KeyInFolder => format!("the store's key is only in {}", value("path")),
    }
}

/// What to do about a finding.
fn remedy(finding: &Finding) -> String {
    match finding.code {
        FindingCode::Clock => "Set the clock right, or run `souk clock confirm` if it is right.".to_owned(),
        FindingCode::Disk => "Free some space or enlarge the disk.".to_owned(),
        FindingCode::KeyReadable => format!("Run `chmod 600 {}`.", finding.value("path")),
        FindingCode::DeadLetters => "Run `souk dead-letters`, fix the cause, and retry them.".to_owned(),
        FindingCode::MethodFails | FindingCode::Breaker => "Check the settings of the payment method and its network.".to_owned(),
        FindingCode::Holds | FindingCode::HeldPayments | FindingCode::HeldTransfers => {
            "Decide about them on the page /console/on-hold.".to_owned()
        }
        FindingCode::Gas => "Run `souk doctor --stake-for-gas`.".to_owned(),
        FindingCode::NoHttps => "Put a proxy with a certificate in front, and set --public-url to its https address.".to_owned(),
        FindingCode::SandboxOn => "Start the store with `--sandbox off`, unless it is a demo.".to_owned(),
        FindingCode::UntrustedProxy => format!("If it is your proxy, start the store with `--trusted-proxy {}`.", finding.value("address")),
        FindingCode::MixedVersions => "Replace the older binaries and start their processes again.".to_owned(),
        FindingCode::MixedOptions => {
            "Give all processes of the store the same options and environment variables, and start them again.".to_owned()
        }
        FindingCode::ProcessWithoutMail => "Set SMTP_URL for all processes of the store, and start them again.".to_owned(),
        FindingCode::NoMailServer => "Set SMTP_URL to your mail server.".to_owned(),
        FindingCode::NoOwnerEmail => "Sign in as the owner and enter an email address on the page /profile.".to_owned(),
        FindingCode::NoRedis => "Set REDIS_URL before you start a second process.".to_owned(),
        FindingCode::DefaultDailyCap => {
            format!("Set --daily-caps, such as {}=1000, to the most that you refund in a day.", finding.value("symbol"))
        }
        FindingCode::KeyInFolder => "Keep a copy elsewhere: without it, stored secrets cannot be read.".to_owned(),
    }
}

/// What is printed about a method.
#[derive(Debug, PartialEq, Eq)]
struct Report {
    lines: Vec<String>,
    is_complete: bool,
}

/// What is printed if strangers can reach the sandbox of a real store. Not a failure, because an owner may want it.
fn risk_of_sandbox(is_on: bool, store: &Url) -> Vec<String> {
    if !is_on || store.scheme() != "https" {
        return Vec::new();
    }
    vec![
        format!("Sandbox of {store}"),
        "  risk: the sandbox is on although the store's address is under https, so strangers can order in test mode".to_owned(),
        "  Start the store with `--sandbox off`, unless it is a demo.".to_owned(),
    ]
}

fn report(method: &Method, check: &MethodCheck, store: &Url, sandbox: Sandbox) -> Report {
    let mode = if method.mode.is_live() { "live" } else { "test" };
    let mut lines = vec![format!("{} ({}, {mode} mode)", method.name, method.id)];
    if sandbox == Sandbox::Off && method.settings.is_sandbox() && matches!(check.problem, Some(RailError::Unreachable(_))) {
        lines.push("  ok: the sandbox is off, so its payments and renewals wait".to_owned());
        return Report { lines, is_complete: true };
    }
    lines.push(match &check.problem {
        Some(problem) => format!("  not ok: {problem}"),
        None => "  ok: the network accepts the settings".to_owned(),
    });
    let mut is_complete = check.problem.is_none();
    if let Some(gas) = &check.gas {
        let lacks_gas = matches!(gas.status(), GasStatus::ReadyToStake | GasStatus::LacksFunds);
        is_complete &= !lacks_gas;
        lines.extend(gas_lines(method, gas, store));
    }
    Report { lines, is_complete }
}

fn gas_lines(method: &Method, gas: &GasState, store: &Url) -> Vec<String> {
    let tokens = |amount: Amount| format!("{} {}", amount.to_decimal(gas.decimals), gas.symbol);
    let page = store.join(&format!("console/payment-methods/{}", method.id)).map_or_else(|_| store.to_string(), |page| page.to_string());
    let stake = format!("Stake {} on {page} or with `souk doctor --stake-for-gas`.", tokens(gas.least_stake()));
    let charges = format!("the network charges about {} per transaction", tokens(gas.cost));
    match gas.status() {
        GasStatus::Free => vec!["  ok: the network charges nothing for transactions".to_owned()],
        GasStatus::Staked => vec![format!("  ok: {} are staked for gas, so nobody is charged for transactions", tokens(gas.staked))],
        GasStatus::ReadyToStake => vec![format!("  not ok: {charges}, because the store has not staked for gas"), format!("  {stake}")],
        GasStatus::LacksFunds => vec![
            format!("  not ok: {charges}, because the store has not staked for gas"),
            format!("  Send {} to {}, the store's account. {stake}", tokens(gas.missing()), gas.account),
        ],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use souk_domain::access::Did;
    use souk_domain::payment::{MethodKind, MethodSettings, RailError};
    use souk_domain::shared::{MethodId, Timestamp};

    fn method() -> Method {
        let at = Timestamp::from_seconds(0);
        Method {
            id: MethodId::parse("pm_1").expect("an id"),
            mode: Mode::Test,
            kind: MethodKind::Arcblock,
            active: true,
            name: "Wallet".to_owned(),
            description: String::new(),
            logo: String::new(),
            settings: MethodSettings::Bitcoin { explorer_host: String::new() },
            default_currency_id: None,
            created_at: at,
            updated_at: at,
        }
    }

    fn report_on(problem: Option<RailError>, staked: u128, balance: u128) -> Report {
        let gas = GasState {
            account: Did::from_verified("zNK".to_owned()),
            token: "z35n".to_owned(),
            symbol: "TKN".to_owned(),
            decimals: 0,
            cost: Amount::new(1),
            min_stake: Amount::new(32),
            staked: Amount::new(staked),
            balance: Amount::new(balance),
        };
        let store = Url::parse("https://store.example/shop/").expect("an address");
        report(&method(), &MethodCheck { gas: problem.is_none().then_some(gas), problem }, &store, Sandbox::On)
    }

    #[test]
    fn a_sandbox_that_is_on_under_https_is_a_risk_with_a_remedy() {
        let address = |text: &str| Url::parse(text).expect("an address");
        let risk = risk_of_sandbox(true, &address("https://store.example/")).join("\n");
        assert!(risk.contains("risk: the sandbox is on") && risk.contains("`--sandbox off`"), "{risk}");
        assert!(risk_of_sandbox(false, &address("https://store.example/")).is_empty());
        assert!(risk_of_sandbox(true, &address("http://127.0.0.1:8080/")).is_empty());
    }

    #[test]
    fn every_finding_is_described_with_its_remedy() {
        for code in FindingCode::ALL {
            let finding = Finding::new(*code).with("path", "data/secret.key").with("address", "10.0.0.9").with("symbol", "USD");
            assert!(!described(&finding).is_empty() && remedy(&finding).ends_with('.'), "{code:?}");
        }
    }

    #[test]
    fn a_method_of_a_sandbox_that_is_off_needs_no_attention() {
        let settings = MethodSettings::Arcblock {
            chain_id: "beta".to_owned(),
            api_host: "/sandbox/arcblock/api/".to_owned(),
            explorer_host: String::new(),
        };
        let (sandbox, store) = (Method { settings, ..method() }, Url::parse("https://store.example/").expect("an address"));
        let silent = MethodCheck { problem: Some(RailError::Unreachable("HTTP 503".to_owned())), gas: None };
        let of = |method: &Method, sandbox| report(method, &silent, &store, sandbox).is_complete;
        assert!(of(&sandbox, Sandbox::Off));
        assert!(!of(&sandbox, Sandbox::On) && !of(&method(), Sandbox::Off));
    }

    #[test]
    fn the_report_says_what_to_do_about_a_full_disk() {
        let disk = DiskShortage {
            host: "shop-1".to_owned(),
            folder: "/srv/souk".to_owned(),
            free_bytes: 12_900_000,
            reserve_bytes: 256 * 1_024 * 1_024,
        };
        assert_eq!(
            disk_lines(Some(&disk)),
            [
                "Disk",
                "  not ok: 12 MiB are free in /srv/souk, less than the reserve of 256 MiB",
                "  The store refuses new sessions and uploads, and still records payments in progress.",
                "  Delete files that are not needed, or enlarge the disk. The store then continues automatically.",
            ]
        );
        assert_eq!(disk_lines(None).len(), 2);
    }

    #[test]
    fn the_report_says_what_is_missing_and_how_to_stake() {
        let lacking = report_on(None, 0, 2);
        assert!(!lacking.is_complete);
        assert_eq!(
            lacking.lines,
            [
                "Wallet (pm_1, test mode)",
                "  ok: the network accepts the settings",
                "  not ok: the network charges about 1 TKN per transaction, because the store has not staked for gas",
                "  Send 30 TKN to zNK, the store's account. Stake 32 TKN on https://store.example/shop/console/payment-methods/pm_1 or with \
                 `souk doctor --stake-for-gas`.",
            ]
        );
        let ready = report_on(None, 0, 40);
        assert!(!ready.is_complete && ready.lines.iter().all(|line| !line.contains("Send")), "{ready:?}");
        assert!(report_on(None, 32, 0).is_complete);
        let unreachable = report_on(Some(RailError::Unreachable("no connection".to_owned())), 0, 0);
        assert_eq!((unreachable.is_complete, unreachable.lines.len()), (false, 2));
    }
}
