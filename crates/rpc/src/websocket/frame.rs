use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, BufReader};

use crate::jsonrpc::oversize::IdReader;
use crate::memory::{Arrival, ConnectionMemory, RequestReservation};

/// The opcode of a continuation of a message (RFC 6455, 5.2).
const CONTINUATION: u8 = 0;
/// The opcode of a text message.
const TEXT: u8 = 1;
/// The opcode of a binary message.
const BINARY: u8 = 2;
/// The opcode of a close frame.
const CLOSE: u8 = 8;
/// The opcode of a ping.
const PING: u8 = 9;
/// The opcode of a pong.
const PONG: u8 = 10;
/// The code of a normal close (RFC 6455, 7.4.1).
const NORMAL: u16 = 1000;
/// The most bytes of a control frame's content.
const MAX_CONTROL_BYTES: usize = 125;
/// A message grows by this much at a time, so that data that a client only announced uses no memory.
const GROWTH_BYTES: usize = 64 * 1024;
/// A message that is too large is read up to this multiple of the limit.
const SKIP_FACTOR: u64 = 32;

/// A message or frame of a client.
#[derive(Debug)]
pub(super) enum Incoming {
    /// A whole message.
    Message(Vec<u8>, RequestReservation),
    /// A message that had more than this many bytes, and was skipped.
    TooLarge(usize, IdReader),
    Ping(Vec<u8>),
    Pong,
    /// A close frame, with the code of its answer.
    Close(u16),
}

/// The reason why a connection cannot go on.
#[derive(Debug, thiserror::Error)]
pub(super) enum SocketError {
    /// The peer is gone.
    #[error("the peer is gone")]
    Gone,
    /// The peer violates the protocol.
    #[error("{0}")]
    Protocol(&'static str),
    /// A text message is not valid text.
    #[error("a text is not UTF-8")]
    Text,
    /// A message is too large to be skipped.
    #[error("a message is too large")]
    TooLarge,
    /// A message took too long to arrive.
    #[error("a message took too long to arrive, or stalled")]
    Late,
    /// There is no room for the message, and waiting did not help, or would not help.
    #[error("there is no room for a message")]
    NoRoom,
}

impl SocketError {
    /// Returns the code to close with (RFC 6455, 7.4.1).
    pub(super) const fn code(&self) -> u16 {
        match self {
            Self::Gone => NORMAL,
            Self::Protocol(_) => 1002,
            Self::Text => 1007,
            Self::Late => 1008,
            Self::TooLarge => 1009,
            Self::NoRoom => 1013,
        }
    }
}

impl From<io::Error> for SocketError {
    fn from(_: io::Error) -> Self {
        Self::Gone
    }
}

/// The limits of a message at its beginning: its size, and the time to arrive.
pub(super) struct MessageLimits {
    pub(super) bytes: Box<dyn Fn() -> usize + Send>,
    pub(super) time: Duration,
}

/// Reads the frames of a client and joins them to messages.
pub(super) struct Frames<R> {
    io: BufReader<R>,
    limits: MessageLimits,
    /// The connection on which the messages count.
    connection: Arc<ConnectionMemory>,
    /// The message that is arriving.
    open: Option<Open>,
}

struct Open {
    is_text: bool,
    bytes: Vec<u8>,
    /// The most bytes of the message.
    most: usize,
    reservation: RequestReservation,
    arrival: Arrival,
    /// If the message is too large, the reader of its id, and the number of bytes skipped so far.
    skipped: Option<(IdReader, u64)>,
}

struct Head {
    is_last: bool,
    kind: u8,
    length: u64,
    mask: [u8; 4],
}

impl<R: AsyncRead + Unpin> Frames<R> {
    pub(super) fn new(io: R, limits: MessageLimits, connection: &Arc<ConnectionMemory>) -> Self {
        Self { io: BufReader::new(io), limits, connection: Arc::clone(connection), open: None }
    }

    /// Returns the connection, to read the remaining data as plain bytes.
    pub(super) fn into_inner(self) -> R {
        self.io.into_inner()
    }

    /// Returns the next complete message or control frame.
    pub(super) async fn next(&mut self) -> Result<Incoming, SocketError> {
        loop {
            let head = self.head().await?;
            match (head.kind, &self.open) {
                (CLOSE | PING | PONG, _) => return self.control(head).await,
                (CONTINUATION, None) => return Err(SocketError::Protocol("a message begins with a continuation")),
                (TEXT | BINARY, Some(_)) => return Err(SocketError::Protocol("a message begins within another")),
                (CONTINUATION | TEXT | BINARY, _) => {}
                _ => return Err(SocketError::Protocol("there is no such frame")),
            }
            self.data(&head).await?;
            if !head.is_last {
                continue;
            }
            let open = self.open.take().expect("data opens a message");
            return match open.skipped {
                Some((id_reader, _)) => Ok(Incoming::TooLarge(open.most, id_reader)),
                None if open.is_text && std::str::from_utf8(&open.bytes).is_err() => Err(SocketError::Text),
                None => Ok(Incoming::Message(open.bytes, open.reservation)),
            };
        }
    }

    /// Fills `bytes`, within the time of the message that is arriving.
    async fn fill(&mut self, bytes: &mut [u8]) -> Result<(), SocketError> {
        let read = self.io.read_exact(bytes);
        match &self.open {
            Some(open) => open.arrival.next(read).await.ok_or(SocketError::Late)??,
            None => read.await?,
        };
        Ok(())
    }

    async fn head(&mut self) -> Result<Head, SocketError> {
        let mut first = [0; 2];
        self.fill(&mut first).await?;
        if first[0] & 0x70 != 0 {
            return Err(SocketError::Protocol("no extension was agreed on"));
        }
        if first[1] & 0x80 == 0 {
            return Err(SocketError::Protocol("frames of clients have to be masked"));
        }
        let (is_last, kind) = (first[0] & 0x80 != 0, first[0] & 0x0f);
        let length = match first[1] & 0x7f {
            126 => {
                let mut length = [0; 2];
                self.fill(&mut length).await?;
                u64::from(u16::from_be_bytes(length))
            }
            127 => {
                let mut length = [0; 8];
                self.fill(&mut length).await?;
                if length[0] & 0x80 != 0 {
                    return Err(SocketError::Protocol("a length has 63 bits"));
                }
                u64::from_be_bytes(length)
            }
            length => u64::from(length),
        };
        if kind >= CLOSE && (!is_last || length > MAX_CONTROL_BYTES as u64) {
            return Err(SocketError::Protocol("a control frame is short and whole"));
        }
        let mut mask = [0; 4];
        self.fill(&mut mask).await?;
        Ok(Head { is_last, kind, length, mask })
    }

    async fn control(&mut self, head: Head) -> Result<Incoming, SocketError> {
        let mut bytes = vec![0; usize::try_from(head.length).unwrap_or(MAX_CONTROL_BYTES)];
        self.fill(&mut bytes).await?;
        unmask(&mut bytes, head.mask);
        Ok(match head.kind {
            PING => Incoming::Ping(bytes),
            PONG => Incoming::Pong,
            _ => Incoming::Close(closing(&bytes)?),
        })
    }

    async fn data(&mut self, head: &Head) -> Result<(), SocketError> {
        let (connection, limits) = (&self.connection, &self.limits);
        let open = self.open.get_or_insert_with(|| Open {
            is_text: head.kind == TEXT,
            bytes: Vec::new(),
            most: (limits.bytes)(),
            reservation: RequestReservation::of(connection),
            arrival: Arrival::begin(connection, limits.time),
            skipped: None,
        });
        if open.skipped.is_none() && head.length.saturating_add(open.bytes.len() as u64) > open.most as u64 {
            let mut id_reader = IdReader::default();
            id_reader.read(&std::mem::take(&mut open.bytes));
            open.skipped = Some((id_reader, SKIP_FACTOR.saturating_mul(open.most as u64)));
            open.reservation.clear();
        }
        if let Some((_, rest)) = &mut open.skipped {
            *rest = rest.checked_sub(head.length).ok_or(SocketError::TooLarge)?;
        }
        let (mut left, from) = (head.length, open.bytes.len());
        let mut step = Vec::new();
        while left > 0 {
            step.resize(usize::try_from(left).map_or(GROWTH_BYTES, |left| left.min(GROWTH_BYTES)), 0);
            self.fill(&mut step).await?;
            left -= step.len() as u64;
            let open = self.open.as_mut().expect("it was opened above");
            if let Some((id_reader, _)) = &mut open.skipped {
                open.arrival.came(step.len());
                // Each step but the last is a multiple of the mask.
                unmask(&mut step, head.mask);
                id_reader.read(&step);
                continue;
            }
            if !open.arrival.keep(step.len(), &mut open.reservation).await {
                return Err(SocketError::NoRoom);
            }
            open.bytes.extend_from_slice(&step);
        }
        let open = self.open.as_mut().expect("it was opened above");
        unmask(&mut open.bytes[from..], head.mask);
        Ok(())
    }
}

/// Returns the code of the answer to a close frame: its own code, if that code is allowed (RFC 6455, 7.4).
fn closing(content: &[u8]) -> Result<u16, SocketError> {
    let [high, low, why @ ..] = content else {
        return if content.is_empty() { Ok(NORMAL) } else { Err(SocketError::Protocol("a code has two bytes")) };
    };
    match u16::from_be_bytes([*high, *low]) {
        code @ (1000..=1003 | 1007..=1014 | 3000..=4999) if std::str::from_utf8(why).is_ok() => Ok(code),
        1000..=1003 | 1007..=1014 | 3000..=4999 => Err(SocketError::Text),
        _ => Err(SocketError::Protocol("there is no such code to close with")),
    }
}

fn unmask(bytes: &mut [u8], mask: [u8; 4]) {
    // Steps of four let compilers use wide instructions.
    for four in bytes.chunks_mut(4) {
        for (byte, mask) in four.iter_mut().zip(mask) {
            *byte ^= mask;
        }
    }
}

/// Appends a frame of the server to `buffer`, without its content.
fn begin(buffer: &mut Vec<u8>, kind: u8, length: usize) {
    buffer.push(0x80 | kind);
    match length {
        0..=125 => buffer.push(length as u8),
        126..=0xffff => {
            buffer.push(126);
            buffer.extend_from_slice(&(length as u16).to_be_bytes());
        }
        _ => {
            buffer.push(127);
            buffer.extend_from_slice(&(length as u64).to_be_bytes());
        }
    }
}

/// Appends the head of a text message to `buffer`.
pub(super) fn begin_text(buffer: &mut Vec<u8>, length: usize) {
    begin(buffer, TEXT, length);
}

pub(super) fn ping(buffer: &mut Vec<u8>) {
    begin(buffer, PING, 0);
}

pub(super) fn pong(buffer: &mut Vec<u8>, content: &[u8]) {
    begin(buffer, PONG, content.len());
    buffer.extend_from_slice(content);
}

pub(super) fn close(buffer: &mut Vec<u8>, code: u16, why: &str) {
    begin(buffer, CLOSE, 2 + why.len());
    buffer.extend_from_slice(&code.to_be_bytes());
    buffer.extend_from_slice(why.as_bytes());
}

#[cfg(test)]
mod tests {
    use futures_util::poll;
    use tokio::io::AsyncWriteExt;

    use super::*;
    use crate::limits::Limits;
    use crate::memory::Divided;

    #[tokio::test]
    async fn the_time_in_which_there_is_no_room_is_not_that_of_the_message() {
        let time = Duration::from_secs(2);
        let limits = Limits { held_per_connection: 1000, ..Limits::default() };
        let connection = ConnectionMemory::open(&limits, &Divided::of_address(&limits, false), &Divided::of_server(&limits, false), true);
        connection.made(1000);
        let (mut peer, ours) = tokio::io::duplex(1000);
        let mut frames = Frames::new(ours, MessageLimits { bytes: Box::new(|| 1000), time }, &connection);
        peer.write_all(&[0x01, 0x82, 0, 0, 0, 0, b'4', b'0']).await.unwrap();
        let next = frames.next();
        tokio::pin!(next);
        assert!(tokio::time::timeout(time * 2, next.as_mut()).await.is_err(), "there is no room");
        assert!(connection.silence() < time, "nothing was read, so nothing could be heard");
        connection.written(1000);
        assert!(poll!(next.as_mut()).is_pending(), "the rest has not been sent");
        peer.write_all(&[0x80, 0x82, 0, 0, 0, 0, b'+', b'2']).await.unwrap();
        assert!(matches!(next.await, Ok(Incoming::Message(text, _)) if text == b"40+2"));
    }
}
