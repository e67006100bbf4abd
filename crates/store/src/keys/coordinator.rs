//! Keys of the coordinator's objects. Functions build them, too.

use super::Keys;
use hero_model::{MessageStatus, RunnerId};

impl Keys {
    /// The hash of a runner.
    pub fn runner(&self, id: RunnerId) -> String {
        format!("{}runner:{id}", self.prefix)
    }

    /// The numbers of all runners, in order.
    pub fn runners(&self) -> String {
        self.key(format_args!("meta:runners"))
    }

    /// The topics of runners that have their own, by the numbers of the runners.
    pub fn topics(&self) -> String {
        self.key(format_args!("meta:topics"))
    }

    /// The hash of a message.
    pub fn message(&self, caller: u32, number: u32) -> String {
        format!("{}message:{caller}:{number}", self.prefix)
    }

    /// The messages of a status, by the time when they got it.
    pub fn messages_of(&self, status: MessageStatus) -> String {
        self.key(format_args!("messages:{status}"))
    }

    /// The incoming messages that were not fetched.
    pub fn msg_in(&self) -> String {
        format!("{}msg_in", self.prefix)
    }

    /// The outgoing messages.
    pub fn msg_out(&self) -> String {
        format!("{}msg_out", self.prefix)
    }

    /// The messages that a node is sending.
    pub fn sending(&self, node: &str) -> String {
        format!("{}msg_out:sending:{node}", self.prefix)
    }

    /// The messages with jobs of a runner that were sent last, and may be on their way.
    pub fn sent(&self, group: &str) -> String {
        self.key(format_args!("q:sent:{group}"))
    }

    /// The messages with jobs of a runner whose result is awaited, by the end of the wait.
    pub fn awaited(&self, group: &str) -> String {
        self.key(format_args!("q:awaited:{group}"))
    }

    /// Messages of type job whose result is awaited, by the end of the wait.
    pub fn open_messages(&self) -> String {
        self.key(format_args!("q:messages"))
    }

    /// Jobs from messages whose results are still to be sent, by the time of the next check.
    pub fn answers(&self) -> String {
        self.key(format_args!("q:answers"))
    }

    /// Jobs from messages that have ended.
    pub fn results(&self) -> String {
        self.key(format_args!("q:results"))
    }

    /// Messages that did not arrive, by the time when they are sent again.
    pub fn resting(&self) -> String {
        self.key(format_args!("q:resting"))
    }

    /// Outgoing messages without a known outcome, by the time when they end.
    pub fn unsent(&self) -> String {
        self.key(format_args!("q:unsent"))
    }

    /// The groups of runners with stops to tell, by the time when the next one is told.
    pub fn stops(&self) -> String {
        self.key(format_args!("q:stops"))
    }

    /// Messages with jobs of a runner that were stopped here, by the time when the other side is told.
    pub fn stops_of(&self, group: &str) -> String {
        self.key(format_args!("q:stops:{group}"))
    }

    /// The local name of a message that arrived with a number that another one has.
    pub fn came(&self, known: &str) -> String {
        self.key(format_args!("came:{known}"))
    }

    /// The messages that arrived, each named by the beginning of its signer's key and its nonce, by the time until which they may arrive
    /// again.
    pub fn nonces(&self) -> String {
        self.key(format_args!("meta:nonces"))
    }

    /// The number of those messages, of each signer and of all.
    pub fn known(&self) -> String {
        self.key(format_args!("meta:known"))
    }

    /// The nodes that send messages of this context, by the time of their last check.
    pub fn nodes(&self) -> String {
        self.key(format_args!("meta:nodes"))
    }

    /// The envelopes for a node, by the time when they were put; `in` is the node that serves the context.
    pub fn envelopes(&self, whom: &str) -> String {
        self.key(format_args!("bus:box:{whom}"))
    }

    /// One envelope.
    pub fn envelope(&self, whom: &str, nonce: &str) -> String {
        self.key(format_args!("bus:letter:{whom}:{nonce}"))
    }

    /// The receipt of an envelope.
    pub fn receipt(&self, nonce: &str) -> String {
        self.key(format_args!("bus:receipt:{nonce}"))
    }

    /// The last number given to an object of this kind.
    pub fn sequence(&self, kind: &str) -> String {
        self.key(format_args!("seq:{kind}"))
    }

    /// The revisions that servers follow, by kind; each grows with every change.
    pub fn revisions(&self) -> String {
        self.key(format_args!("meta:revisions"))
    }
}
