// npm start: install what is missing, build, serve on localhost, open the page.
import { ensurePackages, root } from './setup.mjs';

ensurePackages();
const { buildPage } = await import('./build.mjs');
console.error('Building …');
await buildPage();

const { preview } = await import('vite');
const canOpen = process.platform !== 'linux' || Boolean(process.env.DISPLAY || process.env.WAYLAND_DISPLAY);
const server = await preview({
  root,
  preview: { host: 'localhost', port: Number(process.env.PORT ?? 4173), open: canOpen && !process.env.CI },
});
console.log(
  `Rollout Lab is at ${server.resolvedUrls?.local[0] ?? 'http://localhost:4173/'}  (Ctrl-C stops it)`,
);
