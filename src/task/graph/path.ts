/** A step into a JSON value: a field's name or an index. */
export type Step = string | number;

const PLAIN = /^[^.[\]"*\\]+$/;

/**
 * A path as text: `orders[0].id`; a field whose name would read as something else is quoted (`["a.b"]`). The empty text
 * is the value itself. `'*'` given as `any` stands for every index: `orders[*].id`.
 */
export function stepText(step: Step | { any: true }, first: boolean): string {
  if (typeof step === 'number') return `[${step}]`;
  if (typeof step === 'object') return '[*]';
  if (!PLAIN.test(step)) return `[${JSON.stringify(step)}]`;
  return first ? step : `.${step}`;
}

/**
 * True for a field that is data used as a key (`{"9612497925": {…}}`, `{"credit_card_17": …}`): a pattern of paths holds
 * `[*]` in its place. Names of fields carry at most two digits (`line2`, `sha256` and the like are names).
 */
export function isDynamicKey(key: string): boolean {
  if (key.length > 64) return true;
  let digits = 0;
  for (let i = 0; i < key.length; i++) {
    const unit = key.charCodeAt(i);
    if (unit >= 48 && unit <= 57) digits++;
  }
  return digits === key.length ? digits > 0 : digits >= 4;
}
