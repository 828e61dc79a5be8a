/** Dynalite, or the DynamoDB of SAMEKEY_TEST_DYNAMODB_URL. Dynalite is JavaScript on LevelDB: what it takes says nothing of AWS. */
import { cpuUs, pidOf } from '../machine.mjs';
import { service } from './services.mjs';

/** @type {import('../contract.d.ts').StartEngine} */
export async function start() {
  const { startDynamoDb } = await service('dynamodb');
  const server = await startDynamoDb();
  const table = await server.createTable();
  const pid = pidOf(`--port ${new URL(server.url).port}`);
  return {
    url: `${server.url}/#${table}`,
    describe: 'dynalite, in memory',
    cpuUs: () => cpuUs(pid),
    stop: () => server.stop(),
    clients: ['aws-sdk'],
  };
}
