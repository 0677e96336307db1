import document from '../../../openapi.json';

interface Schema {
  $ref?: string;
  type?: string;
  enum?: unknown[];
  properties?: Record<string, Schema>;
  items?: Schema;
  allOf?: Schema[];
  anyOf?: Schema[];
  additionalProperties?: boolean | Schema;
}

const schemas = document.components.schemas as unknown as Record<string, Schema>;

/** All fields of an object schema, including those of `allOf`; null if any field is allowed. */
function fieldsOf(schema: Schema): Record<string, Schema> | null {
  const { $ref, allOf, properties } = schema;
  if ($ref) return fieldsOf(schemas[$ref.split('/').at(-1) ?? ''] ?? {});
  if (allOf) {
    const schemasOf = allOf.map(fieldsOf);
    return schemasOf.some((part) => part === null) ? null : Object.assign({}, ...schemasOf);
  }
  return properties ?? null;
}

const typeOf = (value: unknown) =>
  Array.isArray(value) ? 'array' : Number.isInteger(value) ? 'integer' : value === null ? 'null' : typeof value;

/**
 * Lists where a mocked response differs from openapi.json: unknown fields, wrong types, unknown enum values. Missing
 * fields and null are ignored.
 */
export function schemaMismatches(value: unknown, schema: Schema, path: string): string[] {
  if (value === null || value === undefined) return [];
  if (schema.$ref) return schemaMismatches(value, schemas[schema.$ref.split('/').at(-1) ?? ''] ?? {}, path);
  if (schema.anyOf) {
    const all = schema.anyOf.map((each) => schemaMismatches(value, each, path));
    return all.find((mismatches) => mismatches.length === 0) ?? all[0] ?? [];
  }
  if (schema.enum) return schema.enum.includes(value) ? [] : [`${path}: ${String(value)} is not an allowed value`];
  const type = typeOf(value);
  const expected = schema.type ?? (schema.allOf ? 'object' : undefined);
  if (expected && expected !== type && !(expected === 'number' && type === 'integer'))
    return [`${path}: ${type} instead of ${expected}`];
  if (Array.isArray(value))
    return value.flatMap((each, index) => schemaMismatches(each, schema.items ?? {}, `${path}[${index}]`));
  if (type !== 'object') return [];
  const fields = fieldsOf(schema);
  const additional = schema.additionalProperties;
  return Object.entries(value as object).flatMap(([name, each]) => {
    const field = fields?.[name];
    if (field) return schemaMismatches(each, field, `${path}.${name}`);
    if (typeof additional === 'object') return schemaMismatches(each, additional, `${path}.${name}`);
    return fields && each !== undefined && each !== null ? [`${path}.${name} is not in the document`] : [];
  });
}

export const schemaNamed = (name: string): Schema => {
  const schema = schemas[name];
  if (!schema) throw new Error(`${name} is not in the document`);
  return schema;
};
