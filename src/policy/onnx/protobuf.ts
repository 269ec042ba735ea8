/**
 * Writer of the protobuf wire format, as much of it as ONNX needs: varints (wire type 0), 32-bit floats (5) and
 * length-delimited fields (2). Source: protobuf.dev, "Encoding".
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
    return this.bytes(field, value.finish());
  }

  /** The fields of another writer, after the ones here. */
  append(other: ProtoWriter): this {
    return this.#put(other.finish());
  }

  /** All bytes so far. */
  finish(): Uint8Array {
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
