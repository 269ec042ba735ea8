/**
 * Writer of the protobuf wire format, as much of it as ONNX needs: varints (wire type 0), 32-bit floats (5) and
 * length-delimited fields (2). What it is given is not copied before `finish`. Source: protobuf.dev, "Encoding".
 */
export class ProtoWriter {
  readonly #chunks: Uint8Array[] = [];
  #length = 0;

  /** An integer field; `value` is a whole number in ±2⁵³. Negative numbers take ten bytes, as two's complement in 64 bits. */
  int(field: number, value: number): this {
    return this.#key(field, 0).#varint(value);
  }

  float(field: number, value: number): this {
    const bytes = new Uint8Array(4);
    new DataView(bytes.buffer).setFloat32(0, value, true);
    return this.#key(field, 5).#put(bytes);
  }

  bytes(field: number, value: Uint8Array): this {
    return this.#key(field, 2).#varint(value.length).#put(value);
  }

  text(field: number, value: string): this {
    return this.bytes(field, new TextEncoder().encode(value));
  }

  message(field: number, value: ProtoWriter): this {
    return this.#key(field, 2).#varint(value.#length).append(value);
  }

  /** The fields of another writer, after the ones here. */
  append(other: ProtoWriter): this {
    for (const chunk of other.#chunks) this.#put(chunk);
    return this;
  }

  /** All bytes so far. */
  finish(): Uint8Array<ArrayBuffer> {
    const out = new Uint8Array(this.#length);
    let at = 0;
    for (const chunk of this.#chunks) {
      out.set(chunk, at);
      at += chunk.length;
    }
    return out;
  }

  #key(field: number, wireType: number): this {
    return this.#varint(field * 8 + wireType);
  }

  #varint(value: number): this {
    const bytes: number[] = [];
    let left = BigInt.asUintN(64, BigInt(value));
    while (left > 127n) {
      bytes.push(Number(left & 127n) | 128);
      left >>= 7n;
    }
    bytes.push(Number(left));
    return this.#put(Uint8Array.from(bytes));
  }

  #put(chunk: Uint8Array): this {
    this.#chunks.push(chunk);
    this.#length += chunk.length;
    return this;
  }
}

/** One field of a message. A length-delimited one has `bytes`, every other one `value`, signed. */
export interface ProtoField {
  field: number;
  value: number;
  bytes: Uint8Array | null;
}

/**
 * Takes a message apart, field by field, without copying.
 * @throws RangeError where the bytes are no message: a varint that does not end, a length past the end, an unknown wire type.
 */
export function* readFields(bytes: Uint8Array): Generator<ProtoField> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let at = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = bytes[at++];
      if (byte === undefined) throw new RangeError(`the file ends inside a number, at byte ${at - 1}`);
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return BigInt.asUintN(64, value);
    }
    throw new RangeError(`a number of more than ten bytes, at byte ${at}`);
  };
  const need = (count: number) => {
    if (count > bytes.length - at) throw new RangeError(`a field of ${count} bytes runs past the end`);
  };
  while (at < bytes.length) {
    const key = varint();
    const field = Number(key >> 3n);
    const wire = Number(key & 7n);
    if (field === 0) throw new RangeError(`a field numbered 0, at byte ${at}`);
    if (wire === 0) yield { field, value: Number(BigInt.asIntN(64, varint())), bytes: null };
    else if (wire === 2) {
      const length = Number(varint());
      need(length);
      yield { field, value: 0, bytes: bytes.subarray(at, at + length) };
      at += length;
    } else if (wire === 5) {
      need(4);
      yield { field, value: view.getFloat32(at, true), bytes: null };
      at += 4;
    } else if (wire === 1) {
      need(8);
      yield { field, value: view.getFloat64(at, true), bytes: null };
      at += 8;
    } else throw new RangeError(`a field of wire type ${wire}, at byte ${at}`);
  }
}

/** Text of a length-delimited field. @throws TypeError where it is no UTF-8. */
export const readText = (bytes: Uint8Array): string =>
  new TextDecoder('utf-8', { fatal: true }).decode(bytes);

/** Whole numbers of a repeated field, packed into one or written one by one. @throws RangeError as `readFields`. */
export function readInts({ value, bytes }: ProtoField): number[] {
  if (!bytes) return [value];
  const out: number[] = [];
  for (let at = 0; at < bytes.length; ) {
    let number = 0n;
    for (let shift = 0n, byte = 128; byte > 127; shift += 7n) {
      if (at >= bytes.length || shift > 63n) throw new RangeError('a packed list of numbers is broken');
      byte = bytes[at++]!;
      number |= BigInt(byte & 127) << shift;
    }
    out.push(Number(BigInt.asIntN(64, number)));
  }
  return out;
}
