//! **Transport.** Reads and writes messages on pipes: `Content-Length`, an empty line, JSON.
//! The response to invalid input is a JSON-RPC error, and reading continues with the next message.
//!
//! This replaces the loop of `tower_lsp::Server`. That loop ends at the first malformed message,
//! handles four requests at a time, and continues after `exit` while its input is open. Here
//! messages are passed to its service. Each is polled once, in order of arrival, before the next is
//! read. So the part of a handler before its first await runs in order.

use std::future::Future;
use std::io::{self, BufRead, Read, Write};
use std::pin::pin;
use std::sync::mpsc::Receiver;
use std::task::{Context, Poll, Waker};

use serde_json::Value;
use tokio::runtime::Handle;
use tower_lsp::jsonrpc::{Error, ErrorCode, Id, Request, Response};
use tower_lsp::{LanguageServer, LspService};
use tower_service::Service;

use crate::client::Client;

/// The maximal number of bytes of a message. The language's longest text fits even if every
/// character is escaped.
const MAX_MESSAGE: usize = 256 << 20;
/// A declared length above this limit is taken for a wrong header. The connection ends instead of
/// waiting for the bytes.
const MAX_PLAUSIBLE_LENGTH: u64 = 1 << 30;
/// The required header.
const LENGTH_HEADER: &str = "content-length:";
const NO_HEADER: &str = "invalid header";
const TOO_LONG: &str = "message too long";
/// The maximal number of bytes of a header line.
const MAX_HEADER: u64 = 16 << 10;

/// The way in which the client ended the session.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SessionEnd {
    /// With `exit`, or by closing the pipe, after `shutdown`.
    Clean,
    /// Without `shutdown`.
    WithoutShutdown,
}

/// Reads and dispatches messages until the input ends or `exit` arrives.
pub(crate) fn serve<S: LanguageServer>(
    mut input: impl BufRead,
    mut service: LspService<S>,
    client: &Client,
    runtime: &Handle,
    begins: impl Fn(&Value),
) -> SessionEnd {
    let mut leave = SessionEnd::WithoutShutdown;
    let refuse = |id: Id, error: Error| client.respond(&Response::from_error(id, error));
    // Only the first of several invalid header lines in a row is answered.
    let mut lost = false;
    loop {
        let body = match read_frame(&mut input) {
            Ok(MessageFrame::Body(body)) => body,
            Ok(MessageFrame::Invalid(why)) => {
                if !(lost && why == NO_HEADER) {
                    refuse(Id::Null, protocol_error(ErrorCode::ParseError, why));
                }
                lost = true;
                continue;
            }
            Ok(MessageFrame::Oversized) => {
                refuse(Id::Null, protocol_error(ErrorCode::ParseError, TOO_LONG));
                return SessionEnd::WithoutShutdown;
            }
            Ok(MessageFrame::End) | Err(_) => return leave,
        };
        lost = false;
        match parse_message(&body) {
            // Notifications with this prefix may be ignored, but a request needs an answer.
            Ok(Message::Request(request)) if request.method().starts_with("$/") && request.id().is_some() => {
                let id = request.id().cloned().unwrap_or(Id::Null);
                refuse(id, protocol_error(ErrorCode::MethodNotFound, "method not found"));
            }
            Ok(Message::Request(request)) => {
                match request.method() {
                    "exit" => return leave,
                    "shutdown" => leave = SessionEnd::Clean,
                    "initialize" => begins(request.params().unwrap_or(&Value::Null)),
                    _ => {}
                }
                let future = service.call(request);
                dispatch(future, client, runtime);
            }
            Ok(Message::Response(id, answer)) => client.handle_response(&id, answer),
            Err((id, error)) => refuse(id, error),
        }
    }
}

/// Polls the future once here. If it is pending, it continues on the runtime.
fn dispatch<E>(
    future: impl Future<Output = Result<Option<Response>, E>> + Send + Unpin + 'static,
    client: &Client,
    runtime: &Handle,
) {
    let mut future = future;
    let first = {
        let _within = runtime.enter();
        pin!(&mut future).poll(&mut Context::from_waker(Waker::noop()))
    };
    let client = client.clone();
    let respond = move |answer: Result<Option<Response>, E>| {
        if let Ok(Some(response)) = answer {
            client.respond(&response);
        }
    };
    match first {
        Poll::Ready(answer) => respond(answer),
        Poll::Pending => drop(runtime.spawn(async move { respond(future.await) })),
    }
}

enum MessageFrame {
    Body(Vec<u8>),
    Invalid(&'static str),
    /// The declared length is implausible.
    Oversized,
    End,
}

/// Reads the next frame. After an invalid frame, reading resumes at the next header line.
fn read_frame(input: &mut impl BufRead) -> io::Result<MessageFrame> {
    let mut length = None;
    let mut bad = None;
    let mut any = false;
    loop {
        let mut line = Vec::new();
        if input.by_ref().take(MAX_HEADER).read_until(b'\n', &mut line)? == 0 {
            return Ok(MessageFrame::End);
        }
        let line = String::from_utf8_lossy(&line);
        let line = line.trim_end_matches(['\r', '\n']);
        if line.is_empty() {
            if !any {
                continue;
            }
            break;
        }
        any = true;
        // After a wrong length, the rest of the body precedes the next header on its line.
        let name = line.to_ascii_lowercase().rfind(LENGTH_HEADER);
        match name.and_then(|at| line.get(at.saturating_add(LENGTH_HEADER.len())..)).map(str::trim) {
            Some(value) if !value.is_empty() && value.bytes().all(|b| b.is_ascii_digit()) => {
                // A number that overflows cannot be a valid length.
                length = Some(value.parse::<usize>().unwrap_or(usize::MAX));
            }
            Some(_) => bad = Some("Content-Length is not a number"),
            None if !is_header(line) => return Ok(MessageFrame::Invalid(NO_HEADER)),
            None => {}
        }
    }
    let Some(length) = length else { return Ok(MessageFrame::Invalid(bad.unwrap_or("missing Content-Length"))) };
    let wanted = u64::try_from(length).unwrap_or(u64::MAX);
    if wanted > MAX_PLAUSIBLE_LENGTH {
        return Ok(MessageFrame::Oversized);
    }
    if length > MAX_MESSAGE {
        io::copy(&mut input.by_ref().take(wanted), &mut io::sink())?;
        return Ok(MessageFrame::Invalid(TOO_LONG));
    }
    let mut body = Vec::with_capacity(length);
    if input.by_ref().take(wanted).read_to_end(&mut body)? < length {
        return Ok(MessageFrame::End);
    }
    Ok(bad.map_or(MessageFrame::Body(body), MessageFrame::Invalid))
}

/// Returns whether a line has the form of a header, `Name: value`.
fn is_header(line: &str) -> bool {
    let is_name = |name: &str| !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    line.split_once(':').is_some_and(|(name, _)| is_name(name))
}

/// Parses the JSON of a body. Invalid UTF-8 and escapes of lone surrogates are read as U+FFFD,
/// because the positions of later edits depend on the surrounding text.
fn parse_json(body: &[u8]) -> Option<Value> {
    serde_json::from_slice(body)
        .ok()
        .or_else(|| serde_json::from_str(&replace_lone_surrogates(&String::from_utf8_lossy(body))).ok())
}

/// Replaces escapes `\ud800` to `\udfff` that are not in pairs.
fn replace_lone_surrogates(text: &str) -> String {
    let unit = |rest: &str| {
        let digits = rest.strip_prefix("\\u")?.get(..4)?;
        u16::from_str_radix(digits, 16).ok().filter(|_| digits.bytes().all(|b| b.is_ascii_hexdigit()))
    };
    let mut whole = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, escape)) = rest.find('\\').and_then(|at| rest.split_at_checked(at)) {
        whole.push_str(before);
        let second = || escape.get(6..).and_then(unit);
        let (kept, length) = match unit(escape) {
            Some(0xd800..=0xdbff) if second().is_some_and(|u| (0xdc00..=0xdfff).contains(&u)) => (true, 12),
            Some(0xd800..=0xdfff) => (false, 6),
            Some(_) => (true, 6),
            // In invalid JSON, the escaped character may have several bytes.
            None => (true, escape.chars().take(2).map(char::len_utf8).sum()),
        };
        let (own, after) = escape.split_at_checked(length).unwrap_or((escape, ""));
        whole.push_str(if kept { own } else { "\\ufffd" });
        rest = after;
    }
    whole.push_str(rest);
    whole
}

enum Message {
    Request(Request),
    Response(i64, Result<Value, Error>),
}

fn parse_message(body: &[u8]) -> Result<Message, (Id, Error)> {
    let mut value =
        parse_json(body).ok_or_else(|| (Id::Null, protocol_error(ErrorCode::ParseError, "invalid JSON")))?;
    // Some clients pass `null` or `{}` to methods without parameters.
    let takes_none = |v: &Value| matches!(v.get("method").and_then(Value::as_str), Some("shutdown" | "exit"));
    if (takes_none(&value) || value.get("params").is_some_and(Value::is_null))
        && let Some(fields) = value.as_object_mut()
    {
        fields.remove("params");
    }
    let invalid = |id: Id, why| Err((id, protocol_error(ErrorCode::InvalidRequest, why)));
    let id = match value.get("id") {
        Some(Value::Number(n)) => n.as_i64().map_or(Id::Null, Id::Number),
        Some(Value::String(s)) => Id::String(s.clone()),
        _ => Id::Null,
    };
    if !value.is_object() {
        return invalid(id, "a message must be a JSON object");
    }
    if value.get("method").is_some() {
        // The client could not match an answer with such an id.
        if value.get("id").is_some() && id == Id::Null {
            return invalid(id, "the id of a request must be a number or a string");
        }
        return match serde_json::from_value(value) {
            Ok(request) => Ok(Message::Request(request)),
            Err(_) => invalid(id, "invalid request"),
        };
    }
    let error = |e: &Value| serde_json::from_value(e.clone()).unwrap_or_else(|_| Error::internal_error());
    match (&id, value.get("error"), value.get("result")) {
        (Id::Number(n), Some(e), _) if !e.is_null() => Ok(Message::Response(*n, Err(error(e)))),
        (Id::Number(n), _, Some(result)) => Ok(Message::Response(*n, Ok(result.clone()))),
        _ => invalid(id, "neither a request nor a response"),
    }
}

fn protocol_error(code: ErrorCode, why: &'static str) -> Error {
    Error { code, message: why.into(), data: None }
}

/// Writes messages until the last one, or until writing fails.
pub(crate) fn write(mut output: impl Write, messages: &Receiver<Option<String>>) {
    while let Ok(Some(body)) = messages.recv() {
        let written = write!(output, "Content-Length: {}\r\n\r\n{body}", body.len()).and_then(|()| output.flush());
        if written.is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(mut input: &[u8], expected: &[&str]) {
        let mut seen = Vec::new();
        loop {
            match read_frame(&mut input).unwrap() {
                MessageFrame::Body(body) => seen.push(String::from_utf8_lossy(&body).into_owned()),
                MessageFrame::Invalid(why) => seen.push(format!("bad: {why}")),
                MessageFrame::Oversized => {
                    seen.push("endless".to_owned());
                    break;
                }
                MessageFrame::End => break,
            }
        }
        assert_eq!(seen, expected);
    }

    #[test]
    fn frames() {
        check(b"Content-Length: 2\r\n\r\n{}content-length:2\r\nContent-Type: x\r\n\r\n[]", &["{}", "[]"]);
        check(b"Content-Length: 2\n\n{}", &["{}"]);
        check(b"Content-Length: x\r\n\r\nContent-Length: 2\r\n\r\n{}", &["bad: Content-Length is not a number", "{}"]);
        check(b"Hello: you\r\n\r\nContent-Length: 2\r\n\r\n{}", &["bad: missing Content-Length", "{}"]);
        check(b"Content-Length: 20\r\n\r\n{}", &[]);
        check(b"Content-Length: 1\r\n\r\n{}Content-Length: 2\r\n\r\n[]", &["{", "[]"]);
        check(b"Content-Length: -2\r\n\r\nCONTENT-LENGTH:2\r\n\r\n{}", &["bad: Content-Length is not a number", "{}"]);
        check(b"Content-Length:\r\n\r\nContent-Length: 2\r\n\r\n{}", &["bad: Content-Length is not a number", "{}"]);
        check(b"{}\nContent-Length: 2\r\n\r\n{}", &["bad: invalid header", "{}"]);
        check(b"Content-Length: 99999999999999999999999\r\n\r\n{}", &["endless"]);
        check(b"Content-Length: 2000000000\r\n\r\n{}", &["endless"]);
    }

    #[test]
    fn lone_surrogates() {
        let check =
            |json: &str, expected: &str| assert_eq!(parse_json(json.as_bytes()), Some(json!(expected)), "{json}");
        check(r#""a\ud800b""#, "a\u{fffd}b");
        check(r#""a\udc00\ud800""#, "a\u{fffd}\u{fffd}");
        check(r#""\ud83d\ude00\ud83d""#, "😀\u{fffd}");
        check(r#""\\ud800\ud800""#, "\\ud800\u{fffd}");
        check(r#""\ud800\u0041\n""#, "\u{fffd}A\n");
        assert_eq!(parse_json(b"\"a\xffb\""), Some(json!("a\u{fffd}b")));
        assert_eq!(parse_json(br#""\ud8""#), None);
        assert_eq!(parse_json("\"\\é".as_bytes()), None);
    }
}
