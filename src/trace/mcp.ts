import type { Json, JsonObject } from '../base/json.ts';
import { isObject } from '../base/json.ts';
import type { Outcome } from './builder.ts';
import { softError } from './failure.ts';
import { contentText, parseText } from './values.ts';

/**
 * The outcome that an MCP `CallToolResult` holds: `{content: [{type: "text", text}], structuredContent?, isError}`.
 * One text is the value, parsed where it is JSON; of several texts `structuredContent` is the faithful form.
 */
export function readMcpResult(result: JsonObject): Outcome {
  const { content, structuredContent, isError } = result;
  const single = Array.isArray(content) && content.length === 1;
  const value = isObject(structuredContent) && !single ? structuredContent : parseText(contentText(content));
  return judgeResult(value, isError === true);
}

/** An outcome from a flag that, where it is not set, proves nothing: servers report success with an error text. */
export function judgeResult(result: Json, failed: boolean): Outcome {
  const said = softError(result);
  if (said !== null || !failed) return { result, error: said };
  return {
    result,
    error: typeof result === 'string' ? result || 'failed without a word' : JSON.stringify(result),
  };
}
