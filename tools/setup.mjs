// What a bare clone lacks: packages from the lock file, and a Chromium for the tests that need a browser.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** @param {string} message */
function fail(message) {
  console.error(message);
  process.exit(1);
}

function checkNode() {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  if (major > 20 || (major === 20 && minor >= 19)) return;
  fail(
    `Node ${process.versions.node} is too old: Rollout Lab needs Node 20.19 or later (https://nodejs.org).`,
  );
}

/** Runs `npm ci` unless node_modules was installed from this very lock file. Its output goes to standard error. */
export function ensurePackages() {
  checkNode();
  const lock = createHash('sha256')
    .update(readFileSync(join(root, 'package-lock.json')))
    .digest('hex');
  const marker = join(root, 'node_modules', '.lock-hash');
  if (existsSync(marker) && readFileSync(marker, 'utf8') === lock) return;
  console.error('Installing packages (npm ci) …');
  const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm';
  const done = spawnSync(npm, ['ci', '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: root,
    stdio: ['ignore', 2, 2],
    shell: process.platform === 'win32',
  });
  if (done.status !== 0) fail('npm ci failed; see above. With a network connection, run it again: npm ci');
  writeFileSync(marker, lock);
}

const CHROMIUM_PATHS = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/usr/bin/google-chrome-stable',
  '/snap/bin/chromium',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
  'C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe',
  'C:\\Program Files (x86)\\Google\\Chrome\\Application\\chrome.exe',
];

/** Path of a Chromium or Chrome, or null. CHROMIUM_PATH wins. */
export function findChromium() {
  const named = process.env.CHROMIUM_PATH;
  if (named) return existsSync(named) ? named : null;
  return CHROMIUM_PATHS.find((path) => existsSync(path)) ?? null;
}

/** Finds a Chromium, or installs Debian's where that can be done without asking; else says the one command. */
export function ensureChromium() {
  const found = findChromium();
  if (found) return found;
  const isRoot = process.getuid?.() === 0;
  if (process.platform === 'linux' && isRoot && existsSync('/usr/bin/apt-get')) {
    console.error('Installing Chromium (apt-get install chromium) …');
    const options = { stdio: /** @type {['ignore', number, number]} */ (['ignore', 2, 2]) };
    spawnSync('apt-get', ['update', '-qq'], options);
    spawnSync('apt-get', ['install', '-y', '-qq', 'chromium'], {
      ...options,
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    });
    const installed = findChromium();
    if (installed) return installed;
  }
  const command =
    process.platform === 'linux'
      ? 'sudo apt-get install -y chromium'
      : process.platform === 'darwin'
        ? 'brew install --cask google-chrome'
        : 'winget install Google.Chrome';
  fail(`The browser tests need Chromium or Chrome, and none was found. Install it:  ${command}
(or set CHROMIUM_PATH to one that is elsewhere)`);
  return '';
}
