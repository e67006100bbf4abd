//! Single rounds of a service, run by a test.

use std::time::Duration;

use hero::service::Service;
use hero::store::Error;

use super::PATIENCE;

/// Runs one round of a service. Repeats it, as its loop would, if the machine was paused for longer than a call to
/// Redis may take.
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
