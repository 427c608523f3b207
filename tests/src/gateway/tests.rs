use super::metric;

#[test]
fn sums_the_series_of_one_metric() {
    let text = "# TYPE decisions counter\n\
        decisions{outcome=\"allow\"} 3\n\
        decisions{outcome=\"deny\"} 4\n\
        decisions_broken 9\n\
        up 1\n";
    assert_eq!(metric(text, "decisions"), 7.0);
    assert_eq!(metric(text, "up"), 1.0);
    assert_eq!(metric(text, "down"), 0.0);
}
