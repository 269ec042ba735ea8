import { LabError } from '../base/errors.ts';
import { isObject, type Json, type JsonObject } from '../base/json.ts';
import type { Checkpoint } from './engine.ts';

/** Where the next batch begins: at sequence `place` of the random order of epoch `epoch`. Both count from 0. */
export interface DataCursor {
  epoch: number;
  place: number;
}

/**
 * The state of a run's random numbers: by the key of a named stream (see `Rng.key`, which begins with the seed) the
 * counter that its next draw is keyed by. Streams are pure functions of key and counter, so this is all there is.
 */
export type StreamCounters = Record<string, number>;

/** The run that a checkpoint belongs to: all that decides its result. */
export interface RunIdentity {
  method: string;
  preset: string;
  config: Record<string, number | string>;
  arms: string[];
  seed: number;
  /** The arm under way. */
  arm: string;
  /** Hash of its tasks. */
  taskSet: string;
}

/** What training needs besides the policy to go on as if it had never stopped. */
export interface TrainingState {
  cursor: DataCursor;
  streams: StreamCounters;
  run?: RunIdentity;
  /** Hash of the tokens in order, where the policy speaks a fixed vocabulary. */
  vocabulary?: string;
}

/** A checkpoint of training. Without `training`, as older ones are, the cursor follows from the step. */
export interface TrainingCheckpoint extends Checkpoint {
  training?: TrainingState;
}

/** Names under which the parts of a training state stand in a file. */
export const TRAINING_FIELDS = ['cursor', 'streams', 'run', 'vocabulary'] as const;

/** The parts of a training state as texts (JSON; the vocabulary as it is), for a file's metadata. */
export function writeTraining(training: TrainingState): Record<string, string> {
  checkTraining(training as unknown as Json);
  const { cursor, streams, run, vocabulary } = training;
  return {
    cursor: JSON.stringify(cursor),
    streams: JSON.stringify(streams),
    ...(run ? { run: JSON.stringify(run) } : {}),
    ...(vocabulary === undefined ? {} : { vocabulary }),
  };
}

/** Reads what `writeTraining` wrote; `undefined` where nothing of it is there. @throws LabError that names the field. */
export function readTraining(metadata: JsonObject): TrainingState | undefined {
  if (TRAINING_FIELDS.every((field) => metadata[field] === undefined)) return undefined;
  const state: JsonObject = {};
  for (const field of TRAINING_FIELDS) {
    const text = metadata[field];
    if (text === undefined) continue;
    if (typeof text !== 'string') return refuse('it is no text', field);
    state[field] = field === 'vocabulary' ? text : parse(text, field);
  }
  return checkTraining(state);
}

/** Holds a training state from outside against its type. @throws LabError that names the field. */
export function checkTraining(state: Json): TrainingState {
  if (!isObject(state)) return refuse('it is no JSON object', 'training');
  const { cursor, streams, run, vocabulary } = state;
  if (!isObject(cursor) || !isCount(cursor.epoch) || !isCount(cursor.place))
    return refuse('it is no place in the data', 'cursor');
  if (!isObject(streams) || !Object.values(streams).every(isCount))
    return refuse('it holds no counters', 'streams');
  if (vocabulary !== undefined && typeof vocabulary !== 'string')
    return refuse('it is no text', 'vocabulary');
  const checked: TrainingState = {
    cursor: { epoch: cursor.epoch, place: cursor.place },
    streams: { ...(streams as StreamCounters) },
  };
  if (run !== undefined) checked.run = checkRun(run);
  if (vocabulary !== undefined) checked.vocabulary = vocabulary;
  return checked;
}

function checkRun(run: Json): RunIdentity {
  if (!isObject(run)) return refuse('it is no JSON object', 'run');
  const { method, preset, config, arms, seed, arm, taskSet } = run;
  const texts = [method, preset, arm, taskSet];
  const values = isObject(config) ? Object.values(config) : [null];
  if (!texts.every((text) => typeof text === 'string')) return refuse('it lacks a name', 'run');
  if (!values.every((value) => typeof value === 'string' || Number.isFinite(value)))
    return refuse('its configuration is none', 'run.config');
  if (!Array.isArray(arms) || !arms.every((one) => typeof one === 'string') || !arms.includes(arm as string))
    return refuse('its arms do not hold the one under way', 'run.arms');
  if (!isCount(seed)) return refuse('its seed is no whole number', 'run.seed');
  return { method, preset, config, arms, seed, arm, taskSet } as unknown as RunIdentity;
}

function isCount(value: Json | undefined): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}

function parse(text: string, field: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return refuse('it is no JSON', field);
  }
}

function refuse(what: string, field: string): never {
  throw new LabError(`the state of the training can't be read: ${what}`, {
    where: `__metadata__.${field}`,
    remedy: 'load an undamaged checkpoint that this lab wrote',
  });
}
