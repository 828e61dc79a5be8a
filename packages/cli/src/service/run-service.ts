/**
 * Runs a service until it is told to stop: logs as JSON lines, metrics and health on a port if asked, and a way out
 * that lets what is under way end.
 *
 * Invariants: SIGTERM and SIGINT stop it once, a second one at once · it ends with 0 when nothing was left, with 1 when
 * something was, or when it could not start · no key is logged.
 */

import { once } from 'node:events';
import type { Command } from 'commander';
import { InvalidArgumentError } from 'commander';
import { type Logger, pino } from 'pino';
import * as prometheus from 'prom-client';
import type { Store } from 'samekey';
import { allOf, type LogOptions, logEvents, type Metrics, promEvents } from 'samekey/metrics';
import { explain } from '../cli-error.ts';
import { wholeNumber } from '../operate/arguments.ts';
import { duration } from '../operate/duration.ts';
import { createHealth } from './health.ts';
import { openPort } from './http.ts';

/** Options of every service. */
export interface ServiceFlags {
  readonly logLevel: Level;
  readonly metricsPort?: number;
  readonly metricsHost: string;
  readonly drain: number;
  readonly logErrors?: true;
}

/** What a service is given. */
interface ServiceContext {
  readonly logger: Logger;
  /** Counts; null where no port was asked for. */
  readonly metrics: Metrics | null;
  /** One listener of the logs and the metrics. */
  readonly listen: (
    source: 'worker' | 'janitor' | 'reconciler',
  ) => (event: { readonly type: string }) => unknown;
}

/** A service. */
interface Service {
  start(): void;
  /** Rejects when it cannot work; resolves when it does. */
  ready(): Promise<unknown>;
  /** Resolves with how many pieces of work were left running. */
  stop(options: { readonly drainMs: number }): Promise<number>;
}

const LEVELS = ['debug', 'info', 'warn', 'error'] as const;
type Level = (typeof LEVELS)[number];
const PORT_MAX = 65_535;
const DRAIN_DEFAULT_MS = 10_000;

/** Adds the options. */
export function withService(command: Command): Command {
  return command
    .option(
      '--log-level <level>',
      `least level of the JSON lines on stdout: ${LEVELS.join(', ')}`,
      level,
      'info',
    )
    .option(
      '--metrics-port <port>',
      'serve /metrics for Prometheus and /health on this port; 0 for any free one',
      wholeNumber(0, PORT_MAX),
    )
    .option('--metrics-host <host>', 'the address of that port', '127.0.0.1')
    .option(
      '--drain <duration>',
      'how long SIGTERM lets work under way end (default: 10s)',
      duration,
      DRAIN_DEFAULT_MS,
    );
}

/** Runs it; resolves when it has stopped. Throws what kept it from starting. */
export async function runService(
  name: string,
  flags: ServiceFlags,
  store: Store,
  make: (context: ServiceContext) => Service,
): Promise<void> {
  const logger = pino({ name: `samekey-${name}`, level: flags.logLevel });
  const registry = new prometheus.Registry();
  const isMeasured = flags.metricsPort !== undefined;
  const metrics = isMeasured ? promEvents(prometheus, registry) : null;
  const logs = logEvents(logger, logOptions(flags));
  const service = make({
    logger,
    metrics,
    listen: (source) =>
      metrics === null
        ? (event) => logs[source](event as never)
        : allOf<{ readonly type: string }>(
            (event) => logs[source](event as never),
            (event) => metrics[source](event as never),
          ),
  });
  const stopping = stopOnSignal(logger);
  const health = createHealth(name, store, () => stopping.signal.aborted);
  const open = isMeasured
    ? await openPort({ port: flags.metricsPort ?? 0, host: flags.metricsHost, registry, health })
    : null;
  try {
    service.start();
    // Told to stop before it is ready, it does not wait for a store that may be away.
    await Promise.race([service.ready(), stopping.told]);
    if (!stopping.signal.aborted)
      logger.info(
        { store: store.name, ...(open === null ? {} : { metrics: `${open.origin}/metrics` }) },
        'Ready.',
      );
    if (!stopping.signal.aborted) await stopping.told;
    endInAnyCase(logger, flags.drain);
    logger.info({ drainMs: flags.drain }, 'Stopping: what is under way may end.');
    const left = await service.stop({ drainMs: flags.drain });
    if (left > 0) process.exitCode = 1;
    logger[left > 0 ? 'warn' : 'info']({ left }, 'Stopped.');
  } catch (error) {
    await service.stop({ drainMs: 0 }).catch(() => undefined);
    throw error;
  } finally {
    stopping.end();
    await open?.close();
  }
}

/** A listener for a run that ends by itself: lines of JSON on stderr. */
export function logOnce(
  name: string,
  flags: ServiceFlags,
  source: 'janitor' | 'reconciler',
): (event: { readonly type: string }) => void {
  const logger = pino(
    { name: `samekey-${name}`, level: flags.logLevel },
    pino.destination({ dest: 2, sync: true }),
  );
  const listener = logEvents(logger, logOptions(flags))[source];
  return (event) => listener(event as never);
}

function logOptions({ logLevel, logErrors }: ServiceFlags): LogOptions {
  return { levelMin: logLevel, ...(logErrors === true ? { errorOf: explain } : {}) };
}

/** Beyond what draining takes, aborting and closing connections included. */
const STOP_MARGIN_MS = 20_000;

/** A process that was told to stop ends, whatever a store or a handler does; claims and leases end by themselves. */
function endInAnyCase(logger: Logger, drainMs: number): void {
  const end = (): void => {
    logger.error({ drainMs }, 'Still not stopped: ends now.');
    process.exit(1);
  };
  setTimeout(end, drainMs + STOP_MARGIN_MS).unref();
}

/** What a shell says of a process ended by SIGINT: 128 + 2. */
const INTERRUPTED = 130;
/** Under npm one Ctrl-C arrives twice: from the terminal, and passed on by npm. */
const SAME_PRESS_MS = 500;

function stopOnSignal(logger: Logger): {
  readonly signal: AbortSignal;
  readonly told: Promise<unknown>;
  end(): void;
} {
  const controller = new AbortController();
  let firstAt = 0;
  const told = once(controller.signal, 'abort');
  const onSignal = (): void => {
    if (!controller.signal.aborted) {
      firstAt = performance.now();
      controller.abort();
    } else if (performance.now() - firstAt > SAME_PRESS_MS) {
      logger.warn('Told twice: ends at once.');
      process.exit(INTERRUPTED);
    }
  };
  const names = ['SIGTERM', 'SIGINT'] as const;
  for (const name of names) process.on(name, onSignal);
  return {
    signal: controller.signal,
    told,
    end() {
      for (const name of names) process.off(name, onSignal);
    },
  };
}

function level(text: string): Level {
  const found = LEVELS.find((each) => each === text);
  if (found !== undefined) return found;
  throw new InvalidArgumentError(`It must be one of ${LEVELS.join(', ')}.`);
}
