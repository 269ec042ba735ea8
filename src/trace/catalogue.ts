import { LabError } from '../base/errors.ts';
import type { Json } from '../base/json.ts';
import { isObject } from '../base/json.ts';
import type { TraceFile } from './bytes.ts';
import { readToolSpecs } from './declare.ts';
import type { Rejection, ToolSpec, Trajectory } from './model.ts';
import { callsOf } from './model.ts';
import { readRecords } from './source.ts';

/** Tools that are declared apart from the traces. */
export interface ToolCatalogue {
  tools: ToolSpec[];
  rejected: Rejection[];
}

/** True for a record of a catalogue: LiveMCPBench's `{tools: {SERVER: {tools: […]}}}` or an MCP `{tools: [{inputSchema}]}`. */
export function isToolCatalogue(record: Json): boolean {
  if (!isObject(record) || Object.hasOwn(record, 'messages')) return false;
  const { tools } = record;
  if (Array.isArray(tools)) return isObject(tools[0]) && Object.hasOwn(tools[0], 'inputSchema');
  return (
    isObject(tools) && Object.values(tools).some((server) => isObject(server) && Array.isArray(server.tools))
  );
}

/**
 * Reads a catalogue of tools with their schemas and effects (MCP's annotations), named `server/tool` as calls are:
 * LiveMCPBench's `tools.json`, or the result of an MCP `tools/list`. What cannot be read is rejected with its place.
 */
export async function readToolCatalogue(file: TraceFile): Promise<ToolCatalogue> {
  const catalogue: ToolCatalogue = { tools: [], rejected: [] };
  try {
    for await (const step of readRecords(file)) {
      if (step.type === 'rejected') catalogue.rejected.push(step.rejection);
      if (step.type !== 'entry') continue;
      const { value, place } = step.entry;
      if (isToolCatalogue(value)) catalogue.tools.push(...toolsOf(value));
      else {
        const reason = 'not a record of a tool catalogue: expected tools by server, or a list of MCP tools';
        catalogue.rejected.push({ path: file.path, where: place.field ?? '', reason });
      }
    }
  } catch (error) {
    if (!(error instanceof LabError)) throw error;
    catalogue.rejected.push({ path: file.path, where: error.where, reason: error.message });
  }
  return catalogue;
}

function toolsOf(record: Json): ToolSpec[] {
  if (!isObject(record)) return [];
  if (!isObject(record.tools)) return readToolSpecs(record.tools);
  return Object.entries(record.tools).flatMap(([server, held]) =>
    isObject(held) ? readToolSpecs(held.tools, server) : [],
  );
}

/** A trajectory that also declares those tools of the catalogue which it calls and does not declare itself. */
export function declareFrom(trajectory: Trajectory, catalogue: ReadonlyMap<string, ToolSpec>): Trajectory {
  const known = new Set(trajectory.tools.map((tool) => tool.name));
  const called = new Set(callsOf(trajectory).map((call) => call.tool));
  const added = [...called].flatMap((name) => (known.has(name) ? [] : (catalogue.get(name) ?? [])));
  return added.length === 0 ? trajectory : { ...trajectory, tools: [...trajectory.tools, ...added] };
}
