// A measured server. Arguments: `baseline` or database settings as JSON, and the webhook secret. The baseline is the same route with the
// library's signature check, without storage.
import { fastify } from 'fastify'
import { Webhook } from 'svix'
import { systemClock } from '../../../src/base/clock.ts'
import { createLog } from '../../../src/base/log.ts'
import { Secret } from '../../../src/base/secret.ts'
import { createMetrics } from '../../../src/ops/metrics/metrics.ts'
import { startReceiver } from '../../../src/receive/server.ts'
import { InboxAppender } from '../../../src/store/inbox/append.ts'
import { RejectedStore } from '../../../src/store/inbox/rejected.ts'
import { migrate } from '../../../src/store/migrate/migrate.ts'
import { openDb } from '../../../src/store/open/open.ts'
import { databaseFrom } from '../../tools/database-json.ts'

const [kind = '', secret = ''] = process.argv.slice(2)
const port = kind === 'baseline' ? await startBaseline() : await startProduct()
console.log(`listening ${port}`)

async function startBaseline(): Promise<number> {
  const webhook = new Webhook(secret)
  const app = fastify({ logger: false })
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
  app.post('/webhooks/:account', async (request, reply) => {
    webhook.verify(request.body as Buffer, request.headers as Record<string, string>)
    return reply.code(204).send()
  })
  return Number(new URL(await app.listen({ host: '127.0.0.1', port: 0 })).port)
}

async function startProduct(): Promise<number> {
  const log = createLog({ level: 'warn', pretty: false, secrets: [] })
  const db = await openDb(databaseFrom(kind), { clock: systemClock, log })
  await migrate(db)
  const { address } = await startReceiver({
    config: { host: '127.0.0.1', port: 0, bodyLimit: 4 << 20, trustProxy: false },
    accounts: [
      {
        name: 'acme',
        default: true,
        baseUrl: 'http://127.0.0.1/api/v1',
        clientCredentials: [{ id: 'bench', secret: new Secret('bench') }],
        scope: 'broker_mcp',
        webhookSecrets: [new Secret(secret)],
        discovery: null,
        extraReads: [],
      },
    ],
    appender: new InboxAppender(db),
    rejectedStore: new RejectedStore(db, log),
    lastUses: { note() {} },
    keepRejections: async () => {},
    clock: systemClock,
    log,
    observer: createMetrics().observer,
  })
  return address.port
}
