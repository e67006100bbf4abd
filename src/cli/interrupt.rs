use anyhow::bail;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::exit::Interrupted;

/// Lets Ctrl-C, Ctrl-\, SIGTERM and SIGHUP end a command that must clean up: the command is dropped, which cleans up.
pub(super) async fn interruptible<T>(command: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    let (mut interrupts, mut terminations) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    let mut quits = signal(SignalKind::quit())?;
    // With nohup, the command continues without its terminal.
    let mut hangups = if is_ignored(SignalKind::hangup()) { None } else { Some(signal(SignalKind::hangup())?) };
    tokio::select! {
        biased;
        () = received(&mut hangups) => bail!("ended by SIGHUP"),
        _ = terminations.recv() => bail!("ended by SIGTERM"),
        _ = interrupts.recv() => Err(Interrupted("what it has started is cleared away".to_owned()).into()),
        _ = quits.recv() => bail!("ended by SIGQUIT"),
        result = command => result,
    }
}

async fn received(signals: &mut Option<Signal>) {
    match signals {
        Some(signals) => drop(signals.recv().await),
        None => std::future::pending().await,
    }
}

/// Whether this process was started with a signal ignored.
fn is_ignored(signal: SignalKind) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| u64::from_str_radix(line.strip_prefix("SigIgn:")?.trim(), 16).ok());
    ignored.is_some_and(|ignored| ignored >> (signal.as_raw_value() - 1) & 1 == 1)
}
