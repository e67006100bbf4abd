//! One call of a method: whether it is allowed, its record in the audit log, its answer. What knows the type of the method is short,
//! because the compiler makes a copy of it for each method.

use std::pin::{Pin, pin};
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use jsonrpsee::server::{MethodResponse, ResponsePayload};
use jsonrpsee::types::error::OVERSIZED_RESPONSE_CODE;
use jsonrpsee::types::{Id, Params};

use crate::error::Error;
use crate::jsonrpc::entry::{Notified, Secret};
use crate::memory::BatchAnswers;
use crate::method::{Method, Within};
use crate::params;
use crate::session::access::{Access, Changes};
use crate::session::act::{self, Act};
use crate::session::auth::{Permission, Session};
use hero_access::{Concern, Lasting};
use hero_audit::Audit;

/// The state that all calls of a method share.
pub(super) struct Surroundings<C> {
    pub(super) app: Arc<C>,
    pub(super) access: Access,
    pub(super) audit: Audit,
    /// The names of its parameters.
    pub(super) names: Box<params::Names>,
}

/// Answers a call of a method of one type, which [`answer_call`] is for `M`.
pub(super) type AnswerCall<C> =
    fn(Arc<Surroundings<C>>, Id<'static>, Params<'static>, usize, http::Extensions) -> BoxFuture<'static, MethodResponse>;

pub(super) fn answer_call<C: Send + Sync + 'static, M: Method<C>>(
    surroundings: Arc<Surroundings<C>>,
    id: Id<'static>,
    raw: Params<'static>,
    limit: usize,
    extensions: http::Extensions,
) -> BoxFuture<'static, MethodResponse> {
    let parsed = params::parse::<M>(raw.as_str(), &surroundings.names);
    async move {
        let Surroundings { app, access, audit, .. } = &*surroundings;
        let (method, session) = match (parsed, extensions.get::<Arc<Session>>()) {
            (Ok(method), Some(session)) => (method, session),
            (Ok(_), None) => return refuse(id, M::PERMISSION, Error::Internal),
            (Err(error), _) => return refuse(id, M::PERMISSION, error),
        };
        let call = Call { name: M::NAME, permission: M::PERMISSION, access, audit, session };
        let (mut act, wait) = match call.begin(M::AUDITED, M::WAITS, &|| method.concern(), &|| method.names()).await {
            Ok(begun) => begun,
            Err(error) => return refuse(id, M::PERMISSION, error),
        };
        let answering = async {
            if extensions.get::<Notified>().is_some() {
                method.notify(app, session, &mut act).await?;
                return Ok((None, MethodResponse::response(id.clone(), ResponsePayload::success(()), limit)));
            }
            let within = Within { batch: extensions.get::<Arc<BatchAnswers>>().map(AsRef::as_ref), act: &mut act };
            let output = method.call_within(app, session, within).await?;
            Ok((M::made(&output), answer(&id, output, limit)))
        };
        let answered = call.until_revoked(wait, pin!(answering)).await;
        match answered {
            Ok(answered) => call.end(M::AUDITED, M::TELLS_SECRET, id, act, answered).await,
            Err(error) => refuse(id, M::PERMISSION, error),
        }
    }
    .boxed()
}

/// The objects that are known only after a call, and its response.
type Answer = (Option<String>, MethodResponse);

/// A call that can be made.
struct Call<'c> {
    name: &'static str,
    permission: Permission,
    access: &'c Access,
    audit: &'c Audit,
    session: &'c Session,
}

/// A call that lasts until its caller loses the right to make it.
struct LastingCall {
    changes: Changes,
    concern: Lasting,
    names: Option<String>,
}

impl Call<'_> {
    /// Checks whether the call is allowed, and begins its record in the audit log.
    async fn begin<'m>(
        &self,
        is_audited: bool,
        waits: bool,
        concern: &(dyn Fn() -> Concern<'m> + Sync),
        names: &(dyn Fn() -> Option<String> + Sync),
    ) -> Result<(Act, Option<LastingCall>), Error> {
        // Changes during the check count, too.
        let changes = if waits { self.access.changes(self.session) } else { None };
        let wait = changes.map(|changes| LastingCall { changes, concern: concern().lasting(), names: names() });
        if !self.access.is_open()
            && let Err(error) = self.access.allow(self.session, self.permission, &concern()).await
        {
            act::refused((self.access, self.audit), self.session, self.name, Some((&concern(), names())), &error);
            return Err(error);
        }
        let act = match is_audited {
            true => Act::begin(self.audit, self.session, (self.name, self.permission), || (concern().context(), names()))?,
            false => Act::NONE,
        };
        Ok((act, wait))
    }

    /// Waits for the answer. Fails if the caller loses the right to the call before: the wait ends, but the job goes on. The work that the
    /// call has done so far is recorded.
    async fn until_revoked(
        &self,
        wait: Option<LastingCall>,
        answering: Pin<&mut (dyn Future<Output = Result<Answer, Error>> + Send)>,
    ) -> Result<Result<Answer, Error>, Error> {
        let Some(LastingCall { changes, concern, names }) = wait else { return Ok(answering.await) };
        let concern = concern.concern();
        tokio::select! {
            biased;
            answered = answering => Ok(answered),
            error = self.access.revoked(self.session, self.permission, &concern, Some(changes)) => {
                act::refused((self.access, self.audit), self.session, self.name, Some((&concern, names)), &error);
                Err(error)
            }
        }
    }

    /// Ends the record of the call, and returns its response.
    async fn end(&self, is_audited: bool, has_secret: bool, id: Id<'_>, mut act: Act, answered: Result<Answer, Error>) -> MethodResponse {
        let response = match answered {
            Ok((made, mut response)) => {
                act.done(made);
                if has_secret {
                    response.extensions_mut().insert(Secret);
                }
                response
            }
            Err(error) => {
                act.failed(error.code());
                refuse(id, self.permission, error)
            }
        };
        // A call that changes rights is answered after its record is in the file, so that no right exists without a record, even if this
        // process ends.
        if is_audited && !matches!(self.permission, Permission::Run | Permission::Submit) {
            self.audit.written().await;
        }
        response
    }
}

/// Returns the response with an error.
fn refuse(id: Id<'_>, permission: Permission, error: Error) -> MethodResponse {
    let error = if permission == Permission::Read { error.of_a_read() } else { error };
    MethodResponse::error(id, error.into_object())
}

/// Returns the response with a result, unless the result is larger than a response may be.
pub(super) fn answer<T: serde::Serialize + Clone>(id: &Id<'_>, output: T, limit: usize) -> MethodResponse {
    let response = MethodResponse::response(id.clone(), ResponsePayload::success(output), limit);
    if response.as_error_code() != Some(OVERSIZED_RESPONSE_CODE) {
        return response;
    }
    MethodResponse::error(id.clone(), Error::AnswerTooLarge(limit).into_object())
}
