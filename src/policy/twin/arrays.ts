/** What a twin reads: real numbers in either precision. Arithmetic is float64 whatever the storage. */
export type Reals = Float64Array | Float32Array;

/** What a twin reads as whole numbers: token ids, positions, rows. */
export type Ids = Int32Array | Uint32Array;
