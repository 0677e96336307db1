//! Phoenix V2 frames: `[join_ref, ref, topic, event, payload]`.

use serde_json::{Value, json};

#[derive(Debug, Clone, PartialEq)]
pub struct Frame {
    pub join_reference: Value,
    pub reference: Value,
    pub topic: String,
    pub event: String,
}

impl Frame {
    pub fn parse(text: &str) -> Option<Self> {
        let [join_reference, reference, topic, event, _payload]: [Value; 5] = serde_json::from_str(text).ok()?;
        Some(Self { join_reference, reference, topic: topic.as_str()?.to_owned(), event: event.as_str()?.to_owned() })
    }
}

/// A `phx_reply` frame with a status and an empty response.
pub fn reply(frame: &Frame, status: &str) -> String {
    json!([frame.join_reference, frame.reference, frame.topic, "phx_reply", { "status": status, "response": {} }]).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn join_and_heartbeat_frames_of_clients_are_parsed() {
        let join = Frame::parse(r#"["7","7","relay:z1:events","phx_join",{}]"#).expect("a frame");
        assert_eq!((join.topic.as_str(), join.event.as_str()), ("relay:z1:events", "phx_join"));
        assert_eq!(reply(&join, "ok"), r#"["7","7","relay:z1:events","phx_reply",{"response":{},"status":"ok"}]"#);
        let beat = Frame::parse(r#"[null,"9","phoenix","heartbeat",{}]"#).expect("a frame");
        assert_eq!(beat.join_reference, Value::Null);
        assert!(Frame::parse("{}").is_none());
        assert!(Frame::parse("[1,2]").is_none());
    }
}
