// Writes to a pending folder as fast as it can; its parent kills it, or counts what it won.
import { filePending } from '@samekey/client/node';

const [, , folder, me, rounds] = process.argv;
const store = filePending(folder);
process.send('ready');
await new Promise((resolve) => process.once('message', resolve));
const won = [];
for (let round = 0; round < Number(rounds); round++) {
  const name = `operation-${round}`;
  if (await store.swap(name, null, `key of ${me}`)) won.push(name);
}
process.send({ won });
process.disconnect();
