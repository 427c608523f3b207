use std::path::Path;
use std::process::ExitCode;

use tokio::net::TcpListener;

use super::{SetUpError, end, exit, listen, read};

fn check(error: &SetUpError, text: &str, code: u8) {
    assert!(error.to_string().starts_with(text), "{error}");
    assert_eq!(error.exit_code(), code, "{error}");
}

#[tokio::test]
async fn each_fault_says_where_and_has_its_code() {
    let missing = read(Path::new("there/is/no.toml")).expect_err("no such file");
    check(&missing, "cannot read `there/is/no.toml`: ", exit::USAGE);
    let taken = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = taken.local_addr().unwrap();
    let refused = listen(address).await.expect_err("it is taken");
    check(
        &refused,
        &format!("cannot listen on `{address}`: "),
        exit::OS,
    );
}

#[test]
fn an_end_is_told_by_its_code() {
    let fails = |_: &&str| exit::UNAVAILABLE;
    assert_eq!(end("service", Ok::<(), &str>(()), fails), ExitCode::SUCCESS);
    assert_eq!(
        end("service", Err("the reason"), fails),
        ExitCode::from(exit::UNAVAILABLE)
    );
}
