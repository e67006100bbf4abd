use std::fmt;
use std::str::FromStr;

/// The place of an entry in a sorted set, as cursors of lists name it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Score(pub(super) f64);

impl Score {
    /// Above every number.
    pub const HIGHEST: Self = Self(f64::INFINITY);

    /// Whether it comes after another.
    pub fn is_behind(self, other: Self) -> bool {
        self.0 > other.0
    }

    /// The exclusive bound of a range that begins after this place.
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
        // Only the canonical spelling is accepted, and no NaN.
        (!score.0.is_nan() && score.to_string() == text).then_some(score).ok_or(())
    }
}
