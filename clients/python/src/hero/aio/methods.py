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

    async def create_job(
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
        """Stores a job, and starts it if `start` is set. Gives its id. The same `idempotency_key` with the same parameters gives the
        same job again.

        Args:
            script: The script to run.
            script_type: Which kind of actor runs it: `osis`, `sal`, or a configured type (default: "osis").
            args: What the script sees as `args`: any JSON, with at most 100 arrays and objects in each other.
            timeout: The most seconds one attempt may take. 60 by default.
            retries: Extra attempts after an error or a timeout (default: 0).
            retry_backoff: Seconds before the second attempt, doubling for each further one up to 300. 1 by default.
            priority: 0 urgent, 1 normal, 2 low (default: 1).
            name: A name for people.
            labels: Labels to find it by.
            env_vars: What the script sees as `env`. The values are secrets, masked in logs and in `get_job`, but for those of the
                variables that `HERO_PLAIN` among them names: `"HERO_PLAIN": "MODE,CUSTOMER"`.
            run_at: Not before this time (RFC 3339).
            idempotency_key: The same key with the same parameters gives the same job again, for 24 hours.
            retention: Seconds to keep the job after its end.
            prerequisites: Jobs that must finish first.
            parent_id: The job whose child it is.
            predecessor_id: The job that must end first, with all its descendants.
            group: Only actors of this group may run it.
            instance: Only this actor may run it; without a group that of the group `default`.
            concurrent: Whether it may run beside other jobs of its actor (`sal`) (default: false).
            log_path: Where to write its log file, below the log directory; at most 8 parts between slashes.
            context_id: The context it belongs to (default: 0).
            caller_id: Who creates it; the session's identity by default, else `anonymous`.
            worker_id: The worker of the dispatcher protocol; a number is the instance.
            dependents: Jobs that wait for this one.
            client_rpc_id: An identifier of the client's own, kept as it is.
            job_id: The id the job shall have; a new one by default.
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
        answer: str = await self._call("create_job", params, str, Keyed())
        return answer

    async def create_jobs(
        self,
        jobs: Sequence[models.JobSpecInput | Mapping[str, Any]],
        *,
        start: bool | None = None,
    ) -> list[str]:
        """Stores several jobs, all of them or none if one is refused, and starts them if `start` is set. Gives their ids, in order.
        Jobs with a `job_id` may name each other, in any order. All are of one context. There are at most 1000, which name at most 2000
        others and have at most 2 MB. The error of a refused job has its place in `data.index`. Jobs that an earlier call with the same
        keys created are started after the others.

        Args:
            jobs: What the jobs are to be.
            start: Starts the jobs at once, as `start_job` does, in one call. At most 64 jobs can be started so, which name at most
                100 others and have at most 128 kB. Otherwise they stay `created` until they are started (default: false).

        Returns:
            The ids of the jobs, in the order given.
        """
        params: dict[str, Any] = {
            "jobs": jobs,
            "start": start,
        }
        answer: list[str] = await self._call("create_jobs", params, list[str], Keyed("jobs"))
        return answer

    async def start_job(
        self,
        job_id: str | UUID,
        *,
        context_id: int | None = None,
    ) -> models.JobStatus:
        """Starts a job that was created. Gives the status it has then.

        Args:
            job_id: The job to start.
            context_id: The context it belongs to (default: 0).

        Returns:
            The status that the job has then.
        """
        params: dict[str, Any] = {
            "job_id": job_id,
            "context_id": context_id,
        }
        answer: models.JobStatus = await self._call("start_job", params, models.JobStatus, ONCE)
        return answer

    async def run_and_wait(
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
        """Creates a job, starts it, waits for its end and gives its result. A job that ends badly is an error. When the wait runs out
        the job goes on, and `wait_job` waits on. When the connection closes the job goes on too.

        Args:
            script: The script to run.
            script_type: Which kind of actor runs it: `osis`, `sal`, or a configured type (default: "osis").
            args: What the script sees as `args`: any JSON, with at most 100 arrays and objects in each other.
            wait_timeout: How many seconds to wait; 0 looks once (default: 120).
            timeout: The most seconds one attempt may take. 60 by default.
            retries: Extra attempts after an error or a timeout (default: 0).
            retry_backoff: Seconds before the second attempt, doubling for each further one up to 300. 1 by default.
            priority: 0 urgent, 1 normal, 2 low (default: 1).
            name: A name for people.
            labels: Labels to find it by.
            env_vars: What the script sees as `env`. The values are secrets, masked in logs and in `get_job`, but for those of the
                variables that `HERO_PLAIN` among them names: `"HERO_PLAIN": "MODE,CUSTOMER"`.
            run_at: Not before this time (RFC 3339).
            idempotency_key: The same key with the same parameters gives the same job again, for 24 hours.
            retention: Seconds to keep the job after its end.
            prerequisites: Jobs that must finish first.
            parent_id: The job whose child it is.
            predecessor_id: The job that must end first, with all its descendants.
            group: Only actors of this group may run it.
            instance: Only this actor may run it; without a group that of the group `default`.
            concurrent: Whether it may run beside other jobs of its actor (`sal`) (default: false).
            log_path: Where to write its log file, below the log directory; at most 8 parts between slashes.
            context_id: The context it belongs to (default: 0).
            caller_id: Who creates it; the session's identity by default, else `anonymous`.
            worker_id: The worker of the dispatcher protocol; a number is the instance.
            dependents: Jobs that wait for this one.
            client_rpc_id: An identifier of the client's own, kept as it is.
            job_id: The id the job shall have; a new one by default.

        Returns:
            What the job gave.
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
        answer: models.JobResult = await self._call("run_and_wait", params, models.JobResult, Keyed(), WAITS["run_and_wait"])
        return answer

    async def wait_job(
        self,
        job_id: str | UUID,
        *,
        wait_timeout: float | timedelta | None = None,
        context_id: int | None = None,
    ) -> models.JobResult:
        """Waits for the end of a job and gives its result. A job that ends badly is an error. When the wait runs out the error says why
        the job has not ended.

        Args:
            job_id: The job to wait for.
            wait_timeout: How many seconds to wait; 0 looks once (default: 120).
            context_id: The context it belongs to (default: 0).

        Returns:
            What the job gave.
        """
        params: dict[str, Any] = {
            "job_id": job_id,
            "wait_timeout": wait_timeout,
            "context_id": context_id,
        }
        answer: models.JobResult = await self._call("wait_job", params, models.JobResult, REPEAT, WAITS["wait_job"])
        return answer

    async def stop_job(
        self,
        job_id: str | UUID,
        *,
        context_id: int | None = None,
    ) -> models.JobStatus:
        """Stops a job that has not ended. Gives the status it has then. A running script gets one second to obey before the call
        returns; it is stopped in any case.

        Args:
            job_id: The job to stop.
            context_id: The context it belongs to (default: 0).

        Returns:
            The status that the job has then.
        """
        params: dict[str, Any] = {
            "job_id": job_id,
            "context_id": context_id,
        }
        answer: models.JobStatus = await self._call("stop_job", params, models.JobStatus, ONCE)
        return answer

    async def retry_job(
        self,
        job_id: str | UUID,
        *,
        context_id: int | None = None,
    ) -> models.JobStatus:
        """Runs a job again that has ended. Gives the status it has then. Its attempts count on, its retries begin anew, and what it
        gave before is gone. A job in error that others waited for does not bring those back.

        Args:
            job_id: The job to run again.
            context_id: The context it belongs to (default: 0).

        Returns:
            The status that the job has then.
        """
        params: dict[str, Any] = {
            "job_id": job_id,
            "context_id": context_id,
        }
        answer: models.JobStatus = await self._call("retry_job", params, models.JobStatus, ONCE)
        return answer

    async def get_status(
        self,
        job_id: str | UUID,
        *,
        context_id: int | None = None,
    ) -> models.JobStatus:
        """Gives the status of a job.

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
        answer: models.JobStatus = await self._call("get_status", params, models.JobStatus, REPEAT)
        return answer

    async def get_job(
        self,
        job_id: str | UUID,
        *,
        context_id: int | None = None,
    ) -> models.Job:
        """Gives everything that is known of a job.

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
        answer: models.Job = await self._call("get_job", params, models.Job, REPEAT)
        return answer

    async def get_result(
        self,
        job_id: str | UUID,
        *,
        context_id: int | None = None,
    ) -> models.JobResult:
        """Gives the result of a job that has ended. A job that ended badly is an error.

        Args:
            job_id: The job to look at.
            context_id: The context it belongs to (default: 0).

        Returns:
            What the job gave.
        """
        params: dict[str, Any] = {
            "job_id": job_id,
            "context_id": context_id,
        }
        answer: models.JobResult = await self._call("get_result", params, models.JobResult, REPEAT)
        return answer

    async def get_logs(
        self,
        job_id: str | UUID,
        *,
        cursor: str | None = None,
        limit: int | None = None,
        context_id: int | None = None,
    ) -> models.LogPage:
        """Gives log lines of a job, the oldest first. A page ends after about a megabyte, too: it may have fewer lines than asked for
        and not be the last, if it has any. A page without lines has a `next_cursor` too as long as the job can log more: ask again with
        it, or use `subscribe_logs`.

        Args:
            job_id: The job whose log to read.
            cursor: The `next_cursor` of the page before, or the `cursor` of a line.
            limit: The most lines to give (default: 100).
            context_id: The context the job belongs to (default: 0).

        Returns:
            Lines of the log, the oldest first.
        """
        params: dict[str, Any] = {
            "job_id": job_id,
            "cursor": cursor,
            "limit": limit,
            "context_id": context_id,
        }
        answer: models.LogPage = await self._call("get_logs", params, models.LogPage, REPEAT)
        return answer

    async def list_jobs(
        self,
        *,
        filter: models.JobFilter | Mapping[str, Any] | None = None,
        cursor: str | None = None,
        limit: int | None = None,
        context_id: int | None = None,
    ) -> models.JobPage:
        """Lists jobs, the newest first. A page can have fewer jobs than asked for, or none, and still not be the last: that one has no
        `next_cursor`. A list is for finding jobs: what is long of one is cut after 1 KB or left out, `truncated` says what, and
        `get_job` gives all of it.

        Args:
            filter: Which jobs; all that is given must fit.
            cursor: The `next_cursor` of the page before.
            limit: The most jobs to give (default: 100).
            context_id: The context they belong to (default: 0).

        Returns:
            The jobs that fit, the latest first.
        """
        params: dict[str, Any] = {
            "filter": filter,
            "cursor": cursor,
            "limit": limit,
            "context_id": context_id,
        }
        answer: models.JobPage = await self._call("list_jobs", params, models.JobPage, REPEAT)
        return answer

    async def number_job(
        self,
        job_id: str | UUID,
        *,
        context_id: int | None = None,
    ) -> str:
        """Has a job be seen in Redis as the coordinator's specification has it, too. Gives the key: `job:{caller}:{n}`. Each change of
        the job is written there from now on, and the hash goes with the job. A job that has such a key keeps it.

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
        answer: str = await self._call("number_job", params, str, ONCE)
        return answer

    async def delete_job(
        self,
        job_id: str | UUID,
        *,
        context_id: int | None = None,
    ) -> bool:
        """Deletes a job that does not run, with its log. Gives true.

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
        answer: bool = await self._call("delete_job", params, bool, ONCE)
        return answer

    async def explain_job(
        self,
        job_id: str | UUID,
        *,
        context_id: int | None = None,
    ) -> models.Explanation:
        """Says why a job does not run now, or how it ended: in a word, in a sentence, and with the facts behind them.

        Args:
            job_id: The job to look at.
            context_id: The context it belongs to (default: 0).

        Returns:
            What the job waits for, or why it ended.
        """
        params: dict[str, Any] = {
            "job_id": job_id,
            "context_id": context_id,
        }
        answer: models.Explanation = await self._call("explain_job", params, models.Explanation, REPEAT)
        return answer

    async def create_flow(
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
        """Makes a flow: jobs by their names, which wait for each other as `depends_on` says. Gives its number. Nothing runs before
        `start_flow`. Either the whole flow is made, or nothing. A script sees what the jobs gave that it depends on as `inputs.NAME`. A
        call whose answer was lost can be repeated where it had an `idempotency_key`: it gives the same flow.

        Args:
            jobs: Its jobs, by names of letters, digits and `_`, which are those of `inputs`; at most 1,000.
            name: A name for people.
            env_vars: What the scripts of all its jobs see as `env`. The values are secrets, but for those of the variables that
                `HERO_PLAIN` names.
            on_failure: What becomes of the other jobs when one ends in error: `stop` (the default) stops them, `continue` has those
                go on that do not wait for it. `stop`: They are stopped. `continue`: Those that do not wait for it go on (default:
                "stop").
            prerequisites: Jobs, none of the flow's own, that must finish before it begins.
            retention: Seconds to keep the flow and its jobs after its end; seven days by default.
            caller_id: Who creates it; the session's identity by default, else `anonymous`.
            context_id: The context it belongs to (default: 0).
            idempotency_key: The same key of the same caller with the same parameters gives the same flow again, for 24 hours. It is
                kept for so long at least.

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
        answer: int = await self._call("create_flow", params, int, Keyed())
        return answer

    async def run_flow_and_wait(
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
        """Makes a flow, starts it, waits for its end and gives all that is known of it. A flow that ends badly is an error, which names
        the jobs that failed. When the wait runs out the flow goes on, and `get_flow` and `subscribe_flow` show how.

        Args:
            jobs: Its jobs, by names of letters, digits and `_`, which are those of `inputs`; at most 1,000.
            wait_timeout: How many seconds to wait; 0 looks once (default: 120).
            name: A name for people.
            env_vars: What the scripts of all its jobs see as `env`. The values are secrets, but for those of the variables that
                `HERO_PLAIN` names.
            on_failure: What becomes of the other jobs when one ends in error: `stop` (the default) stops them, `continue` has those
                go on that do not wait for it. `stop`: They are stopped. `continue`: Those that do not wait for it go on (default:
                "stop").
            prerequisites: Jobs, none of the flow's own, that must finish before it begins.
            retention: Seconds to keep the flow and its jobs after its end; seven days by default.
            caller_id: Who creates it; the session's identity by default, else `anonymous`.
            context_id: The context it belongs to (default: 0).
            idempotency_key: The same key of the same caller with the same parameters gives the same flow again, for 24 hours. It is
                kept for so long at least.

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
        answer: models.Flow = await self._call("run_flow_and_wait", params, models.Flow, Keyed(), WAITS["run_flow_and_wait"])
        return answer

    async def start_flow(
        self,
        flow_id: int,
        *,
        context_id: int | None = None,
    ) -> models.FlowStatus:
        """Starts a flow that was made. Gives its status.

        Args:
            flow_id: The flow to start.
            context_id: The context it belongs to (default: 0).

        Returns:
            The status that the flow has then.
        """
        params: dict[str, Any] = {
            "flow_id": flow_id,
            "context_id": context_id,
        }
        answer: models.FlowStatus = await self._call("start_flow", params, models.FlowStatus, ONCE)
        return answer

    async def wait_flow(
        self,
        flow_id: int,
        *,
        wait_timeout: float | timedelta | None = None,
        context_id: int | None = None,
    ) -> models.Flow:
        """Waits for the end of a flow and gives all that is known of it. One that ends badly is an error.

        Args:
            flow_id: The flow to wait for.
            wait_timeout: How many seconds to wait; 0 looks once (default: 120).
            context_id: The context it belongs to (default: 0).

        Returns:
            The flow as it ended.
        """
        params: dict[str, Any] = {
            "flow_id": flow_id,
            "wait_timeout": wait_timeout,
            "context_id": context_id,
        }
        answer: models.Flow = await self._call("wait_flow", params, models.Flow, REPEAT, WAITS["wait_flow"])
        return answer

    async def get_flow(
        self,
        flow_id: int,
        *,
        context_id: int | None = None,
    ) -> models.Flow:
        """Gives all that is known of a flow: its status, each of its jobs with its times, what they gave, and the graph of them for
        Mermaid.

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
        answer: models.Flow = await self._call("get_flow", params, models.Flow, REPEAT)
        return answer

    async def list_flows(
        self,
        *,
        cursor: str | None = None,
        limit: int | None = None,
        caller_id: str | None = None,
        context_id: int | None = None,
    ) -> models.FlowPage:
        """Lists flows, the newest first. A page can have fewer flows than asked for, or none, and still not be the last: that one has
        no `next_cursor`.

        Args:
            cursor: The `next_cursor` of the page before.
            limit: The most flows to give (default: 100).
            caller_id: Only flows that this caller created.
            context_id: The context they belong to (default: 0).

        Returns:
            The flows, the latest first.
        """
        params: dict[str, Any] = {
            "cursor": cursor,
            "limit": limit,
            "caller_id": caller_id,
            "context_id": context_id,
        }
        answer: models.FlowPage = await self._call("list_flows", params, models.FlowPage, REPEAT)
        return answer

    async def stop_flow(
        self,
        flow_id: int,
        *,
        context_id: int | None = None,
    ) -> models.FlowStatus:
        """Stops all jobs of a flow that have not ended. Gives the status of the flow, whose running scripts may not have obeyed yet.

        Args:
            flow_id: The flow to stop.
            context_id: The context it belongs to (default: 0).

        Returns:
            The status that the flow has then.
        """
        params: dict[str, Any] = {
            "flow_id": flow_id,
            "context_id": context_id,
        }
        answer: models.FlowStatus = await self._call("stop_flow", params, models.FlowStatus, ONCE)
        return answer

    async def retry_flow(
        self,
        flow_id: int,
        *,
        context_id: int | None = None,
    ) -> models.FlowStatus:
        """Runs those jobs of a flow again that ended in error, with all that never ran because of them. Gives the status of the flow.

        Args:
            flow_id: The flow to retry.
            context_id: The context it belongs to (default: 0).

        Returns:
            The status that the flow has then.
        """
        params: dict[str, Any] = {
            "flow_id": flow_id,
            "context_id": context_id,
        }
        answer: models.FlowStatus = await self._call("retry_flow", params, models.FlowStatus, ONCE)
        return answer

    async def delete_flow(
        self,
        flow_id: int,
        *,
        context_id: int | None = None,
    ) -> bool:
        """Deletes a flow that does not run, with its jobs. Gives true.

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
        answer: bool = await self._call("delete_flow", params, bool, ONCE)
        return answer

    async def create_schedule(
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
        """Has a job run again and again, by `cron` or `every` so many seconds. Gives the schedule, with its next runs. It belongs to
        the context of its job. Each run is a job of its own, with the labels `schedule` and `slot`, the time it was due at. A call
        whose answer was lost can be repeated where it had an `idempotency_key`: it gives the same schedule. Whatever servers run or
        die, a run has one job. When the queue is full, the run waits for room. A time of day that the clock leaves out is met when it
        goes on, and one that it shows twice is met once. A script that does not compile is refused (-32602, with `error` as a failed
        job has it) if this server has a pool for its type.

        Args:
            job: What each of its jobs is. Without `job_id`, `idempotency_key`, `run_at` and relations: those are for single jobs.
            cron: When it runs, such as `0 9 * * MON-FRI`: minute, hour, day of the month, month, weekday; seconds before them if
                there are six.
            every: Seconds from one run to the next, at least 1; counted from `start_at`, else from its creation.
            time_zone: Where `cron` is read and times are shown, such as `Europe/Berlin`. UTC by default.
            overlap: What a run does when the one before has not ended; `skip` by default.
            missed: What becomes of runs that were due while no server ran; `once` by default.
            missed_limit: The most jobs that `missed: all` makes up for at a time. 100 by default, at most 1000.
            start_at: No run is before this time (RFC 3339).
            end_at: No run is after this time.
            name: A name for people.
            idempotency_key: A key for this request: repeated with the same parameters within 24 hours, it gives the same schedule
                again, as it is then.
            schedule_id: The id the schedule shall have; a new one by default.

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
        answer: models.Schedule = await self._call("create_schedule", params, models.Schedule, Keyed())
        return answer

    async def list_schedules(
        self,
        *,
        cursor: str | None = None,
        limit: int | None = None,
        caller_id: str | None = None,
        context_id: int | None = None,
    ) -> models.SchedulePage:
        """Lists schedules in the order of their next runs. A schedule that runs meanwhile may be on two pages; none is left out. A page
        can have fewer schedules than asked for, or none, and still not be the last: that one has no `next_cursor`.

        Args:
            cursor: The `next_cursor` of the page before.
            limit: The most schedules to give (default: 100).
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
        answer: models.SchedulePage = await self._call("list_schedules", params, models.SchedulePage, REPEAT)
        return answer

    async def delete_schedule(
        self,
        schedule_id: str | UUID,
        *,
        context_id: int | None = None,
    ) -> bool:
        """Deletes a schedule. Jobs that it has made stay. Gives true.

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
        answer: bool = await self._call("delete_schedule", params, bool, ONCE)
        return answer

    async def set_object(
        self,
        collection: str,
        object: Mapping[str, Any],
        *,
        context_id: int | None = None,
    ) -> str:
        """Stores an object in a collection, in place of one with the same id. Gives its id. The id is its field `id`; without that it
        gets a new one. The object and what stands in indexes for it are written in one step. A collection is there as soon as it has an
        object. An object that does not fit the schema of its collection is refused (-32602), and so is one of more than 240 KB (1008).
        A call without an id that is repeated after an answer was lost stores a second object.

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
        answer: str = await self._call("set_object", params, str, ONCE)
        return answer

    async def get_object(
        self,
        collection: str,
        id: str,
        *,
        context_id: int | None = None,
    ) -> Any:
        """Gives an object.

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
        answer: Any = await self._call("get_object", params, Any, REPEAT)
        return answer

    async def find_objects(
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
        """Finds objects of a collection, all by default, in the order of their ids or of a field with an index. A field is asked for by
        an index if it has one. Otherwise objects are read one after another, at most 10,000 for a page, and the answer says so
        (`compared`): such a page may be short although more follow. Scripts make indexes by `osis::index`.

        Args:
            collection: The collection. One that does not exist has no objects.
            filter: What fields have to be: `{"city": "Ghent", "born": {"gte": 1800, "lt": 1900}, "name": {"prefix": "A"}}`. A field
                that is an array fits if one of its elements does, and one that is not there is `null`; `address.zip` is a field of a
                field.
            order_by: The field to sort by, which needs an index; the id by default.
            descending: Whether the last comes first.
            limit: The most objects to give (default: 100).
            cursor: The `next_cursor` of the page before.
            context_id: The context they belong to (default: 0).

        Returns:
            The objects that fit.
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
        answer: models.ObjectPage = await self._call("find_objects", params, models.ObjectPage, REPEAT)
        return answer

    async def delete_object(
        self,
        collection: str,
        id: str,
        *,
        context_id: int | None = None,
    ) -> bool:
        """Deletes an object. Gives whether there was one.

        Args:
            collection: The collection.
            id: The id of the object.
            context_id: The context it belongs to (default: 0).

        Returns:
            Whether there was such an object.
        """
        params: dict[str, Any] = {
            "collection": collection,
            "id": id,
            "context_id": context_id,
        }
        answer: bool = await self._call("delete_object", params, bool, ONCE)
        return answer

    async def list_collections(
        self,
        *,
        context_id: int | None = None,
    ) -> list[models.Collection]:
        """Lists the collections of objects in the order of their names, each with how many objects it has, and its indexes.

        Args:
            context_id: The context they belong to (default: 0).

        Returns:
            The collections.
        """
        params: dict[str, Any] = {
            "context_id": context_id,
        }
        answer: list[models.Collection] = await self._call("list_collections", params, list[models.Collection], REPEAT)
        return answer

    async def drop_collection(
        self,
        collection: str,
        *,
        context_id: int | None = None,
    ) -> int | None:
        """Deletes a collection with all its objects and indexes. Gives how many objects there were; `null` if there was no such
        collection.

        Args:
            collection: The collection.
            context_id: The context it belongs to (default: 0).

        Returns:
            How many objects there were, or null if that is not known.
        """
        params: dict[str, Any] = {
            "collection": collection,
            "context_id": context_id,
        }
        answer: int | None = await self._call("drop_collection", params, int | None, ONCE)
        return answer

    async def create_identity(
        self,
        *,
        pubkey: str | None = None,
        address: Sequence[str] | None = None,
    ) -> models.Identity:
        """Makes an identity: somebody who may be given tokens, and rights in contexts.

        Args:
            pubkey: Its public key (secp256k1, uncompressed, hexadecimal). No two identities have the same.
            address: Where it can be reached, 16 at most.

        Returns:
            The identity.
        """
        params: dict[str, Any] = {
            "pubkey": pubkey,
            "address": address,
        }
        answer: models.Identity = await self._call("create_identity", params, models.Identity, ONCE)
        return answer

    async def update_identity(
        self,
        identity_id: int,
        *,
        pubkey: str | None = None,
        address: Sequence[str] | None = None,
    ) -> models.Identity:
        """Changes an identity: what is given takes the place of what was there.

        Args:
            identity_id: The identity to change.
            pubkey: Its new public key.
            address: Where it can be reached now.

        Returns:
            The identity as it is now.
        """
        params: dict[str, Any] = {
            "identity_id": identity_id,
            "pubkey": pubkey,
            "address": address,
        }
        answer: models.Identity = await self._call("update_identity", params, models.Identity, ONCE)
        return answer

    async def get_identity(
        self,
        identity_id: int,
    ) -> models.Identity:
        """Gives an identity. Where callers log in: yourself, or one that has a role in a context in which you have one.

        Args:
            identity_id: The identity to look at.

        Returns:
            The identity.
        """
        params: dict[str, Any] = {
            "identity_id": identity_id,
        }
        answer: models.Identity = await self._call("get_identity", params, models.Identity, REPEAT)
        return answer

    async def list_identities(
        self,
        *,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> models.IdentityPage:
        """Lists identities in the order of their numbers. Where callers log in: yourself, and those that have a role in a context in
        which you have one. A page may hold fewer than asked for and still have a next.

        Args:
            cursor: The `next_cursor` of the page before.
            limit: The most identities to give (default: 100).

        Returns:
            The identities.
        """
        params: dict[str, Any] = {
            "cursor": cursor,
            "limit": limit,
        }
        answer: models.IdentityPage = await self._call("list_identities", params, models.IdentityPage, REPEAT)
        return answer

    async def delete_identity(
        self,
        identity_id: int,
    ) -> bool:
        """Deletes an identity with its tokens: whoever has shown one is logged out. Its number is never given again. Gives true.

        Args:
            identity_id: The identity to delete.

        Returns:
            True.
        """
        params: dict[str, Any] = {
            "identity_id": identity_id,
        }
        answer: bool = await self._call("delete_identity", params, bool, ONCE)
        return answer

    async def whoami(self) -> models.Who:
        """Tells who makes the call, and what it may do.

        Returns:
            Who the caller is, and what it may do.
        """
        params: dict[str, Any] = {}
        answer: models.Who = await self._call("whoami", params, models.Who, REPEAT)
        return answer

    async def fetch_nonce(
        self,
        pubkey: str,
    ) -> str:
        """Gives a nonce to sign, with which `authenticate` logs in: `hero:{host}:{random}:{expiry}`. It is good for one login within
        five minutes, with this public key, under the name by which the server was reached. Look whether that is the one that you meant
        before you sign. The answer is the same whether or not there is an identity with this key.

        Args:
            pubkey: The public key of whoever wants to log in (secp256k1, uncompressed, hexadecimal).

        Returns:
            The nonce to sign.
        """
        params: dict[str, Any] = {
            "pubkey": pubkey,
        }
        answer: str = await self._call("fetch_nonce", params, str, REPEAT)
        return answer

    async def authenticate(
        self,
        pubkey: str,
        signature: str,
        nonce: str,
    ) -> models.LoggedIn:
        """Logs in by a nonce that was signed, as an Ethereum personal message. Gives a token, which goes into `Authorization: Bearer
        …`. On a WebSocket where callers have to log in, the connection is that identity from then on. The token ends by itself; of one
        identity at most 50 of these last, of which the first to end gives way.

        Args:
            pubkey: The public key for which the nonce was fetched.
            signature: The signature: r, s and v, hexadecimal; s in the lower half of its range, v 0, 1, 27 or 28.
            nonce: The nonce, as `fetch_nonce` gave it.

        Returns:
            The token of the session, and until when it holds.
        """
        params: dict[str, Any] = {
            "pubkey": pubkey,
            "signature": signature,
            "nonce": nonce,
        }
        answer: models.LoggedIn = await self._call("authenticate", params, models.LoggedIn, ONCE)
        return answer

    async def create_token(
        self,
        identity_id: int,
        *,
        name: str | None = None,
        lifetime: float | timedelta | None = None,
    ) -> models.NewToken:
        """Makes a token of an identity. Its `secret` is told only now: it goes into `Authorization: Bearer …`. An identity may make
        tokens of its own, 100 at once and one a second from then on: they end with that by which it has logged in, when it expires or
        is revoked, at the latest. The operator makes those of all. There are at most 100 of one identity.

        Args:
            identity_id: Whom it stands for.
            name: What it is for.
            lifetime: After how many seconds it ends; never, if this is not given.

        Returns:
            The token; it is shown this once.
        """
        params: dict[str, Any] = {
            "identity_id": identity_id,
            "name": name,
            "lifetime": lifetime,
        }
        answer: models.NewToken = await self._call("create_token", params, models.NewToken, ONCE)
        return answer

    async def present_token(
        self,
        token: str,
    ) -> models.Presented:
        """Has the connection go on with this token: a new one, before that by which it has logged in ends. On a WebSocket where callers
        have to log in, the connection is from then on whoever the token stands for, as after `authenticate`: what it waits for and
        follows goes on as far as that one may, and ends with an error (1004) where it may not. A token that is none changes nothing.
        Over HTTP each request has its own token, so there, and where nobody has to log in, this only tells whose token it is.

        Args:
            token: The token, as `create_token` or `authenticate` gave it.

        Returns:
            Whom the token stands for, and until when.
        """
        params: dict[str, Any] = {
            "token": token,
        }
        answer: models.Presented = await self._call("present_token", params, models.Presented, ONCE)
        return answer

    async def list_tokens(
        self,
        identity_id: int,
    ) -> list[models.Token]:
        """Lists the tokens of an identity that have not ended, the oldest first.

        Args:
            identity_id: Whose tokens.

        Returns:
            The tokens, without their secrets.
        """
        params: dict[str, Any] = {
            "identity_id": identity_id,
        }
        answer: list[models.Token] = await self._call("list_tokens", params, list[models.Token], REPEAT)
        return answer

    async def revoke_token(
        self,
        token_id: str,
    ) -> bool:
        """Revokes a token: whoever has shown it is logged out at once, also on connections that are open. Gives true. An identity may
        revoke tokens of its own, the operator all.

        Args:
            token_id: The token to revoke.

        Returns:
            True.
        """
        params: dict[str, Any] = {
            "token_id": token_id,
        }
        answer: bool = await self._call("revoke_token", params, bool, ONCE)
        return answer

    async def create_context(
        self,
        *,
        name: str | None = None,
        admins: Sequence[int] | None = None,
        limits: models.ContextLimits | Mapping[str, Any] | None = None,
    ) -> models.Context:
        """Makes a context: a tenant with a database, jobs, objects and files of its own. It takes calls at once, and those of other
        servers within a second.

        Args:
            name: What it is for.
            admins: Who may do everything in it.
            limits: What may be used in it.

        Returns:
            The context.
        """
        params: dict[str, Any] = {
            "name": name,
            "admins": admins,
            "limits": limits,
        }
        answer: models.Context = await self._call("create_context", params, models.Context, ONCE)
        return answer

    async def update_context(
        self,
        *,
        context_id: int | None = None,
        name: str | None = None,
        limits: models.ContextLimits | Mapping[str, Any] | None = None,
    ) -> models.Context:
        """Changes a context. What is not given stays. Limits are the operator's to set; 0 takes one away. It holds at once on this
        server, and within a second on others. Roles are changed by `grant` and `revoke`.

        Args:
            context_id: The context to change (default: 0).
            name: What it is for.
            limits: What may be used in it.

        Returns:
            The context as it is now.
        """
        params: dict[str, Any] = {
            "context_id": context_id,
            "name": name,
            "limits": limits,
        }
        answer: models.Context = await self._call("update_context", params, models.Context, ONCE)
        return answer

    async def get_context(
        self,
        *,
        context_id: int | None = None,
    ) -> models.Context:
        """Gives a context: who may do what in it, and what may be used there.

        Args:
            context_id: The context to look at (default: 0).

        Returns:
            The context.
        """
        params: dict[str, Any] = {
            "context_id": context_id,
        }
        answer: models.Context = await self._call("get_context", params, models.Context, REPEAT)
        return answer

    async def list_contexts(
        self,
        *,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> models.ContextPage:
        """Lists contexts in the order of their numbers: those in which the caller has a role, or all for the operator.

        Args:
            cursor: The `next_cursor` of the page before.
            limit: The most contexts to give (default: 100).

        Returns:
            The contexts.
        """
        params: dict[str, Any] = {
            "cursor": cursor,
            "limit": limit,
        }
        answer: models.ContextPage = await self._call("list_contexts", params, models.ContextPage, REPEAT)
        return answer

    async def delete_context(
        self,
        context_id: int,
        *,
        stop_jobs: bool | None = None,
    ) -> bool:
        """Deletes a context with everything in it, for good. Its number is never given again. Gives true: it takes no calls from then
        on, and what it holds goes in the background.

        Args:
            context_id: The context to delete.
            stop_jobs: Whether jobs that have not ended are stopped, and messages that wait to be sent or for their result are lost.
                Otherwise a context that has some is not deleted (default: false).

        Returns:
            True.
        """
        params: dict[str, Any] = {
            "context_id": context_id,
            "stop_jobs": stop_jobs,
        }
        answer: bool = await self._call("delete_context", params, bool, ONCE)
        return answer

    async def grant(
        self,
        identity_id: int,
        role: models.Role | models.RoleWord,
        *,
        context_id: int | None = None,
    ) -> models.Context:
        """Gives an identity a role in a context. Gives who may do what there now. It holds at once on this server, and within half a
        second on others.

        Args:
            identity_id: Who gets the role.
            role: The role.
            context_id: The context (default: 0).

        Returns:
            The context as it is now.
        """
        params: dict[str, Any] = {
            "identity_id": identity_id,
            "role": role,
            "context_id": context_id,
        }
        answer: models.Context = await self._call("grant", params, models.Context, ONCE)
        return answer

    async def revoke(
        self,
        identity_id: int,
        role: models.Role | models.RoleWord,
        *,
        context_id: int | None = None,
    ) -> models.Context:
        """Takes a role in a context from an identity. Gives who may do what there now. It holds at once on this server, and within half
        a second on others.

        Args:
            identity_id: Who loses the role.
            role: The role.
            context_id: The context (default: 0).

        Returns:
            The context as it is now.
        """
        params: dict[str, Any] = {
            "identity_id": identity_id,
            "role": role,
            "context_id": context_id,
        }
        answer: models.Context = await self._call("revoke", params, models.Context, ONCE)
        return answer

    async def create_runner(
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
        """Makes a runner: it runs the jobs of its script type whose `group` is `runner{runner_id}`. A local one is a pool of the
        context; the jobs of another one are sent as messages to its address.

        Args:
            script_type: The script type of its jobs.
            local: Whether it is a pool of this context (default: true).
            address: Where it is, if it is not local.
            pubkey: The key with which results of its jobs are signed: that of the node that runs them.
            target_context: The context at the other side in which its jobs run (default: 0).
            name: What it is for; 256 bytes at most.
            topic: What it is called; `runner{runner_id}` if this is not given.
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
        answer: models.Runner = await self._call("create_runner", params, models.Runner, ONCE)
        return answer

    async def update_runner(
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
        """Changes a runner: what is given takes the place of what was there.

        Args:
            runner_id: The runner to change.
            script_type: The script type of its jobs.
            local: Whether it is a pool of this context.
            address: Where it is, if it is not local.
            pubkey: The key with which results of its jobs are signed.
            topic: What it is called.
            target_context: The context at the other side in which its jobs run.
            name: What it is for.
            context_id: The context it belongs to (default: 0).

        Returns:
            The runner as it is now.
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
        answer: models.Runner = await self._call("update_runner", params, models.Runner, ONCE)
        return answer

    async def get_runner(
        self,
        runner_id: int,
        *,
        context_id: int | None = None,
    ) -> models.Runner:
        """Gives a runner.

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
        answer: models.Runner = await self._call("get_runner", params, models.Runner, REPEAT)
        return answer

    async def list_runners(
        self,
        *,
        cursor: str | None = None,
        limit: int | None = None,
        context_id: int | None = None,
    ) -> models.RunnerPage:
        """Lists runners in the order of their numbers.

        Args:
            cursor: The `next_cursor` of the page before.
            limit: The most runners to give (default: 100).
            context_id: The context they belong to (default: 0).

        Returns:
            The runners.
        """
        params: dict[str, Any] = {
            "cursor": cursor,
            "limit": limit,
            "context_id": context_id,
        }
        answer: models.RunnerPage = await self._call("list_runners", params, models.RunnerPage, REPEAT)
        return answer

    async def delete_runner(
        self,
        runner_id: int,
        *,
        context_id: int | None = None,
    ) -> bool:
        """Deletes a runner. Its jobs stay in their queue, and its number is never given again. Gives true.

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
        answer: bool = await self._call("delete_runner", params, bool, ONCE)
        return answer

    async def send_message(
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
        """Sends a message: it is stored and brought to the other side in the background, and its status says what became of it. Jobs of
        a message run at the other side, and for each a message of type `result` comes back.

        Args:
            message: What it says; a megabyte at most.
            address: Where it goes: `here` (another context of this server), `node:NAME`, `redis://…`, or a node of Mycelium.
            topic: What it is about: normally the topic of a runner, whose address it goes to if it has none. A script type is the
                topic of all runners that have it, which take turns.
            target_context: The context it is for (default: 0).
            message_type: What it is.
            message_format_type: What it is written in.
            job: Its jobs, if it is of type `job`, as the coordinator writes them: each with a `script`.
            timeout_ack: The seconds within which the other side has to have stored it (default: 300).
            timeout_result: The seconds after that within which a result has to come (default: 3600).
            caller_id: Who sends it; the identity of the session by default.
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
        answer: models.Message = await self._call("send_message", params, models.Message, ONCE)
        return answer

    async def ping_node(
        self,
        address: str,
        *,
        target_context: int | None = None,
        context_id: int | None = None,
    ) -> models.Pong:
        """Asks who is at an address: the way there, the key of the node that answers, its clock, and how long the answer took. Nothing
        is stored of it, and where nobody answers `error` says why.

        Args:
            address: Who is asked: `here`, `node:NAME`, `redis://…`, or a node of Mycelium.
            target_context: The context there (default: 0).
            context_id: The context that asks (default: 0).

        Returns:
            What the node answered.
        """
        params: dict[str, Any] = {
            "address": address,
            "target_context": target_context,
            "context_id": context_id,
        }
        answer: models.Pong = await self._call("ping_node", params, models.Pong, ONCE)
        return answer

    async def get_message(
        self,
        caller_id: int,
        message_id: int,
        *,
        context_id: int | None = None,
    ) -> models.Message:
        """Gives a message.

        Args:
            caller_id: Who sent it; 0 is nobody.
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
        answer: models.Message = await self._call("get_message", params, models.Message, REPEAT)
        return answer

    async def list_messages(
        self,
        *,
        list: models.MessageList | models.MessageListWord | None = None,
        cursor: str | None = None,
        limit: int | None = None,
        caller_id: int | None = None,
        context_id: int | None = None,
        status: models.MessageStatus | models.MessageStatusWord | None = None,
    ) -> models.MessagePage:
        """Lists messages that came and were not fetched, or that are to go out, those that are taken first first; or those of a status.
        A page can have fewer messages than asked for, or none, and still not be the last: that one has no `next_cursor`.

        Args:
            list: Which list.
            cursor: The `next_cursor` of the page before.
            limit: The most messages to give (default: 100).
            caller_id: Only messages of this caller.
            context_id: The context that has them (default: 0).
            status: Only messages of this status, whichever way they go, the one that got it last first: the last 10,000. `list`
                does not count then.

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
        answer: models.MessagePage = await self._call("list_messages", params, models.MessagePage, REPEAT)
        return answer

    async def acknowledge_message(
        self,
        caller_id: int,
        message_id: int,
        *,
        context_id: int | None = None,
    ) -> models.Message:
        """Notes that the owner of a message that came has it: it is not listed any more. Gives the message. One that is to go out the
        other side acknowledges.

        Args:
            caller_id: Who sent it; 0 is nobody.
            message_id: Its number.
            context_id: The context that has it (default: 0).

        Returns:
            The message as it is now.
        """
        params: dict[str, Any] = {
            "caller_id": caller_id,
            "message_id": message_id,
            "context_id": context_id,
        }
        answer: models.Message = await self._call("acknowledge_message", params, models.Message, ONCE)
        return answer

    async def delete_message(
        self,
        caller_id: int,
        message_id: int,
        *,
        context_id: int | None = None,
    ) -> bool:
        """Deletes a message whose result nobody awaits. Gives true.

        Args:
            caller_id: Who sent it; 0 is nobody.
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
        answer: bool = await self._call("delete_message", params, bool, ONCE)
        return answer

    async def list_actors(
        self,
        *,
        context_id: int | None = None,
    ) -> list[models.Actor]:
        """Lists the live actors, with what each may do and how it is confined. Actors of other programs that say that they live are
        among them. Behind them come the script types of which this server was to offer actors and cannot, each with why
        (`unavailable`).

        Args:
            context_id: The context they work for (default: 0).

        Returns:
            The actors.
        """
        params: dict[str, Any] = {
            "context_id": context_id,
        }
        answer: list[models.Actor] = await self._call("list_actors", params, list[models.Actor], REPEAT)
        return answer

    async def list_functions(
        self,
        *,
        script_type: str | None = None,
    ) -> list[models.ScriptFunction]:
        """Lists the functions that scripts have besides those of their language, with what each takes and gives, and an example.

        Args:
            script_type: Only the functions of scripts of this type.

        Returns:
            The functions.
        """
        params: dict[str, Any] = {
            "script_type": script_type,
        }
        answer: list[models.ScriptFunction] = await self._call("list_functions", params, list[models.ScriptFunction], REPEAT)
        return answer

    async def check_script(
        self,
        script: str,
        *,
        script_type: str | None = None,
        context_id: int | None = None,
    ) -> models.ScriptCheck:
        """Compiles a script without running it, and says what is wrong with it, and where, unknown functions included. It is compiled
        in a confined process, as the scripts of jobs are. Nothing is found in scripts that are not Rhai or HeroScript, or for whose
        type this server has no pool, and where compiling takes longer than 5 s.

        Args:
            script: The source code.
            script_type: The script type that it is written for (default: "osis").
            context_id: The context in which it is to run (default: 0).

        Returns:
            What is wrong with the script, if anything was found.
        """
        params: dict[str, Any] = {
            "script": script,
            "script_type": script_type,
            "context_id": context_id,
        }
        answer: models.ScriptCheck = await self._call("check_script", params, models.ScriptCheck, REPEAT)
        return answer

    async def list_queues(
        self,
        *,
        context_id: int | None = None,
    ) -> list[models.QueueInfo]:
        """Lists the work queues, with how many jobs wait in each and how many actors take from it.

        Args:
            context_id: The context they belong to (default: 0).

        Returns:
            The queues.
        """
        params: dict[str, Any] = {
            "context_id": context_id,
        }
        answer: list[models.QueueInfo] = await self._call("list_queues", params, list[models.QueueInfo], REPEAT)
        return answer

    async def pause_queue(
        self,
        script_type: str,
        *,
        group: str | None = None,
        instance: int | None = None,
        context_id: int | None = None,
    ) -> bool:
        """Has nothing taken from one queue, in any priority, until it is resumed. Gives true. Running jobs go on, and new ones wait.
        The queue of a type is not that of its groups and instances: each is paused by itself.

        Args:
            script_type: The script type of the queue.
            group: The group of the queue; without it, and without an instance, it is the queue of the whole type.
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
        answer: bool = await self._call("pause_queue", params, bool, ONCE)
        return answer

    async def resume_queue(
        self,
        script_type: str,
        *,
        group: str | None = None,
        instance: int | None = None,
        context_id: int | None = None,
    ) -> bool:
        """Has a paused queue served again, at once. Gives true, also if it was not paused; a type that nobody knows is refused.

        Args:
            script_type: The script type of the queue.
            group: The group of the queue; without it, and without an instance, it is the queue of the whole type.
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
        answer: bool = await self._call("resume_queue", params, bool, ONCE)
        return answer

    async def server_info(self) -> models.ServerDetails:
        """Tells what this server is, what it serves, how its store is and which limits hold.

        Returns:
            What the server is and allows.
        """
        params: dict[str, Any] = {}
        answer: models.ServerDetails = await self._call("server_info", params, models.ServerDetails, REPEAT)
        return answer

    async def ping(self) -> str:
        """Answers `pong`. Keeps a connection alive where WebSocket pings cannot be sent, and measures the way.

        Returns:
            `pong`.
        """
        params: dict[str, Any] = {}
        answer: str = await self._call("ping", params, str, REPEAT)
        return answer

    def subscribe_job(
        self,
        job_id: str | UUID,
        *,
        cursor: str | None = None,
        context_id: int | None = None,
    ) -> Subscription[models.JobItem]:
        """Follows a job to its end. Without a cursor the first item is the present state.

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
        """Follows a flow to its end. The first item is where it is, then comes one for each change of a job, then its end, and `ended`
        last. With a cursor the changes after it come first. One without a `job` says where the flow is now, also where changes of jobs
        were lost because the subscriber reads too slowly.

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
        """Follows every change of the jobs that fit a filter, from now on or from a cursor. Without a cursor the first item says where
        it begins.

        Args:
            filter: Which jobs; all that is given must fit.
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
        """Follows the log of a job, from its first line or from a cursor. Ends when the job has ended and its last line was sent.

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

    async def drain_server(
        self,
        *,
        timeout: float | timedelta | None = None,
    ) -> models.Draining:
        """Has this server take no jobs any more and end when those that run here have ended, for a restart that disturbs nobody.
        `/readyz` says 503 from now on. What is created meanwhile waits for other servers, or for this one to come back; calls are
        answered until the end.

        Args:
            timeout: After how many seconds it ends at the latest; a further call can only shorten that. Scripts that run then get
                the grace period, and what has not ended in it runs again elsewhere (default: 3600).

        Returns:
            How far the server has come.
        """
        params: dict[str, Any] = {
            "timeout": timeout,
        }
        answer: models.Draining = await self._call("drain_server", params, models.Draining, ONCE)
        return answer
