//! Messages on stdin and stdout, one per line. They get the same checks as those over HTTP before the SDK reads them.

use axum::body::Bytes;
use rmcp::service::ServerInitializeError;
use tokio::io::{
    AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, BufReader, DuplexStream, duplex, split,
};
use tokio::sync::mpsc::{self, Receiver, Sender};

use super::Assistant;
use super::message::{First, IncomingMessage};
use super::rejection::Rejection;

/// Maximum length of a message, in bytes.
const MAX_MESSAGE_BYTES: usize = 16 << 20;
/// The size of the buffers between the SDK and these streams, in bytes and in messages.
const BUFFER_BYTES_AND_MESSAGES: (usize, usize) = (64 << 10, 16);

/// Serves one client until it closes its side.
pub async fn serve(
    assistant: Assistant,
    input: impl AsyncRead + Unpin + Send + 'static,
    output: impl AsyncWrite + Unpin + Send + 'static,
) -> std::io::Result<()> {
    let (here, sdk) = duplex(BUFFER_BYTES_AND_MESSAGES.0);
    let (answers, messages) = split(here);
    let (tell, told) = mpsc::channel(BUFFER_BYTES_AND_MESSAGES.1);
    let writing = tokio::spawn(write(told, output));
    let forwarding = tokio::spawn(forward(answers, tell.clone()));
    let ended = assistant.input.clone();
    let reading = tokio::spawn(async move {
        let read = read(BufReader::new(input), messages, tell).await;
        ended.cancel();
        read
    });
    let (from, to) = split(sdk);
    let served = match rmcp::serve_server(assistant, (from, to)).await {
        Ok(served) => served.waiting().await.map(drop).map_err(std::io::Error::other),
        // The client left before it sent a request.
        Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
        // Its text would show the whole message as this program has it in memory.
        Err(ServerInitializeError::ExpectedInitializeRequest(_)) => Err(std::io::Error::other("the client did not initialize first")),
        Err(error) => Err(std::io::Error::other(error)),
    };
    // The reader would keep the channel open while it waits for more of stdin.
    reading.abort();
    forwarding.await??;
    let _ = reading.await;
    writing.await??;
    served
}

/// Passes valid messages to the SDK, and answers invalid ones.
async fn read(
    mut input: BufReader<impl AsyncRead + Unpin>,
    mut messages: tokio::io::WriteHalf<DuplexStream>,
    answers: Sender<Bytes>,
) -> std::io::Result<()> {
    let (mut line, mut is_open) = (Vec::new(), false);
    loop {
        line.clear();
        if (&mut input).take(MAX_MESSAGE_BYTES as u64).read_until(b'\n', &mut line).await? == 0 {
            return messages.shutdown().await;
        }
        if line.len() == MAX_MESSAGE_BYTES && !line.ends_with(b"\n") {
            while !line.is_empty() && !line.ends_with(b"\n") {
                line.clear();
                (&mut input).take(MAX_MESSAGE_BYTES as u64).read_until(b'\n', &mut line).await?;
            }
            refuse(&answers, Rejection::TooLong(MAX_MESSAGE_BYTES)).await;
            continue;
        }
        let body = Bytes::copy_from_slice(line.trim_ascii());
        if body.is_empty() {
            continue;
        }
        match IncomingMessage::read(&body) {
            // Nobody waits for an answer, and the SDK would end at a notification before the session is open.
            Ok(said) if said.method.is_empty() || !is_open && said.id.is_none() => {}
            Ok(said) if !is_open && said.first == First::MustNot => refuse(&answers, said.too_early()).await,
            Ok(said) => {
                is_open |= said.first == First::Opens;
                messages.write_all(&IncomingMessage::exact(body)).await?;
                messages.write_all(b"\n").await?;
            }
            Err(wrong) => refuse(&answers, wrong).await,
        }
    }
}

async fn refuse(answers: &Sender<Bytes>, wrong: Rejection) {
    if let Some(line) = wrong.into_line() {
        // Nobody is left to be told where this fails.
        let _ = answers.send(line.into()).await;
    }
}

async fn forward(answers: tokio::io::ReadHalf<DuplexStream>, tell: Sender<Bytes>) -> std::io::Result<()> {
    let (mut answers, mut line) = (BufReader::new(answers), Vec::new());
    while answers.read_until(b'\n', &mut line).await? > 0 {
        if tell.send(std::mem::take(&mut line).into()).await.is_err() {
            return Ok(());
        }
    }
    Ok(())
}

async fn write(mut told: Receiver<Bytes>, mut output: impl AsyncWrite + Unpin) -> std::io::Result<()> {
    while let Some(line) = told.recv().await {
        output.write_all(&line).await?;
        output.flush().await?;
    }
    Ok(())
}
