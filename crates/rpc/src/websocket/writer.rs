use std::time::Duration;

use serde_json::value::RawValue;
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{broadcast, mpsc};
use tokio::time::{MissedTickBehavior, interval};

use super::frame;
use hero_model::api::{GOING_AWAY, LOGGED_OUT};

/// Frames that are written besides messages.
#[derive(Debug, Clone)]
pub(super) enum Control {
    /// The answer to a ping.
    Pong(Vec<u8>),
    /// The close frame, with its code and a reason of at most 123 bytes.
    Close(u16, &'static str),
}

/// Short messages are written together, up to this many bytes.
const MAX_WRITE_BYTES: usize = 16 * 1024;

/// Writes all frames to a client, and pings it. Ends after [`Control::Close`], or when the client reads nothing.
pub(super) async fn write(
    mut io: impl AsyncWrite + Unpin,
    mut messages: mpsc::Receiver<Box<RawValue>>,
    mut controls: broadcast::Receiver<Control>,
    ping_interval: Duration,
) {
    let mut pings = interval(ping_interval);
    pings.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut buffer = Vec::new();
    let (code, why) = loop {
        tokio::select! {
            biased;
            control = controls.recv() => match control {
                Ok(Control::Pong(content)) => frame::pong(&mut buffer, &content),
                Ok(Control::Close(code, why)) => break (code, why),
                // Newer pongs replaced the oldest ones.
                Err(RecvError::Lagged(_)) => continue,
                Err(RecvError::Closed) => return,
            },
            Some(message) = messages.recv() => {
                if put(&mut io, &mut buffer, &message).await.is_err() {
                    return;
                }
                while buffer.len() < MAX_WRITE_BYTES && let Ok(message) = messages.try_recv() {
                    if put(&mut io, &mut buffer, &message).await.is_err() {
                        return;
                    }
                }
            }
            _ = pings.tick() => frame::ping(&mut buffer),
        }
        if flush(&mut io, &mut buffer).await.is_err() {
            return;
        }
    };
    messages.close();
    // Executed calls are still answered.
    while (code == GOING_AWAY || (code, why) == LOGGED_OUT)
        && let Ok(message) = messages.try_recv()
    {
        if put(&mut io, &mut buffer, &message).await.is_err() {
            return;
        }
    }
    frame::close(&mut buffer, code, why);
    if flush(&mut io, &mut buffer).await.is_ok() {
        // The peer may have closed already.
        let _ = io.shutdown().await;
    }
}

/// Appends a message to `buffer`. A long one is written at once, after the content of `buffer`.
async fn put(io: &mut (impl AsyncWrite + Unpin), buffer: &mut Vec<u8>, message: &RawValue) -> std::io::Result<()> {
    let text = message.get().as_bytes();
    frame::begin_text(buffer, text.len());
    if text.len() <= MAX_WRITE_BYTES {
        buffer.extend_from_slice(text);
        return Ok(());
    }
    io.write_all(buffer).await?;
    buffer.clear();
    io.write_all(text).await
}

async fn flush(io: &mut (impl AsyncWrite + Unpin), buffer: &mut Vec<u8>) -> std::io::Result<()> {
    io.write_all(buffer).await?;
    buffer.clear();
    io.flush().await
}
