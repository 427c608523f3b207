use clap::Parser;

use super::SimArgs;

#[derive(Debug, Parser)]
struct Command {
    #[command(flatten)]
    sim: SimArgs,
}

fn parse(arguments: &[&str]) -> Result<SimArgs, String> {
    let all = std::iter::once("sim").chain(arguments.iter().copied());
    Command::try_parse_from(all)
        .map(|command| command.sim)
        .map_err(|error| error.to_string())
}

fn check(arguments: &[&str], expected: &str) {
    let error = parse(arguments).expect_err(expected);
    assert!(error.contains(expected), "{error}");
}

#[test]
fn arguments_have_defaults_and_bounds() {
    let args = parse(&["--lose-radio", "drone_2@30", "--lose-radio", "drone_1@0"]).unwrap();
    assert_eq!(args.lose_radio, [(1, 300), (0, 0)]);
    assert_eq!(args.drones, 5);
    assert_eq!(args.speed, 1.0);
    check(&["--speed", "0"], "must be a number from 0.1 to 100");
    check(&["--speed", "NaN"], "must be a number from 0.1 to 100");
    check(&["--wind", "3"], "must be a number from 0 to 2");
    check(&["--drones", "0"], "0 is not in 1..=100");
    check(&["--lose-radio", "drone_0@1"], "must be like `drone_2@30`");
    check(&["--lose-radio", "2@1"], "must be like `drone_2@30`");
    check(&["--listen", "nowhere"], "invalid socket address");
}
