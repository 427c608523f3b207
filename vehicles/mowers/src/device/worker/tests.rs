use std::sync::atomic::Ordering;

use jiff::SignedDuration;
use tokio::time::sleep;

use crate::connection::{Sent, Verdict};
use crate::contract::state::Job;
use crate::contract::{Command, CommandKind, PathError, PathErrorCode, Start, Status};
use crate::device::testkit::{Reached, Rig, Vendor, area, ms, path, start_mow};

/// What becomes of a command when the vendor does that.
async fn check(vendor: Vendor, expected: Option<(Status, &str)>) {
    let rig = Rig::start().await;
    *rig.script.commands.lock().unwrap() = vendor;
    let id = rig.command(Command::PauseMow {}).await;
    sleep(ms(60_000)).await;
    let last = rig.last(id);
    let last = last
        .as_ref()
        .map(|(status, reason)| (*status, reason.as_str()));
    assert_eq!(last, expected);
    assert_eq!(rig.statuses(id).first(), Some(&Status::Accepted));
}

#[tokio::test(start_paused = true)]
async fn the_vendors_word_makes_the_final() {
    let says = |verdict| Vendor::Answers(ms(1), verdict);
    let text = |text: &str| text.to_owned();
    check(Vendor::executes(), Some((Status::Executed, ""))).await;
    let nothing = says(Verdict::Executed(Some(text("no-effect"))));
    check(nothing, Some((Status::Executed, "no-effect"))).await;
    let no_job = says(Verdict::Rejected(text("no-job")));
    check(no_job, Some((Status::Rejected, "no-job"))).await;
    let failed = says(Verdict::Failed(text("blade-blocked")));
    check(failed, Some((Status::Failed, "blade-blocked"))).await;
    let offline = Vendor::Says(Sent::NotSent(text("no link")));
    check(offline, Some((Status::Failed, "offline: no link"))).await;
}

#[tokio::test(start_paused = true)]
async fn what_is_not_known_stays_accepted() {
    check(Vendor::Silent, None).await;
    check(Vendor::Says(Sent::Unknown("lost".to_owned())), None).await;
    // It hangs for longer than is waited for.
    check(Vendor::Slow(ms(59_000)), None).await;
}

#[tokio::test(start_paused = true)]
async fn a_late_answer_makes_the_final_and_a_second_one_changes_nothing() {
    let rig = Rig::start().await;
    *rig.script.commands.lock().unwrap() = Vendor::Silent;
    let id = rig.command(Command::PauseMow {}).await;
    sleep(ms(50_000)).await;
    assert_eq!(rig.statuses(id), [Status::Accepted]);
    rig.script.says(id, Verdict::Executed(None));
    sleep(ms(100)).await;
    rig.script.says(id, Verdict::Executed(None));
    rig.script.says(id, Verdict::Failed("no".to_owned()));
    sleep(ms(100)).await;
    assert_eq!(rig.statuses(id), [Status::Accepted, Status::Executed]);
    assert_eq!(rig.counts().late_answers, 1);
}

#[tokio::test(start_paused = true)]
async fn an_answer_to_what_was_never_sent_is_counted_only() {
    let rig = Rig::start().await;
    let stranger = uuid::Uuid::now_v7();
    rig.script.says(stranger, Verdict::Executed(None));
    sleep(ms(100)).await;
    assert!(rig.results(stranger).is_empty());
    assert_eq!(rig.counts().stray_answers, 1);
}

#[tokio::test(start_paused = true)]
async fn expiry_is_checked_again_after_the_wait_in_the_queue() {
    let rig = Rig::with(|config| config.times.answer = ms(20_000), 0).await;
    *rig.script.commands.lock().unwrap() = Vendor::Silent;
    let first = rig.command(Command::StartMow(start_mow())).await;
    let mut second = rig.envelope(Command::StartMow(start_mow()));
    second.expires_at = rig.now() + SignedDuration::from_secs(10);
    rig.publish(&second).await;
    sleep(ms(25_000)).await;
    assert_eq!(rig.script.times_sent(first), 1);
    assert_eq!(rig.script.times_sent(second.command_id), 0);
    let statuses = rig.statuses(second.command_id);
    assert_eq!(statuses, [Status::Accepted, Status::Expired]);
}

#[tokio::test(start_paused = true)]
async fn commands_of_a_mower_go_out_one_after_the_other() {
    let rig = Rig::start().await;
    *rig.script.commands.lock().unwrap() = Vendor::Answers(ms(3_000), Verdict::Executed(None));
    let first = rig.command(Command::StartMow(start_mow())).await;
    let second = rig.command(Command::SetSpeed { speed_mps: 0.3 }).await;
    sleep(ms(2_000)).await;
    assert_eq!(rig.script.times_sent(second), 0, "the first is under way");
    sleep(ms(2_000)).await;
    let kinds: Vec<_> = rig.script.reached();
    assert!(matches!(kinds.as_slice(), [
        Reached::Command(a, CommandKind::StartMow, _),
        Reached::Command(b, CommandKind::SetSpeed, _),
    ] if *a == first && *b == second));
}

#[tokio::test(start_paused = true)]
async fn a_calming_command_does_not_wait_for_the_word_on_the_one_before() {
    let rig = Rig::start().await;
    *rig.script.commands.lock().unwrap() = Vendor::Silent;
    rig.command(Command::StartMow(start_mow())).await;
    let pause = rig.command(Command::PauseMow {}).await;
    assert_eq!(rig.script.times_sent(pause), 1);
}

#[tokio::test(start_paused = true)]
async fn a_vendor_at_its_limit_is_not_asked_again_before_its_time() {
    let rig = Rig::start().await;
    *rig.script.commands.lock().unwrap() = Vendor::Says(Sent::Limited { retry_after_s: 20 });
    let first = rig.command(Command::PauseMow {}).await;
    assert_eq!(
        rig.last(first).unwrap(),
        (
            Status::Failed,
            "vendor-limited: retry after 20 s".to_owned()
        )
    );
    *rig.script.commands.lock().unwrap() = Vendor::executes();
    let second = rig.command(Command::PauseMow {}).await;
    assert!(rig.last(second).unwrap().1.starts_with("vendor-limited"));
    assert_eq!(rig.script.times_sent(second), 0);
    sleep(ms(20_000)).await;
    let third = rig.command(Command::PauseMow {}).await;
    assert_eq!(rig.last(third).unwrap().0, Status::Executed);
}

fn expecting(hash: &str) -> Command {
    Command::StartMow(Start {
        area_ids: vec![area()],
        expected_path_hash: Some(hash.to_owned()),
        ..start_mow()
    })
}

#[tokio::test(start_paused = true)]
async fn a_start_drives_the_path_it_names_or_none() {
    let rig = Rig::start().await;
    rig.script.plan.lock().unwrap().1 = Ok(path("aa"));
    let same = rig.command(expecting("aa")).await;
    assert_eq!(rig.last(same).unwrap().0, Status::Executed);
    let other = rig.command(expecting("bb")).await;
    let (status, reason) = rig.last(other).unwrap();
    assert_eq!(status, Status::Rejected);
    assert!(reason.starts_with("plan-changed"), "{reason}");
    assert_eq!(rig.script.times_sent(other), 0);
    // Without a hash nothing is planned here.
    rig.command(Command::StartMow(start_mow())).await;
    assert_eq!(rig.script.plans.load(Ordering::SeqCst), 2);
}

#[tokio::test(start_paused = true)]
async fn a_path_that_cannot_be_checked_is_not_driven() {
    let rig = Rig::start().await;
    rig.script.plan.lock().unwrap().1 = Err(PathError {
        code: PathErrorCode::Failed,
        detail: "no".to_owned(),
    });
    let id = rig.command(expecting("aa")).await;
    assert!(rig.last(id).unwrap().1.starts_with("path-not-checked"));
    rig.script.plan.lock().unwrap().0 = ms(40_000);
    let slow = rig.command(expecting("aa")).await;
    sleep(ms(31_000)).await;
    assert_eq!(rig.last(slow).unwrap().0, Status::Expired);
    assert_eq!(rig.script.times_sent(slow), 0);
    rig.script.capabilities.lock().unwrap().path_preview = false;
    let unable = rig.command(expecting("aa")).await;
    assert!(rig.last(unable).unwrap().1.starts_with("capability"));
}

#[tokio::test(start_paused = true)]
async fn the_right_to_move_is_checked_again_after_planning() {
    let rig = Rig::start().await;
    rig.script.plan.lock().unwrap().0 = ms(8_000);
    rig.bus.deaf.store(true, Ordering::SeqCst);
    let id = rig.command(expecting("aa")).await;
    sleep(ms(8_000)).await;
    let (status, reason) = rig.last(id).unwrap();
    assert_eq!(status, Status::Failed);
    assert!(reason.starts_with("lease-lost"), "{reason}");
    assert_eq!(rig.script.times_sent(id), 0);
}

#[tokio::test(start_paused = true)]
async fn a_resume_goes_on_with_the_path_it_names_or_not_at_all() {
    let rig = Rig::start().await;
    let resume = || Command::ResumeMow {
        expected_path_hash: Some("aa".to_owned()),
    };
    let none = rig.command(resume()).await;
    assert!(rig.last(none).unwrap().1.starts_with("plan-changed"));
    for (hash, expected) in [("bb", Status::Rejected), ("aa", Status::Executed)] {
        rig.change_state(|state| {
            state.job = Some(Job {
                plan_id: area(),
                path_hash: hash.to_owned(),
                area_id: None,
                progress_percent: 1.0,
                mowed_m2: 1.0,
                eta_s: 1.0,
            });
        });
        let id = rig.command(resume()).await;
        assert_eq!(rig.last(id).unwrap().0, expected);
    }
}

/// A command that was recorded when the mower had been calmed so often.
async fn asked(rig: &Rig, command: Command, calm_epoch: u64) -> uuid::Uuid {
    let mut envelope = rig.envelope(command);
    envelope.calm_epoch = calm_epoch;
    rig.publish(&envelope).await;
    sleep(ms(100)).await;
    envelope.command_id
}

fn superseded(rig: &Rig, id: uuid::Uuid) {
    let last = rig.last(id).unwrap();
    let expected = (Status::Rejected, "superseded-by-calming".to_owned());
    assert_eq!(last, expected);
    assert_eq!(rig.script.times_sent(id), 0);
}

#[tokio::test(start_paused = true)]
async fn a_start_that_is_still_planned_yields_to_what_calms() {
    for calming in [Command::PauseMow {}, Command::ReturnToDock {}] {
        let rig = Rig::start().await;
        rig.script.plan.lock().unwrap().0 = ms(20_000);
        let start = asked(&rig, expecting("aa"), 0).await;
        let calm = asked(&rig, calming, 1).await;
        superseded(&rig, start);
        assert_eq!(rig.last(calm).unwrap().0, Status::Executed);
        sleep(ms(40_000)).await;
        superseded(&rig, start);
    }
}

#[tokio::test(start_paused = true)]
async fn what_was_asked_before_a_pause_does_not_undo_it_when_it_comes_after_it() {
    let rig = Rig::start().await;
    let pause = asked(&rig, Command::PauseMow {}, 1).await;
    assert_eq!(rig.last(pause).unwrap().0, Status::Executed);
    let resume = Command::ResumeMow {
        expected_path_hash: None,
    };
    for late in [
        Command::StartMow(start_mow()),
        resume,
        Command::LeaveDock {},
        Command::ReturnToDock {},
    ] {
        superseded(&rig, asked(&rig, late, 0).await);
    }
    // What does not move it, and what was asked after it, goes on.
    for (later, epoch) in [
        (Command::SetSpeed { speed_mps: 0.3 }, 0),
        (Command::StartMow(start_mow()), 1),
    ] {
        let id = asked(&rig, later, epoch).await;
        assert_eq!(rig.last(id).unwrap().0, Status::Executed);
    }
}

#[tokio::test(start_paused = true)]
async fn a_pause_is_not_undone_by_what_comes_after_a_restart() {
    let mut rig = Rig::start().await;
    asked(&rig, Command::PauseMow {}, 7).await;
    rig.restart().await;
    superseded(&rig, asked(&rig, Command::StartMow(start_mow()), 6).await);
    let later = asked(&rig, Command::StartMow(start_mow()), 7).await;
    assert_eq!(rig.last(later).unwrap().0, Status::Executed);
}

/// Another gateway held the mower, and had the pause; this one read its list
/// before.
#[tokio::test(start_paused = true)]
async fn a_pause_is_not_undone_by_what_comes_to_the_next_gateway() {
    let mut rig = Rig::start().await;
    let folder = tempfile::tempdir().unwrap();
    rig.config.shard = "two".to_owned();
    rig.config.state = folder.path().to_owned();
    let next = rig.another().await;
    assert!(next.holds().is_empty());
    rig.rows.0.lock().unwrap()[0].calm_epoch = 7;
    rig.gateway = None;
    sleep(ms(9_000)).await;
    assert_eq!(next.holds(), [rig.mower]);
    superseded(&rig, asked(&rig, Command::StartMow(start_mow()), 6).await);
    let later = asked(&rig, Command::StartMow(start_mow()), 7).await;
    assert_eq!(rig.last(later).unwrap().0, Status::Executed);
}

#[tokio::test(start_paused = true)]
async fn what_calms_waits_for_nothing_that_was_not_sent() {
    let rig = Rig::with(|config| config.bounds.queue = 2, 0).await;
    *rig.script.commands.lock().unwrap() = Vendor::Silent;
    asked(&rig, Command::StartMow(start_mow()), 0).await;
    let resume = Command::ResumeMow {
        expected_path_hash: None,
    };
    let motion = asked(&rig, resume, 0).await;
    let speed = asked(&rig, Command::SetSpeed { speed_mps: 0.3 }, 0).await;
    // The queue is full: there is room for what calms, and it goes first.
    let pause = asked(&rig, Command::PauseMow {}, 1).await;
    assert_eq!(rig.script.times_sent(pause), 1);
    assert_eq!(rig.script.times_sent(speed), 0);
    sleep(ms(20_000)).await;
    superseded(&rig, motion);
    assert_eq!(rig.script.times_sent(speed), 1);
}

#[tokio::test(start_paused = true)]
async fn what_calms_waits_for_no_vendor_that_does_not_take_a_movement() {
    for slow in [
        Command::StartMow(start_mow()),
        Command::SetSpeed { speed_mps: 0.3 },
    ] {
        let rig = Rig::start().await;
        *rig.script.commands.lock().unwrap() = Vendor::Slow(ms(9_000));
        let stuck = asked(&rig, slow, 0).await;
        *rig.script.commands.lock().unwrap() = Vendor::executes();
        let pause = asked(&rig, Command::PauseMow {}, 1).await;
        assert_eq!(rig.last(pause).unwrap().0, Status::Executed);
        // Nobody knows whether it had gone out.
        assert_eq!(rig.statuses(stuck), [Status::Accepted]);
    }
}
