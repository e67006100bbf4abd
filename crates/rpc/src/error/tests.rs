use super::*;
use hero_model::{JobError, JobId};

fn failed(kind: ErrorKind) -> Error {
    let job_id = "6f1c4d1e-8f5b-4c7e-9d0a-2b3c4d5e6f70".parse().unwrap();
    dispatch::Error::Failed { job_id, error: Box::new(JobError::new(kind, "m")), attempt: 2 }.into()
}

#[test]
fn a_stopped_job_is_told_from_a_failed_one() {
    let stopped = failed(ErrorKind::Stopped).into_object();
    assert_eq!(stopped.code(), 1103);
    let failed = failed(ErrorKind::Script).into_object();
    assert_eq!(failed.code(), 1101);
    let data: Value = serde_json::from_str(failed.data().unwrap().get()).unwrap();
    assert_eq!(data["error"], json!({"kind": "script", "message": "m"}));
    assert_eq!((&data["status"], &data["attempt"]), (&json!("error"), &json!(2)));
}

#[test]
fn the_cause_of_a_store_error_stays_inside() {
    let source = hero_store::Error::Reply { function: "x", reply: "secret-host:6379 refused".into() };
    let error = Error::Dispatch(dispatch::Error::Store { job_id: Some(JobId::random()), not_done: false, source }).into_object();
    assert_eq!(error.code(), 1009);
    assert!(!error.message().contains("secret"), "{}", error.message());
    assert!(error.data().unwrap().get().starts_with(r#"{"outcome":"unknown","job_id":"#));
}

#[test]
fn numbers_are_unique() {
    let numbers: std::collections::HashSet<i32> = Code::ALL.iter().map(|code| code.number()).collect();
    assert_eq!(numbers.len(), Code::ALL.len());
}

#[test]
fn data_of_errors_has_the_documented_type() {
    use crate::error::data::*;
    let id = JobId::random;
    let read = |error: Error| {
        let code = error.code();
        let object = error.into_object();
        let data = object.data().expect("it has data").get().to_owned();
        let read = match code {
            Code::State => serde_json::from_str::<StateData>(&data).map(|read| json!(read)),
            Code::JobNotFound => serde_json::from_str::<JobNotFoundData>(&data).map(|read| json!(read)),
            Code::RateLimited => serde_json::from_str::<RateLimitedData>(&data).map(|read| json!(read)),
            Code::QueueFull => serde_json::from_str::<QueueFullData>(&data).map(|read| json!(read)),
            Code::TooLarge => serde_json::from_str::<TooLargeData>(&data).map(|read| json!(read)),
            Code::StoreUnavailable => serde_json::from_str::<StoreUnavailableData>(&data).map(|read| json!(read)),
            Code::IdempotencyReused => serde_json::from_str::<IdempotencyReusedData>(&data).map(|read| json!(read)),
            Code::NotFound => serde_json::from_str::<NotFoundData>(&data).map(|read| json!(read)),
            Code::JobFailed | Code::JobStopped => serde_json::from_str::<JobFailedData>(&data).map(|read| json!(read)),
            Code::WaitRanOut => serde_json::from_str::<WaitRanOutData>(&data).map(|read| json!(read)),
            _ => serde_json::from_str::<InvalidParamsData>(&data).map(|read| json!(read)),
        };
        let read = read.unwrap_or_else(|error| panic!("{code:?}: {error} in {data}"));
        assert_eq!(read, serde_json::from_str::<Value>(&data).unwrap(), "{code:?}");
    };
    use dispatch::Error as D;
    use flows::Error as F;
    let flow = hero_model::FlowId(7);
    let failure = flows::Failure { name: "a".into(), job_id: id(), error: JobError::new(ErrorKind::Limit, "m") };
    for error in [D::NotFound(id()), D::Gone(id()), D::IdempotencyReused(id()), D::Exists { job_id: id(), status: Status::Started }] {
        read(error.into());
    }
    read(D::Entry { index: 3, error: Box::new(D::NotFound(id())) }.into());
    read(D::Blocked { job_id: id(), prerequisite: id() }.into());
    read(D::TooFast { retry_after: Duration::from_millis(5) }.into());
    read(failed(ErrorKind::Script));
    read(failed(ErrorKind::Stopped));
    read(Error::Deadline(Duration::from_secs(1)));
    read(Error::AnswerTooLarge(7));
    read(Error::no_room());
    read(Error::Flow(F::NotFound(flow)));
    read(Error::Flow(F::Making(flow)));
    read(Error::Flow(F::Reused(flow)));
    read(Error::Flow(F::Job { name: "a".into(), error: Box::new(D::NotFound(id())) }));
    read(Error::Flow(F::Failed { flow, failures: vec![failure], stopped: false }));
    read(Error::Flow(F::StillRunning { flow, status: hero_model::FlowStatus::Started, open: 2, gone: None }));
    let explanation = "no live actor takes jobs of v".to_owned();
    let reason = Some(hero_model::Reason::NoLiveActor);
    read(D::StillRunning { job_id: id(), status: Status::Dispatched, explanation, reason }.into());
}
