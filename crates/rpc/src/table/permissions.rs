//! The right that each method and each function requires: `docs/permissions.md`.

use crate::session::auth::Permission;
use crate::session::guard::Concern;
use hero_access::{Allowed, allowed};
use hero_engine::Use;
use hero_engine::reference::{CONSTANTS_THAT_ASK, functions};
use hero_jobs::actor::script_right;
use hero_model::{ContextId, JobId, Role};

/// The text before the table.
pub(crate) const HEAD: &str = "# Permissions

Where callers have to log in (`--login`), each method requires a right. `own` means what a caller created itself: its
jobs and schedules, its identity and its tokens. Jobs that it creates may name only its own jobs. A caller sees itself
and the identities that share a context with it. The operator, who connects to `hero.sock` in the data directory, may do
everything. Without login, everybody may.

The roles are those of the context that a call names:

- `admin` may do everything in its context, and grants roles in it.
- `caller` creates jobs, and shares the objects of the context.
- `reader` reads everything.
- `executor` reads everything, and starts, stops and retries the jobs and flows of others. It creates, deletes and
  changes nothing else.
- `identity` stands for everybody who has logged in, with or without a role.

A message or runner that leads into another context of the server (`here`) needs `admin` or `caller` there, too. Only
the operator may name a Redis by its address ([messages.md](messages.md)).

hero makes this page of the definitions that decide. A test makes every call, and calls every function, in every role.

| method | nobody | identity | reader | executor | caller | admin |
| --- | --- | --- | --- | --- | --- | --- |
";

/// The roles of the columns, from the second on.
const ROLES: [Option<Role>; 5] = [None, Some(Role::Reader), Some(Role::Executor), Some(Role::Caller), Some(Role::Admin)];

/// Returns the line of a method.
pub(crate) fn line(name: &str, permission: Permission, concern: &Concern<'_>) -> String {
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

/// The text before the table of the functions of scripts.
const FUNCTIONS: &str = "
## Functions of scripts

A script has the rights of the caller of its job. hero checks them at each call of a function that reaches beyond the
engine, by the roles that the caller has at that moment in the context of the job. A refusal is an error that the script
may catch. A job whose caller is no identity (`anonymous`, `operator`, a name that another program wrote) may call all
of these functions: see the column `nobody`. Functions that the table does not name reach nothing.

The functions of other languages (`hero.spawn` in Python) need the same rights as those of Rhai; `inputs` and `SLOT` are
constants. [functions.md](functions.md) says what a function needs besides. Confinement decides what the processes of a
script reach by themselves.

| function | nobody | identity | reader | executor | caller | admin |
| --- | --- | --- | --- | --- | --- | --- |
";

/// Returns the table of the functions of scripts.
pub(crate) fn functions_of_scripts() -> String {
    let named = functions().iter().filter_map(|function| Some((&*function.name, function.uses()?)));
    let job = JobId::random();
    let mut page = FUNCTIONS.to_owned();
    for (name, uses) in named.chain(CONSTANTS_THAT_ASK) {
        page.push_str(&format!("| `{name}` | yes |"));
        let (permission, concern) = script_right(uses, ContextId(0), &job);
        for role in ROLES {
            page.push_str(match allowed(role, permission, &concern) {
                Allowed::No => "  |",
                // Even a job of an admin cannot create jobs that name those of other callers.
                Allowed::Yes if uses != Use::Spawn => " yes |",
                Allowed::Yes | Allowed::Own => " own |",
            });
        }
        page.push('\n');
    }
    page
}
