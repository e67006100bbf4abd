use std::time::Instant;

use proptest::prelude::*;

use super::*;
use hero_model::{JobSpec, Seconds};

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn by_cron(pattern: &str, zone: &str) -> ScheduleSpec {
    ScheduleSpec {
        job: JobSpec::default(),
        cron: Some(pattern.into()),
        time_zone: (!zone.is_empty()).then(|| zone.into()),
        ..ScheduleSpec::default()
    }
}

fn every(seconds: f64) -> ScheduleSpec {
    ScheduleSpec { every: Seconds::new(seconds), ..ScheduleSpec::default() }
}

const CREATED: &str = "2026-11-21T10:00:00.250Z";

fn timetable(spec: &ScheduleSpec) -> Timetable {
    Timetable::new(spec, at(CREATED)).unwrap()
}

/// Returns the next occurrences after the creation, without their zero milliseconds.
fn next(spec: &ScheduleSpec, after: &str, count: usize) -> Vec<String> {
    Timetable::new(spec, at("1990-01-01T00:00:00Z"))
        .unwrap()
        .occurrences_after(at(after))
        .take(count)
        .map(|occurrence| occurrence.to_string().replace(".000Z", "Z"))
        .collect()
}

fn refused(spec: &ScheduleSpec) -> String {
    Timetable::new(spec, at(CREATED)).unwrap_err().to_string()
}

#[test]
fn five_fields_are_minutes_and_six_begin_with_seconds() {
    assert_eq!(next(&by_cron("30 9 * * MON-FRI", ""), CREATED, 2), ["2026-11-23T09:30:00Z", "2026-11-24T09:30:00Z"]);
    assert_eq!(next(&by_cron("*/20 * * * * *", ""), CREATED, 3), ["2026-11-21T10:00:20Z", "2026-11-21T10:00:40Z", "2026-11-21T10:01:00Z"]);
    assert_eq!(next(&by_cron("@daily", "America/New_York"), CREATED, 1), ["2026-11-22T05:00:00Z"]);
    assert_eq!(next(&by_cron("0 12 L FEB ?", ""), CREATED, 2), ["2027-02-28T12:00:00Z", "2028-02-29T12:00:00Z"]);
}

#[test]
fn an_occurrence_at_this_very_moment_is_not_after_it() {
    let spec = by_cron("* * * * * *", "");
    assert_eq!(next(&spec, "2026-11-21T10:00:00Z", 1), ["2026-11-21T10:00:01Z"]);
    assert_eq!(next(&spec, "2026-11-21T10:00:00.999Z", 1), ["2026-11-21T10:00:01Z"]);
}

#[test]
fn a_time_that_the_clock_leaves_out_comes_when_it_goes_on() {
    // In Berlin, 02:00 to 03:00 does not exist on 28 March 2027.
    let spec = by_cron("30 2 * * *", "Europe/Berlin");
    let expected = ["2027-03-27T01:30:00Z", "2027-03-28T01:00:00Z", "2027-03-29T00:30:00Z"];
    assert_eq!(next(&spec, "2027-03-27T00:00:00Z", 3), expected);
    assert_eq!(
        next(&by_cron("*/30 * * * *", "Europe/Berlin"), "2027-03-28T00:40:00Z", 2),
        ["2027-03-28T01:00:00Z", "2027-03-28T01:30:00Z"]
    );
}

#[test]
fn a_time_that_the_clock_shows_twice_comes_once_and_an_interval_goes_through() {
    // In Berlin, 02:00 to 03:00 comes twice on 31 October 2027.
    let fixed = by_cron("30 2 * * *", "Europe/Berlin");
    assert_eq!(next(&fixed, "2027-10-30T12:00:00Z", 2), ["2027-10-31T00:30:00Z", "2027-11-01T01:30:00Z"]);
    let interval = by_cron("0,30 * * * *", "Europe/Berlin");
    let expected = ["2027-10-31T00:30:00Z", "2027-10-31T01:00:00Z", "2027-10-31T01:30:00Z", "2027-10-31T02:00:00Z"];
    assert_eq!(next(&interval, "2027-10-31T00:00:00Z", 4), expected);
}

#[test]
fn an_impossible_date_has_no_occurrence_and_says_so_quickly() {
    let begun = Instant::now();
    assert_eq!(timetable(&by_cron("0 0 30 2 *", "Europe/Berlin")).after(at(CREATED)), None);
    assert!(begun.elapsed().as_secs() < 60, "{:?}", begun.elapsed());
}

#[test]
fn intervals_count_from_the_creation_and_do_not_drift() {
    let table = timetable(&every(90.5));
    assert_eq!(table.after(at(CREATED)), Some(at("2026-11-21T10:01:30.750Z")));
    assert_eq!(table.after(at("2026-11-21T10:01:30.750Z")), Some(at("2026-11-21T10:03:01.250Z")));
    // A later question gets the same sequence.
    assert_eq!(table.after(at("2026-11-21T10:02:59Z")), Some(at("2026-11-21T10:03:01.250Z")));
    assert_eq!(table.after(at("9999-12-31T23:59:59.999Z")), None);
    assert_eq!(timetable(&every(Seconds::MAX)).occurrences_after(at(CREATED)).take(1000).count(), 79);
}

#[test]
fn start_and_end_are_occurrences_themselves() {
    let (start, end) = (Some(at("2026-12-01T00:00:00Z")), Some(at("2026-12-01T02:00:00Z")));
    for spec in [every(3600.0), by_cron("0 * * * *", "")] {
        let spec = ScheduleSpec { start_at: start, end_at: end, ..spec };
        assert_eq!(next(&spec, CREATED, 9), ["2026-12-01T00:00:00Z", "2026-12-01T01:00:00Z", "2026-12-01T02:00:00Z"]);
    }
}

#[test]
fn invalid_schedules_are_refused_with_the_reason() {
    let both = ScheduleSpec { every: Seconds::new(5.0), ..by_cron("* * * * *", "") };
    for (spec, words) in [
        (by_cron("61 * * * *", ""), ["cron: ", "\"61\" is no minute", "0 to 59"]),
        (by_cron("* * *", ""), ["cron: ", "\"* * *\"", "such as"]),
        (by_cron("", ""), ["cron: ", "0 fields", "such as"]),
        (by_cron(&("1".repeat(200) + " * * * *"), ""), ["cron: ", "is no minute", "0 to 59"]),
        (by_cron(&"*".repeat(300), ""), ["cron: ", "300 bytes", "256"]),
        (by_cron("* * * * *", "Europe/Berlyn"), ["time_zone: ", "\"Europe/Berlyn\"", "did you mean Europe/Berlin?"]),
        (by_cron("* * * * *", "europe/berlin"), ["time_zone: ", "no time zone", "did you mean Europe/Berlin?"]),
        (by_cron("* * * * *", &"x".repeat(100_000)), ["time_zone: ", "no time zone", "such as"]),
        (both, ["every: ", "both", "one of them"]),
        (ScheduleSpec::default(), ["cron: ", "missing", "one of them"]),
        (every(0.5), ["every: ", "0.5", "once a second"]),
        (ScheduleSpec { time_zone: Some("Mars".into()), ..every(5.0) }, ["time_zone: ", "\"Mars\"", "no time zone"]),
        (ScheduleSpec { missed_limit: Some(0), ..every(5.0) }, ["missed_limit: ", "0", "1000"]),
        (ScheduleSpec { missed_limit: Some(1001), ..every(5.0) }, ["missed_limit: ", "1001", "1000"]),
    ] {
        let text = refused(&spec);
        assert!(words.iter().all(|word| text.contains(word)), "{words:?}: {text}");
        assert!(text.len() < 400, "{text}");
    }
}

/// The plan of a schedule that runs each minute from 10:01:00.250, with the occurrences as minutes.
fn plan(missed: Missed, limit: u16, expected: &str, tried_at: Option<&str>, now: &str) -> (u64, Vec<u32>, u32) {
    let spec = ScheduleSpec { missed, missed_limit: Some(limit), ..every(60.0) };
    let minute = |occurrence: Timestamp| occurrence.to_string()[14..16].parse().unwrap();
    let plan = timetable(&spec).plan(at(expected), tried_at.map(at), at(CREATED), at(now)).unwrap();
    (plan.missed, plan.occurrences.into_iter().map(minute).collect(), minute(plan.next.unwrap()))
}

#[test]
fn an_occurrence_that_is_a_little_late_is_not_missed() {
    for missed in [Missed::Skip, Missed::Once, Missed::All] {
        assert_eq!(plan(missed, 5, "2026-11-21T10:01:00.250Z", None, "2026-11-21T10:01:30Z"), (0, vec![1], 2), "{missed:?}");
    }
}

#[test]
fn missed_occurrences_are_left_out_or_made_up_for() {
    let (expected, late, in_time) = ("2026-11-21T10:01:00.250Z", "2026-11-21T10:10:50Z", "2026-11-21T10:10:10Z");
    assert_eq!(plan(Missed::Skip, 5, expected, None, late), (10, vec![], 11));
    assert_eq!(plan(Missed::Skip, 5, expected, None, in_time), (9, vec![10], 11));
    assert_eq!(plan(Missed::Once, 5, expected, None, late), (9, vec![10], 11));
    assert_eq!(plan(Missed::All, 100, expected, None, late), (0, (1..=10).collect(), 11));
    assert_eq!(plan(Missed::All, 3, expected, None, late), (7, vec![8, 9, 10], 11));
}

#[test]
fn with_skip_an_occurrence_of_a_short_outage_is_missed_unless_another_server_fires_it() {
    let plan = |missed, here_since, now| {
        let spec = ScheduleSpec { missed, ..every(2.0) };
        let plan = timetable(&spec).plan(at("2026-11-21T10:00:02.250Z"), None, at(here_since), at(now))?;
        Some((plan.missed, plan.occurrences.len(), plan.next.unwrap().to_string()[17..19].to_owned()))
    };
    let (here_since, soon, later) = ("2026-11-21T10:00:05Z", "2026-11-21T10:00:06Z", "2026-11-21T10:00:09Z");
    assert_eq!(plan(Missed::Skip, here_since, soon), None);
    assert_eq!(plan(Missed::Skip, here_since, later), Some((2, 2, "10".into())));
    assert_eq!(plan(Missed::Skip, CREATED, soon), Some((0, 2, "06".into())));
    for missed in [Missed::Once, Missed::All] {
        assert_eq!(plan(missed, here_since, soon), Some((0, 2, "06".into())), "{missed:?}");
    }
}

#[test]
fn occurrences_that_waited_for_room_are_not_missed() {
    let tried_at = Some("2026-11-21T10:10:40Z");
    let expected = (0, (1..=10).collect(), 11);
    assert_eq!(plan(Missed::Skip, 5, "2026-11-21T10:01:00.250Z", tried_at, "2026-11-21T10:10:50Z"), expected);
}

#[test]
fn years_of_missed_seconds_are_no_work() {
    for spec in [every(1.0), by_cron("* * * * * *", "Europe/Berlin")] {
        let spec = ScheduleSpec { missed: Missed::All, missed_limit: Some(1000), ..spec };
        let begun = Instant::now();
        let plan = timetable(&spec).plan(at("2026-11-21T10:00:02.250Z"), None, at(CREATED), at("2066-01-01T00:00:00.300Z")).unwrap();
        assert_eq!((plan.missed, plan.occurrences.len()), (1000, 1000));
        assert!(plan.occurrences.is_sorted() && plan.next.unwrap() > plan.occurrences[999]);
        assert!(begun.elapsed().as_secs() < 60, "{:?}", begun.elapsed());
    }
}

#[test]
fn a_plan_ends_where_the_schedule_ends() {
    let spec = ScheduleSpec { end_at: Some(at("2026-11-21T10:03:30Z")), missed: Missed::All, ..every(60.0) };
    let plan = timetable(&spec).plan(at("2026-11-21T10:01:00.250Z"), None, at(CREATED), at("2026-11-21T12:00:00Z")).unwrap();
    assert_eq!((plan.missed, plan.occurrences.len(), plan.next), (0, 3, None));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_is_a_danger(pattern in "[0-9*,/?#LW@A-Za-z -]{0,40}|\\PC{0,40}", zone in "\\PC{0,40}") {
        if let Ok(table) = Timetable::new(&by_cron(&pattern, ""), at(CREATED)) {
            let occurrences: Vec<Timestamp> = table.occurrences_after(at(CREATED)).take(3).collect();
            prop_assert!(occurrences.windows(2).all(|pair| pair[0] < pair[1]), "{pattern:?}: {occurrences:?}");
        }
        let _ = Timetable::new(&by_cron("* * * * *", &zone), at(CREATED));
    }

    #[test]
    fn the_occurrences_are_the_same_forwards_and_backwards(
        second in prop::sample::select(vec!["0", "*", "*/25", "7,30"]),
        minute in prop::sample::select(vec!["*", "0", "*/7", "30", "0,59", "25-35"]),
        hour in prop::sample::select(vec!["*", "2", "1-3", "*/2", "0"]),
        (zone, change) in prop::sample::select(vec![
            ("UTC", "2027-01-01T00:00:00Z"),
            ("Europe/Berlin", "2027-03-28T01:00:00Z"),
            ("Europe/Berlin", "2027-10-31T01:00:00Z"),
            ("America/New_York", "2027-03-14T07:00:00Z"),
            ("America/New_York", "2027-11-07T06:00:00Z"),
            ("Australia/Lord_Howe", "2027-04-03T15:00:00Z"),
            ("Australia/Lord_Howe", "2027-10-02T15:30:00Z"),
        ]),
        before in 0_u64..6 * 3600,
    ) {
        let pattern = format!("{second} {minute} {hour} * * *");
        let table = Timetable::new(&by_cron(&pattern, zone), at("1990-01-01T00:00:00Z")).unwrap();
            let from = at(change).minus(Duration::from_secs(before));
            let forwards: Vec<Timestamp> = table.occurrences_after(from).take(200).collect();
            prop_assert!(forwards.windows(2).all(|pair| pair[0] < pair[1]));
            let last = forwards[forwards.len() - 1];
            let mut backwards: Vec<Timestamp> =
                std::iter::successors(Some(last), |occurrence| table.at_or_before(occurrence.minus(Duration::from_millis(1)))).take(200).collect();
            backwards.reverse();
            prop_assert_eq!(forwards, backwards, "{} in {}", pattern, zone);
    }
}

#[test]
fn without_firing_all_due_occurrences_are_counted_as_missed() {
    let (table, created) = (timetable(&every(10.0)), at(CREATED));
    let after = |seconds: u64| created.plus(Duration::from_secs(seconds));
    assert_eq!(table.plan_for_none(after(10), after(35)), Plan { missed: 3, occurrences: Vec::new(), next: Some(after(40)) });
    // The count stops at a limit.
    assert_eq!(table.plan_for_none(after(10), after(100_000)).missed, MAX_COUNTED_SKIPS as u64);
    let ends = timetable(&ScheduleSpec { end_at: Some(after(20)), ..every(10.0) });
    assert_eq!(ends.plan_for_none(after(10), after(35)), Plan { missed: 2, occurrences: Vec::new(), next: None });
}
