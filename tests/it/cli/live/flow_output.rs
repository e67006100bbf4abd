//! Output and input of the jobs of a flow.

use super::Server;

const TALKING: &str = "\
jobs:
  pull:
    script: 'print(`one`); log_warn(`two`); job::progress(40, `halfway`); args.count'
  tell:
    depends_on: [pull]
    args: { own: 1, count: 2 }
    script: 'print(`three`); `${inputs.pull} ${args.own} ${env.WHO}`'
";

#[test]
fn what_the_jobs_of_a_flow_log_is_shown_while_it_runs_and_afterwards() {
    let server = Server::start();
    server.hero.file("flow.yaml", TALKING);
    let ran = server.run(&["flow", "run", "flow.yaml", "--arg", "count=5", "--env", "WHO=ada"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "5 1 ada\n"), "{}", ran.err);
    for said in ["pull | one", "pull | warn: two", "tell | three", "pull 40, halfway", "pull started", "pull finished", "tell finished"] {
        assert_eq!(ran.err.lines().filter(|line| *line == said).count(), 1, "{said}: {}", ran.err);
    }
    let words = |text: &str| text.lines().map(|line| line.rsplit(' ').next().unwrap().to_owned()).collect::<Vec<_>>();
    let logs = server.ok(&["flow", "logs", "1"]);
    assert_eq!(words(&logs), ["one", "two", "three"], "{logs}");
    assert!(logs.starts_with("pull ") && logs.lines().last().unwrap().starts_with("tell "), "{logs}");
    assert_eq!(words(&server.ok(&["flow", "logs", "1", "tell"])), ["three"]);
    let lines = server.ok(&["flow", "logs", "1", "pull", "--json"]);
    let first: serde_json::Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
    assert_eq!((&first["job"], &first["line"]["text"]), (&"pull".into(), &"one".into()));
    let wrong = server.run(&["flow", "logs", "1", "pul"]);
    assert!(wrong.code == 2 && wrong.err.contains("flow 1 has no job pul; its jobs: pull, tell"), "{}", wrong.err);
    // Each job has its id beside it, by which it is a job like any other.
    let shown = server.ok(&["flow", "show", "1"]);
    for job in server.json(&["flow", "show", "1"])["jobs"].as_array().unwrap() {
        assert!(shown.contains(job["job_id"].as_str().unwrap()), "{shown}");
    }
}

#[test]
fn what_the_command_line_gives_a_flow_counts_before_its_file() {
    let server = Server::start();
    let flow =
        "env_vars: { A: file, B: file }\njobs:\n  a: { script: '`${env.A} ${env.B} ${args.x}`', env_vars: { A: job }, args: { x: 1 } }\n";
    server.hero.file("flow.yaml", flow);
    assert_eq!(server.ok(&["flow", "run", "flow.yaml"]), "job file 1");
    assert_eq!(server.ok(&["flow", "run", "flow.yaml", "--env", "A=given", "--arg", "x=2"]), "given file 2");
    server.hero.file("flow.yaml", "jobs:\n  a: { script: 'args', args: [1] }\n");
    let refused = server.run(&["flow", "run", "flow.yaml", "--arg", "x=2"]);
    assert!(refused.code == 2 && refused.err.contains("jobs.a has args of its own"), "{}", refused.err);
}

#[test]
fn a_list_of_flows_does_not_call_failed_what_never_ran() {
    let server = Server::start();
    let flow = "jobs:\n  a: { script: 'throw 1' }\n  b: { script: '1', depends_on: [a] }\n  c: { script: '1', depends_on: [b] }\n";
    server.hero.file("flow.yaml", flow);
    assert_eq!(server.run(&["flow", "run", "flow.yaml"]).code, 3);
    let listed = server.ok(&["flow", "list"]);
    assert!(listed.contains("0 of 3 finished") && !listed.contains("3 failed"), "{listed}");
    let shown = server.ok(&["flow", "show", "1"]);
    assert_eq!((shown.matches(" failed ").count(), shown.matches(" never ran").count()), (1, 2), "{shown}");
    assert!(!shown.contains("stopped_by_request"), "{shown}");
}
