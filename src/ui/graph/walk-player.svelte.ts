import type { WalkMove } from '../../task/model.ts';
import type { Walk } from '../run/ledger.ts';

type Travel = Extract<WalkMove, { type: 'step' | 'rollback' }>;

/** Milliseconds that a move is shown. */
export const MOVE_MILLISECONDS = 800;

/**
 * Plays finished walks at a pace that can be followed: a move at a time, forwards by itself or by hand, backwards by
 * hand. The walks themselves run thousands of times faster in their worker.
 */
export class WalkPlayer {
  walk = $state.raw<Walk | null>(null);
  /** Moves shown so far; 0 = at the start. */
  at = $state(0);
  playing = $state(false);
  /** Counts up with every change of place made by the player itself or the reader, for the picture to animate. */
  turn = $state(0);
  /** Where the next walk comes from. */
  #next: () => Walk | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;

  readonly travels = $derived<Travel[]>(
    (this.walk?.moves ?? []).filter((move) => move.type === 'step' || move.type === 'rollback'),
  );
  readonly move = $derived<Travel | null>(this.travels[this.at - 1] ?? null);
  /** Edges gone along so far; a rolled-back move leaves none. */
  readonly trail = $derived(
    this.travels.slice(0, this.at).flatMap((move) => (move.type === 'step' ? [move.edge] : [])),
  );
  /** Node where the walk stands. */
  readonly node = $derived.by(() => {
    const start = this.walk?.moves[0];
    const last = this.travels.slice(0, this.at).findLast((move) => move.type === 'step');
    return last?.to ?? (start?.type === 'start' ? start.node : null);
  });
  readonly end = $derived.by(() => {
    const last = this.walk?.moves.at(-1);
    return last?.type === 'chain' || last?.type === 'dropped' ? last : null;
  });

  constructor(next: () => Walk | undefined) {
    this.#next = next;
  }

  play(): void {
    this.playing = true;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#tick(), this.walk ? MOVE_MILLISECONDS : 0);
  }

  pause(): void {
    this.playing = false;
    clearTimeout(this.#timer);
  }

  /** One move on; past the last one, the next walk. */
  forward(): void {
    if (this.walk && this.at < this.travels.length) this.at += 1;
    else this.#load();
    this.turn += 1;
  }

  back(): void {
    this.at = Math.max(0, this.at - 1);
  }

  /** Forgets the walk: another graph is on the page. */
  clear(): void {
    this.walk = null;
    this.at = 0;
  }

  #load(): void {
    const walk = this.#next();
    if (!walk) return;
    this.walk = walk;
    this.at = 0;
  }

  #tick(): void {
    if (!document.hidden) this.forward();
    this.#timer = setTimeout(
      () => this.#tick(),
      this.at === this.travels.length ? 2 * MOVE_MILLISECONDS : MOVE_MILLISECONDS,
    );
  }
}

/** The walk most worth watching among those at hand: of the newest twelve, the longest that also rolled back. */
export function pickWalk(walks: readonly Walk[], shown: Walk | null): Walk | undefined {
  const score = (walk: Walk) =>
    (walk.moves.at(-1)?.type === 'chain' ? 4 : 0) +
    Math.min(6, walk.moves.filter((move) => move.type === 'step').length) +
    Math.min(2, walk.moves.filter((move) => move.type === 'rollback').length);
  const fresh = walks.filter((walk) => walk !== shown).slice(-12);
  return fresh.reduce<Walk | undefined>(
    (best, walk) => (best && score(best) >= score(walk) ? best : walk),
    undefined,
  );
}
