//! The README's tour works word for word.

use std::path::Path;

use interlock_tests::system::{Plan, System};
use interlock_tests::{console, repository};

#[tokio::test(flavor = "multi_thread")]
async fn the_tour_works_word_for_word() {
    let document = repository::text(Path::new("README.md")).expect("the README is text");
    let steps = console::steps(&document);
    assert!(steps.len() > 5, "the tour has {} steps", steps.len());
    let system = System::start(Plan::OPEN).await;
    let gateway = system.gateway();
    let addresses = [
        ("127.0.0.1:8080", gateway.address().to_string()),
        ("127.0.0.1:8081", gateway.ops_address().to_string()),
    ];
    let addresses = addresses
        .each_ref()
        .map(|(shown, here)| (*shown, here.as_str()));
    if let Err(report) = console::run(&steps, &repository::root(), &addresses) {
        panic!("README.md, {report}");
    }
}
