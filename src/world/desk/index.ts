import type { WorldDefinition } from '../kit.ts';
import { deskCorpus } from './corpus.ts';
import { createDesk } from './create.ts';
import { DESK_LANGUAGE } from './language.ts';
import { DESK_LEXICON } from './lexicon.ts';
import { DESK_TOOLS } from './tools.ts';

export { expert } from './expert.ts';
export { drawJob, JOB_KINDS, type Job } from './jobs.ts';
export { novice } from './novice.ts';
export { checkDesk } from './rules.ts';

/** A support desk: tickets, the people who own them, and the mails sent about them. */
export const desk: WorldDefinition = {
  id: 'desk',
  title: 'Support desk',
  description:
    'Tickets with owners, people with managers and addresses, an outbox and a clock. The running task: remind the ' +
    'owners of P1 tickets open over 7 days, write the time back, never remind twice in 24 hours.',
  tools: DESK_TOOLS.declarations,
  create: createDesk,
  lexicon: DESK_LEXICON,
  language: DESK_LANGUAGE,
  corpus: deskCorpus,
};
