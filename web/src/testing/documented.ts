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

/** All fields of an object, those of what it is put together from among them; null where any will do. */
function fieldsOf(schema: Schema): Record<string, Schema> | null {
  const { $ref, allOf, properties } = schema;
  if ($ref) return fieldsOf(schemas[$ref.split('/').at(-1) ?? ''] ?? {});
  if (allOf) {
    const parts = allOf.map(fieldsOf);
    return parts.some((part) => part === null) ? null : Object.assign({}, ...parts);
  }
  return properties ?? null;
}

const typeOf = (value: unknown) =>
  Array.isArray(value) ? 'array' : Number.isInteger(value) ? 'integer' : value === null ? 'null' : typeof value;

/**
 * Where a made-up answer says what the server's document does not: a field that no answer has, a value of another type,
 * a word that is none of a list. What it leaves out is not looked at, and `null` is as good as left out.
 */
export function undocumented(value: unknown, schema: Schema, place: string): string[] {
  if (value === null || value === undefined) return [];
  if (schema.$ref) return undocumented(value, schemas[schema.$ref.split('/').at(-1) ?? ''] ?? {}, place);
  if (schema.anyOf) {
    const all = schema.anyOf.map((each) => undocumented(value, each, place));
    return all.find((faults) => faults.length === 0) ?? all[0] ?? [];
  }
  if (schema.enum) return schema.enum.includes(value) ? [] : [`${place}: ${String(value)} is none of its words`];
  const type = typeOf(value);
  const wanted = schema.type ?? (schema.allOf ? 'object' : undefined);
  if (wanted && wanted !== type && !(wanted === 'number' && type === 'integer'))
    return [`${place}: ${type} instead of ${wanted}`];
  if (Array.isArray(value))
    return value.flatMap((each, at) => undocumented(each, schema.items ?? {}, `${place}[${at}]`));
  if (type !== 'object') return [];
  const fields = fieldsOf(schema);
  const rest = schema.additionalProperties;
  return Object.entries(value as object).flatMap(([name, each]) => {
    const field = fields?.[name];
    if (field) return undocumented(each, field, `${place}.${name}`);
    if (typeof rest === 'object') return undocumented(each, rest, `${place}.${name}`);
    return fields && each !== undefined && each !== null ? [`${place}.${name} is not in the document`] : [];
  });
}

export const documented = (name: string): Schema => {
  const schema = schemas[name];
  if (!schema) throw new Error(`${name} is not in the document`);
  return schema;
};
