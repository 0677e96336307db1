//! The GraphQL schema of the ledger's generation. A query that names an unknown field fails as a whole, as at real chains.

use super::chain::Generation;
use super::rules::LedgerError;
use async_graphql_parser::types::{BaseType, Selection, SelectionSet, TypeKind, TypeSystemDefinition};
use std::collections::HashMap;

const SDL: &str = include_str!("schema.graphql");
/// The directive of fields that older generations do not know.
const SINCE: &str = "since";

/// The fields of each type, by name.
#[derive(Debug)]
pub struct Schema(HashMap<String, HashMap<String, FieldType>>);

#[derive(Debug)]
struct FieldType {
    /// The type of the value, or of the values of a list.
    name: String,
    is_new: bool,
}

impl Schema {
    /// Parses the schema. The error is a mistake in the file.
    pub fn parse() -> Result<Self, async_graphql_parser::Error> {
        let document = async_graphql_parser::parse_schema(SDL)?;
        let mut types = HashMap::new();
        for definition in document.definitions {
            let TypeSystemDefinition::Type(definition) = definition else { continue };
            let TypeKind::Object(object) = definition.node.kind else { continue };
            let fields = object.fields.into_iter().map(|field| {
                let field = field.node;
                let is_new = field.directives.iter().any(|directive| directive.node.name.node == SINCE);
                (field.name.node.to_string(), FieldType { name: base_name(&field.ty.node.base), is_new })
            });
            types.insert(definition.node.name.node.to_string(), fields.collect());
        }
        Ok(Self(types))
    }

    /// Checks that every selected field exists.
    pub fn check(&self, generation: Generation, kind: &str, selection: &SelectionSet) -> Result<(), LedgerError> {
        let Some(fields) = self.0.get(kind) else { return Ok(()) };
        for item in &selection.items {
            let Selection::Field(field) = &item.node else { continue };
            let name = field.node.name.node.as_str();
            let found = fields.get(name).filter(|found| generation == Generation::Current || !found.is_new);
            let found = found.ok_or_else(|| unknown_field(name, kind))?;
            self.check(generation, &found.name, &field.node.selection_set.node)?;
        }
        Ok(())
    }
}

fn base_name(base: &BaseType) -> String {
    match base {
        BaseType::Named(name) => name.to_string(),
        BaseType::List(item) => base_name(&item.base),
    }
}

fn unknown_field(name: &str, kind: &str) -> LedgerError {
    LedgerError::new("GRAPHQL_VALIDATION_FAILED", format!("Cannot query field \"{name}\" on type \"{kind}\"."))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::query;
    use serde_json::Map;

    fn check(generation: Generation, query: &str) -> Result<(), LedgerError> {
        let schema = Schema::parse().expect("the schema");
        let request = query::read(query, &Map::new()).expect("a query");
        schema.check(generation, request.root(), &request.selection)
    }

    #[test]
    fn each_generation_rejects_the_fields_that_it_does_not_know() {
        let deny = "{getDelegateState(address: \"z\"){state{deny}}}";
        assert_eq!(check(Generation::Current, deny), Ok(()));
        let error = check(Generation::V1_20_8, deny).expect_err("an error");
        assert_eq!(error.message, "Cannot query field \"deny\" on type \"DelegateState\".");
        for generation in [Generation::Current, Generation::V1_20_8] {
            assert_eq!(check(generation, "{getDelegateState(address: \"z\"){state{ops{key value{limit{tokens{txAllowance}}}}}}}"), Ok(()));
            for unknown in ["{getNothing{code}}", "{getTx(hash: \"A\"){info{nothing}}}", "mutation{burnAll{code}}"] {
                assert!(check(generation, unknown).is_err(), "{unknown}");
            }
        }
    }
}
