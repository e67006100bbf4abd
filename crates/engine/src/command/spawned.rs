use hero_model::{JobJson, Json, exact, without_position};

/// Parses the job that a command asks to create. Later code cannot see duplicate names, so they are refused here.
pub(super) fn read(text: &str) -> Result<Json, String> {
    let text = exact(text, "job").map_err(|error| error.to_string())?;
    // Later code reports a value that is not an object.
    let read = serde_json::from_str(&text).map(|JobJson(job)| job);
    read.map_err(|error| without_position(&error.to_string()).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_stands_twice_is_refused_but_in_free_json() {
        for (text, told) in [
            (r#"{"script":"1","script":"2"}"#, r#"the name "script" stands there twice"#),
            (r#"{"script":"1","env_vars":{"K":"a","L":"b","\u004b":"c"}}"#, r#"env_vars: the name "K" stands there twice"#),
            (r#"{"script":"1", "labels": {"K":"a","K":"a"}}"#, r#"labels: the name "K" stands there twice"#),
        ] {
            assert_eq!(read(text).unwrap_err(), told);
        }
        let free = read(r#" {"script":"1","args":{"a":1,"a":2},"env_vars":null,"labels":[]}"#).unwrap();
        assert_eq!(free.as_str(), r#"{"script":"1","args":{"a":2},"env_vars":null,"labels":[]}"#);
        assert_eq!(read("[1]").unwrap().as_str(), "[1]");
    }
}
