use std::fmt;
use std::str::FromStr;

use crate::jobs::of_status::Since;
use hero_model::JobId;

/// The start of a page of jobs, as a cursor names it.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum PageStart {
    /// The next job is the one before a position in the index of an hour: `{hour}-{end}`.
    Hour(String, usize),
    /// The next job is this one, or the next older one, among those of a status: `{time}.{id}`.
    Since(Since),
}

impl fmt::Display for PageStart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hour(hour, end) => write!(f, "{hour}-{end}"),
            Self::Since((time, id)) => write!(f, "{time}.{id}"),
        }
    }
}

impl FromStr for PageStart {
    type Err = ();

    fn from_str(cursor: &str) -> Result<Self, ()> {
        if let Some((time, id)) = cursor.split_once('.') {
            let time = time.parse().ok().filter(|time| *time >= 0).ok_or(())?;
            return Ok(Self::Since((time, id.parse::<JobId>().map_err(|_| ())?)));
        }
        let (hour, end) = cursor.split_once('-').ok_or(())?;
        let valid = hour.len() == 10 && hour.bytes().all(|byte| byte.is_ascii_digit());
        Ok(Self::Hour(valid.then(|| hour.to_owned()).ok_or(())?, end.parse().map_err(|_| ())?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_read_back_and_one_of_nonsense_refused() {
        for start in [PageStart::Hour("2026112110".into(), 5), PageStart::Since((1_763_000_000_000, JobId::random()))] {
            assert_eq!(start.to_string().parse(), Ok(start));
        }
        let id = JobId::random();
        for bad in ["", "x", "2026112110", "2026112110-x", "20261121-5", "*-1", "5.", "5.x", &format!("x.{id}"), &format!("-1.{id}")] {
            assert_eq!(bad.parse::<PageStart>(), Err(()), "{bad}");
        }
    }
}
