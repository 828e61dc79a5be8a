/** `npm run bench -- <new-keys | golden | replays | stores | tiered | reap | in-process | doors | listening>`; see README.md. */
import { parseArgs } from 'node:util';

/** Of each workload over HTTP. */
const CONNECTIONS = { 'new-keys': '1,16,64,256', golden: '1,64', replays: '64' };

const [, , workload = '', ...rest] = process.argv;
if (['in-process', 'doors', 'listening', 'reap', 'tiered'].includes(workload)) {
  process.argv.splice(2, 1);
  await import(`./${workload}.mjs`);
} else if (workload === 'stores') {
  const { values } = parseArgs({
    args: rest,
    options: {
      store: { type: 'string', default: 'postgres' },
      callers: { type: 'string', default: '64' },
      rounds: { type: 'string', default: '5' },
      seconds: { type: 'string', default: '2' },
      appendfsync: { type: 'string', default: 'everysec' },
      client: { type: 'string', default: '' },
      only: { type: 'string', default: '' },
      profile: { type: 'string' },
    },
  });
  const { compareStores } = await import('./stores.mjs');
  await compareStores({
    store: values.store,
    callers: Number(values.callers),
    rounds: Number(values.rounds),
    seconds: Number(values.seconds),
    appendfsync: values.appendfsync,
    clients: listOf(values.client),
    only: listOf(values.only),
    ...(values.profile === undefined ? {} : { profile: values.profile }),
  });
} else if (workload === 'new-keys' || workload === 'replays' || workload === 'golden') {
  const { values } = parseArgs({
    args: rest,
    options: {
      connections: { type: 'string', default: CONNECTIONS[workload] },
      rounds: { type: 'string', default: '3' },
      seconds: { type: 'string', default: '5' },
      store: { type: 'string', default: 'postgres' },
      client: { type: 'string' },
      appendfsync: { type: 'string', default: 'everysec' },
      framework: { type: 'string', default: workload === 'golden' ? 'node' : 'express' },
      only: { type: 'string', default: '' },
      also: { type: 'string' },
      profile: { type: 'string' },
      'commit-ms': { type: 'string', default: '0' },
      neighbours: { type: 'string', default: '0' },
      json: { type: 'boolean', default: false },
    },
  });
  const { compare } = await import('./compare.mjs');
  await compare({
    workload,
    connections: values.connections.split(',').map(Number),
    rounds: Number(values.rounds),
    seconds: Number(values.seconds),
    store: values.store,
    appendfsync: values.appendfsync,
    framework: values.framework,
    commitMs: Number(values['commit-ms']),
    neighbours: Number(values.neighbours),
    only: listOf(values.only),
    json: values.json,
    ...(values.client === undefined ? {} : { client: values.client }),
    ...(values.also === undefined ? {} : { also: values.also }),
    ...(values.profile === undefined ? {} : { profile: values.profile }),
  });
} else {
  console.error(
    'npm run bench -- new-keys | golden | replays | stores | tiered | reap | in-process | doors | listening   (see bench/README.md)',
  );
  process.exitCode = 2;
}

/** @param {string} text names, separated by `;` */
function listOf(text) {
  return text === '' ? [] : text.split(';');
}
