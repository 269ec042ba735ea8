import type { Agreement, PlayEvent, PlayRequest } from '../../lab/play.ts';
import type { Episode, ReadableTurn } from '../../learn/describe.ts';
import { sentence } from '../words.ts';
import type { PlayService } from './service.ts';

/** What was heard and said in one turn, token by token, and what came of it. */
export interface Exchange {
  heard: string[];
  said: string[];
  turn: ReadableTurn | null;
}

export type PlayPhase = 'idle' | 'loading' | 'playing' | 'comparing' | 'done' | 'stopped' | 'failed';

/** One play of a policy on the page. */
export class Player {
  phase = $state<PlayPhase>('idle');
  request = $state.raw<PlayRequest | null>(null);
  ready = $state.raw<Extract<PlayEvent, { type: 'ready' }> | null>(null);
  exchanges = $state.raw<Exchange[]>([]);
  tokens = $state(0);
  tokensPerSecond = $state(0);
  episode = $state.raw<Episode | null>(null);
  agreement = $state.raw<Agreement | null>(null);
  error = $state('');
  readonly #service: PlayService;
  /** Counts plays: an older one that is still ending says nothing more. */
  #turn = 0;

  constructor(service: PlayService) {
    this.#service = service;
  }

  get busy(): boolean {
    return this.phase === 'loading' || this.phase === 'playing' || this.phase === 'comparing';
  }

  async play(request: PlayRequest): Promise<void> {
    this.#turn += 1;
    const turn = this.#turn;
    this.request = request;
    this.phase = 'loading';
    this.ready = null;
    this.exchanges = [];
    this.tokens = 0;
    this.tokensPerSecond = 0;
    this.episode = null;
    this.agreement = null;
    this.error = '';
    try {
      for await (const event of this.#service.play(request)) {
        if (turn !== this.#turn) return;
        this.#take(event);
      }
      if (turn === this.#turn) this.phase = 'done';
    } catch (error) {
      if (turn !== this.#turn) return;
      this.phase = 'failed';
      this.error = sentence(error);
    }
  }

  /** Ends the play at its next token. */
  stop(): void {
    if (!this.busy) return;
    this.#turn += 1;
    this.phase = 'stopped';
  }

  #take(event: PlayEvent): void {
    switch (event.type) {
      case 'ready':
        this.ready = event;
        this.phase = 'playing';
        return;
      case 'heard':
        this.exchanges = [...this.exchanges, { heard: event.tokens, said: [], turn: null }];
        return;
      case 'said':
        this.#change((last) => ({ ...last, said: [...last.said, event.token] }));
        this.tokens += 1;
        this.tokensPerSecond = event.tokensPerSecond;
        return;
      case 'turn':
        this.#change((last) => ({ ...last, turn: event.turn }));
        return;
      case 'episode':
        this.episode = event.episode;
        this.tokens = event.tokens;
        this.tokensPerSecond = event.tokensPerSecond;
        this.phase = 'comparing';
        return;
      case 'agreement':
        this.agreement = event.agreement;
        return;
    }
  }

  #change(change: (last: Exchange) => Exchange): void {
    const last = this.exchanges.at(-1);
    if (last) this.exchanges = [...this.exchanges.slice(0, -1), change(last)];
  }
}
