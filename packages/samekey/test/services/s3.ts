/** S3 for tests: s3rver, a small server of its protocol, in a folder of its own. */

import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { S3 } from '@aws-sdk/client-s3';
import { freePort } from './machine.ts';

/** A running server with one empty bucket. */
export interface S3Server {
  readonly client: S3;
  readonly bucket: string;
  stop(): Promise<void>;
}

/** Starts one. */
export async function startS3(): Promise<S3Server> {
  const directory = mkdtempSync(join(tmpdir(), 'samekey-s3-'));
  const bucket = 'bodies';
  const port = await freePort();
  const program = createRequire(import.meta.url).resolve('s3rver/bin/s3rver.js');
  // It makes its tokens for long lists with a cipher that OpenSSL 3 keeps apart.
  const child = spawn(
    process.execPath,
    [
      '--openssl-legacy-provider',
      '--no-deprecation',
      program,
      '--silent',
      `--directory=${directory}`,
      '--address=127.0.0.1',
      `--port=${port}`,
      '--configure-bucket',
      bucket,
    ],
    { stdio: 'ignore' },
  );
  const atExit = (): void => {
    child.kill('SIGKILL');
    rmSync(directory, { recursive: true, force: true });
  };
  process.once('exit', atExit);
  const client = new S3({
    endpoint: `http://127.0.0.1:${port}`,
    region: 'us-east-1',
    forcePathStyle: true,
    // The ones that this server knows.
    credentials: { accessKeyId: 'S3RVER', secretAccessKey: 'S3RVER' },
  });
  for (const until = Date.now() + 30_000; ; ) {
    try {
      await client.headBucket({ Bucket: bucket });
      break;
    } catch (error) {
      if (Date.now() > until || child.exitCode !== null) throw error;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
  return {
    client,
    bucket,
    async stop() {
      client.destroy();
      const ended = new Promise((resolve) => child.once('exit', resolve));
      child.kill('SIGKILL');
      await ended;
      process.off('exit', atExit);
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
