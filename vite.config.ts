import { svelte } from '@sveltejs/vite-plugin-svelte';
import type { Plugin } from 'vite';
import { defineConfig } from 'vitest/config';
import { wasmKernels } from './tools/wasm-kernels.mjs';

/** The built page forbids inline styles and sockets; the development server needs both. */
const openInDevelopment: Plugin = {
  name: 'open-in-development',
  apply: 'serve',
  transformIndexHtml: (html, { server }) =>
    server ? html.replace(/<meta\s+http-equiv="Content-Security-Policy"[^>]*>/, '') : html,
};

/** Relative base: the built page runs from any static host, under any sub-path. */
export default defineConfig({
  base: './',
  plugins: [svelte(), wasmKernels(), openInDevelopment],
  worker: { format: 'es', plugins: () => [wasmKernels()] },
  // TensorFlow.js leaves the gradients out of its build for Node; its modules have them.
  ssr: { noExternal: [/^@tensorflow\//] },
  build: { target: 'es2023', assetsInlineLimit: 0, chunkSizeWarningLimit: 900 },
  test: {
    include: ['test/**/*.test.ts'],
    environment: 'node',
    testTimeout: 60_000,
    fileParallelism: true,
    maxWorkers: 2,
    server: { deps: { inline: [/@tensorflow\//] } },
  },
});
