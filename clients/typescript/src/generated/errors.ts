// Generated from openrpc.json by clients/generate (`make clients`). Do not edit.
import type { FailedJob, JobError, JobStatus, Outcome, Reason } from "./types.js";
import { BadEnd, RetryLater, RpcError } from "../errors.js";

/** Not JSON (-32700). */
export class ParseError extends RpcError<"ParseError"> {}

/** Not a request that can be answered here (-32600). */
export class InvalidRequest extends RpcError<"InvalidRequest"> {}

/** There is no such method (-32601). */
export class MethodNotFound extends RpcError<"MethodNotFound"> {}

/** A parameter is missing, unknown or wrong (-32602). */
export class InvalidParams extends BadEnd<"InvalidParams", { error?: JobError; index?: number; job?: string }> {}

/** Internal error (-32603). */
export class InternalError extends RpcError<"InternalError"> {}

/** Too many subscriptions on one connection (-32006). */
export class TooManySubscriptions extends RpcError<"TooManySubscriptions"> {}

/** The request is too large (-32007). */
export class RequestTooLarge extends RpcError<"RequestTooLarge"> {}

/** The batch has too many calls (-32010). */
export class BatchTooLong extends RpcError<"BatchTooLong"> {}

/** The answers of the batch are too large together (-32011). */
export class BatchAnswerTooLarge extends RpcError<"BatchAnswerTooLarge"> {}

/** The job does not exist (1001). */
export class JobNotFound extends RpcError<"JobNotFound", { job_id?: string; index?: number; job?: string }> {}

/** The status of the job does not allow this, or the id is taken (1002). */
export class WrongState extends RpcError<"WrongState", { job_id?: string; flow_id?: number; schedule_id?: string; status?: JobStatus; prerequisite?: string; running?: number; queued?: number; scheduled?: number; messages?: number; index?: number; job?: string }> {}

/** The script type is not built in, not configured and has no live actor (1003). */
export class UnknownScriptType extends RpcError<"UnknownScriptType"> {}

/** Permission denied (1004). */
export class PermissionDenied extends RpcError<"PermissionDenied"> {}

/** Not authenticated (1005). */
export class NotAuthenticated extends RpcError<"NotAuthenticated"> {}

/** Too many calls (1006). */
export class RateLimited extends RetryLater<"RateLimited", { retry_after_ms?: number; flow_id?: number; index?: number; job?: string }> {}

/** The queue or the store is full (1007). */
export class QueueFull extends RetryLater<"QueueFull", { retry_after_ms?: number; index?: number; job?: string }> {}

/** Something is larger than allowed (1008). */
export class TooLarge extends RpcError<"TooLarge", { limit?: number; index?: number; job?: string }> {}

/** The store is unavailable (1009). */
export class StoreUnavailable extends RpcError<"StoreUnavailable", { outcome?: Outcome; job_id?: string; key?: string; index?: number; job?: string }> {}

/** The idempotency key was used with other parameters (1010). */
export class IdempotencyReused extends RpcError<"IdempotencyReused", { job_id?: string; flow_id?: number; schedule_id?: string; index?: number; job?: string }> {}

/** There is no such context, schedule, flow, object, identity, token, runner or message (1011). */
export class NotFound extends RpcError<"NotFound", { flow_id?: number; schedule_id?: string; collection?: string; id?: string; index?: number; job?: string }> {}

/** The job failed (1101). */
export class JobFailed extends BadEnd<"JobFailed", { job_id?: string; status?: JobStatus; attempt?: number; error?: JobError; flow_id?: number; failed?: FailedJob[]; index?: number; job?: string }> {}

/** The wait ran out, the job goes on (1102). */
export class WaitTimeout extends RpcError<"WaitTimeout", { job_id?: string; flow_id?: number; status?: JobStatus; explanation?: string; reason?: Reason; open?: number; index?: number; job?: string }> {}

/** The job was stopped (1103). */
export class JobStopped extends BadEnd<"JobStopped", { job_id?: string; status?: JobStatus; attempt?: number; error?: JobError; flow_id?: number; failed?: FailedJob[]; index?: number; job?: string }> {}

/** The code of each error. */
export const codes = {
  ParseError: -32700,
  InvalidRequest: -32600,
  MethodNotFound: -32601,
  InvalidParams: -32602,
  InternalError: -32603,
  TooManySubscriptions: -32006,
  RequestTooLarge: -32007,
  BatchTooLong: -32010,
  BatchAnswerTooLarge: -32011,
  JobNotFound: 1001,
  WrongState: 1002,
  UnknownScriptType: 1003,
  PermissionDenied: 1004,
  NotAuthenticated: 1005,
  RateLimited: 1006,
  QueueFull: 1007,
  TooLarge: 1008,
  StoreUnavailable: 1009,
  IdempotencyReused: 1010,
  NotFound: 1011,
  JobFailed: 1101,
  WaitTimeout: 1102,
  JobStopped: 1103,
} as const;

/** The errors that a call may return. Their `name` tells them apart. */
export type CallError =
  | ParseError
  | InvalidRequest
  | MethodNotFound
  | InvalidParams
  | InternalError
  | TooManySubscriptions
  | RequestTooLarge
  | BatchTooLong
  | BatchAnswerTooLarge
  | JobNotFound
  | WrongState
  | UnknownScriptType
  | PermissionDenied
  | NotAuthenticated
  | RateLimited
  | QueueFull
  | TooLarge
  | StoreUnavailable
  | IdempotencyReused
  | NotFound
  | JobFailed
  | WaitTimeout
  | JobStopped;

/** The classes of the errors, in the order of `codes`: together they are smaller than a table. */
export const classes = [
  ParseError,
  InvalidRequest,
  MethodNotFound,
  InvalidParams,
  InternalError,
  TooManySubscriptions,
  RequestTooLarge,
  BatchTooLong,
  BatchAnswerTooLarge,
  JobNotFound,
  WrongState,
  UnknownScriptType,
  PermissionDenied,
  NotAuthenticated,
  RateLimited,
  QueueFull,
  TooLarge,
  StoreUnavailable,
  IdempotencyReused,
  NotFound,
  JobFailed,
  WaitTimeout,
  JobStopped,
] as const;
