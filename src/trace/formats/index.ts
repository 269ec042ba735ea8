import { apiBank } from './api-bank.ts';
import { claudeCode } from './claude-code.ts';
import type { Format } from './format.ts';
import { lab } from './lab.ts';
import { liveMcpBench } from './livemcpbench.ts';
import { mcpCassette } from './mcp-cassette.ts';
import { openAiChat } from './openai-chat.ts';
import { tauBench } from './tau-bench.ts';
import { tau2Bench } from './tau2-bench.ts';

/** Every format that can be read, the narrow ones first: the first that recognises a file reads it. */
export const formats: readonly Format[] = [
  lab,
  tauBench,
  tau2Bench,
  liveMcpBench,
  apiBank,
  claudeCode,
  mcpCassette,
  openAiChat,
];
