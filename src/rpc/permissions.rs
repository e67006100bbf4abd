//! Who may call which method, for people: `docs/permissions.md`.

use super::auth::Permission;
use super::guard::{Allowed, Concern, allowed};
use crate::model::Role;

/// What stands before the table.
pub(super) const HEAD: &str = "# Who may call what

Where callers have to log in (`--login`), each method asks for a right. `own` is what a caller created itself: its jobs and schedules, its identity and tokens;
jobs that it creates may name its own jobs only. The operator may do everything: whoever connects to the socket `hero.sock` in the data directory. Without login, everybody may.

What each role is for: `admin` may do everything in its context, and grant rights in it; `caller` creates jobs, and shares the objects of the context;
`reader` reads everything; `executor` runs jobs, which it has to read. `identity` is anybody who has logged in, whatever its roles. Roles are those of the context that a call names.
A message or runner that leads into another context of the server (`here`) needs admin or caller there, too; one to a Redis by its address is the operator's ([messages.md](messages.md)).

This page is made of the same definitions that decide, and a test makes every call in every role.

| method | nobody | identity | reader | executor | caller | admin |
| --- | --- | --- | --- | --- | --- | --- |
";

/// The line of a method.
pub(super) fn line(name: &str, permission: Permission, concern: &Concern<'_>) -> String {
    let mut line = format!("| `{name}` | {} |", if permission == Permission::Public { "yes" } else { "" });
    for role in [None, Some(Role::Reader), Some(Role::Executor), Some(Role::Caller), Some(Role::Admin)] {
        line.push_str(match allowed(role, permission, concern) {
            Allowed::Yes => " yes |",
            Allowed::Own => " own |",
            Allowed::No => "  |",
        });
    }
    line.push('\n');
    line
}
