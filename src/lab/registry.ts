export { methods } from '../methods/index.ts';
