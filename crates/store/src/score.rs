use std::fmt;
use std::str::FromStr;

/// Where an entry stands in a sorted set, as cursors of lists say it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Score(pub(super) f64);

impl Score {
    /// Above every number.
    pub const HIGHEST: Self = Self(f64::INFINITY);

    /// Whether it stands behind this one.
    pub fn is_behind(self, other: Self) -> bool {
        self.0 > other.0
    }

    /// The end of a range that leaves out what stands here.
    pub(super) fn beyond(self) -> String {
        format!("({self}")
    }
}

impl From<u32> for Score {
    fn from(number: u32) -> Self {
        Self(number.into())
    }
}

impl fmt::Display for Score {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for Score {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let score = Self(text.parse().map_err(|_| ())?);
        // Only as they are written here, and not what is no number.
        (!score.0.is_nan() && score.to_string() == text).then_some(score).ok_or(())
    }
}
