//! What a request is refused with (RFC 6241 section 4.3 and appendix A).

use super::path::{words, xpath};
use super::schema::MODULES;
use super::xml::escaped;

/// What kind of error it is: the values of `error-tag` that are in use here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "they are RFC 6241's names")]
pub enum Tag {
    InUse,
    InvalidValue,
    MissingAttribute,
    BadAttribute,
    UnknownAttribute,
    MissingElement,
    BadElement,
    UnknownElement,
    UnknownNamespace,
    LockDenied,
    DataExists,
    DataMissing,
    OperationNotSupported,
    OperationFailed,
    MalformedMessage,
}

impl Tag {
    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            Tag::InUse => "in-use",
            Tag::InvalidValue => "invalid-value",
            Tag::MissingAttribute => "missing-attribute",
            Tag::BadAttribute => "bad-attribute",
            Tag::UnknownAttribute => "unknown-attribute",
            Tag::MissingElement => "missing-element",
            Tag::BadElement => "bad-element",
            Tag::UnknownElement => "unknown-element",
            Tag::UnknownNamespace => "unknown-namespace",
            Tag::LockDenied => "lock-denied",
            Tag::DataExists => "data-exists",
            Tag::DataMissing => "data-missing",
            Tag::OperationNotSupported => "operation-not-supported",
            Tag::OperationFailed => "operation-failed",
            Tag::MalformedMessage => "malformed-message",
        }
    }
}

/// The layer that found it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layer {
    /// The request as such.
    Rpc,
    /// The operation and its parameters.
    Protocol,
    /// The configuration.
    Application,
}

/// An error as it is reported.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.sentence())]
pub struct RpcError {
    /// Who found it.
    pub layer: Layer,
    /// What it is.
    pub tag: Tag,
    /// Where in the configuration, as RFC 7951 writes it.
    pub path: Option<String>,
    /// What is wrong there.
    pub message: String,
    /// Elements of `error-info` with their text.
    pub info: Vec<(&'static str, String)>,
}

impl RpcError {
    /// One about an operation.
    pub fn protocol(tag: Tag, message: impl Into<String>) -> Self {
        Self { layer: Layer::Protocol, tag, path: None, message: message.into(), info: Vec::new() }
    }

    /// One about the configuration.
    pub fn application(tag: Tag, path: impl Into<String>, message: impl Into<String>) -> Self {
        Self { layer: Layer::Application, path: Some(path.into()), ..Self::protocol(tag, message) }
    }

    /// One about the request.
    pub fn rpc(tag: Tag, message: impl Into<String>) -> Self {
        Self { layer: Layer::Rpc, ..Self::protocol(tag, message) }
    }

    /// With more about it.
    pub fn with(mut self, element: &'static str, text: impl Into<String>) -> Self {
        self.info.push((element, text.into()));
        self
    }

    /// What is wrong and where, for who reads nothing else.
    fn sentence(&self) -> String {
        match self.path.as_deref().map(words).filter(|words| !words.is_empty()) {
            Some(words) => format!("{words}: {}", self.message),
            None => self.message.clone(),
        }
    }

    /// The element `rpc-error`.
    pub fn xml(&self) -> String {
        let layer = match self.layer {
            Layer::Rpc => "rpc",
            Layer::Protocol => "protocol",
            Layer::Application => "application",
        };
        let mut xml = format!(
            "<rpc-error><error-type>{layer}</error-type><error-tag>{}</error-tag><error-severity>error</error-severity>",
            self.tag.name()
        );
        if let Some(path) = &self.path {
            let path = xpath(path);
            let used = MODULES.iter().filter(|module| path.contains(&format!("/{}:", module.name)));
            let prefixes: String =
                used.map(|module| format!(" xmlns:{}=\"{}\"", module.name, module.namespace)).collect();
            xml += &format!("<error-path{prefixes}>{}</error-path>", escaped(&path));
        }
        xml += &format!("<error-message xml:lang=\"en\">{}</error-message>", escaped(&self.sentence()));
        if !self.info.is_empty() {
            let info = self.info.iter().map(|(name, text)| format!("<{name}>{}</{name}>", escaped(text)));
            xml += &format!("<error-info>{}</error-info>", info.collect::<String>());
        }
        xml + "</rpc-error>"
    }
}
