use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

/// Returns the reason why an address cannot be bound, and what to do about it.
fn unbound(address: SocketAddr, cause: &io::Error) -> String {
    let port = address.port();
    match cause.kind() {
        io::ErrorKind::AddrInUse => format!(
            "another program listens there, maybe a second hero; take another port with --listen, or see who has this one with \
             `ss -ltnp sport = :{port}`"
        ),
        io::ErrorKind::AddrNotAvailable => "this machine does not have that address; `ip address` lists those that it has".to_owned(),
        io::ErrorKind::PermissionDenied if port < 1024 => {
            format!("the system keeps port {port} for privileged programs; take one from 1024 on with --listen")
        }
        _ => cause.to_string(),
    }
}

/// The reason why the server does not listen.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Everybody could use the server.
    #[error(
        "{0} can be reached from other machines and nobody has to log in: listen on 127.0.0.1, or pass --insecure if the network is trusted"
    )]
    Exposed(SocketAddr),
    /// The address cannot be bound.
    #[error("cannot listen on {address}: {}", unbound(*.address, .cause))]
    Bind {
        /// The address.
        address: SocketAddr,
        /// The error of the system.
        cause: io::Error,
    },
    /// The operator's socket cannot be created.
    #[error("cannot make the operator's socket {}: {cause}", path.display())]
    Socket {
        /// Its path.
        path: PathBuf,
        /// The error of the system.
        cause: io::Error,
    },
    /// No address was given.
    #[error("there is no address to listen on")]
    Nowhere,
    /// Two methods have the same name.
    #[error(transparent)]
    Methods(#[from] jsonrpsee::core::RegisterMethodError),
}
