import type { JsonObject } from '../base/json.ts';
import type { Effect, ToolSpec } from './model.ts';

/** Verbs of tools that only look. */
export const READ_VERBS: ReadonlySet<string> = new Set(
  `get list search find read fetch query show view describe lookup look check count calculate compute compare
   validate verify inspect retrieve browse glob grep ls cat head tail stat status info preview estimate convert
   translate summarize summarise analyze analyse explain extract parse download load scan detect recommend forecast
   geocode screenshot snapshot track filter sort diff think can is has echo ping`.split(/\s+/),
);

/** Verbs of tools that change something which another call can change back. */
export const WRITE_VERBS: ReadonlySet<string> = new Set(
  `create update write add edit set modify insert append save store put patch change rename move copy upload enable
   disable toggle turn grant revoke register record book reserve schedule exchange return refuel resume suspend start
   stop open close assign attach connect disconnect install reset reseat reboot make merge push commit apply format
   rate like follow join leave subscribe import generate replace mark pin lock unlock execute run bash play click type
   fill press navigate select switch`.split(/\s+/),
);

/** Verbs of tools whose work cannot be taken back: something is gone, has left the house, or has been paid. */
export const IRREVERSIBLE_VERBS: ReadonlySet<string> = new Set(
  `delete remove cancel destroy drop purge erase clear wipe kill terminate uninstall send post publish tweet email
   mail notify reply pay buy purchase order transfer refund withdraw submit deploy release charge`.split(
    /\s+/,
  ),
);

/**
 * The effect that MCP annotations declare (MCP specification, `ToolAnnotations`): `readOnlyHint: true` is a read,
 * `destructiveHint: true` cannot be undone, either one false on its own is a write. Undefined where they say nothing.
 */
export function effectOfAnnotations(annotations: JsonObject): Effect | undefined {
  if (annotations.readOnlyHint === true) return 'read';
  if (annotations.destructiveHint === true) return 'irreversible';
  if (annotations.readOnlyHint === false || annotations.destructiveHint === false) return 'write';
  return undefined;
}

/** The words of a tool's name without its server: `server/getUserDetails_v2` gives get, user, details, v2. */
export function wordsOf(tool: string): string[] {
  return tool
    .slice(tool.lastIndexOf('/') + 1)
    .replace(/([a-z\d])([A-Z])/g, '$1 $2')
    .replace(/([A-Z]+)([A-Z][a-z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== '');
}

/**
 * What a tool does, guessed: as its declaration says, else by the first verb in its name that one of the three lists
 * knows (`get_order_details` reads although an order is a verb too), else a read where the name holds no verb at all
 * (`weather`, `user_info`): an unknown write found too late shows as a failed replay, while an unknown read taken for a
 * write would make edges out of nothing.
 */
export function guessEffect(tool: string, spec?: Pick<ToolSpec, 'effect'>): Effect {
  if (spec?.effect) return spec.effect;
  for (const word of wordsOf(tool)) {
    if (READ_VERBS.has(word)) return 'read';
    if (IRREVERSIBLE_VERBS.has(word)) return 'irreversible';
    if (WRITE_VERBS.has(word)) return 'write';
  }
  return 'read';
}
