//! The router: from a request to its [`Route`], to its handler, to an answer.
//!
//! ```text
//!   head ─> pages ─> route ─> place ─> caller, rights ─> parameters ─> type of the body ─> body ─> handler
//!          403, 421   404      503        401, 403           400              415           413
//! ```
//!
//! A short handler runs on the thread of the connection, as long as it finds its data in memory. All other
//! handlers, and short ones that do not, run on threads that may wait.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Body;
use axum::extract::rejection::RawPathParamsRejection;
use axum::extract::{RawPathParams, Request};
use axum::http::header::{
    ACCEPT_ENCODING, ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderMap, HeaderValue, VARY,
};
use axum::http::{HeaderName, Method, Response, StatusCode};
use axum::routing::future::RouteFuture;
use axum::routing::{MethodFilter, MethodRouter};
use http_body::Body as _;
use hyper::body::Incoming;
use tower_http::CompressionLevel;
use tower_http::compression::CompressionLayer;
use tower_http::cors::{AllowOrigin, CorsLayer};

use crate::answer::{Answer, JSON};
use crate::app::App;
use crate::auth::Caller;
use crate::body::{Coding, Input};
use crate::browser::{Refused, essence, is_of_form};
use crate::call::Call;
use crate::cancel::CancelToken;
use crate::connections::{Connection, InFlight, RequestBody, ResponseBody};
use crate::explorer::{self, WebFile};
use crate::metrics::Counted;
use crate::problem::{Problem, Result, Stop};
use crate::query::{self, Parameters};
use crate::route::{Handler, Needs, Route, Run, Takes};

/// All operations.
pub(crate) fn routes() -> impl Iterator<Item = &'static Route> {
    [crate::service::ROUTES, crate::v1::ROUTES, crate::sirix::ROUTES].into_iter().flatten()
}

/// The operations, with answers compressed as the client accepts. A request of a client without compression, as
/// most programs are, bypasses the compression layer, which would inspect every answer and wrap its body.
#[derive(Clone)]
pub(crate) struct Service {
    app: Arc<App>,
    plain: Router,
    compressing: Router,
    /// For clients that take brotli and neither gzip nor zstd, which are several times as fast.
    with_brotli: Router,
}

impl Service {
    /// The service of all operations.
    pub(crate) fn new(app: &Arc<App>) -> Self {
        let plain = router(app);
        // On a fast network a better level takes more time than its smaller answer saves.
        let layer = CompressionLayer::new().quality(CompressionLevel::Fastest);
        let compressing = plain.clone().layer(layer.clone().no_br());
        let with_brotli = plain.clone().layer(layer);
        Service { app: Arc::clone(app), plain, compressing, with_brotli }
    }

    /// The same for a connection.
    pub(crate) fn of(&self, connection: &Arc<Connection>) -> Connected {
        Connected { service: self.clone(), connection: Arc::clone(connection) }
    }
}

/// The operations for the requests of one connection.
#[derive(Clone)]
pub(crate) struct Connected {
    service: Service,
    connection: Arc<Connection>,
}

impl tower::Service<hyper::Request<Incoming>> for Connected {
    type Response = Response<ResponseBody>;
    type Error = Infallible;
    type Future = Answering;

    fn poll_ready(
        &mut self,
        _context: &mut Context<'_>,
    ) -> Poll<std::result::Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: hyper::Request<Incoming>) -> Self::Future {
        let Some(in_flight) = self.connection.asked() else {
            return Answering { in_flight: None, way: Way::Nowhere };
        };
        let Service { app, plain, compressing, with_brotli } = &mut self.service;
        let admitted = app.browser_rules.admit(&request);
        let file = explorer::asked(&app.options.explorer, &request);
        let request = request.map(|body| RequestBody::new(body, &self.connection));
        let way = match (admitted, file) {
            // A link on a page of another origin may lead here: the file has no data.
            (Ok(()) | Err(Refused::Origin), Some(file)) => {
                let (app, request) = (Arc::clone(app), request.map(Body::new));
                Way::Apart(Box::pin(show(app, file, request)))
            }
            // A link on a page of another origin may lead here: the file has no data.
            (Err(refused), _) => {
                app.metrics.refused(refused);
                let (app, request) = (Arc::clone(app), request.map(Body::new));
                Way::Apart(Box::pin(refuse(app, refused.problem().answer(), request)))
            }
            (Ok(()), None) => Way::Routed(match request.headers().get(ACCEPT_ENCODING) {
                None => plain.call(request),
                Some(codings) if is_brotli_alone(codings) => with_brotli.call(request),
                Some(_) => compressing.call(request),
            }),
        };
        Answering { in_flight: Some(in_flight), way }
    }
}

/// True if a client takes brotli and no faster coding.
fn is_brotli_alone(codings: &HeaderValue) -> bool {
    let names = codings.to_str().unwrap_or_default().split(',');
    let mut names = names.map(|name| name.split(';').next().unwrap_or_default().trim());
    names.all(|name| !["gzip", "x-gzip", "zstd", "*"].contains(&name))
}

/// The answer to a request, while it is made.
pub(crate) struct Answering {
    in_flight: Option<InFlight>,
    way: Way,
}

#[expect(clippy::large_enum_variant, reason = "a box would cost every request an allocation")]
enum Way {
    Routed(RouteFuture<Infallible>),
    /// A refusal, or a file of the explorer.
    Apart(Pin<Box<dyn Future<Output = Response<Body>> + Send>>),
    /// The connection ends before anything is done.
    Nowhere,
}

impl Future for Answering {
    type Output = std::result::Result<Response<ResponseBody>, Infallible>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let answer = match &mut self.way {
            Way::Routed(future) => Pin::new(future).poll(context),
            Way::Apart(future) => future.as_mut().poll(context).map(Ok),
            Way::Nowhere => Poll::Pending,
        };
        let Poll::Ready(Ok(answer)) = answer else { return Poll::Pending };
        match self.in_flight.take() {
            Some(in_flight) => {
                Poll::Ready(Ok(answer.map(|body| ResponseBody::new(body, in_flight))))
            }
            None => Poll::Pending,
        }
    }
}

/// The router of all operations.
pub(crate) fn router(app: &Arc<App>) -> Router {
    let mut router = Router::new();
    for path in routes().map(|route| route.path).collect::<BTreeSet<_>>() {
        router = router.route(path, methods(app, path));
    }
    let missing = Arc::clone(app);
    let mut router = router.fallback(move |request: Request| {
        let problem = Problem::missing(format!("there is nothing at {}", request.uri().path()));
        refuse(Arc::clone(&missing), problem.answer(), request)
    });
    if let Some(cors) = cors(&app.options.cors) {
        router = router.layer(cors);
    }
    router
}

/// The handlers of a path for each method, and the refusal of the others.
fn methods(app: &Arc<App>, path: &str) -> MethodRouter {
    let mut methods = MethodRouter::new();
    let mut allowed: Vec<&str> = Vec::new();
    for route in routes().filter(|route| route.path == path) {
        let app = Arc::clone(app);
        let handler = move |parts: Result<RawPathParams, _>, request: Request| {
            answer(Arc::clone(&app), route, parts.map_err(|_: RawPathParamsRejection| ()), request)
        };
        methods = methods.on(filter(route.method), handler);
        allowed.push(route.method);
    }
    // A path with `GET` has `HEAD` as well.
    if allowed.contains(&"GET") && !allowed.contains(&"HEAD") {
        allowed.push("HEAD");
    }
    let (app, allowed) = (Arc::clone(app), allowed.join(","));
    methods.fallback(move |request: Request| {
        let (method, path) = (request.method(), request.uri().path());
        let text = format!("there is no {method} of {path}");
        let problem = Problem::new(StatusCode::METHOD_NOT_ALLOWED, text);
        refuse(Arc::clone(&app), problem.answer().header(ALLOW, &allowed), request)
    })
}

/// Answers a request that no route takes, or may take.
async fn refuse(app: Arc<App>, answer: Answer, request: Request) -> Response<Body> {
    let begun = Instant::now();
    let method = request.method().clone();
    drain(request.into_body()).await;
    let response = answer.response(&app, method == Method::HEAD).await;
    app.metrics.answered(method.as_str(), response.status().as_u16(), begun.elapsed());
    response
}

/// Answers with a file of the explorer.
async fn show(app: Arc<App>, file: WebFile, request: Request) -> Response<Body> {
    let begun = Instant::now();
    let method = request.method().clone();
    let response = explorer::answer(&file, request.headers(), method == Method::HEAD);
    drain(request.into_body()).await;
    app.metrics.answered(method.as_str(), response.status().as_u16(), begun.elapsed());
    response
}

fn filter(method: &str) -> MethodFilter {
    match method {
        "GET" => MethodFilter::GET,
        "HEAD" => MethodFilter::HEAD,
        "PUT" => MethodFilter::PUT,
        "POST" => MethodFilter::POST,
        "PATCH" => MethodFilter::PATCH,
        _ => MethodFilter::DELETE,
    }
}

/// The rules for pages of other origins, as browsers get them.
fn cors(origins: &[String]) -> Option<CorsLayer> {
    let allowed = match origins {
        [] => return None,
        _ if origins.iter().any(|origin| origin == "*") => AllowOrigin::any(),
        _ => AllowOrigin::list(origins.iter().filter_map(|origin| origin.parse().ok())),
    };
    let named = |name: &'static str| HeaderName::from_static(name);
    Some(
        CorsLayer::new()
            .allow_origin(allowed)
            .allow_methods([
                Method::GET,
                Method::HEAD,
                Method::PUT,
                Method::POST,
                Method::PATCH,
                Method::DELETE,
            ])
            .allow_headers([
                named("authorization"),
                named("content-type"),
                named("content-encoding"),
                named("if-match"),
                named("if-none-match"),
                named("if-modified-since"),
                named("if-unmodified-since"),
                named("last-event-id"),
                named("anywhen-author"),
                named("anywhen-message"),
            ])
            .expose_headers([named("etag"), named("location"), named("last-modified")]),
    )
}

/// Answers a request for a route.
async fn answer(
    app: Arc<App>,
    route: &'static Route,
    parts: std::result::Result<RawPathParams, ()>,
    request: Request,
) -> Response<Body> {
    let begun = Instant::now();
    let _counted = Counted::new(&app.metrics.in_flight);
    let is_head = request.method() == Method::HEAD;
    let answer = match serve(&app, route, parts, request).await {
        Ok(answer) => answer,
        Err(Stop::Problem(problem)) => problem.answer(),
        Err(Stop::Later) => Problem::internal("a handler deferred its work twice").answer(),
    };
    let mut response = answer.response(&app, is_head).await;
    let headers = response.headers_mut();
    if !headers.contains_key(CACHE_CONTROL) {
        // The newest version may change at any moment: clients ask again, with its tag.
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    }
    if !headers.contains_key(VARY) {
        // At `/` a browser gets the page of the explorer: a cache keeps the two apart.
        let vary = if route.path == "/" { "accept, accept-encoding" } else { "accept-encoding" };
        headers.insert(VARY, HeaderValue::from_static(vary));
    }
    app.metrics.answered(route.method, response.status().as_u16(), begun.elapsed());
    response
}

async fn serve(
    app: &Arc<App>,
    route: &'static Route,
    parts: std::result::Result<RawPathParams, ()>,
    request: Request,
) -> Result<Answer> {
    let _place = app.requests.try_acquire();
    if _place.is_err() {
        return Err(Problem::busy("too many requests at once").into());
    }
    let path = parts.map_err(|()| Problem::bad("the path is not percent-encoded UTF-8"))?;
    let (head, body) = request.into_parts();
    app.guard.learn(&head.headers).await;
    let query = head.uri.query().unwrap_or_default();
    let looked = look(app, route, &path, &head.headers, query, body.is_end_stream());
    let (caller, query, coding) = match looked {
        Ok(looked) => looked,
        Err(problem) => {
            drain(body).await;
            return Err(problem.into());
        }
    };
    let limits = &app.options.limits;
    let body = match route.takes {
        Takes::Nothing => {
            drain(body).await;
            Input::None
        }
        Takes::Document => {
            let body = Input::stream(body, limits.document_bytes_max, limits.idle).await?;
            match coding {
                Coding::Identity => body,
                Coding::Gzip => body.gunzip(limits.document_bytes_max)?,
            }
        }
        Takes::Whole { .. } => {
            let bytes_max = limits.body_bytes_max;
            let body = Input::whole(body, bytes_max, limits.idle).await?;
            match coding {
                Coding::Identity => body,
                Coding::Gzip => app.run(move || body.gunzip_whole(bytes_max)).await??,
            }
        }
    };
    let mut call = Call {
        app: Arc::clone(app),
        caller,
        needs: route.needs,
        headers: head.headers,
        path,
        query,
        body,
        is_short: true,
        cancelled: CancelToken::default(),
    };
    match route.run {
        Run::Following(follow) => follow(call).await,
        Run::Long(handler) => long(app, handler, call).await,
        Run::Short(handler) => match guarded(app, handler, &mut call) {
            Err(Stop::Later) => long(app, handler, call).await,
            done => {
                app.metrics.inline_total.fetch_add(1, Ordering::Relaxed);
                done
            }
        },
    }
}

/// Runs a handler on a thread that may wait.
async fn long(app: &Arc<App>, handler: Handler, mut call: Call) -> Result<Answer> {
    call.is_short = false;
    let shared = Arc::clone(app);
    let done = app.run_cancellable(move |cancelled| {
        call.cancelled = cancelled.clone();
        cancelled.during(|| guarded(&shared, handler, &mut call))
    });
    let (answer, guard) = done.await?;
    answer.map(|answer| Answer { guard: Some(guard), ..answer })
}

/// Runs a handler; a failure inside of it ends the request and nothing else.
fn guarded(app: &App, handler: Handler, call: &mut Call) -> Result<Answer> {
    catch_unwind(AssertUnwindSafe(|| handler(call))).unwrap_or_else(|_| {
        app.metrics.panics_total.fetch_add(1, Ordering::Relaxed);
        Err(Problem::internal("the server failed inside of a request").into())
    })
}

/// Checks the head of a request: the caller and the parameters.
fn look(
    app: &App,
    route: &Route,
    path: &RawPathParams,
    headers: &HeaderMap,
    query: &str,
    is_empty: bool,
) -> Result<(Caller, Parameters, Coding), Problem> {
    let caller = admit(app, route, path, headers)?;
    let query = query::read(query, route)?;
    let coding = Coding::of(headers)?;
    match route.takes {
        Takes::Nothing if route.is_change() && is_of_form(headers) => {
            let text = "this operation takes no body: leave out the header Content-Type";
            return Err(Problem::unsupported_media(text));
        }
        Takes::Nothing => {}
        Takes::Document => media(headers, &[JSON])?,
        Takes::Whole { is_optional: true, .. }
            if is_empty && !headers.contains_key(CONTENT_TYPE) => {}
        Takes::Whole { media: known, .. } => media(headers, known)?,
    }
    Ok((caller, query, coding))
}

/// Reads an unwanted body, if it is short: the rest of it in the connection would end the connection.
async fn drain(body: Body) {
    const BYTES_MAX: u64 = 256 << 10;
    const TIME: Duration = Duration::from_secs(2);
    if !body.is_end_stream() {
        // A body that is too long, or does not come, ends the connection, and that is all.
        let _ = Input::whole(body, BYTES_MAX, TIME).await;
    }
}

/// The caller, if it may do the route's operation.
fn admit(
    app: &App,
    route: &Route,
    path: &RawPathParams,
    headers: &HeaderMap,
) -> Result<Caller, Problem> {
    if route.needs == Needs::Nothing {
        return Ok(Caller::unknown());
    }
    let caller = app.guard.admit(headers)?;
    if let Needs::Right(right) = route.needs {
        let named = path.iter().find(|(name, _)| ["db", "collection"].contains(name));
        caller.must(right, named.map(|(_, name)| name))?;
    }
    Ok(caller)
}

/// Fails unless the body has one of the types of the operation. A body must have a type, because a web page can send
/// a body without one to any server.
fn media(headers: &HeaderMap, known: &[&str]) -> Result<(), Problem> {
    let Some(given) = headers.get(CONTENT_TYPE).map(essence) else {
        return Err(unsupported("a body without Content-Type", known));
    };
    match known.contains(&given.as_str()) {
        true => Ok(()),
        false => Err(unsupported(&format!("a body of type {given:?}"), known)),
    }
}

fn unsupported(what: &str, known: &[&str]) -> Problem {
    let text = format!("{what} is not taken here; the body must be {}", known.join(" or "));
    Problem::unsupported_media(text)
}
