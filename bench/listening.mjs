/**
 * What listening costs: µs of CPU per new key of an instance on the memory store, without a listener and with each kind of
 * samekey/metrics. All in one process, in turns, so that a machine that gets slower or faster meanwhile changes all. See README.md.
 */
import { metrics as metricsApi, trace } from '@opentelemetry/api';
import { PrometheusExporter } from '@opentelemetry/exporter-prometheus';
import { MeterProvider } from '@opentelemetry/sdk-metrics';
import { parseArgs } from 'node:util';
import { pino } from 'pino';
import prom from 'prom-client';
import { createSamekey } from 'samekey';
import { logEvents, meterEvents, promEvents, traceEvents } from 'samekey/metrics';
import { memoryStore } from 'samekey/stores/memory';
import { median, row } from './table.mjs';

const { values } = parseArgs({
  options: { rounds: { type: 'string', default: '9' }, requests: { type: 'string', default: '20000' } },
});
const rounds = Number(values.rounds);
const requests = Number(values.requests);
const AT_ONCE = 50;
/** Until the compiler has seen everything. */
const WARM_UP = 2;

metricsApi.setGlobalMeterProvider(
  new MeterProvider({ readers: [new PrometheusExporter({ preventServerStart: true })] }),
);

/** @type {Record<string, import('samekey').EventListener | undefined>} */
const LISTENERS = {
  'no listener': undefined,
  'one that does nothing': () => undefined,
  promEvents: promEvents(prom, new prom.Registry()).samekey,
  meterEvents: meterEvents(metricsApi.getMeter('samekey')).samekey,
  'logEvents, level info': logEvents(pino()).samekey,
  // Without a provider every span is sampled away.
  'traceEvents, no spans': traceEvents(trace.getTracer('samekey')).samekey,
};

/** @param {import('samekey').EventListener | undefined} onEvent */
async function measure(onEvent) {
  const store = memoryStore({ recordsMax: requests + 1 });
  const samekey = createSamekey({ store, policy: 'payments', ...(onEvent !== undefined && { onEvent }) });
  globalThis.gc?.();
  const before = process.cpuUsage();
  for (let from = 0; from < requests; from += AT_ONCE) {
    const keys = Array.from({ length: AT_ONCE }, (_, i) => `key-${from + i}`);
    await Promise.all(
      keys.map((key) =>
        samekey.run({ operation: 'pay', scope: ['bench'], key, fingerprint: 1 }, () => 'paid'),
      ),
    );
  }
  const { user, system } = process.cpuUsage(before);
  await samekey.close();
  return (user + system) / requests;
}

/** @type {Record<string, number[]>} */
const seen = Object.fromEntries(Object.keys(LISTENERS).map((name) => [name, []]));
for (let round = -WARM_UP; round < rounds; round++) {
  for (const [name, onEvent] of Object.entries(LISTENERS)) {
    const us = await measure(onEvent);
    if (round >= 0) seen[name]?.push(us);
  }
}
const without = seen['no listener'] ?? [];
console.log(`node ${process.version}, ${rounds} rounds of ${requests} new keys, ${AT_ONCE} at once`);
console.log(row('µs CPU per new key', ['median', 'least', 'most']));
for (const [name, us] of Object.entries(seen)) {
  const more = median(us.map((one, i) => one - (without[i] ?? 0)));
  console.log(`${row(name, us)}${name === 'no listener' ? '' : `   +${more.toFixed(1)}`}`);
}
