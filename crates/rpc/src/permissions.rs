//! Who may call which method, for people: `docs/permissions.md`.

use super::auth::Permission;
use super::guard::Concern;
use hero_access::{Allowed, allowed};
use hero_engine::Use;
use hero_engine::reference::{CONSTANTS_THAT_ASK, functions};
use hero_jobs::actor::script_right;
use hero_model::{ContextId, JobId, Role};

/// What stands before the table.
pub(super) const HEAD: &str = "# Who may call what

Where callers have to log in (`--login`), each method asks for a right. `own` is what a caller created itself: its jobs and schedules, its identity and tokens;
jobs that it creates may name its own jobs only. Of identities it sees itself, and those that have a role in a context in which it has one. The operator may do everything: whoever connects to the socket `hero.sock` in the data directory. Without login, everybody may.

What each role is for: `admin` may do everything in its context, and grant rights in it; `caller` creates jobs, and shares the objects of the context;
`reader` reads everything; `executor` starts, stops and retries the jobs and flows that others have made, which it has to read, and makes, deletes and changes nothing else. `identity` is anybody who has logged in, whatever its roles. Roles are those of the context that a call names.
A message or runner that leads into another context of the server (`here`) needs admin or caller there, too; one to a Redis by its address is the operator's ([messages.md](messages.md)).

This page is made of the same definitions that decide, and a test makes every call in every role, and calls every function.

| method | nobody | identity | reader | executor | caller | admin |
| --- | --- | --- | --- | --- | --- | --- |
";

/// The roles of the columns, from the second on.
const ROLES: [Option<Role>; 5] = [None, Some(Role::Reader), Some(Role::Executor), Some(Role::Caller), Some(Role::Admin)];

/// The line of a method.
pub(super) fn line(name: &str, permission: Permission, concern: &Concern<'_>) -> String {
    let mut line = format!("| `{name}` | {} |", if permission == Permission::Public { "yes" } else { "" });
    for role in ROLES {
        line.push_str(match allowed(role, permission, concern) {
            Allowed::Yes => " yes |",
            Allowed::Own => " own |",
            Allowed::No => "  |",
        });
    }
    line.push('\n');
    line
}

/// What stands before the table of the functions of scripts.
const FUNCTIONS: &str = "
## Functions of scripts

A script asks in the name of the caller of its job, each time that it calls a function which reaches beyond its engine. Where callers have to log in, that is allowed if the roles which the caller has then, in the context of the job, allow it; a refusal is an error
that the script may catch. A job whose caller is no number of an identity (`anonymous`, `operator`, what other programs wrote) may call all of them: that is the column `nobody`. Functions that are not here reach nothing. Those of other languages that do the same
(`hero.spawn`, say) need the same; `inputs` and `SLOT` are constants. What a function needs besides that is in [functions.md](functions.md); what processes reach by themselves is up to their confinement.

| function | nobody | identity | reader | executor | caller | admin |
| --- | --- | --- | --- | --- | --- | --- |
";

/// The table of the functions of scripts.
pub(super) fn functions_of_scripts() -> String {
    let named = functions().iter().filter_map(|function| Some((&*function.name, function.uses()?)));
    let job = JobId::random();
    let mut page = FUNCTIONS.to_owned();
    for (name, uses) in named.chain(CONSTANTS_THAT_ASK) {
        page.push_str(&format!("| `{name}` | yes |"));
        let (permission, concern) = script_right(uses, ContextId(0), &job);
        for role in ROLES {
            page.push_str(match allowed(role, permission, &concern) {
                Allowed::No => "  |",
                // Not even a job of an admin creates some that name those of other callers.
                Allowed::Yes if uses != Use::Spawn => " yes |",
                Allowed::Yes | Allowed::Own => " own |",
            });
        }
        page.push('\n');
    }
    page
}
