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

    /// The topics that runners have of their own, by the numbers of those.
    pub fn topics(&self) -> String {
        self.key(format_args!("meta:topics"))
    }

    /// The hash of a message.
    pub fn message(&self, caller: u32, number: u32) -> String {
        format!("{}message:{caller}:{number}", self.prefix)
    }

    /// The messages of a status, by when they got it.
    pub fn messages_of(&self, status: MessageStatus) -> String {
        self.key(format_args!("messages:{status}"))
    }

    /// The messages that came and were not fetched.
    pub fn msg_in(&self) -> String {
        format!("{}msg_in", self.prefix)
    }

    /// The messages that are to go out.
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

    /// Those of a runner with jobs whose result is awaited, by the time when it is over.
    pub fn awaited(&self, group: &str) -> String {
        self.key(format_args!("q:awaited:{group}"))
    }

    /// Messages of type job whose result is awaited, by the time when it is over.
    pub fn open_messages(&self) -> String {
        self.key(format_args!("q:messages"))
    }

    /// Jobs that came by a message and are still to be answered, by the time to look at them.
    pub fn answers(&self) -> String {
        self.key(format_args!("q:answers"))
    }

    /// Jobs that came by a message and have ended.
    pub fn results(&self) -> String {
        self.key(format_args!("q:results"))
    }

    /// Messages that did not arrive, by the time when they are sent again.
    pub fn resting(&self) -> String {
        self.key(format_args!("q:resting"))
    }

    /// Messages that go out and of which nobody has said what became of them, by the time when they end.
    pub fn unsent(&self) -> String {
        self.key(format_args!("q:unsent"))
    }

    /// The groups of runners that have stops to be told, by the time when the next of those is.
    pub fn stops(&self) -> String {
        self.key(format_args!("q:stops"))
    }

    /// Messages with jobs of a runner that were stopped here, by the time when their other side is told.
    pub fn stops_of(&self, group: &str) -> String {
        self.key(format_args!("q:stops:{group}"))
    }

    /// The name here of a message that came by a number that another one has.
    pub fn came(&self, known: &str) -> String {
        self.key(format_args!("came:{known}"))
    }

    /// The messages that came, each the beginning of its signer's key and its nonce, by the time until which they may come again.
    pub fn nonces(&self) -> String {
        self.key(format_args!("meta:nonces"))
    }

    /// How many of those there are of each signer, and of all.
    pub fn known(&self) -> String {
        self.key(format_args!("meta:known"))
    }

    /// The nodes that send messages of this context, by when they last looked.
    pub fn nodes(&self) -> String {
        self.key(format_args!("meta:nodes"))
    }

    /// The envelopes that lie here for a node, by when they were put: `in` is whoever serves the context.
    pub fn envelopes(&self, whom: &str) -> String {
        self.key(format_args!("bus:box:{whom}"))
    }

    /// One envelope.
    pub fn envelope(&self, whom: &str, nonce: &str) -> String {
        self.key(format_args!("bus:letter:{whom}:{nonce}"))
    }

    /// What became of an envelope.
    pub fn receipt(&self, nonce: &str) -> String {
        self.key(format_args!("bus:receipt:{nonce}"))
    }

    /// The last number that an object of this kind was given.
    pub fn sequence(&self, kind: &str) -> String {
        self.key(format_args!("seq:{kind}"))
    }

    /// What counts up with each change of what servers follow, by kind.
    pub fn revisions(&self) -> String {
        self.key(format_args!("meta:revisions"))
    }
}
