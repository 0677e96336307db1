//! Connects tools with the store: the command lines of developers and customers and the studio wait in a session until their user answers in
//! the browser (reference/store.md 1.8, 5.2 and 9).

mod answer;
mod begin;
mod session;

pub use answer::{AnswerToolError, ApprovedTool, ToolApproval, ToolIssuer, ToolToken, approve_tool, deny_tool, find_tool_request};
pub use begin::{BeginToolError, NewToolSession, begin_tool_session};
pub use session::{
    CustomerCredentials, OfferedKey, SealError, TOOL_ANSWER_LIFETIME, TOOL_APP_NAME_MAX, TOOL_APPS_MAX, TOOL_SESSION_LIFETIME,
    TOOL_SOURCE_MAX, ToolAction, ToolAnswer, ToolConfig, ToolCredentials, ToolSeals, ToolSession, ToolSessions, ToolStatus,
    comparison_code,
};
