/**
 * Text for an element or a quoted attribute of HTML or XML. Characters that XML 1.0 does not allow at all (controls, lone
 * surrogates, U+FFFE and U+FFFF) become U+FFFD.
 */
export function escapeText(text: string): string {
  return text
    .replace(/[^\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/gu, '\ufffd')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;');
}

/** One element with escaped attributes; `content` must be markup already. */
export function element(name: string, attributes: Record<string, string | number>, content = ''): string {
  const written = Object.entries(attributes)
    .map(([key, value]) => ` ${key}="${escapeText(String(value))}"`)
    .join('');
  return content === '' ? `<${name}${written}/>` : `<${name}${written}>${content}</${name}>`;
}
