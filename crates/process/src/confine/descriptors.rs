//! The descriptors of a job's process besides stdin, stdout and stderr. A program can only be started with three, so
//! the others are passed through these.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{FileType, fstat};
use rustix::io::{Errno, FdFlags, fcntl_dupfd_cloexec, fcntl_setfd};
use rustix::net::sockopt::socket_type;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketType, recvmsg,
    sendmsg,
};

/// The descriptors for the program. Their numbers are 3 and 4, the first that are free.
pub(super) struct ProgramDescriptors {
    pub(super) result: OwnedFd,
    pub(super) host_calls: Option<OwnedFd>,
}

/// Sends the descriptor of the result through our end of the socket whose other end becomes descriptor 0 of `hero exec
/// job`.
pub fn hand_over(socket: BorrowedFd<'_>, result: impl AsFd) -> io::Result<()> {
    let descriptors = [result.as_fd()];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    ancillary.push(SendAncillaryMessage::ScmRights(&descriptors));
    sendmsg(socket, &[IoSlice::new(&[0])], &mut ancillary, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// Makes the descriptors that stay open in the program from descriptor 0. If that is a socket for host calls, it
/// transports the descriptor of the result. Anything else is the result itself, except a device: then nobody reads a
/// result.
pub(super) fn take_over() -> io::Result<Option<ProgramDescriptors>> {
    let stdin = io::stdin();
    if FileType::from_raw_mode(fstat(&stdin)?.st_mode) == FileType::CharacterDevice {
        return Ok(None);
    }
    if !socket_type(&stdin).is_ok_and(|kind| kind == SocketType::STREAM) {
        return Ok(Some(ProgramDescriptors { result: kept(fcntl_dupfd_cloexec(&stdin, 3)?)?, host_calls: None }));
    }
    Ok(Some(ProgramDescriptors { result: kept(received(&stdin)?)?, host_calls: Some(kept(fcntl_dupfd_cloexec(&stdin, 3)?)?) }))
}

/// Receives the descriptor that was handed over.
pub(super) fn received(socket: impl AsFd) -> io::Result<OwnedFd> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    recvmsg(socket, &mut [IoSliceMut::new(&mut [0])], &mut ancillary, RecvFlags::CMSG_CLOEXEC)?;
    let result = ancillary.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
        _ => None,
    });
    Ok(result.ok_or(Errno::BADF)?)
}

/// Keeps a descriptor open over an exec.
fn kept(descriptor: OwnedFd) -> io::Result<OwnedFd> {
    fcntl_setfd(&descriptor, FdFlags::empty())?;
    Ok(descriptor)
}
