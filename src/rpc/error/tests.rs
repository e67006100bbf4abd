use super::*;
use crate::model::{JobError, JobId};

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
    let source = crate::store::Error::Reply { function: "x", reply: "secret-host:6379 refused".into() };
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
