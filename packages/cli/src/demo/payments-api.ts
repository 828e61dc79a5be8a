/**
 * The payments API: an ordinary Express application with two protected routes: payments are charged while their client
 * waits (pay.ts), orders by a worker (place-order.ts).
 */

import express, { type ErrorRequestHandler, type Express, type Request, type RequestHandler } from 'express';
import type { Operation } from 'samekey';
import { type ServeOptions, serve, serveStatus } from 'samekey/express';
import { chargesOf, ledgerOf } from './intents.ts';
import type { Ledger } from './ledger.ts';
import type { PaymentInput } from './pay.ts';
import { sendJson, sendProblem } from './api-answers.ts';
import type { Provider } from './provider.ts';
import { authenticate, tenantOf } from './tenant.ts';

/** What the API is made of. */
interface PaymentsApiOptions {
  readonly pay: Operation<PaymentInput, unknown>;
  readonly order: Operation<PaymentInput, unknown>;
  readonly ledger: Ledger;
  readonly provider: Provider;
  /** Comes first. */
  readonly requestLog: RequestHandler;
  /** The page at `/`, in HTML. */
  readonly page: () => string;
  /** The explainer, which stands before the log: its pages ask often. Null: there is none. */
  readonly explainer: RequestHandler | null;
  readonly onError: (error: unknown) => void;
}

const LISTED_MAX = 50;

/** Makes the application. */
export function paymentsApi(options: PaymentsApiOptions): Express {
  const { pay, order, ledger, provider } = options;
  const app = express();
  app.disable('x-powered-by');
  // Answers to be read in a terminal: without what nobody here looks at.
  app.disable('etag');
  if (options.explainer !== null) app.use(options.explainer);
  app.use(options.requestLog);
  app.get('/', (_req, res) => void res.type('html').send(options.page()));
  app.use(authenticate);

  const served: ServeOptions<Request, PaymentInput> = {
    scope: tenantOf,
    input: (req, body) => ({ tenant: tenant(req), body: body.json() ?? null }),
  };
  app.post('/payments', serve(pay, served));
  app.post('/orders', serve(order, served));
  app.get(
    '/orders/status/:key',
    serveStatus(order, { scope: tenantOf, key: (req) => String(req.params['key']) }),
  );

  app.get('/payments', (req, res) => sendJson(res, 200, ledger.list(tenant(req), LISTED_MAX)));

  app.get('/payments/:id', (req, res) => {
    const payment = ledger.find(tenant(req), req.params.id);
    if (payment === undefined) sendProblem(res, 404, 'Not found', 'There is no such payment.');
    else sendJson(res, 200, payment);
  });

  app.get('/ledger', async (req, res) => {
    const intents = chargesOf(ledger.intents(tenant(req)), await provider.ledger());
    sendJson(res, 200, ledgerOf(tenant(req), intents));
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
  return (error: unknown, _req, res, next) => {
    if (res.headersSent) {
      next(error);
      return;
    }
    onError(error);
    sendProblem(res, 500, 'Internal error', 'Something is wrong with the demo.');
  };
}
