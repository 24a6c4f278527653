import { closeSync, mkdtempSync, openSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../../../src/base/clock.ts'
import { createLog } from '../../../src/base/log.ts'
import { Secret } from '../../../src/base/secret.ts'
import type { BucketConfig, QueueDestination } from '../../../src/config/config.ts'
import { S3Storage } from '../../../src/documents/storage/s3.ts'
import { createQueue } from '../../../src/push/kinds/queue.ts'
import { commonSettings } from '../../push/common-settings.ts'

/* Uses what is loaded when it is first needed, at first without a file that it may open. Nobody listens at the addresses. */

const NOBODY = 'http://127.0.0.1:1'
const { signal } = new AbortController()
const log = createLog({ level: 'silent', pretty: false, secrets: [] })
const destination: QueueDestination = {
  ...commonSettings,
  name: 'queue',
  kind: 'queue',
  accounts: ['acme'],
  timeoutMs: 1_000,
  scheduleMs: [1_000],
  concurrency: 1,
  idempotent: true,
  queue: { type: 'sqs', url: `${NOBODY}/1/changes`, region: 'eu-west-1', accessKeyId: 'id', secretAccessKey: new Secret('secret') },
}
const bucket: BucketConfig = {
  endpoint: NOBODY,
  region: 'eu-west-1',
  bucket: 'documents',
  prefix: '',
  accessKeyId: 'id',
  secretAccessKey: new Secret('secret'),
  forcePathStyle: true,
  allowHttp: true,
}
const queue = createQueue(destination, { clock: systemClock, log, proxy: {} })
const storage = new S3Storage(bucket, mkdtempSync(join(tmpdir(), 'submission-mirror-few-files-')), {})
const uses = {
  queue: async () => (await queue.probe(signal)).text,
  bucket: () => storage.size(`aa/${'a'.repeat(64)}`).then(String, (error: unknown) => String(error)),
}

const use = uses[process.argv[2] as keyof typeof uses]
const open: number[] = []
try {
  for (;;) open.push(openSync('/dev/null', 'r'))
} catch {
  // As many as the system allows.
}
process.stdout.write(`without: ${await use()}\n`)
for (const file of open) closeSync(file)
process.stdout.write(`with: ${await use()}\n`)
process.exit()
