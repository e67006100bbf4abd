/// A document, by its path in the repository.
pub(super) struct Source {
    pub(super) path: &'static str,
    pub(super) text: &'static str,
}

/// Documents that are grouped in the navigation.
pub(super) struct Section {
    pub(super) title: &'static str,
    pub(super) sources: &'static [Source],
    /// Whether the navigation lists only the first document, which links to the others.
    pub(super) is_folded: bool,
}

macro_rules! section {
    ($title:literal, $is_folded:literal: $($path:literal)*) => {
        Section {
            title: $title,
            sources: &[$(Source { path: $path, text: include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../", $path)) }),*],
            is_folded: $is_folded,
        }
    };
}

macro_rules! pictures {
    ($($name:literal)*) => {
        &[$(Source {
            path: concat!("docs/speed/", $name, ".svg"),
            text: include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/speed/", $name, ".svg")),
        }),*]
    };
}

/// The pictures of documents, as SVG.
pub(super) const PICTURES: &[Source] = pictures!(
    "queue"
    "kept"
    "waiters"
    "actors"
    "drain"
    "contexts"
    "servers"
    "subscribers"
    "bystanders"
    "flow"
    "soak-memory"
    "soak-file"
    "soak-latency"
    "soak-jobs"
    "soak-keys"
);

/// Every document, in the order of the navigation.
pub(super) const SECTIONS: [Section; 8] = [
    section!("Start", false:
        "README.md"
        "docs/guides/zero-to-a-flow.md"
        "docs/scripts.md"
        "docs/flows.md"
        "docs/functions.md"
        "docs/command-line.md"
        "docs/words.md"
    ),
    section!("Guides", false:
        "docs/guides/an-actor-in-another-language.md"
        "docs/guides/moving-from-bullmq.md"
        "docs/guides/moving-from-celery.md"
    ),
    section!("Methods", false:
        "docs/methods/README.md"
        "docs/methods/jobs.md"
        "docs/methods/flows.md"
        "docs/methods/schedules.md"
        "docs/methods/objects.md"
        "docs/methods/subscriptions.md"
        "docs/methods/access.md"
        "docs/methods/coordinator.md"
        "docs/methods/operation.md"
        "docs/methods/types.md"
        "docs/methods/errors.md"
    ),
    section!("Clients", false:
        "docs/clients.md"
        "clients/typescript/README.md"
        "clients/python/README.md"
        "docs/json-rpc.md"
    ),
    section!("Running it", false:
        "docs/operations.md"
        "docs/settings.md"
        "docs/confinement.md"
        "docs/metrics.md"
        "docs/contexts.md"
        "docs/assistants.md"
        "docs/access.md"
        "docs/permissions.md"
        "docs/audit.md"
        "docs/two-machines.md"
        "docs/messages.md"
    ),
    section!("Redis", false:
        "docs/protocol.md"
        "docs/layouts.md"
    ),
    section!("Inside", false:
        "docs/guarantees.md"
        "docs/speed.md"
        "ARCHITECTURE.md"
        "CONTRIBUTING.md"
        "CHANGELOG.md"
    ),
    section!("Decisions", true:
        "docs/decisions/README.md"
        "docs/decisions/01-the-script-thread-reads-its-own-socket.md"
        "docs/decisions/02-256-mb-of-stack-for-the-script-thread.md"
        "docs/decisions/03-processes-and-log-files-stand-below-what-shares-them.md"
        "docs/decisions/04-a-pool-prefetches-short-jobs.md"
        "docs/decisions/05-a-subscription-says-that-it-has-ended.md"
        "docs/decisions/06-more-fields-in-the-hash-of-a-job.md"
        "docs/decisions/07-queued-jobs-are-watched-in-a-set-of-their-own.md"
        "docs/decisions/08-created-jobs-are-in-the-set-of-scheduled-jobs.md"
        "docs/decisions/09-several-servers-may-wait-for-one-job.md"
        "docs/decisions/10-a-new-job-may-start-in-the-call-that-stores-it.md"
        "docs/decisions/11-creates-and-fetches-share-a-connection.md"
        "docs/decisions/12-one-server-thread-less-than-processors.md"
        "docs/decisions/13-create-jobs-stores-up-to-1-000-jobs-in-one-call.md"
        "docs/decisions/14-at-most-eight-concurrent-jobs-in-one-actor.md"
        "docs/decisions/15-one-library-of-redis-functions.md"
        "docs/decisions/16-schedules.md"
        "docs/decisions/17-callers-take-turns.md"
        "docs/decisions/18-the-limit-of-a-context-counts-leases.md"
        "docs/decisions/19-other-layouts-are-data-not-code.md"
        "docs/decisions/20-migration-by-a-second-queue.md"
        "docs/decisions/21-a-started-job-that-is-watched-is-not-claimed-again.md"
        "docs/decisions/22-a-separate-loop-releases-relatives.md"
        "docs/decisions/23-conveyor-jobs-are-read-in-rust.md"
        "docs/decisions/24-following-relations-is-bounded.md"
        "docs/decisions/25-wrong-values-are-replaced.md"
        "docs/decisions/26-replies-are-pushed-only-to-keys-of-the-context.md"
        "docs/decisions/27-hero-reads-websockets-and-http-bodies-itself.md"
        "docs/decisions/28-a-dedicated-engine-checks-scripts.md"
        "docs/decisions/29-constants-of-a-script-are-resolved-by-name.md"
        "docs/decisions/30-functions-skip-fields-that-they-know-to-be-absent.md"
        "docs/decisions/31-heroscript-passes-values-by-parameter-names.md"
        "docs/decisions/32-a-host-call-is-one-frame.md"
        "docs/decisions/33-an-index-of-objects-is-one-sorted-set.md"
        "docs/decisions/34-a-supervisor-runs-the-processes-of-jobs.md"
        "docs/decisions/35-a-result-has-a-descriptor-of-its-own.md"
        "docs/decisions/36-jobs-in-python-are-forks.md"
        "docs/decisions/37-the-server-carries-out-granted-host-calls.md"
        "docs/decisions/38-differences-from-the-published-sal.md"
        "docs/decisions/39-as-root-each-engine-has-its-own-user.md"
        "docs/decisions/40-jobs-start-in-the-namespaces-of-their-supervisor.md"
        "docs/decisions/41-processes-make-host-calls-as-lines-on-a-socket.md"
        "docs/decisions/42-the-process-group-of-a-job-is-killed-first.md"
        "docs/decisions/43-a-context-narrows-limits.md"
        "docs/decisions/44-each-context-has-its-own-user-for-files.md"
        "docs/decisions/45-sizes-are-limited-by-their-memory.md"
        "docs/decisions/46-the-concern-of-a-call-decides-who-may-make-it.md"
        "docs/decisions/47-nonces-are-authenticated-not-stored.md"
        "docs/decisions/48-unused-contexts-sleep.md"
        "docs/decisions/51-no-request-waits-at-a-mycelium-node.md"
        "docs/decisions/53-absent-unavailable-and-spoilt-are-three-answers.md"
        "docs/decisions/54-revisions-grow-by-random-steps-and-changes-are-announced.md"
        "docs/decisions/55-jobs-created-together-are-staged.md"
        "docs/decisions/56-stopped-jobs-far-back-in-a-queue-stay-there.md"
        "docs/decisions/57-host-calls-are-repeated.md"
        "docs/decisions/58-variables-that-are-no-secrets-are-named.md"
        "docs/decisions/59-a-closure-gets-the-variable-and-its-method-a-copy.md"
        "docs/decisions/60-a-supervisor-has-a-root-and-a-proc-of-its-own.md"
        "docs/decisions/64-unauthenticated-callers-share-an-eighth-of-the-memory-budgets.md"
        "docs/decisions/65-each-kind-of-child-has-a-list-of-system-calls.md"
        "docs/decisions/66-each-supervisor-has-a-control-group-where-a-subtree-is-delegated.md"
        "docs/decisions/67-executor-rights-and-coordinator-objects-on-demand.md"
        "docs/decisions/68-assistants-have-no-sessions.md"
        "docs/decisions/72-long-answers-are-compressed-whole-and-those-with-tokens-never.md"
        "docs/decisions/74-functions-follow-a-clock-that-was-set-back.md"
        "docs/decisions/75-what-stays-our-own-and-why.md"
        "docs/decisions/76-what-processes-hold-is-looked-at-beside.md"
        "docs/decisions/77-jobs-of-a-server-have-no-list-with-their-reply.md"
        "docs/decisions/78-a-short-script-runs-before-its-job-is-stored.md"
        "docs/decisions/79-most-of-the-program-is-optimised-for-size.md"
    ),
];
