import type { PeerName } from './peers/peer.ts';
import { MICRO, ofWidth, type Student } from './student.ts';

/** What a run of the benchmark measures. */
export interface BenchPlan {
  /** Training steps. The first student is also sampled from, and taken apart into kernels. */
  students: Student[];
  /** A turn of sampling: rollouts, tokens that each is given, tokens that each then says. */
  turn: { rollouts: number; length: number; limit: number };
  /** Measurements of which the median counts. */
  rounds: number;
  /** Libraries to do the same work. */
  against: PeerName[];
}

const TURN = { rollouts: 256, length: 8, limit: 24 };

/** What `npm run bench -- engine` measures. */
export const FULL: BenchPlan = {
  students: [
    { shape: MICRO, tokens: 512 },
    { shape: MICRO, tokens: 1024 },
    { shape: ofWidth(128), tokens: 512 },
    { shape: ofWidth(256), tokens: 512 },
  ],
  turn: TURN,
  rounds: 5,
  against: [],
};

/** What the page measures first: less than a minute without a graphics card, seconds with one. */
export const QUICK: BenchPlan = {
  students: [
    { shape: MICRO, tokens: 512 },
    { shape: ofWidth(128), tokens: 512 },
  ],
  turn: { ...TURN, limit: 16 },
  rounds: 3,
  against: [],
};

/** Seconds on any device: every part of the benchmark on a student of a few thousand parameters. */
export const TINY: BenchPlan = {
  students: [{ shape: { vocab: 20, width: 16, layers: 2, heads: 2, hidden: 32, context: 64 }, tokens: 128 }],
  turn: { rollouts: 4, length: 3, limit: 5 },
  rounds: 2,
  against: [],
};

export const PLANS = { tiny: TINY, quick: QUICK, full: FULL } as const;
export type PlanName = keyof typeof PLANS;

/** Parts of a plan, each of which the benchmark counts as one step of its progress. */
export const partsOf = ({ students }: BenchPlan): number => students.length + 3;
