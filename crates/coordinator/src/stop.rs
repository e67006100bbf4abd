//! Stops that are sent to other nodes: if a job that runs elsewhere ends here, other than by its result, it is stopped
//! there, too.

use std::time::Duration;

use sha2::{Digest as _, Sha256};

use super::delivery::{Delivery, Destination, Obstacle, of_node};
use super::envelope::{Envelope, Kind};
use super::inbound::{Inbound, Refusal, Signer};
use super::receipt::Receipt;
use super::recording;
use super::remote_connections::RemoteContext;
use super::routes::Route;
use hero_model::{ContextId, MessageKey, MessageType, Name, SignerKey, Timestamp, hex};
use hero_store::{NewStop, StopReceived, StopTold, Store, StoredMessage};

/// Maximum time that a stop is sent, in seconds. It is sent no longer than its message lives.
const MAX_SEND_SECONDS: u32 = 24 * 3600;
/// Time that an unacknowledged stop rests, at first and at most.
const FIRST_REST: Duration = Duration::from_millis(250);
const LONGEST_REST: Duration = Duration::from_secs(30);
/// Time that stops rest if too many are being sent to one remote context.
const CROWDED_REST: Duration = Duration::from_secs(1);

impl Delivery {
    /// Tries to tell the other side to stop the job of a message.
    pub(super) async fn tell_stop(&self, key: MessageKey) -> StopTold {
        let stored = match self.store.messages().get(key).await {
            Ok(Some(stored)) => stored,
            Ok(None) => return StopTold::Over("its message is gone".into()),
            Err(error) if error.is_spoilt() => return StopTold::Over(error.to_string()),
            Err(_) => return StopTold::Later(LONGEST_REST),
        };
        let Some(since) = stored.stopped_at else { return StopTold::Over("it was not stopped".into()) };
        let (age, life) = (self.store.clock().now().since(since), stored.shown.timeout.min(MAX_SEND_SECONDS));
        if age > Duration::from_secs(life.into()) {
            return StopTold::Over(format!("the other side did not acknowledge it within {life} s"));
        }
        // Rests as long as it has been tried.
        let later = StopTold::Later(age.clamp(FIRST_REST, LONGEST_REST));
        match self.try_to_tell(key, &stored, since, life).await {
            Ok(receipt) if receipt.is_stored() => {
                self.dispatcher.audit().note(|| recording::stop_told(key, stored.away.as_ref(), self.store.context()));
                StopTold::Told
            }
            Ok(receipt) if receipt.is_final() => StopTold::Over(format!("it refuses that: {}", receipt.text)),
            Err(Obstacle::Final(why)) => StopTold::Over(why),
            Err(Obstacle::Silent(_, rest)) => StopTold::Later(rest),
            Ok(_) | Err(Obstacle::Passing(_) | Obstacle::Unanswered(_) | Obstacle::Over) => later,
        }
    }

    async fn try_to_tell(&self, key: MessageKey, stored: &StoredMessage, since: Timestamp, life: u32) -> Result<Receipt, Obstacle> {
        let nowhere = || Obstacle::Final("its message has no address".into());
        let Destination { address, target, receiver } = self.destination(stored).await?.ok_or_else(nowhere)?;
        let remote: RemoteContext = (address.as_str().to_owned(), target);
        let receiver = stored.to.clone().or(receiver).or_else(|| of_node(stored.receiver_key.as_ref()));
        let mut envelope = self.stop_envelope(key, stored, target, receiver, since, life)?;
        let full = || Obstacle::Silent("others are on their way there".into(), CROWDED_REST);
        let _on_its_way = self.telling.begin(&remote).ok_or_else(full)?;
        let sending = Box::pin(async {
            match self.routes.find(&self.store, &address, target).await? {
                Route::Here => Ok(self.inbound.take_here(&envelope).await),
                Route::Bus(bus, to) => Ok(self.hand_over(&*bus, &to, &remote, &mut envelope).await?),
            }
        });
        self.try_at(&remote, "could not forward the stop of remote jobs; retrying", sending).await
    }

    /// Builds the envelope of a stop. It has its own nonce, the same however often it is sent.
    fn stop_envelope(
        &self,
        key: MessageKey,
        stored: &StoredMessage,
        target: ContextId,
        to: Option<SignerKey>,
        since: Timestamp,
        life: u32,
    ) -> Result<Envelope, Obstacle> {
        let in_reply_to = stored.nonce.clone().ok_or_else(|| Obstacle::Final("its message was never sent".into()))?;
        let nonce = hex(&Sha256::digest(format!("stop {in_reply_to}")))[..32].parse().map_err(|_| Obstacle::Over)?;
        let mut envelope = Envelope {
            caller_id: key.caller_id,
            message_id: key.message_id,
            message_type: MessageType::Job,
            timeout: life,
            // The other side remembers it as long as the message may come.
            timeout_ack: life.max(stored.shown.timeout_ack),
            // If the clock of Redis was set back since, the receiver would refuse a creation time in the future.
            created_at: since.min(self.store.clock().now()).as_millis() / 1000,
            in_reply_to,
            answers: key.message_id,
            to,
            ..Envelope::new(Kind::Stop, nonce, self.store.context(), target, self.key.public())
        };
        self.key.sign(&mut envelope);
        Ok(envelope)
    }
}

impl Inbound {
    /// Processes a stop that a trusted node has signed. The jobs that the node has sent with a message end; if that
    /// message comes later, its jobs do not run. `again` is the time until which the message may come. A node signs
    /// each time it sends, so a day is enough.
    pub(super) async fn take_stop(&self, envelope: &Envelope, store: &Store, again: Timestamp) -> Result<(), Refusal> {
        let nonce: Name =
            envelope.in_reply_to.parse().map_err(|_| "a stop must name the message whose jobs are to be stopped".to_owned())?;
        let begun = || recording::of_stop(self.sender(envelope, &Signer::Node), envelope);
        let doing = self.dispatcher.audit().begin(begun).map_err(|closed| Refusal::Full(format!("at the other side {closed}")))?;
        let mut doing = doing.counted();
        let stop = NewStop {
            signer: envelope.public_key.clone(),
            nonce: nonce.as_str().to_owned(),
            caller: envelope.caller_id,
            number: envelope.answers,
            again: again.min(store.clock().now().plus(Duration::from_secs(MAX_SEND_SECONDS.into()))),
        };
        let (is_news, jobs) = match store.messages().receive_stop(&stop).await? {
            StopReceived::Taken { is_news, jobs } => (is_news, jobs),
            StopReceived::Signer => {
                doing.give_up();
                return Err(Refusal::Refused("another node sent that message; only that node may stop its jobs".into()));
            }
            StopReceived::Crowded => {
                doing.give_up();
                let why = "remembers the maximum number of messages, of this signer or of all, each until its timeout_ack";
                return Err(Refusal::Full(format!("context {} {why}", envelope.target_context)));
            }
        };
        // If this fails, the stop comes again, and the remaining jobs are stopped then.
        for (job, _) in jobs.iter().filter(|(_, is_open)| *is_open) {
            store.jobs().stop(job).await?;
        }
        if is_news || !jobs.is_empty() {
            doing.end(|record| recording::stopped(record, &jobs))
        } else {
            doing.give_up()
        }
        Ok(())
    }
}
