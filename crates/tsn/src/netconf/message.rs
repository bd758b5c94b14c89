//! Greetings, requests and replies.

use roxmltree::{Document, Node as Element};

use super::edit::Operation;
use super::error::{RpcError, Tag};
use super::framing::Framing;
use super::library;
use super::schema::MODULES;
use super::xml::{elements, escaped, text};
use super::{BASE, BASE_1_0, BASE_1_1};

/// The server's greeting.
pub fn hello(session: u32, capabilities: &[&str]) -> String {
    let own = [BASE_1_0, BASE_1_1].into_iter().chain(capabilities.iter().copied()).map(str::to_owned);
    let own = own.chain([library::capability()]);
    let modules = MODULES.iter().map(|module| {
        let features =
            if module.features.is_empty() { String::new() } else { format!("&features={}", module.features.join(",")) };
        format!("{}?module={}&revision={}{features}", module.namespace, module.name, module.revision)
    });
    let capabilities: String =
        own.chain(modules).map(|uri| format!("<capability>{}</capability>", escaped(&uri))).collect();
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?><hello xmlns=\"{BASE}\"><capabilities>{capabilities}</capabilities>\
         <session-id>{session}</session-id></hello>"
    )
}

/// What a client greets with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hello {
    /// How messages end after the greetings.
    pub framing: Framing,
}

impl Hello {
    /// Reads it; without one there is no session.
    pub fn of(document: &Document) -> Result<Self, RpcError> {
        let root = document.root_element();
        if !is(root, "hello") {
            return Err(RpcError::rpc(Tag::MalformedMessage, "the first message is no <hello> of NETCONF"));
        }
        if child(root, "session-id").is_some() {
            return Err(RpcError::rpc(Tag::BadElement, "a client has no <session-id> to give"));
        }
        let list = child(root, "capabilities");
        let offered: Vec<String> = list.into_iter().flat_map(elements).map(text).collect();
        let offers = |base: &str| offered.iter().any(|uri| uri == base);
        match (offers(BASE_1_1), offers(BASE_1_0)) {
            (true, _) => Ok(Self { framing: Framing::Chunked }),
            (false, true) => Ok(Self { framing: Framing::EndOfMessage }),
            (false, false) => Err(RpcError::rpc(
                Tag::OperationNotSupported,
                format!("the client has neither {BASE_1_1} nor {BASE_1_0}"),
            )),
        }
    }
}

/// A set of configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "they are RFC 6241's names")]
pub enum Datastore {
    Running,
    Candidate,
    Startup,
}

/// Where configuration comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source<'a, 'i> {
    /// A set of it.
    Datastore(Datastore),
    /// The request itself.
    Config(Element<'a, 'i>),
}

/// Whether what is edited is validated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "they are RFC 6241's names")]
pub enum TestOption {
    TestThenSet,
    Set,
    TestOnly,
}

/// `edit-config`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Edit<'a, 'i> {
    /// What is brought in.
    pub config: Element<'a, 'i>,
    /// How, where it does not say so itself.
    pub default: Operation,
    /// Whether it is validated.
    pub test: TestOption,
}

/// `commit`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Commit {
    /// It is undone after so many seconds unless it is confirmed.
    pub confirmed_s: Option<u32>,
    /// A name by which any session can confirm it.
    pub persist: Option<String>,
    /// The name by which one is confirmed.
    pub persist_id: Option<String>,
}

/// What is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs, reason = "they are RFC 6241's operations")]
pub enum Request<'a, 'i> {
    Get { filter: Option<Element<'a, 'i>> },
    GetConfig { source: Datastore, filter: Option<Element<'a, 'i>> },
    EditConfig(Edit<'a, 'i>),
    CopyConfig { target: Datastore, source: Source<'a, 'i> },
    DeleteConfig,
    Validate { source: Source<'a, 'i> },
    DiscardChanges,
    Commit(Commit),
    CancelCommit { persist_id: Option<String> },
    Lock(Datastore),
    Unlock(Datastore),
    CloseSession,
    KillSession(u32),
}

/// A request, and how its reply begins.
#[derive(Debug)]
pub struct Rpc<'a, 'i> {
    /// What is asked, or why that cannot be.
    pub request: Result<Request<'a, 'i>, RpcError>,
    /// The attributes that the reply repeats.
    pub attributes: String,
}

impl<'a, 'i> Rpc<'a, 'i> {
    /// Reads it.
    pub fn of(document: &'a Document<'i>) -> Self {
        let root = document.root_element();
        if !is(root, "rpc") {
            let why = "the message is no <rpc> of NETCONF";
            return Self { request: Err(RpcError::rpc(Tag::MalformedMessage, why)), attributes: String::new() };
        }
        let attributes = attributes(root);
        if root.attribute("message-id").is_none() {
            let error = RpcError::rpc(Tag::MissingAttribute, "<rpc> lacks the attribute message-id");
            let error = error.with("bad-attribute", "message-id").with("bad-element", "rpc");
            return Self { request: Err(error), attributes };
        }
        let mut operations = elements(root);
        let request = match (operations.next(), operations.next()) {
            (Some(operation), None) => request(operation),
            (None, _) => Err(missing("an operation", "rpc")),
            (_, Some(second)) => Err(unknown(second, "beside another operation")),
        };
        Self { request, attributes }
    }
}

/// The answer to a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// It was done.
    Ok,
    /// These elements.
    Data(String),
}

impl Reply {
    /// The message.
    pub fn xml(reply: &Result<Self, RpcError>, attributes: &str) -> String {
        let content = match reply {
            Ok(Self::Ok) => "<ok/>".into(),
            Ok(Self::Data(data)) => format!("<data>{data}</data>"),
            Err(error) => error.xml(),
        };
        format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?><rpc-reply xmlns=\"{BASE}\"{attributes}>{content}</rpc-reply>"
        )
    }
}

/// The attributes of a request with the prefixes they use.
fn attributes(root: Element) -> String {
    let mut xml = String::new();
    for namespace in root.namespaces() {
        if let Some(prefix) = namespace.name().filter(|prefix| *prefix != "xml") {
            xml += &format!(" xmlns:{prefix}=\"{}\"", escaped(namespace.uri()));
        }
    }
    for attribute in root.attributes() {
        let prefix = match attribute.namespace() {
            None => String::new(),
            Some(namespace) => match root.lookup_prefix(namespace) {
                Some(prefix) => format!("{prefix}:"),
                None => continue,
            },
        };
        xml += &format!(" {prefix}{}=\"{}\"", attribute.name(), escaped(attribute.value()));
    }
    xml
}

fn request<'a, 'i>(operation: Element<'a, 'i>) -> Result<Request<'a, 'i>, RpcError> {
    let name = operation.tag_name().name();
    if operation.tag_name().namespace() != Some(BASE) {
        let namespace = operation.tag_name().namespace().unwrap_or_default();
        let why = format!("<{name}> of the namespace \"{namespace}\" is no operation of this switch");
        return Err(RpcError::protocol(Tag::OperationNotSupported, why));
    }
    let only = |names: &[&str]| known(operation, names);
    match name {
        "get" => {
            only(&["filter"])?;
            Ok(Request::Get { filter: filter(operation)? })
        }
        "get-config" => {
            only(&["source", "filter"])?;
            Ok(Request::GetConfig { source: datastore(operation, "source")?, filter: filter(operation)? })
        }
        "edit-config" => {
            only(&["target", "default-operation", "test-option", "error-option", "config"])?;
            edit(operation).map(Request::EditConfig)
        }
        "copy-config" => {
            only(&["target", "source"])?;
            copy(operation)
        }
        "delete-config" => {
            only(&["target"])?;
            match datastore(operation, "target")? {
                Datastore::Startup => Ok(Request::DeleteConfig),
                Datastore::Running | Datastore::Candidate => {
                    let why = "running and candidate cannot be deleted; startup can";
                    Err(RpcError::protocol(Tag::OperationNotSupported, why))
                }
            }
        }
        "validate" => {
            only(&["source"])?;
            Ok(Request::Validate { source: source(operation)? })
        }
        "discard-changes" => only(&[]).map(|()| Request::DiscardChanges),
        "commit" => {
            only(&["confirmed", "confirm-timeout", "persist", "persist-id"])?;
            commit(operation).map(Request::Commit)
        }
        "cancel-commit" => {
            only(&["persist-id"])?;
            Ok(Request::CancelCommit { persist_id: child(operation, "persist-id").map(text) })
        }
        "lock" => {
            only(&["target"])?;
            Ok(Request::Lock(datastore(operation, "target")?))
        }
        "unlock" => {
            only(&["target"])?;
            Ok(Request::Unlock(datastore(operation, "target")?))
        }
        "close-session" => only(&[]).map(|()| Request::CloseSession),
        "kill-session" => {
            only(&["session-id"])?;
            let id = require(operation, "session-id")?;
            let id = text(id).parse().ok().filter(|id| *id > 0);
            let wrong = || RpcError::protocol(Tag::InvalidValue, "<session-id> is no number of a session");
            id.map(Request::KillSession).ok_or_else(wrong)
        }
        other => {
            let why = format!("<{other}> is no operation of this switch");
            Err(RpcError::protocol(Tag::OperationNotSupported, why))
        }
    }
}

fn edit<'a, 'i>(operation: Element<'a, 'i>) -> Result<Edit<'a, 'i>, RpcError> {
    match datastore(operation, "target")? {
        Datastore::Candidate => {}
        Datastore::Running => return Err(not_writable()),
        Datastore::Startup => {
            let why = "startup is changed by <copy-config> and <delete-config> only";
            return Err(RpcError::protocol(Tag::OperationNotSupported, why));
        }
    }
    let value = |name| child(operation, name).map(text);
    let wrong = |name: &str, value: &str| {
        RpcError::protocol(Tag::InvalidValue, format!("<{name}> cannot be \"{value}\"")).with("bad-element", name)
    };
    let default = match value("default-operation") {
        None => Operation::Merge,
        Some(name) => Operation::default_of(&name).ok_or_else(|| wrong("default-operation", &name))?,
    };
    let test = match value("test-option").as_deref() {
        None | Some("test-then-set") => TestOption::TestThenSet,
        Some("set") => TestOption::Set,
        Some("test-only") => TestOption::TestOnly,
        Some(other) => return Err(wrong("test-option", other)),
    };
    match value("error-option").as_deref() {
        // An edit is done as a whole or not at all.
        None | Some("stop-on-error" | "rollback-on-error") => {}
        Some("continue-on-error") => {
            let why = "an edit is done as a whole or not at all: continue-on-error is not supported";
            return Err(RpcError::protocol(Tag::OperationNotSupported, why));
        }
        Some(other) => return Err(wrong("error-option", other)),
    }
    Ok(Edit { config: require(operation, "config")?, default, test })
}

fn commit(operation: Element) -> Result<Commit, RpcError> {
    let value = |name| child(operation, name).map(text);
    let confirmed = child(operation, "confirmed").is_some();
    let timeout = match value("confirm-timeout") {
        // RFC 6241 section 8.4.5.1.
        None => 600,
        Some(seconds) => seconds.parse().ok().filter(|seconds| *seconds > 0).ok_or_else(|| {
            let why = format!("<confirm-timeout> is a whole number of seconds from 1 on, not \"{seconds}\"");
            RpcError::protocol(Tag::InvalidValue, why)
        })?,
    };
    if !confirmed {
        if let Some(other) = ["confirm-timeout", "persist"].into_iter().find(|name| value(name).is_some()) {
            let why = format!("<{other}> is for a commit with <confirmed/>");
            return Err(RpcError::protocol(Tag::BadElement, why).with("bad-element", other));
        }
    }
    Ok(Commit { confirmed_s: confirmed.then_some(timeout), persist: value("persist"), persist_id: value("persist-id") })
}

fn filter<'a, 'i>(operation: Element<'a, 'i>) -> Result<Option<Element<'a, 'i>>, RpcError> {
    let Some(filter) = child(operation, "filter") else { return Ok(None) };
    // Some clients write the attribute with NETCONF's prefix.
    match filter.attribute("type").or(filter.attribute((BASE, "type"))) {
        None | Some("subtree") => Ok(Some(filter)),
        Some(other) => {
            let why = format!("a filter of the type \"{other}\" is not supported; \"subtree\" is");
            Err(RpcError::protocol(Tag::BadAttribute, why).with("bad-attribute", "type").with("bad-element", "filter"))
        }
    }
}

fn copy<'a, 'i>(operation: Element<'a, 'i>) -> Result<Request<'a, 'i>, RpcError> {
    let (target, source) = (datastore(operation, "target")?, source(operation)?);
    match target {
        // RFC 6241 section 7.3.
        _ if source == Source::Datastore(target) => {
            Err(RpcError::protocol(Tag::InvalidValue, "source and target are the same datastore"))
        }
        Datastore::Running => Err(not_writable()),
        Datastore::Candidate | Datastore::Startup => Ok(Request::CopyConfig { target, source }),
    }
}

fn not_writable() -> RpcError {
    let why = "running is changed by a commit of candidate only (there is no :writable-running)";
    RpcError::protocol(Tag::OperationNotSupported, why)
}

fn datastore(operation: Element, parameter: &str) -> Result<Datastore, RpcError> {
    let name = elements(require(operation, parameter)?).next();
    store(name.ok_or_else(|| missing("a datastore", parameter))?)
}

fn store(element: Element) -> Result<Datastore, RpcError> {
    match element.tag_name().name() {
        "running" if is(element, "running") => Ok(Datastore::Running),
        "candidate" if is(element, "candidate") => Ok(Datastore::Candidate),
        "startup" if is(element, "startup") => Ok(Datastore::Startup),
        "url" => {
            let why = "there is no <url>; running, candidate and startup are";
            Err(RpcError::protocol(Tag::OperationNotSupported, why))
        }
        _ => Err(unknown(element, "where a datastore must be")),
    }
}

fn source<'a, 'i>(operation: Element<'a, 'i>) -> Result<Source<'a, 'i>, RpcError> {
    let source = elements(require(operation, "source")?).next().ok_or_else(|| missing("a datastore", "source"))?;
    match is(source, "config") {
        true => Ok(Source::Config(source)),
        false => store(source).map(Source::Datastore),
    }
}

fn known(operation: Element, names: &[&str]) -> Result<(), RpcError> {
    let is_known = |element: &Element| names.iter().any(|name| is(*element, name));
    match elements(operation).find(|element| !is_known(element)) {
        None => Ok(()),
        Some(other) => Err(unknown(other, &format!("in <{}>", operation.tag_name().name()))),
    }
}

fn unknown(element: Element, place: &str) -> RpcError {
    let name = element.tag_name().name();
    let namespace = element.tag_name().namespace().unwrap_or_default();
    if namespace == BASE {
        return RpcError::protocol(Tag::UnknownElement, format!("<{name}> is not expected {place}"))
            .with("bad-element", name);
    }
    // So is <config> in examples of Ansible's.
    let why = format!("<{name}> {place} is not of NETCONF's namespace: write <{name} xmlns=\"{BASE}\">");
    RpcError::protocol(Tag::UnknownNamespace, why).with("bad-element", name).with("bad-namespace", namespace)
}

fn missing(what: &str, within: &str) -> RpcError {
    RpcError::protocol(Tag::MissingElement, format!("<{within}> lacks {what}")).with("bad-element", within)
}

fn require<'a, 'i>(operation: Element<'a, 'i>, name: &str) -> Result<Element<'a, 'i>, RpcError> {
    child(operation, name).ok_or_else(|| {
        let why = format!("<{}> lacks <{name}>", operation.tag_name().name());
        RpcError::protocol(Tag::MissingElement, why).with("bad-element", name)
    })
}

fn is(element: Element, name: &str) -> bool {
    element.has_tag_name((BASE, name))
}

fn child<'a, 'i>(element: Element<'a, 'i>, name: &str) -> Option<Element<'a, 'i>> {
    elements(element).find(|child| is(*child, name))
}
