/**
 * The payments API: an ordinary Express application with one protected route. The payment takes effect outside of any
 * transaction (a provider is called), so a failure nobody understands leaves the outcome `unknown`: the policy is `payments`.
 */

import express, { type ErrorRequestHandler, type Express, type Request, type RequestHandler } from 'express';
import type { Samekey } from 'samekey';
import { attemptOf, idempotent } from 'samekey/express';
import type { Ledger } from './ledger.ts';
import { readOrder } from './order.ts';
import { sendJson, sendProblem } from './problem.ts';
import type { Provider } from './provider.ts';
import { authenticate, tenantOf } from './tenant.ts';

/** What the API is made of. */
export interface PaymentsApiOptions {
  readonly samekey: Samekey;
  readonly ledger: Ledger;
  readonly provider: Provider;
  /** Comes first. */
  readonly requestLog: RequestHandler;
  /** The page at `/`, in HTML. */
  readonly page: () => string;
  readonly onError: (error: unknown) => void;
}

/** The second click of a double click waits for the first one's answer: longer than the provider ever takes. */
const WAIT_MAX_MS = 5_000;
const LISTED_MAX = 50;

/** Makes the application. */
export function paymentsApi(options: PaymentsApiOptions): Express {
  const { samekey, ledger, provider } = options;
  const app = express();
  app.disable('x-powered-by');
  // Answers to be read in a terminal: without what nobody here looks at.
  app.disable('etag');
  app.use(options.requestLog);
  app.get('/', (_req, res) => void res.type('html').send(options.page()));
  app.use(authenticate);

  app.post(
    '/payments',
    idempotent(samekey, { policy: 'payments', scope: tenantOf, waitMaxMs: WAIT_MAX_MS }),
    express.json(),
    async (req, res) => {
      const attempt = attemptOf(req);
      if (attempt === null) throw new Error('POST /payments is not protected');
      const read = readOrder(req.body);
      if ('wrong' in read) {
        // Nothing happened yet: the client may correct its request and send it under the same key.
        attempt.notExecuted({ correctable: true });
        sendProblem(res, 400, 'This payment cannot be made', read.wrong);
        return;
      }
      await provider.authorize(attempt.signal);
      const payment = await ledger.charge(tenant(req), attempt.key, read.order);
      res.location(`/payments/${payment.id}`);
      sendJson(res, 201, payment);
    },
  );

  app.get('/payments', (req, res) => sendJson(res, 200, ledger.list(tenant(req), LISTED_MAX)));

  app.get('/payments/:id', (req, res) => {
    const payment = ledger.find(tenant(req), req.params.id);
    if (payment === undefined) sendProblem(res, 404, 'Not found', 'There is no such payment.');
    else sendJson(res, 200, payment);
  });

  app.get('/ledger', (req, res) => {
    const intents = ledger.intents(tenant(req));
    sendJson(res, 200, {
      tenant: tenant(req),
      intents: intents.length,
      charges: intents.reduce((sum, { charges }) => sum + charges, 0),
      oneChargePerIntent: intents.every(({ charges }) => charges === 1),
      latest: intents.slice(0, LISTED_MAX),
    });
  });

  app.use((_req, res) => sendProblem(res, 404, 'Not found', 'GET / tells what there is.'));
  app.use(failed(options.onError));
  return app;
}

function tenant(req: Request): string {
  const name = tenantOf(req);
  if (name === null) throw new Error('authenticate let somebody pass who is no tenant');
  return name;
}

/** Express tells an error handler by its four parameters. */
function failed(onError: PaymentsApiOptions['onError']): ErrorRequestHandler {
  return (error: unknown, req, res, next) => {
    if (res.headersSent) {
      next(error);
      return;
    }
    const { status, message } = error as { status?: unknown; message?: unknown };
    if (typeof status === 'number' && status >= 400 && status < 500) {
      // The body parser refused the body, so the handler never saw it.
      attemptOf(req)?.notExecuted({ correctable: true });
      sendProblem(res, status, 'The request cannot be read', String(message));
      return;
    }
    onError(error);
    sendProblem(res, 500, 'Internal error', 'Nobody knows whether the payment took effect.');
  };
}
