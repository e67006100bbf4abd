use crate::Error;
use crate::value::Text;
use crate::views::Health;

/// The number of hexadecimal digits of the identity. It becomes part of file names.
const DIGITS: usize = 32;

impl Health<'_> {
    /// Returns the identity of this Redis. The first call creates it. A Redis that lost all its data gets a new one.
    pub async fn redis_id(self) -> Result<String, Error> {
        if let Some(known) = self.known_redis_id().await? {
            return Ok(known);
        }
        let made = format!("{:032x}", rand::random::<u128>());
        let mut set = redis::cmd("SET");
        set.arg(self.0.keys.redis_id()).arg(&made).arg("NX").arg("GET");
        // Another server may have been first.
        let before: Text = self.0.commands.call(&set).await?;
        before.0.map_or(Ok(made), |before| self.checked(before))
    }

    /// Returns the identity, unless nobody has created it yet.
    pub async fn known_redis_id(self) -> Result<Option<String>, Error> {
        let found: Text = self.0.commands.call(redis::cmd("GET").arg(self.0.keys.redis_id())).await?;
        found.0.map(|found| self.checked(found)).transpose()
    }

    /// Validates the identity, because foreign programs can write the key and the value becomes part of a file name.
    fn checked(self, identity: String) -> Result<String, Error> {
        if identity.len() == DIGITS && identity.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Ok(identity);
        }
        Err(Error::spoilt(self.0.keys.redis_id(), "holds no identity"))
    }
}
