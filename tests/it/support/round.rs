//! Rounds of a service that a test has done by hand.

use std::time::Duration;

use hero::service::Service;
use hero::store::Error;

use super::PATIENCE;

/// Has a service do one round, again where the machine stood still for longer than a call to Redis may take, as its loop would.
pub async fn round<S: Service<Error = Error>>(service: &mut S) -> Duration {
    let rounds = async {
        loop {
            match service.tick().await {
                Err(Error::Deadline(_)) => {}
                answer => return answer.unwrap(),
            }
        }
    };
    tokio::time::timeout(PATIENCE, rounds).await.expect("a round is done in time")
}
