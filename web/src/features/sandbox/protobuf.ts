/** Parses protobuf without a schema: values by field number, in order. */
export type Fields = Map<number, (bigint | Uint8Array)[]>;

/** The fields of a message. Throws on malformed bytes. */
export function readFields(bytes: Uint8Array): Fields {
  const fields: Fields = new Map();
  let offset = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = bytes[offset++];
      if (byte === undefined) throw new Error('message ends inside a number');
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    throw new Error('number is too long');
  };
  while (offset < bytes.length) {
    const tag = Number(varint());
    const wireType = tag & 7;
    let value: bigint | Uint8Array;
    if (wireType === 0) value = varint();
    else if (wireType === 2) {
      const length = Number(varint());
      if (offset + length > bytes.length) throw new Error('message ends inside a field');
      value = bytes.slice(offset, offset + length);
      offset += length;
    } else throw new Error(`unexpected wire type ${wireType}`);
    const list = fields.get(tag >> 3);
    if (list) list.push(value);
    else fields.set(tag >> 3, [value]);
  }
  return fields;
}

const isBytes = (value: bigint | Uint8Array | undefined): value is Uint8Array => value instanceof Uint8Array;

export const messages = (fields: Fields, field: number): Fields[] =>
  (fields.get(field) ?? []).filter(isBytes).map(readFields);

export function bytesOf(fields: Fields, field: number): Uint8Array | undefined {
  const value = fields.get(field)?.[0];
  return isBytes(value) ? value : undefined;
}

export function textOf(fields: Fields, field: number): string {
  const value = bytesOf(fields, field);
  return value ? new TextDecoder().decode(value) : '';
}

export const texts = (fields: Fields, field: number): string[] =>
  (fields.get(field) ?? []).filter(isBytes).map((value) => new TextDecoder().decode(value));

export function numberOf(fields: Fields, field: number): number {
  const value = fields.get(field)?.[0];
  return typeof value === 'bigint' ? Number(value) : 0;
}
