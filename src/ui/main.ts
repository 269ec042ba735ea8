import './style.css';
import { mount } from 'svelte';
import { methods } from '../lab/registry.ts';
import { openStore } from '../store/open.ts';
import App from './App.svelte';
import { offerToScripts } from './console.ts';
import { isPlace } from './engine/page.ts';
import { Mining } from './mine/mining.svelte.ts';
import { workerServices } from './services.ts';
import { Session } from './session.svelte.ts';
import { Theme } from './theme.svelte.ts';

async function start(): Promise<void> {
  const theme = new Theme();
  const services = workerServices((error) => session.broken(error));
  const store = await openStore({ onNotice: (notice) => (session.notice = notice) });
  const id = /^#\/([^?]*)/.exec(location.hash)?.[1];
  const method = methods.find((one) => one.id === id) ?? methods[0];
  const target = document.getElementById('app');
  if (!method || !target) throw new Error('The page has no experiment to show.');
  const session = new Session(method, services, store);
  const mining = new Mining(services, store);
  mount(App, { target, props: { session, mining, theme } });
  offerToScripts(services);
  void mining.refreshKept();
  const start = !isPlace(location.hash) && (await session.takeLink(location.hash));
  if (start) void session.run();
  await session.open(new URL(`recorded/${method.id}.json`, document.baseURI).href);
}

void start();
