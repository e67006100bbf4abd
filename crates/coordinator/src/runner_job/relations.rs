//! The relations between the jobs of a message. Jobs are named by their numbers at the sender, or as
//! `job:{caller}:{n}`.

use hero_jobs::dispatch::MOST_RELATIVES;
use hero_model::{Json, excerpt};

/// Maximum number of characters of an invalid name in a message.
const MAX_SHOWN_CHARS: usize = 48;

/// Refuses more relations than a job may have.
pub(super) fn check_number(what: &str, many: usize) -> Result<(), String> {
    if many > MOST_RELATIVES { Err(format!("{what}: names {many} jobs, the limit is {MOST_RELATIVES}")) } else { Ok(()) }
}

/// Returns the numbers of the jobs that a job of this caller waits for, each once. They are jobs of the same caller.
pub(super) fn prerequisites(named: &[Json], caller: u32) -> Result<Vec<u32>, String> {
    check_number("prerequisites", named.len())?;
    let mut numbers = Vec::with_capacity(named.len());
    for (at, one) in named.iter().enumerate() {
        let number = number_of(one, caller).map_err(|why| format!("prerequisites[{at}]: {why}"))?;
        if !numbers.contains(&number) {
            numbers.push(number);
        }
    }
    Ok(numbers)
}

fn number_of(named: &Json, caller: u32) -> Result<u32, String> {
    let text = named.as_str().trim_matches('"');
    let wrong = || format!("{} is neither the number of a job nor its name, such as job:{caller}:7", excerpt(text, MAX_SHOWN_CHARS));
    let Some(name) = text.strip_prefix("job:") else { return text.parse().map_err(|_| wrong()) };
    let (of, number) = name.split_once(':').ok_or_else(wrong)?;
    let (of, number): (u32, u32) = (of.parse().map_err(|_| wrong())?, number.parse().map_err(|_| wrong())?);
    if of != caller {
        return Err(format!("{text} is a job of another caller; the jobs of a message of caller {caller} name that caller's own only"));
    }
    Ok(number)
}

/// Makes the jobs of a message that this job names as `dependends` wait for it. Jobs outside of the message are linked
/// when the job is taken.
pub(super) fn have_wait(dependends: &[u32], number: u32, numbers: &[u32], waits_for: &mut [Vec<u32>]) -> Result<(), String> {
    for (other, waits_for) in numbers.iter().zip(waits_for) {
        if dependends.contains(other) && !waits_for.contains(&number) {
            waits_for.push(number);
            check_number("prerequisites", waits_for.len())?;
        }
    }
    Ok(())
}

/// Refuses jobs that would wait for each other, and relations to a number that several jobs have.
pub(super) fn check(numbers: &[u32], waits_for: &[Vec<u32>]) -> Result<(), String> {
    let place_of = |number: u32| numbers.iter().position(|other| *other == number);
    let others: Vec<Vec<usize>> = waits_for.iter().map(|named| named.iter().filter_map(|number| place_of(*number)).collect()).collect();
    for other in others.iter().flatten() {
        let number = numbers[*other];
        if numbers.iter().filter(|one| **one == number).count() > 1 {
            return Err(format!("job: several jobs of the message have the number {number}, for which others are to wait"));
        }
    }
    let mut done = vec![false; others.len()];
    for place in 0..others.len() {
        if let Some(circle) = circle_through(place, &others, &mut done, &mut Vec::new()) {
            let names: Vec<String> = circle.iter().map(|place| numbers[*place].to_string()).collect();
            return Err(match names.as_slice() {
                [one] => format!("job: job {one} would wait for itself"),
                all => format!("job: jobs {} would wait for each other", all.join(", ")),
            });
        }
    }
    Ok(())
}

/// Returns the jobs of a cycle that can be reached from one. A message has few jobs, so the recursion is not deep.
fn circle_through(place: usize, others: &[Vec<usize>], done: &mut [bool], path: &mut Vec<usize>) -> Option<Vec<usize>> {
    if let Some(first) = path.iter().position(|before| *before == place) {
        return Some(path[first..].to_vec());
    }
    if done[place] {
        return None;
    }
    path.push(place);
    let found = others[place].iter().find_map(|other| circle_through(*other, others, done, path));
    path.pop();
    done[place] = true;
    found
}
