//! The subset of GraphQL that the published clients use: one operation, no fragments, fields selected from JSON.

use async_graphql_parser::types::{Field, OperationType, Selection, SelectionSet};
use async_graphql_value::{ConstValue, Value as Argument};
use serde_json::{Map, Value};

/// Maximum number of top-level fields of a request.
const MAX_FIELDS: usize = 10;

/// A top-level field of a request.
pub struct RootField {
    pub name: String,
    /// The key of the answer.
    pub alias: String,
    pub arguments: Map<String, Value>,
    selection: SelectionSet,
}

impl RootField {
    /// A text argument; empty if it is missing.
    pub fn text(&self, name: &str) -> &str {
        self.arguments.get(name).and_then(Value::as_str).unwrap_or_default()
    }

    /// Selects the requested fields of an answer.
    pub fn select(&self, answer: Value) -> Value {
        select(answer, &self.selection)
    }
}

pub struct Request {
    pub is_mutation: bool,
    pub fields: Vec<RootField>,
    pub selection: SelectionSet,
}

impl Request {
    /// The type of the top-level fields.
    pub const fn root(&self) -> &'static str {
        if self.is_mutation { "RootMutationType" } else { "RootQueryType" }
    }
}

/// Why a request is not executed. The texts are for the client's developer.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum QueryError {
    #[error("{0}")]
    Unreadable(String),
    /// Each field is a lookup or a transaction of its own.
    #[error("a request has at most {MAX_FIELDS} top-level fields")]
    TooManyFields,
}

impl QueryError {
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Unreadable(_) => "GRAPHQL_PARSE_FAILED",
            Self::TooManyFields => "TOO_MANY_FIELDS",
        }
    }
}

impl From<String> for QueryError {
    fn from(message: String) -> Self {
        Self::Unreadable(message)
    }
}

/// Parses a request.
pub fn read(query: &str, variables: &Map<String, Value>) -> Result<Request, QueryError> {
    let document = async_graphql_parser::parse_query(query).map_err(|error| error.to_string())?;
    let mut operations = document.operations.iter();
    let (Some((_, operation)), None) = (operations.next(), operations.next()) else {
        return Err("exactly one operation is expected".to_owned().into());
    };
    let operation = &operation.node;
    if operation.ty == OperationType::Subscription {
        return Err("subscriptions are not served here".to_owned().into());
    }
    if operation.selection_set.node.items.len() > MAX_FIELDS {
        return Err(QueryError::TooManyFields);
    }
    let mut fields = Vec::new();
    for selection in &operation.selection_set.node.items {
        let Selection::Field(field) = &selection.node else {
            return Err("fragments are not served here".to_owned().into());
        };
        fields.push(root_field(&field.node, variables)?);
    }
    let selection = operation.selection_set.node.clone();
    Ok(Request { is_mutation: operation.ty == OperationType::Mutation, fields, selection })
}

fn root_field(field: &Field, variables: &Map<String, Value>) -> Result<RootField, String> {
    let mut arguments = Map::new();
    for (name, argument) in &field.arguments {
        arguments.insert(name.node.to_string(), plain(argument.node.clone(), variables)?);
    }
    Ok(RootField {
        name: field.name.node.to_string(),
        alias: field.response_key().node.to_string(),
        arguments,
        selection: field.selection_set.node.clone(),
    })
}

fn plain(argument: Argument, variables: &Map<String, Value>) -> Result<Value, String> {
    let constant = argument.into_const_with(|name| {
        let value = variables.get(name.as_str()).cloned().unwrap_or_default();
        ConstValue::from_json(value).map_err(|error| error.to_string())
    })?;
    constant.into_json().map_err(|error| error.to_string())
}

fn select(value: Value, selection: &SelectionSet) -> Value {
    match value {
        Value::Array(items) => Value::Array(items.into_iter().map(|item| select(item, selection)).collect()),
        Value::Object(mut members) if !selection.items.is_empty() => {
            let fields = selection.items.iter().filter_map(|selection| match &selection.node {
                Selection::Field(field) => Some(&field.node),
                _ => None,
            });
            let selected = fields.map(|field| {
                let value = members.get_mut(field.name.node.as_str()).map(Value::take).unwrap_or_default();
                (field.response_key().node.to_string(), select(value, &field.selection_set.node))
            });
            Value::Object(selected.collect())
        }
        whole => whole,
    }
}
