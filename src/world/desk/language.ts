import type { TwoWayLanguage } from '../language/build.ts';
import { languageFor } from '../language/build.ts';
import { DESK_LEXICON, REMIND_DUE } from './lexicon.ts';
import { ADDRESSES, AGES, EARLIER, OPENING, PEOPLE, TICKETS } from './names.ts';
import { DESK_TOOLS } from './tools.ts';

/**
 * The desk's token language. Nothing of an observation is lost but the message of an error and the argument it names:
 * ages and times come from small pools and are tokens of their own.
 */
export const DESK_LANGUAGE: TwoWayLanguage = languageFor({
  tools: DESK_TOOLS.declarations,
  objects: Object.keys(DESK_LEXICON.objects),
  values: [...TICKETS, ...PEOPLE, ...ADDRESSES, ...AGES, ...EARLIER, OPENING],
  names: [TICKETS, PEOPLE, ADDRESSES],
  standing: [REMIND_DUE],
});
