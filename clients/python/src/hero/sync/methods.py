# Made of ../aio/methods.py by `make clients`. Change that instead.
# Made of openrpc.json by `make clients`. Change clients/generate/python.py instead.
"""One method for each call of the server, with the same name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, TypedDict
from uuid import UUID

from .. import models
from .._core.call import ONCE, REPEAT, Keyed, Wait
from .face import Face
from .stream import Subscription

__all__ = ["CreateFlowOptions", "CreateJobOptions", "CreateScheduleOptions", "METHODS", "Methods", "VERSION", "WAITS"]

VERSION = "0.1.0"
"""The version of the API document that this client was generated from."""

METHODS: dict[str, str] = {
    "create_job": "create_job",
    "create_jobs": "create_jobs",
    "start_job": "start_job",
    "run_and_wait": "run_and_wait",
    "wait_job": "wait_job",
    "stop_job": "stop_job",
    "retry_job": "retry_job",
    "get_status": "get_status",
    "get_job": "get_job",
    "get_result": "get_result",
    "get_logs": "get_logs",
    "list_jobs": "list_jobs",
    "number_job": "number_job",
    "delete_job": "delete_job",
    "explain_job": "explain_job",
    "create_flow": "create_flow",
    "run_flow_and_wait": "run_flow_and_wait",
    "start_flow": "start_flow",
    "wait_flow": "wait_flow",
    "get_flow": "get_flow",
    "list_flows": "list_flows",
    "stop_flow": "stop_flow",
    "retry_flow": "retry_flow",
    "delete_flow": "delete_flow",
    "create_schedule": "create_schedule",
    "list_schedules": "list_schedules",
    "delete_schedule": "delete_schedule",
    "set_object": "set_object",
    "get_object": "get_object",
    "find_objects": "find_objects",
    "delete_object": "delete_object",
    "list_collections": "list_collections",
    "drop_collection": "drop_collection",
    "create_identity": "create_identity",
    "update_identity": "update_identity",
    "get_identity": "get_identity",
    "list_identities": "list_identities",
    "delete_identity": "delete_identity",
    "whoami": "whoami",
    "fetch_nonce": "fetch_nonce",
    "authenticate": "authenticate",
    "create_token": "create_token",
    "present_token": "present_token",
    "list_tokens": "list_tokens",
    "revoke_token": "revoke_token",
    "create_context": "create_context",
    "update_context": "update_context",
    "get_context": "get_context",
    "list_contexts": "list_contexts",
    "delete_context": "delete_context",
    "grant": "grant",
    "revoke": "revoke",
    "create_runner": "create_runner",
    "update_runner": "update_runner",
    "get_runner": "get_runner",
    "list_runners": "list_runners",
    "delete_runner": "delete_runner",
    "send_message": "send_message",
    "ping_node": "ping_node",
    "get_message": "get_message",
    "list_messages": "list_messages",
    "acknowledge_message": "acknowledge_message",
    "delete_message": "delete_message",
    "list_actors": "list_actors",
    "list_functions": "list_functions",
    "check_script": "check_script",
    "list_queues": "list_queues",
    "pause_queue": "pause_queue",
    "resume_queue": "resume_queue",
    "server_info": "server_info",
    "ping": "ping",
    "subscribe_job": "subscribe_job",
    "subscribe_flow": "subscribe_flow",
    "subscribe_events": "subscribe_events",
    "subscribe_logs": "subscribe_logs",
    "drain_server": "drain_server",
}
"""Each call of the server, and the method that makes it. `Subscription.close` makes the calls that end subscriptions."""

WAITS: dict[str, Wait] = {
    "run_and_wait": Wait(120, 3600),
    "wait_job": Wait(120, 3600),
    "run_flow_and_wait": Wait(120, 3600),
    "wait_flow": Wait(120, 3600),
}
"""The default and maximum timeout, in seconds, of calls that wait."""


class CreateJobOptions(TypedDict, total=False):
    """The optional parameters of `create_job`."""

    script_type: str | None
    args: Any
    timeout: float | timedelta | None
    retries: int | None
    retry_backoff: float | timedelta | None
    priority: int | None
    name: str | None
    labels: Mapping[str, str] | None
    env_vars: Mapping[str, str] | None
    run_at: datetime | str | None
    idempotency_key: str | None
    retention: float | timedelta | None
    prerequisites: Sequence[str | UUID] | None
    parent_id: str | UUID | None
    predecessor_id: str | UUID | None
    group: str | None
    instance: int | None
    concurrent: bool | None
    log_path: str | None
    context_id: int | None
    caller_id: str | None
    worker_id: str | None
    dependents: Sequence[str | UUID] | None
    client_rpc_id: str | None
    job_id: str | UUID | None


class CreateFlowOptions(TypedDict, total=False):
    """The optional parameters of `create_flow`."""

    name: str | None
    env_vars: Mapping[str, str] | None
    on_failure: models.FlowOnFailure | models.FlowOnFailureWord | None
    prerequisites: Sequence[str | UUID] | None
    retention: float | timedelta | None
    caller_id: str | None
    context_id: int | None
    idempotency_key: str | None


class CreateScheduleOptions(TypedDict, total=False):
    """The optional parameters of `create_schedule`."""

    cron: str | None
    every: float | timedelta | None
    time_zone: str | None
    overlap: models.Overlap | models.OverlapWord | None
    missed: models.Missed | models.MissedWord | None
    missed_limit: int | None
    start_at: datetime | str | None
    end_at: datetime | str | None
    name: str | None
    idempotency_key: str | None
    schedule_id: str | UUID | None


class Methods(Face):
    """One method for each call of the server. Arguments that are None are not sent, and the server uses its defaults."""

    def create_job(
        self,
        script: str,
        *,
        script_type: str | None = None,
        args: Any = None,
        timeout: float | timedelta | None = None,
        retries: int | None = None,
        retry_backoff: float | timedelta | None = None,
        priority: int | None = None,
        name: str | None = None,
        labels: Mapping[str, str] | None = None,
        env_vars: Mapping[str, str] | None = None,
        run_at: datetime | str | None = None,
        idempotency_key: str | None = None,
        retention: float | timedelta | None = None,
        prerequisites: Sequence[str | UUID] | None = None,
        parent_id: str | UUID | None = None,
        predecessor_id: str | UUID | None = None,
        group: str | None = None,
        instance: int | None = None,
        concurrent: bool | None = None,
        log_path: str | None = None,
        context_id: int | None = None,
        caller_id: str | None = None,
        worker_id: str | None = None,
        dependents: Sequence[str | UUID] | None = None,
        client_rpc_id: str | None = None,
        job_id: str | UUID | None = None,
        start: bool | None = None,
    ) -> str:
        """Stores a job, and starts it if `start` is set. Returns its id. A repeated call with the same `idempotency_key` and the same
        parameters returns the same job.

        Args:
            script: The script to run.
            script_type: The script type, whose actors run it: `osis`, `sal`, or a configured type (default: "osis").
            args: The value of `args` in the script: any JSON, nested at most 100 deep.
            timeout: The time limit of one attempt in seconds. 60 by default.
            retries: Extra attempts after an error or a timeout (default: 0).
            retry_backoff: Seconds before the second attempt, doubling for each further one up to 300. 1 by default.
            priority: 0 urgent, 1 normal, 2 low (default: 1).
            name: A display name.
            labels: Labels for finding the job.
            env_vars: Environment variables: the value of `env` in the script. Their values are secrets, masked in logs and in
                `get_job`. The variable `HERO_PLAIN` names those whose values are not: `"HERO_PLAIN": "MODE,CUSTOMER"`.
            run_at: The job does not run before this time (RFC 3339).
            idempotency_key: A key for this request. For 24 hours, the same key with the same parameters returns the same job.
            retention: Seconds to keep the job after its end.
            prerequisites: Jobs that must finish first.
            parent_id: The parent job.
            predecessor_id: The job that must end first, together with all its descendants.
            group: Only actors of this group may run it.
            instance: Only the actor with this number may run it, in the group `default` if no group is given.
            concurrent: Whether the job may run at the same time as others of its actor (`sal`) (default: false).
            log_path: The path of its log file, relative to the log directory; at most 8 parts between slashes.
            context_id: The context it belongs to (default: 0).
            caller_id: The caller that creates it: by default the identity of the session, else `anonymous`.
            worker_id: The worker of the dispatcher protocol; a number is the instance.
            dependents: Jobs that wait for this job.
            client_rpc_id: An identifier chosen by the client, stored unchanged.
            job_id: The id of the job; a new one by default.
            start: Starts the job at once, as `start_job` does, in one call. Otherwise it stays `created` until it is started
                (default: false).

        Returns:
            The id of the job.
        """
        params: dict[str, Any] = {
            "script": script,
            "script_type": script_type,
            "args": args,
            "timeout": timeout,
            "retries": retries,
            "retry_backoff": retry_backoff,
            "priority": priority,
            "name": name,
            "labels": labels,
            "env_vars": env_vars,
            "run_at": run_at,
            "idempotency_key": idempotency_key,
            "retention": retention,
            "prerequisites": prerequisites,
            "parent_id": parent_id,
            "predecessor_id": predecessor_id,
            "group": group,
            "instance": instance,
            "concurrent": concurrent,
            "log_path": log_path,
            "context_id": context_id,
            "caller_id": caller_id,
            "worker_id": worker_id,
            "dependents": dependents,
            "client_rpc_id": client_rpc_id,
            "job_id": job_id,
            "start": start,
        }
        answer: str = self._call("create_job", params, str, Keyed())
        return answer

    def create_jobs(
        self,
        jobs: Sequence[models.JobSpecInput | Mapping[str, Any]],
        *,
        start: bool | None = None,
    ) -> list[str]:
        """Stores several jobs, or none if one is refused, and starts them if `start` is set. Returns their ids, in order. Jobs with a
        `job_id` may name each other, in any order. All jobs belong to one context. One call takes at most 1000 jobs, which name at most
        2000 others and have at most 2 MB. The error for a refused job has its index in `data.index`. Jobs that an earlier call with the
        same keys created are started after the others.

        Args:
            jobs: The jobs to store.
            start: Starts the jobs at once, as `start_job` does, in one call. At most 64 jobs can be started so, which name at most
                100 others and have at most 128 kB. Otherwise they stay `created` until they are started (default: false).

        Returns:
            The ids of the jobs, in the order given.
        """
        params: dict[str, Any] = {
            "jobs": jobs,
            "start": start,
        }
        answer: list[str] = self._call("create_jobs", params, list[str], Keyed("jobs"))
        return answer

    def start_job(
        self,
        job_id: str | UUID,
        *,
        context_id: int | None = None,
    ) -> models.JobStatus:
        """Starts a created job. Returns its status.

        Args:
            job_id: The job to start.
            context_id: The context it belongs to (default: 0).

        Returns:
            The status of the job after the call.
        """
        params: dict[str, Any] = {
            "job_id": job_id,
            "context_id": context_id,
        }
        answer: models.JobStatus = self._call("start_job", params, models.JobStatus, ONCE)
        return answer

    def run_and_wait(
        self,
        script: str,
        *,
        script_type: str | None = None,
        args: Any = None,
        wait_timeout: float | timedelta | None = None,
        timeout: float | timedelta | None = None,
        retries: int | None = None,
        retry_backoff: float | timedelta | None = None,
        priority: int | None = None,
        name: str | None = None,
        labels: Mapping[str, str] | None = None,
        env_vars: Mapping[str, str] | None = None,
        run_at: datetime | str | None = None,
        idempotency_key: str | None = None,
        retention: float | timedelta | None = None,
        prerequisites: Sequence[str | UUID] | None = None,
        parent_id: str | UUID | None = None,
        predecessor_id: str | UUID | None = None,
        group: str | None = None,
        instance: int | None = None,
        concurrent: bool | None = None,
        log_path: str | None = None,
        context_id: int | None = None,
        caller_id: str | None = None,
        worker_id: str | None = None,
        dependents: Sequence[str | UUID] | None = None,
        client_rpc_id: str | None = None,
        job_id: str | UUID | None = None,
    ) -> models.JobResult:
        """Creates a job, starts it, waits for its end and returns its result. A job that ends in error is a JSON-RPC error. When the
        wait runs out, or the connection closes, the job continues; `wait_job` waits for it again.

        Args:
            script: The script to run.
            script_type: The script type, whose actors run it: `osis`, `sal`, or a configured type (default: "osis").
            args: The value of `args` in the script: any JSON, nested at most 100 deep.
            wait_timeout: How many seconds to wait; 0 checks once without waiting (default: 120).
            timeout: The time limit of one attempt in seconds. 60 by default.
            retries: Extra attempts after an error or a timeout (default: 0).
            retry_backoff: Seconds before the second attempt, doubling for each further one up to 300. 1 by default.
            priority: 0 urgent, 1 normal, 2 low (default: 1).
            name: A display name.
            labels: Labels for finding the job.
            env_vars: Environment variables: the value of `env` in the script. Their values are secrets, masked in logs and in
                `get_job`. The variable `HERO_PLAIN` names those whose values are not: `"HERO_PLAIN": "MODE,CUSTOMER"`.
            run_at: The job does not run before this time (RFC 3339).
            idempotency_key: A key for this request. For 24 hours, the same key with the same parameters returns the same job.
            retention: Seconds to keep the job after its end.
            prerequisites: Jobs that must finish first.
            parent_id: The parent job.
            predecessor_id: The job that must end first, together with all its descendants.
            group: Only actors of this group may run it.
            instance: Only the actor with this number may run it, in the group `default` if no group is given.
            concurrent: Whether the job may run at the same time as others of its actor (`sal`) (default: false).
            log_path: The path of its log file, relative to the log directory; at most 8 parts between slashes.
            context_id: The context it belongs to (default: 0).
            caller_id: The caller that creates it: by default the identity of the session, else `anonymous`.
            worker_id: The worker of the dispatcher protocol; a number is the instance.
            dependents: Jobs that wait for this job.
            client_rpc_id: An identifier chosen by the client, stored unchanged.
            job_id: The id of the job; a new one by default.

        Returns:
            The result of the job.
        """
        params: dict[str, Any] = {
            "script": script,
            "script_type": script_type,
            "args": args,
            "wait_timeout": wait_timeout,
            "timeout": timeout,
            "retries": retries,
            "retry_backoff": retry_backoff,
            "priority": priority,
            "name": name,
            "labels": labels,
            "env_vars": env_vars,
            "run_at": run_at,
            "idempotency_key": idempotency_key,
            "retention": retention,
            "prerequisites": prerequisites,
            "parent_id": parent_id,
            "predecessor_id": predecessor_id,
            "group": group,
            "instance": instance,
            "concurrent": concurrent,
            "log_path": log_path,
            "context_id": context_id,
            "caller_id": caller_id,
            "worker_id": worker_id,
            "dependents": dependents,
            "client_rpc_id": client_rpc_id,
            "job_id": job_id,
        }
        answer: models.JobResult = self._call("run_and_wait", params, models.JobResult, Keyed(), WAITS["run_and_wait"])
        return answer

    def wait_job(
        self,
        job_id: str | UUID,
        *,
        wait_timeout: float | timedelta | None = None,
        context_id: int | None = None,
    ) -> models.JobResult:
        """Waits for the end of a job and returns its result. A job that ends in error is a JSON-RPC error. When the wait runs out, the
        error says why the job has not ended.

        Args:
            job_id: The job to wait for.
            wait_timeout: How many seconds to wait; 0 checks once without waiting (default: 120).
            context_id: The context it belongs to (default: 0).

        Returns:
            The result of the job.
        """
        params: dict[str, Any] = {
            "job_id": job_id,
            "wait_timeout": wait_timeout,
            "context_id": context_id,
        }
        answer: models.JobResult = self._call("wait_job", params, models.JobResult, REPEAT, WAITS["wait_job"])
        return answer

    def stop_job(
        self,
        job_id: str | UUID,
        *,
        context_id: int | None = None,
    ) -> models.JobStatus:
        """Stops a job that has not ended. Returns its status. The call waits up to one second for a running script to end. The script
        is stopped in any case.

        Args:
            job_id: The job to stop.
            context_id: The context it belongs to (default: 0).

        Returns:
            The status of the job after the call.
        """
        params: dict[str, Any] = {
            "job_id": job_id,
            "context_id": context_id,
        }
        answer: models.JobStatus = self._call("stop_job", params, models.JobStatus, ONCE)
        return answer

    def retry_job(
        self,
        job_id: str | UUID,
        *,
        context_id: int | None = None,
    ) -> models.JobStatus:
        """Runs an ended job again. Returns its status. Its attempts are counted on, its retries begin anew, and its previous result is
        gone. Jobs that waited for it and ended in error with it are not retried.

        Args:
            job_id: The job to run again.
            context_id: The context it belongs to (default: 0).

        Returns:
            The status of the job after the call.
        """
        params: dict[str, Any] = {
            "job_id": job_id,
            "context_id": context_id,
        }
        answer: models.JobStatus = self._call("retry_job", params, models.JobStatus, ONCE)
        return answer

    def get_status(
        self,
        job_id: str | UUID,
        *,
        context_id: int | None = None,
    ) -> models.JobStatus:
        """Returns the status of a job.

        Args:
            job_id: The job to look at.
            context_id: The context it belongs to (default: 0).

        Returns:
            The status of the job.
        """
        params: dict[str, Any] = {
            "job_id": job_id,
            "context_id": context_id,
        }
        answer: models.JobStatus = self._call("get_status", params, models.JobStatus, REPEAT)
        return answer

    def get_job(
        self,
        job_id: str | UUID,
        *,
        context_id: int | None = None,
    ) -> models.Job:
        """Returns everything that is known about a job.

        Args:
            job_id: The job to look at.
            context_id: The context it belongs to (default: 0).

        Returns:
            The job.
        """
        params: dict[str, Any] = {
            "job_id": job_id,
            "context_id": context_id,
        }
        answer: models.Job = self._call("get_job", params, models.Job, REPEAT)
        return answer

    def get_result(
        self,
        job_id: str | UUID,
        *,
        context_id: int | None = None,
    ) -> models.JobResult:
        """Returns the result of an ended job. A job that ended in error is a JSON-RPC error.

        Args:
            job_id: The job to look at.
            context_id: The context it belongs to (default: 0).

        Returns:
            The result of the job.
        """
        params: dict[str, Any] = {
            "job_id": job_id,
            "context_id": context_id,
        }
        answer: models.JobResult = self._call("get_result", params, models.JobResult, REPEAT)
        return answer

    def get_logs(
        self,
        job_id: str | UUID,
        *,
        cursor: str | None = None,
        limit: int | None = None,
        context_id: int | None = None,
    ) -> models.LogPage:
        """Returns log lines of a job, oldest first. A page also ends after about a megabyte, so a page with lines, but fewer than
        `limit`, may not be the last. While the job can log more, even a page without lines has a `next_cursor`: call again with it, or
        use `subscribe_logs`.

        Args:
            job_id: The job whose log to read.
            cursor: The `next_cursor` of the page before, or the `cursor` of a line.
            limit: The maximum number of lines (default: 100).
            context_id: The context the job belongs to (default: 0).

        Returns:
            Lines of the log, oldest first.
        """
        params: dict[str, Any] = {
            "job_id": job_id,
            "cursor": cursor,
            "limit": limit,
            "context_id": context_id,
        }
        answer: models.LogPage = self._call("get_logs", params, models.LogPage, REPEAT)
        return answer

    def list_jobs(
        self,
        *,
        filter: models.JobFilter | Mapping[str, Any] | None = None,
        cursor: str | None = None,
        limit: int | None = None,
        context_id: int | None = None,
    ) -> models.JobPage:
        """Lists jobs, newest first. A page may have fewer jobs than `limit`, or none, although more follow: only the last page has no
        `next_cursor`. Long values are cut after 1 KB or left out: `truncated` names them, and `get_job` returns them in full.

        Args:
            filter: The conditions, all of which a job must meet.
            cursor: The `next_cursor` of the previous page.
            limit: The maximum number of jobs (default: 100).
            context_id: The context they belong to (default: 0).

        Returns:
            The matching jobs, newest first.
        """
        params: dict[str, Any] = {
            "filter": filter,
            "cursor": cursor,
            "limit": limit,
            "context_id": context_id,
        }
        answer: models.JobPage = self._call("list_jobs", params, models.JobPage, REPEAT)
        return answer

    def number_job(
        self,
        job_id: str | UUID,
        *,
        context_id: int | None = None,
    ) -> str:
        """Mirrors a job in Redis as a hash of the coordinator's specification. Returns the key: `job:{caller}:{n}`. From then on, each
        change of the job is also written there, and the hash is deleted with the job. A job that has such a key keeps it.

        Args:
            job_id: The job to number.
            context_id: The context it belongs to (default: 0).

        Returns:
            The key in Redis.
        """
        params: dict[str, Any] = {
            "job_id": job_id,
            "context_id": context_id,
        }
        answer: str = self._call("number_job", params, str, ONCE)
        return answer

    def delete_job(
        self,
        job_id: str | UUID,
        *,
        context_id: int | None = None,
    ) -> bool:
        """Deletes a job that is not running, with its log. Returns true.

        Args:
            job_id: The job to delete.
            context_id: The context it belongs to (default: 0).

        Returns:
            True.
        """
        params: dict[str, Any] = {
            "job_id": job_id,
            "context_id": context_id,
        }
        answer: bool = self._call("delete_job", params, bool, ONCE)
        return answer

    def explain_job(
        self,
        job_id: str | UUID,
        *,
        context_id: int | None = None,
    ) -> models.Explanation:
        """Explains why a job is not running, or how it ended: as a word, a sentence, and the facts behind them.

        Args:
            job_id: The job to look at.
            context_id: The context it belongs to (default: 0).

        Returns:
            The reason, and the facts behind it.
        """
        params: dict[str, Any] = {
            "job_id": job_id,
            "context_id": context_id,
        }
        answer: models.Explanation = self._call("explain_job", params, models.Explanation, REPEAT)
        return answer

    def create_flow(
        self,
        jobs: Mapping[str, models.FlowJobSpec | Mapping[str, Any]],
        *,
        name: str | None = None,
        env_vars: Mapping[str, str] | None = None,
        on_failure: models.FlowOnFailure | models.FlowOnFailureWord | None = None,
        prerequisites: Sequence[str | UUID] | None = None,
        retention: float | timedelta | None = None,
        caller_id: str | None = None,
        context_id: int | None = None,
        idempotency_key: str | None = None,
    ) -> int:
        """Creates a flow: named jobs, which wait for each other by `depends_on`. Returns its number. Nothing runs before `start_flow`.
        The call creates the whole flow, or nothing. A script reads the results of the jobs that it depends on as `inputs.NAME`. With an
        `idempotency_key`, a call whose answer was lost can be repeated, and returns the same flow.

        Args:
            jobs: The jobs by name, at most 1,000. Names have letters, digits and `_`, and are also those of `inputs`.
            name: A display name.
            env_vars: Environment variables of all its jobs: the value of `env` in their scripts. The values are secrets, except
                those of the variables that `HERO_PLAIN` names.
            on_failure: How the flow treats its other jobs when one ends in error: `stop` (the default) stops them, `continue` runs
                those that do not wait for it. `stop`: They are stopped. `continue`: Those that do not wait for it continue (default:
                "stop").
            prerequisites: Jobs outside the flow that must finish before it begins.
            retention: Seconds to keep the flow and its jobs after its end; seven days by default.
            caller_id: The caller that creates it: by default the identity of the session, else `anonymous`.
            context_id: The context it belongs to (default: 0).
            idempotency_key: A key for this request. For 24 hours, the same key of the same caller with the same parameters returns
                the same flow. The flow is kept at least that long.

        Returns:
            The number of the flow.
        """
        params: dict[str, Any] = {
            "jobs": jobs,
            "name": name,
            "env_vars": env_vars,
            "on_failure": on_failure,
            "prerequisites": prerequisites,
            "retention": retention,
            "caller_id": caller_id,
            "context_id": context_id,
            "idempotency_key": idempotency_key,
        }
        answer: int = self._call("create_flow", params, int, Keyed())
        return answer

    def run_flow_and_wait(
        self,
        jobs: Mapping[str, models.FlowJobSpec | Mapping[str, Any]],
        *,
        wait_timeout: float | timedelta | None = None,
        name: str | None = None,
        env_vars: Mapping[str, str] | None = None,
        on_failure: models.FlowOnFailure | models.FlowOnFailureWord | None = None,
        prerequisites: Sequence[str | UUID] | None = None,
        retention: float | timedelta | None = None,
        caller_id: str | None = None,
        context_id: int | None = None,
        idempotency_key: str | None = None,
    ) -> models.Flow:
        """Creates a flow, starts it, waits for its end and returns everything that is known about it. A flow that ends in error is a
        JSON-RPC error, which names the failed jobs. When the wait runs out, the flow continues; `get_flow` and `subscribe_flow` show
        its progress.

        Args:
            jobs: The jobs by name, at most 1,000. Names have letters, digits and `_`, and are also those of `inputs`.
            wait_timeout: How many seconds to wait; 0 checks once without waiting (default: 120).
            name: A display name.
            env_vars: Environment variables of all its jobs: the value of `env` in their scripts. The values are secrets, except
                those of the variables that `HERO_PLAIN` names.
            on_failure: How the flow treats its other jobs when one ends in error: `stop` (the default) stops them, `continue` runs
                those that do not wait for it. `stop`: They are stopped. `continue`: Those that do not wait for it continue (default:
                "stop").
            prerequisites: Jobs outside the flow that must finish before it begins.
            retention: Seconds to keep the flow and its jobs after its end; seven days by default.
            caller_id: The caller that creates it: by default the identity of the session, else `anonymous`.
            context_id: The context it belongs to (default: 0).
            idempotency_key: A key for this request. For 24 hours, the same key of the same caller with the same parameters returns
                the same flow. The flow is kept at least that long.

        Returns:
            The flow as it ended.
        """
        params: dict[str, Any] = {
            "jobs": jobs,
            "wait_timeout": wait_timeout,
            "name": name,
            "env_vars": env_vars,
            "on_failure": on_failure,
            "prerequisites": prerequisites,
            "retention": retention,
            "caller_id": caller_id,
            "context_id": context_id,
            "idempotency_key": idempotency_key,
        }
        answer: models.Flow = self._call("run_flow_and_wait", params, models.Flow, Keyed(), WAITS["run_flow_and_wait"])
        return answer

    def start_flow(
        self,
        flow_id: int,
        *,
        context_id: int | None = None,
    ) -> models.FlowStatus:
        """Starts a created flow. Returns its status.

        Args:
            flow_id: The flow to start.
            context_id: The context it belongs to (default: 0).

        Returns:
            The status of the flow after the call.
        """
        params: dict[str, Any] = {
            "flow_id": flow_id,
            "context_id": context_id,
        }
        answer: models.FlowStatus = self._call("start_flow", params, models.FlowStatus, ONCE)
        return answer

    def wait_flow(
        self,
        flow_id: int,
        *,
        wait_timeout: float | timedelta | None = None,
        context_id: int | None = None,
    ) -> models.Flow:
        """Waits for the end of a flow and returns everything that is known about it. A flow that ends in error is a JSON-RPC error.

        Args:
            flow_id: The flow to wait for.
            wait_timeout: How many seconds to wait; 0 checks once without waiting (default: 120).
            context_id: The context it belongs to (default: 0).

        Returns:
            The flow as it ended.
        """
        params: dict[str, Any] = {
            "flow_id": flow_id,
            "wait_timeout": wait_timeout,
            "context_id": context_id,
        }
        answer: models.Flow = self._call("wait_flow", params, models.Flow, REPEAT, WAITS["wait_flow"])
        return answer

    def get_flow(
        self,
        flow_id: int,
        *,
        context_id: int | None = None,
    ) -> models.Flow:
        """Returns a flow: its status, its jobs with their times, their results, and their graph for Mermaid.

        Args:
            flow_id: The flow to look at.
            context_id: The context it belongs to (default: 0).

        Returns:
            The flow with its jobs.
        """
        params: dict[str, Any] = {
            "flow_id": flow_id,
            "context_id": context_id,
        }
        answer: models.Flow = self._call("get_flow", params, models.Flow, REPEAT)
        return answer

    def list_flows(
        self,
        *,
        cursor: str | None = None,
        limit: int | None = None,
        caller_id: str | None = None,
        context_id: int | None = None,
    ) -> models.FlowPage:
        """Lists flows, newest first. A page may have fewer flows than `limit`, or none, although more follow: only the last page has no
        `next_cursor`.

        Args:
            cursor: The `next_cursor` of the previous page.
            limit: The maximum number of flows (default: 100).
            caller_id: Only flows that this caller created.
            context_id: The context they belong to (default: 0).

        Returns:
            The flows, newest first.
        """
        params: dict[str, Any] = {
            "cursor": cursor,
            "limit": limit,
            "caller_id": caller_id,
            "context_id": context_id,
        }
        answer: models.FlowPage = self._call("list_flows", params, models.FlowPage, REPEAT)
        return answer

    def stop_flow(
        self,
        flow_id: int,
        *,
        context_id: int | None = None,
    ) -> models.FlowStatus:
        """Stops all jobs of a flow that have not ended. Returns the status of the flow. Its running scripts may not have ended yet.

        Args:
            flow_id: The flow to stop.
            context_id: The context it belongs to (default: 0).

        Returns:
            The status of the flow after the call.
        """
        params: dict[str, Any] = {
            "flow_id": flow_id,
            "context_id": context_id,
        }
        answer: models.FlowStatus = self._call("stop_flow", params, models.FlowStatus, ONCE)
        return answer

    def retry_flow(
        self,
        flow_id: int,
        *,
        context_id: int | None = None,
    ) -> models.FlowStatus:
        """Retries the jobs of a flow that ended in error, and those that never ran because of them. Returns the status of the flow.

        Args:
            flow_id: The flow to retry.
            context_id: The context it belongs to (default: 0).

        Returns:
            The status of the flow after the call.
        """
        params: dict[str, Any] = {
            "flow_id": flow_id,
            "context_id": context_id,
        }
        answer: models.FlowStatus = self._call("retry_flow", params, models.FlowStatus, ONCE)
        return answer

    def delete_flow(
        self,
        flow_id: int,
        *,
        context_id: int | None = None,
    ) -> bool:
        """Deletes a flow that is not running, with its jobs. Returns true.

        Args:
            flow_id: The flow to delete.
            context_id: The context it belongs to (default: 0).

        Returns:
            True.
        """
        params: dict[str, Any] = {
            "flow_id": flow_id,
            "context_id": context_id,
        }
        answer: bool = self._call("delete_flow", params, bool, ONCE)
        return answer

    def create_schedule(
        self,
        job: models.JobSpecInput | Mapping[str, Any],
        *,
        cron: str | None = None,
        every: float | timedelta | None = None,
        time_zone: str | None = None,
        overlap: models.Overlap | models.OverlapWord | None = None,
        missed: models.Missed | models.MissedWord | None = None,
        missed_limit: int | None = None,
        start_at: datetime | str | None = None,
        end_at: datetime | str | None = None,
        name: str | None = None,
        idempotency_key: str | None = None,
        schedule_id: str | UUID | None = None,
    ) -> models.Schedule:
        """Creates a schedule, which runs a job by `cron` or at an interval (`every`). Returns the schedule, with its next runs. It
        belongs to the context of its job. Each run is a separate job, with the labels `schedule` and `slot`, the time at which it was
        due. With an `idempotency_key`, a call whose answer was lost can be repeated, and returns the same schedule. Each run has
        exactly one job, whichever servers run or die. When the queue is full, the run waits for room. A time of day that the clock
        skips is due right after the gap; one that it shows twice is due once. A script that does not compile is refused (-32602, with
        the `error` of a failed job) if this server has a pool for its type.

        Args:
            job: The job of each run. `job_id`, `idempotency_key`, `run_at` and relations are not allowed here: they are for single
                jobs.
            cron: When it runs, such as `0 9 * * MON-FRI`: minute, hour, day of the month, month, weekday. A sixth field in front is
                for seconds.
            every: Seconds from one run to the next, at least 1; counted from `start_at`, else from its creation.
            time_zone: The time zone of `cron` and of the times shown, such as `Europe/Berlin`. UTC by default.
            overlap: How a run behaves if the previous one has not ended; `skip` by default.
            missed: How runs are treated that were due while no server ran; `once` by default.
            missed_limit: The maximum number of jobs that `missed: all` creates at a time. 100 by default, at most 1000.
            start_at: The earliest time of a run (RFC 3339).
            end_at: The latest time of a run.
            name: A display name.
            idempotency_key: A key for this request. For 24 hours, the same key with the same parameters returns the same schedule
                in its state at that time.
            schedule_id: The id of the schedule; a new one by default.

        Returns:
            The schedule.
        """
        params: dict[str, Any] = {
            "job": job,
            "cron": cron,
            "every": every,
            "time_zone": time_zone,
            "overlap": overlap,
            "missed": missed,
            "missed_limit": missed_limit,
            "start_at": start_at,
            "end_at": end_at,
            "name": name,
            "idempotency_key": idempotency_key,
            "schedule_id": schedule_id,
        }
        answer: models.Schedule = self._call("create_schedule", params, models.Schedule, Keyed())
        return answer

    def list_schedules(
        self,
        *,
        cursor: str | None = None,
        limit: int | None = None,
        caller_id: str | None = None,
        context_id: int | None = None,
    ) -> models.SchedulePage:
        """Lists schedules in the order of their next runs. A schedule that runs meanwhile may be on two pages; none is left out. A page
        may have fewer schedules than `limit`, or none, although more follow: only the last page has no `next_cursor`.

        Args:
            cursor: The `next_cursor` of the previous page.
            limit: The maximum number of schedules (default: 100).
            caller_id: Only schedules that this caller created.
            context_id: The context they belong to (default: 0).

        Returns:
            The schedules.
        """
        params: dict[str, Any] = {
            "cursor": cursor,
            "limit": limit,
            "caller_id": caller_id,
            "context_id": context_id,
        }
        answer: models.SchedulePage = self._call("list_schedules", params, models.SchedulePage, REPEAT)
        return answer

    def delete_schedule(
        self,
        schedule_id: str | UUID,
        *,
        context_id: int | None = None,
    ) -> bool:
        """Deletes a schedule. Its existing jobs stay. Returns true.

        Args:
            schedule_id: The schedule to delete.
            context_id: The context it belongs to (default: 0).

        Returns:
            True.
        """
        params: dict[str, Any] = {
            "schedule_id": schedule_id,
            "context_id": context_id,
        }
        answer: bool = self._call("delete_schedule", params, bool, ONCE)
        return answer

    def set_object(
        self,
        collection: str,
        object: Mapping[str, Any],
        *,
        context_id: int | None = None,
    ) -> str:
        """Stores an object in a collection, and replaces one with the same id. Returns its id. The id is the field `id` of the object;
        an object without it gets a new one. The object and its index entries are written in one step. A collection exists once it has
        an object. An object that violates the schema of its collection is refused (-32602), and so is one of more than 240 KB (1008). A
        call without an id stores a second object if it is repeated after its answer was lost.

        Args:
            collection: The collection.
            object: The object.
            context_id: The context it belongs to (default: 0).

        Returns:
            The id of the object.
        """
        params: dict[str, Any] = {
            "collection": collection,
            "object": object,
            "context_id": context_id,
        }
        answer: str = self._call("set_object", params, str, ONCE)
        return answer

    def get_object(
        self,
        collection: str,
        id: str,
        *,
        context_id: int | None = None,
    ) -> Any:
        """Returns an object.

        Args:
            collection: The collection.
            id: The id of the object.
            context_id: The context it belongs to (default: 0).

        Returns:
            The object, or null if there is none.
        """
        params: dict[str, Any] = {
            "collection": collection,
            "id": id,
            "context_id": context_id,
        }
        answer: Any = self._call("get_object", params, Any, REPEAT)
        return answer

    def find_objects(
        self,
        collection: str,
        *,
        filter: Mapping[str, Any] | None = None,
        order_by: str | None = None,
        descending: bool | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        context_id: int | None = None,
    ) -> models.ObjectPage:
        """Finds objects of a collection, by default all, ordered by id or by an indexed field. A condition uses the index of its field,
        if there is one. Otherwise objects are read one after another, at most 10,000 for a page, and the answer says so (`compared`):
        such a page may be short although more follow. Scripts create indexes with `osis::index`.

        Args:
            collection: The collection. One that does not exist has no objects.
            filter: The conditions by field: `{"city": "Ghent", "born": {"gte": 1800, "lt": 1900}, "name": {"prefix": "A"}}`. An
                array matches if one of its elements does, and a missing field is `null`. `address.zip` names a nested field.
            order_by: The field to sort by, which needs an index; the id by default.
            descending: Whether the order is reversed.
            limit: The maximum number of objects (default: 100).
            cursor: The `next_cursor` of the previous page.
            context_id: The context they belong to (default: 0).

        Returns:
            The matching objects.
        """
        params: dict[str, Any] = {
            "collection": collection,
            "filter": filter,
            "order_by": order_by,
            "descending": descending,
            "limit": limit,
            "cursor": cursor,
            "context_id": context_id,
        }
        answer: models.ObjectPage = self._call("find_objects", params, models.ObjectPage, REPEAT)
        return answer

    def delete_object(
        self,
        collection: str,
        id: str,
        *,
        context_id: int | None = None,
    ) -> bool:
        """Deletes an object. Returns whether it existed.

        Args:
            collection: The collection.
            id: The id of the object.
            context_id: The context it belongs to (default: 0).

        Returns:
            Whether the object existed.
        """
        params: dict[str, Any] = {
            "collection": collection,
            "id": id,
            "context_id": context_id,
        }
        answer: bool = self._call("delete_object", params, bool, ONCE)
        return answer

    def list_collections(
        self,
        *,
        context_id: int | None = None,
    ) -> list[models.Collection]:
        """Lists the collections of objects by name, each with its number of objects and its indexes.

        Args:
            context_id: The context they belong to (default: 0).

        Returns:
            The collections.
        """
        params: dict[str, Any] = {
            "context_id": context_id,
        }
        answer: list[models.Collection] = self._call("list_collections", params, list[models.Collection], REPEAT)
        return answer

    def drop_collection(
        self,
        collection: str,
        *,
        context_id: int | None = None,
    ) -> int | None:
        """Deletes a collection with all its objects and indexes. Returns the number of objects that it had, or `null` if it did not
        exist.

        Args:
            collection: The collection.
            context_id: The context it belongs to (default: 0).

        Returns:
            The number of objects that it had, or null if that is not known.
        """
        params: dict[str, Any] = {
            "collection": collection,
            "context_id": context_id,
        }
        answer: int | None = self._call("drop_collection", params, int | None, ONCE)
        return answer

    def create_identity(
        self,
        *,
        pubkey: str | None = None,
        address: Sequence[str] | None = None,
    ) -> models.Identity:
        """Creates an identity, which can get tokens, and rights in contexts.

        Args:
            pubkey: Its public key (secp256k1, uncompressed, hexadecimal). No two identities share one.
            address: The addresses at which it can be reached; at most 16.

        Returns:
            The identity.
        """
        params: dict[str, Any] = {
            "pubkey": pubkey,
            "address": address,
        }
        answer: models.Identity = self._call("create_identity", params, models.Identity, ONCE)
        return answer

    def update_identity(
        self,
        identity_id: int,
        *,
        pubkey: str | None = None,
        address: Sequence[str] | None = None,
    ) -> models.Identity:
        """Changes an identity. Each given field replaces its old value.

        Args:
            identity_id: The identity to change.
            pubkey: Its new public key.
            address: The new addresses at which it can be reached.

        Returns:
            The changed identity.
        """
        params: dict[str, Any] = {
            "identity_id": identity_id,
            "pubkey": pubkey,
            "address": address,
        }
        answer: models.Identity = self._call("update_identity", params, models.Identity, ONCE)
        return answer

    def get_identity(
        self,
        identity_id: int,
    ) -> models.Identity:
        """Returns an identity. Where callers log in, you see only yourself and identities with a role in a context in which you have
        one.

        Args:
            identity_id: The identity to look at.

        Returns:
            The identity.
        """
        params: dict[str, Any] = {
            "identity_id": identity_id,
        }
        answer: models.Identity = self._call("get_identity", params, models.Identity, REPEAT)
        return answer

    def list_identities(
        self,
        *,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> models.IdentityPage:
        """Lists identities by number. Where callers log in, you see only yourself and identities with a role in a context in which you
        have one. A page may have fewer identities than `limit` although more follow.

        Args:
            cursor: The `next_cursor` of the previous page.
            limit: The maximum number of identities (default: 100).

        Returns:
            The identities.
        """
        params: dict[str, Any] = {
            "cursor": cursor,
            "limit": limit,
        }
        answer: models.IdentityPage = self._call("list_identities", params, models.IdentityPage, REPEAT)
        return answer

    def delete_identity(
        self,
        identity_id: int,
    ) -> bool:
        """Deletes an identity with its tokens, and logs out everybody who uses one of them. Its number is never reused. Returns true.

        Args:
            identity_id: The identity to delete.

        Returns:
            True.
        """
        params: dict[str, Any] = {
            "identity_id": identity_id,
        }
        answer: bool = self._call("delete_identity", params, bool, ONCE)
        return answer

    def whoami(self) -> models.Who:
        """Returns the caller and its rights.

        Returns:
            The caller and its rights.
        """
        params: dict[str, Any] = {}
        answer: models.Who = self._call("whoami", params, models.Who, REPEAT)
        return answer

    def fetch_nonce(
        self,
        pubkey: str,
    ) -> str:
        """Returns a nonce to sign for `authenticate`: `hero:{host}:{random}:{expiry}`. It is valid for one login within five minutes,
        with this public key, under the host name by which the server was reached. Check that name before you sign. The answer is the
        same whether or not an identity has this key.

        Args:
            pubkey: The public key of the identity that logs in (secp256k1, uncompressed, hexadecimal).

        Returns:
            The nonce to sign.
        """
        params: dict[str, Any] = {
            "pubkey": pubkey,
        }
        answer: str = self._call("fetch_nonce", params, str, REPEAT)
        return answer

    def authenticate(
        self,
        pubkey: str,
        signature: str,
        nonce: str,
    ) -> models.LoggedIn:
        """Logs in with a nonce that is signed as an Ethereum personal message. Returns a token for `Authorization: Bearer …`. On a
        WebSocket where callers have to log in, the connection has that identity from then on. The token expires. An identity has at
        most 50 tokens of this kind; a further login replaces the one that expires first.

        Args:
            pubkey: The public key for which the nonce was fetched.
            signature: The signature: r, s and v, hexadecimal; s in the lower half of its range, v 0, 1, 27 or 28.
            nonce: The nonce, as `fetch_nonce` gave it.

        Returns:
            The token of the session, and its expiry.
        """
        params: dict[str, Any] = {
            "pubkey": pubkey,
            "signature": signature,
            "nonce": nonce,
        }
        answer: models.LoggedIn = self._call("authenticate", params, models.LoggedIn, ONCE)
        return answer

    def create_token(
        self,
        identity_id: int,
        *,
        name: str | None = None,
        lifetime: float | timedelta | None = None,
    ) -> models.NewToken:
        """Creates a token for an identity. Its `secret` is shown only once: it goes into `Authorization: Bearer …`. An identity may
        create tokens of its own, 100 at once and then one per second. They end at the latest when the token by which it has logged in
        expires or is revoked. The operator may create tokens for all. An identity has at most 100 of them.

        Args:
            identity_id: Its identity.
            name: Its purpose.
            lifetime: The seconds after which it expires; by default it never does.

        Returns:
            The token. Its secret is shown only once.
        """
        params: dict[str, Any] = {
            "identity_id": identity_id,
            "name": name,
            "lifetime": lifetime,
        }
        answer: models.NewToken = self._call("create_token", params, models.NewToken, ONCE)
        return answer

    def present_token(
        self,
        token: str,
    ) -> models.Presented:
        """Switches the connection to this token, for example before the token by which it has logged in expires. On a WebSocket where
        callers have to log in, the connection has the identity of the token from then on, as after `authenticate`. Its waits and
        subscriptions continue if that identity is allowed to make them, and end with an error (1004) otherwise. An invalid token
        changes nothing. Over HTTP each request has its own token, so there, and where nobody has to log in, the call only returns the
        identity of the token.

        Args:
            token: The token, as `create_token` or `authenticate` gave it.

        Returns:
            The identity of the token, and its expiry.
        """
        params: dict[str, Any] = {
            "token": token,
        }
        answer: models.Presented = self._call("present_token", params, models.Presented, ONCE)
        return answer

    def list_tokens(
        self,
        identity_id: int,
    ) -> list[models.Token]:
        """Lists the tokens of an identity that have not ended, oldest first.

        Args:
            identity_id: The identity that has the tokens.

        Returns:
            The tokens, without their secrets.
        """
        params: dict[str, Any] = {
            "identity_id": identity_id,
        }
        answer: list[models.Token] = self._call("list_tokens", params, list[models.Token], REPEAT)
        return answer

    def revoke_token(
        self,
        token_id: str,
    ) -> bool:
        """Revokes a token, and logs out everybody who uses it at once, also on open connections. Returns true. An identity may revoke
        its own tokens, the operator all.

        Args:
            token_id: The token to revoke.

        Returns:
            True.
        """
        params: dict[str, Any] = {
            "token_id": token_id,
        }
        answer: bool = self._call("revoke_token", params, bool, ONCE)
        return answer

    def create_context(
        self,
        *,
        name: str | None = None,
        admins: Sequence[int] | None = None,
        limits: models.ContextLimits | Mapping[str, Any] | None = None,
    ) -> models.Context:
        """Creates a context: a tenant with its own database, jobs, objects and files. This server accepts calls for it at once, other
        servers within a second.

        Args:
            name: Its purpose.
            admins: The identities that may do everything in it.
            limits: Its limits.

        Returns:
            The context.
        """
        params: dict[str, Any] = {
            "name": name,
            "admins": admins,
            "limits": limits,
        }
        answer: models.Context = self._call("create_context", params, models.Context, ONCE)
        return answer

    def update_context(
        self,
        *,
        context_id: int | None = None,
        name: str | None = None,
        limits: models.ContextLimits | Mapping[str, Any] | None = None,
    ) -> models.Context:
        """Changes a context. Fields that are not given stay as they are. Limits are the operator's to set; 0 takes one away. It holds
        at once on this server, and within a second on others. Roles are changed by `grant` and `revoke`.

        Args:
            context_id: The context to change (default: 0).
            name: Its purpose.
            limits: Its limits.

        Returns:
            The changed context.
        """
        params: dict[str, Any] = {
            "context_id": context_id,
            "name": name,
            "limits": limits,
        }
        answer: models.Context = self._call("update_context", params, models.Context, ONCE)
        return answer

    def get_context(
        self,
        *,
        context_id: int | None = None,
    ) -> models.Context:
        """Returns a context with its roles and limits.

        Args:
            context_id: The context to look at (default: 0).

        Returns:
            The context.
        """
        params: dict[str, Any] = {
            "context_id": context_id,
        }
        answer: models.Context = self._call("get_context", params, models.Context, REPEAT)
        return answer

    def list_contexts(
        self,
        *,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> models.ContextPage:
        """Lists contexts by number: those in which the caller has a role, or all for the operator.

        Args:
            cursor: The `next_cursor` of the previous page.
            limit: The maximum number of contexts (default: 100).

        Returns:
            The contexts.
        """
        params: dict[str, Any] = {
            "cursor": cursor,
            "limit": limit,
        }
        answer: models.ContextPage = self._call("list_contexts", params, models.ContextPage, REPEAT)
        return answer

    def delete_context(
        self,
        context_id: int,
        *,
        stop_jobs: bool | None = None,
    ) -> bool:
        """Deletes a context with everything in it, for good. Its number is never reused. Returns true. From then on the context accepts
        no calls; its data is deleted in the background.

        Args:
            context_id: The context to delete.
            stop_jobs: Whether to stop jobs that have not ended, and to lose messages that wait to be sent or for their result.
                Otherwise a context with such jobs or messages is not deleted (default: false).

        Returns:
            True.
        """
        params: dict[str, Any] = {
            "context_id": context_id,
            "stop_jobs": stop_jobs,
        }
        answer: bool = self._call("delete_context", params, bool, ONCE)
        return answer

    def grant(
        self,
        identity_id: int,
        role: models.Role | models.RoleWord,
        *,
        context_id: int | None = None,
    ) -> models.Context:
        """Gives an identity a role in a context. Returns the context with its roles. The change applies at once on this server, and
        within half a second on others.

        Args:
            identity_id: The identity that gets the role.
            role: The role.
            context_id: The context (default: 0).

        Returns:
            The changed context.
        """
        params: dict[str, Any] = {
            "identity_id": identity_id,
            "role": role,
            "context_id": context_id,
        }
        answer: models.Context = self._call("grant", params, models.Context, ONCE)
        return answer

    def revoke(
        self,
        identity_id: int,
        role: models.Role | models.RoleWord,
        *,
        context_id: int | None = None,
    ) -> models.Context:
        """Takes a role in a context from an identity. Returns the context with its roles. The change applies at once on this server,
        and within half a second on others.

        Args:
            identity_id: The identity that loses the role.
            role: The role.
            context_id: The context (default: 0).

        Returns:
            The changed context.
        """
        params: dict[str, Any] = {
            "identity_id": identity_id,
            "role": role,
            "context_id": context_id,
        }
        answer: models.Context = self._call("revoke", params, models.Context, ONCE)
        return answer

    def create_runner(
        self,
        script_type: str,
        *,
        local: bool | None = None,
        address: str | None = None,
        pubkey: str | None = None,
        target_context: int | None = None,
        name: str | None = None,
        topic: str | None = None,
        context_id: int | None = None,
    ) -> models.Runner:
        """Creates a runner, which runs the jobs of its script type whose `group` is `runner{runner_id}`. A local runner is a pool of
        the context. The jobs of any other runner are sent as messages to its address.

        Args:
            script_type: The script type of its jobs.
            local: Whether it is a pool of this context (default: true).
            address: Its address, if it is not local.
            pubkey: The key that signs the results of its jobs: that of the node that runs them.
            target_context: The context at the other side in which its jobs run (default: 0).
            name: Its purpose; at most 256 bytes.
            topic: Its topic; `runner{runner_id}` by default.
            context_id: The context it belongs to (default: 0).

        Returns:
            The runner.
        """
        params: dict[str, Any] = {
            "script_type": script_type,
            "local": local,
            "address": address,
            "pubkey": pubkey,
            "target_context": target_context,
            "name": name,
            "topic": topic,
            "context_id": context_id,
        }
        answer: models.Runner = self._call("create_runner", params, models.Runner, ONCE)
        return answer

    def update_runner(
        self,
        runner_id: int,
        *,
        script_type: str | None = None,
        local: bool | None = None,
        address: str | None = None,
        pubkey: str | None = None,
        topic: str | None = None,
        target_context: int | None = None,
        name: str | None = None,
        context_id: int | None = None,
    ) -> models.Runner:
        """Changes a runner. Each given field replaces its old value.

        Args:
            runner_id: The runner to change.
            script_type: The script type of its jobs.
            local: Whether it is a pool of this context.
            address: Its address, if it is not local.
            pubkey: The key that signs the results of its jobs.
            topic: Its topic.
            target_context: The context at the other side in which its jobs run.
            name: Its purpose.
            context_id: The context it belongs to (default: 0).

        Returns:
            The changed runner.
        """
        params: dict[str, Any] = {
            "runner_id": runner_id,
            "script_type": script_type,
            "local": local,
            "address": address,
            "pubkey": pubkey,
            "topic": topic,
            "target_context": target_context,
            "name": name,
            "context_id": context_id,
        }
        answer: models.Runner = self._call("update_runner", params, models.Runner, ONCE)
        return answer

    def get_runner(
        self,
        runner_id: int,
        *,
        context_id: int | None = None,
    ) -> models.Runner:
        """Returns a runner.

        Args:
            runner_id: The runner to look at.
            context_id: The context it belongs to (default: 0).

        Returns:
            The runner.
        """
        params: dict[str, Any] = {
            "runner_id": runner_id,
            "context_id": context_id,
        }
        answer: models.Runner = self._call("get_runner", params, models.Runner, REPEAT)
        return answer

    def list_runners(
        self,
        *,
        cursor: str | None = None,
        limit: int | None = None,
        context_id: int | None = None,
    ) -> models.RunnerPage:
        """Lists runners by number.

        Args:
            cursor: The `next_cursor` of the previous page.
            limit: The maximum number of runners (default: 100).
            context_id: The context they belong to (default: 0).

        Returns:
            The runners.
        """
        params: dict[str, Any] = {
            "cursor": cursor,
            "limit": limit,
            "context_id": context_id,
        }
        answer: models.RunnerPage = self._call("list_runners", params, models.RunnerPage, REPEAT)
        return answer

    def delete_runner(
        self,
        runner_id: int,
        *,
        context_id: int | None = None,
    ) -> bool:
        """Deletes a runner. Its jobs stay in their queue, and its number is never reused. Returns true.

        Args:
            runner_id: The runner to delete.
            context_id: The context it belongs to (default: 0).

        Returns:
            True.
        """
        params: dict[str, Any] = {
            "runner_id": runner_id,
            "context_id": context_id,
        }
        answer: bool = self._call("delete_runner", params, bool, ONCE)
        return answer

    def send_message(
        self,
        *,
        message: str | None = None,
        address: str | None = None,
        topic: str | None = None,
        target_context: int | None = None,
        message_type: models.MessageType | models.MessageTypeWord | None = None,
        message_format_type: models.MessageFormat | models.MessageFormatWord | None = None,
        job: Sequence[Any] | None = None,
        timeout_ack: int | None = None,
        timeout_result: int | None = None,
        caller_id: int | None = None,
        context_id: int | None = None,
    ) -> models.Message:
        """Sends a message: the server stores it and delivers it in the background. The status of the message shows its progress. Jobs
        of a message run at the other side, which sends back a message of type `result` for each.

        Args:
            message: The text; at most a megabyte.
            address: The destination: `here` (another context of this server), `node:NAME`, `redis://…`, or a node of Mycelium.
            topic: The topic, normally that of a runner. A message without an address goes to the address of that runner. A script
                type is the topic of all runners of that type, which take turns.
            target_context: The context that receives it (default: 0).
            message_type: The type of the message.
            message_format_type: The format of the text.
            job: The jobs of a message of type `job`, in the form of the coordinator's specification: each with a `script`.
            timeout_ack: The seconds within which the other side must store it (default: 300).
            timeout_result: The seconds after that within which a result must arrive (default: 3600).
            caller_id: The sender; the identity of the session by default.
            context_id: The context it comes from (default: 0).

        Returns:
            The message.
        """
        params: dict[str, Any] = {
            "message": message,
            "address": address,
            "topic": topic,
            "target_context": target_context,
            "message_type": message_type,
            "message_format_type": message_format_type,
            "job": job,
            "timeout_ack": timeout_ack,
            "timeout_result": timeout_result,
            "caller_id": caller_id,
            "context_id": context_id,
        }
        answer: models.Message = self._call("send_message", params, models.Message, ONCE)
        return answer

    def ping_node(
        self,
        address: str,
        *,
        target_context: int | None = None,
        context_id: int | None = None,
    ) -> models.Pong:
        """Pings the node at an address. Returns the route, the key of the node that answers, its clock, and the time that the answer
        took. Nothing is stored. If nobody answers, `error` says why.

        Args:
            address: The node to ask: `here`, `node:NAME`, `redis://…`, or a node of Mycelium.
            target_context: The context there (default: 0).
            context_id: The context that asks (default: 0).

        Returns:
            The answer of the node.
        """
        params: dict[str, Any] = {
            "address": address,
            "target_context": target_context,
            "context_id": context_id,
        }
        answer: models.Pong = self._call("ping_node", params, models.Pong, ONCE)
        return answer

    def get_message(
        self,
        caller_id: int,
        message_id: int,
        *,
        context_id: int | None = None,
    ) -> models.Message:
        """Returns a message.

        Args:
            caller_id: The sender; 0 is nobody.
            message_id: Its number.
            context_id: The context that has it (default: 0).

        Returns:
            The message.
        """
        params: dict[str, Any] = {
            "caller_id": caller_id,
            "message_id": message_id,
            "context_id": context_id,
        }
        answer: models.Message = self._call("get_message", params, models.Message, REPEAT)
        return answer

    def list_messages(
        self,
        *,
        list: models.MessageList | models.MessageListWord | None = None,
        cursor: str | None = None,
        limit: int | None = None,
        caller_id: int | None = None,
        context_id: int | None = None,
        status: models.MessageStatus | models.MessageStatusWord | None = None,
    ) -> models.MessagePage:
        """Lists received messages that were not fetched, or messages to be sent, in the order in which they are taken; or messages of
        one status. A page may have fewer messages than `limit`, or none, although more follow: only the last page has no `next_cursor`.

        Args:
            list: The list to read.
            cursor: The `next_cursor` of the previous page.
            limit: The maximum number of messages (default: 100).
            caller_id: Only messages of this caller.
            context_id: The context that has them (default: 0).
            status: Only messages of this status, received and sent, latest to reach it first: the last 10,000. `list` is ignored
                then.

        Returns:
            The messages.
        """
        params: dict[str, Any] = {
            "list": list,
            "cursor": cursor,
            "limit": limit,
            "caller_id": caller_id,
            "context_id": context_id,
            "status": status,
        }
        answer: models.MessagePage = self._call("list_messages", params, models.MessagePage, REPEAT)
        return answer

    def acknowledge_message(
        self,
        caller_id: int,
        message_id: int,
        *,
        context_id: int | None = None,
    ) -> models.Message:
        """Acknowledges a received message for its owner: it is no longer listed. Returns the message. The other side acknowledges
        messages that are sent.

        Args:
            caller_id: The sender; 0 is nobody.
            message_id: Its number.
            context_id: The context that has it (default: 0).

        Returns:
            The changed message.
        """
        params: dict[str, Any] = {
            "caller_id": caller_id,
            "message_id": message_id,
            "context_id": context_id,
        }
        answer: models.Message = self._call("acknowledge_message", params, models.Message, ONCE)
        return answer

    def delete_message(
        self,
        caller_id: int,
        message_id: int,
        *,
        context_id: int | None = None,
    ) -> bool:
        """Deletes a message whose result nobody awaits. Returns true.

        Args:
            caller_id: The sender; 0 is nobody.
            message_id: Its number.
            context_id: The context that has it (default: 0).

        Returns:
            True.
        """
        params: dict[str, Any] = {
            "caller_id": caller_id,
            "message_id": message_id,
            "context_id": context_id,
        }
        answer: bool = self._call("delete_message", params, bool, ONCE)
        return answer

    def list_actors(
        self,
        *,
        context_id: int | None = None,
    ) -> list[models.Actor]:
        """Lists the live actors, with their capabilities and their confinement. The list includes actors of other programs that send
        heartbeats. After them come the script types for which this server should have actors and cannot, each with the reason
        (`unavailable`).

        Args:
            context_id: The context they work for (default: 0).

        Returns:
            The actors.
        """
        params: dict[str, Any] = {
            "context_id": context_id,
        }
        answer: list[models.Actor] = self._call("list_actors", params, list[models.Actor], REPEAT)
        return answer

    def list_functions(
        self,
        *,
        script_type: str | None = None,
    ) -> list[models.ScriptFunction]:
        """Lists the functions that scripts have besides those of their language, with parameters, result and an example.

        Args:
            script_type: Only the functions of scripts of this type.

        Returns:
            The functions.
        """
        params: dict[str, Any] = {
            "script_type": script_type,
        }
        answer: list[models.ScriptFunction] = self._call("list_functions", params, list[models.ScriptFunction], REPEAT)
        return answer

    def check_script(
        self,
        script: str,
        *,
        script_type: str | None = None,
        context_id: int | None = None,
    ) -> models.ScriptCheck:
        """Compiles a script without running it, and reports an error with its location. Unknown functions are errors, too. A confined
        process compiles it, as for jobs. No error is found if the script is neither Rhai nor HeroScript, if this server has no pool for
        its type, or if compiling takes longer than 5 s.

        Args:
            script: The source code.
            script_type: The script type that it is written for (default: "osis").
            context_id: The context in which it is to run (default: 0).

        Returns:
            The error of the script, if one was found.
        """
        params: dict[str, Any] = {
            "script": script,
            "script_type": script_type,
            "context_id": context_id,
        }
        answer: models.ScriptCheck = self._call("check_script", params, models.ScriptCheck, REPEAT)
        return answer

    def list_queues(
        self,
        *,
        context_id: int | None = None,
    ) -> list[models.QueueInfo]:
        """Lists the work queues, each with its number of waiting jobs and of actors.

        Args:
            context_id: The context they belong to (default: 0).

        Returns:
            The queues.
        """
        params: dict[str, Any] = {
            "context_id": context_id,
        }
        answer: list[models.QueueInfo] = self._call("list_queues", params, list[models.QueueInfo], REPEAT)
        return answer

    def pause_queue(
        self,
        script_type: str,
        *,
        group: str | None = None,
        instance: int | None = None,
        context_id: int | None = None,
    ) -> bool:
        """Pauses a queue, in all priorities, until it is resumed. Returns true. Running jobs continue, and new ones wait. The queue of
        a type is not that of its groups and instances: each is paused by itself.

        Args:
            script_type: The script type of the queue.
            group: The group of the queue. Without a group and an instance, it is the queue of the whole type.
            instance: The instance of the queue, in the group `default` if none is named.
            context_id: The context it belongs to (default: 0).

        Returns:
            True.
        """
        params: dict[str, Any] = {
            "script_type": script_type,
            "group": group,
            "instance": instance,
            "context_id": context_id,
        }
        answer: bool = self._call("pause_queue", params, bool, ONCE)
        return answer

    def resume_queue(
        self,
        script_type: str,
        *,
        group: str | None = None,
        instance: int | None = None,
        context_id: int | None = None,
    ) -> bool:
        """Resumes a paused queue at once. Returns true, even if the queue was not paused. An unknown type is refused.

        Args:
            script_type: The script type of the queue.
            group: The group of the queue. Without a group and an instance, it is the queue of the whole type.
            instance: The instance of the queue, in the group `default` if none is named.
            context_id: The context it belongs to (default: 0).

        Returns:
            True.
        """
        params: dict[str, Any] = {
            "script_type": script_type,
            "group": group,
            "instance": instance,
            "context_id": context_id,
        }
        answer: bool = self._call("resume_queue", params, bool, ONCE)
        return answer

    def server_info(self) -> models.ServerDetails:
        """Describes this server, its contexts and pools, the state of its store, and its limits.

        Returns:
            The server, its store and its limits.
        """
        params: dict[str, Any] = {}
        answer: models.ServerDetails = self._call("server_info", params, models.ServerDetails, REPEAT)
        return answer

    def ping(self) -> str:
        """Answers `pong`. This keeps a connection alive where WebSocket pings cannot be sent, and measures the round trip.

        Returns:
            `pong`.
        """
        params: dict[str, Any] = {}
        answer: str = self._call("ping", params, str, REPEAT)
        return answer

    def subscribe_job(
        self,
        job_id: str | UUID,
        *,
        cursor: str | None = None,
        context_id: int | None = None,
    ) -> Subscription[models.JobItem]:
        """Follows a job to its end. Without a cursor, the first item is the current state.

        Args:
            job_id: The job to follow.
            cursor: The `cursor` of the last event that was seen.
            context_id: The context it belongs to (default: 0).
        """
        params: dict[str, Any] = {
            "job_id": job_id,
            "cursor": cursor,
            "context_id": context_id,
        }
        return self._subscribe("subscribe_job", "unsubscribe_job", params, models.JobItem, resumable=True, from_now=False)

    def subscribe_flow(
        self,
        flow_id: int,
        *,
        cursor: str | None = None,
        context_id: int | None = None,
    ) -> Subscription[models.FlowItem]:
        """Follows a flow to its end. The first item is the current state of the flow. Then follow one item for each change of a job,
        the end of the flow, and `ended`. With a cursor, the changes after it come first. An item without a `job` is the current state
        of the flow; it also stands for changes of jobs that were lost because the subscriber reads too slowly.

        Args:
            flow_id: The flow to follow.
            cursor: The `cursor` of the last item that was seen.
            context_id: The context it belongs to (default: 0).
        """
        params: dict[str, Any] = {
            "flow_id": flow_id,
            "cursor": cursor,
            "context_id": context_id,
        }
        return self._subscribe("subscribe_flow", "unsubscribe_flow", params, models.FlowItem, resumable=True, from_now=False)

    def subscribe_events(
        self,
        *,
        filter: models.JobFilter | Mapping[str, Any] | None = None,
        cursor: str | None = None,
        context_id: int | None = None,
    ) -> Subscription[models.EventsItem]:
        """Follows every change of the jobs that match a filter, from now on or from a cursor. Without a cursor, the first item has the
        cursor where the subscription begins.

        Args:
            filter: The conditions, all of which a job must meet.
            cursor: The `cursor` of the last event that was seen.
            context_id: The context they belong to (default: 0).
        """
        params: dict[str, Any] = {
            "filter": filter,
            "cursor": cursor,
            "context_id": context_id,
        }
        return self._subscribe("subscribe_events", "unsubscribe_events", params, models.EventsItem, resumable=True, from_now=True)

    def subscribe_logs(
        self,
        job_id: str | UUID,
        *,
        cursor: str | None = None,
        context_id: int | None = None,
    ) -> Subscription[models.LogsItem]:
        """Follows the log of a job, from its first line or from a cursor. The subscription ends when the job has ended and its last
        line was sent.

        Args:
            job_id: The job whose log to follow.
            cursor: The `cursor` of the last line that was seen.
            context_id: The context the job belongs to (default: 0).
        """
        params: dict[str, Any] = {
            "job_id": job_id,
            "cursor": cursor,
            "context_id": context_id,
        }
        return self._subscribe("subscribe_logs", "unsubscribe_logs", params, models.LogsItem, resumable=True, from_now=False)

    def drain_server(
        self,
        *,
        timeout: float | timedelta | None = None,
    ) -> models.Draining:
        """Stops taking jobs, and ends this server when the running ones have ended, for a restart that disturbs nobody. From then on
        `/readyz` answers 503. New jobs wait for other servers, or for this one to come back. Calls are answered until the end.

        Args:
            timeout: The seconds after which the server ends at the latest; a further call can only shorten this time. Scripts that
                run then get the grace period, and jobs that do not end in it run again elsewhere (default: 3600).

        Returns:
            The progress of the server.
        """
        params: dict[str, Any] = {
            "timeout": timeout,
        }
        answer: models.Draining = self._call("drain_server", params, models.Draining, ONCE)
        return answer
