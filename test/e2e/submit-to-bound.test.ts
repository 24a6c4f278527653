import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { describe, expect, inject, it, onTestFinished } from 'vitest'
import { producerOf } from '../../src/sandbox/service/accounts.ts'
import type { Sandbox } from '../../src/sandbox/service/sandbox.ts'
import { newPostgres, newSqlite } from '../tools/databases.ts'
import { closedAtEnd } from '../tools/servers.ts'
import { logFaults, untilAgreed, waitFor } from './agreement.ts'
import { Stage } from './stage.ts'

const EXAMPLES = join(import.meta.dirname, '../client/examples')
const scripts = [
  { language: 'curl', command: ['bash', join(EXAMPLES, 'submit-to-bound.sh')] },
  { language: 'TypeScript', command: [process.execPath, join(EXAMPLES, 'submit-to-bound.ts')] },
] as const

describe.each([
  { name: 'sqlite', newPlace: () => newSqlite() },
  { name: 'postgres', newPlace: () => newPostgres(inject('postgresUrl')) },
])('a submission from creation to bound, on $name', ({ newPlace }) => {
  it.each(scripts)('by $language', async ({ command }) => {
    const place = newPlace()
    onTestFinished(() => place.remove())
    const stage = await closedAtEnd(Stage.open(place.config, { submissions: 0, clockKind: 'step' }))
    const running = await stage.serve()
    stage.deliverTo(running.receiver)
    const db = await stage.openStore()

    const steps: string[] = []
    const failure = await follow(command, stage.sandbox, async (step) => {
      steps.push(step.split(' ')[0] ?? '')
      // A held submission has no webhooks.
      if (step.startsWith('created')) await stage.track()
      expect(await untilAgreed(db, stage.sandbox, running), `${step}\n${running.lines().join('\n')}`).toEqual([])
    })

    expect(failure).toBe('')
    expect(steps).toEqual([
      'created',
      'uploaded',
      'finalized',
      'matched',
      'answered',
      'replied',
      'quoted',
      'drafted',
      'attested',
      'satisfied',
      'submitted',
      'sent',
      'binder_received',
      'bound',
      'policy',
    ])
    const binds = await db.read.sql.selectFrom('bind_requests').select(['status']).execute()
    expect(binds).toEqual([{ status: 'bound' }])
    expect(await db.read.sql.selectFrom('policies').select('policy_id').execute()).toHaveLength(1)
    // Polls may precede the webhooks, which arrive anyway.
    const arrivals = db.read.sql.selectFrom('arrivals').select(['record_id', 'webhook'])
    await waitFor(async () => (await arrivals.where('webhook', '=', 'none').execute()).length === 0)
    expect((await arrivals.execute()).filter(({ webhook }) => webhook === 'none')).toEqual([])
    expect(await arrivals.execute()).not.toEqual([])
    expect(await running.stop()).toBe(0)
    expect(await logFaults(db)).toEqual([])
  })
})

/** Runs a script, and waits after each of its steps for `follow`. @returns why it failed; empty: it succeeded. */
async function follow(command: readonly [string, string], sandbox: Sandbox, seen: (step: string) => Promise<void>): Promise<string> {
  const account = sandbox.account('default')
  const child = spawn(command[0], [command[1]], {
    env: {
      PATH: process.env['PATH'] ?? '',
      BASE_URL: sandbox.baseUrl,
      ADMIN_URL: `${sandbox.origin}/_sandbox`,
      CLIENT_ID: account.credentials[0]?.clientId ?? '',
      CLIENT_SECRET: account.credentials[0]?.clientSecret ?? '',
      PRODUCER_EMAIL: producerOf(account),
      FOLLOW: 'yes',
    },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  onTestFinished(() => {
    child.kill()
  })
  const closed = once(child, 'close')
  const complaints = text(child.stderr)
  for await (const step of createInterface({ input: child.stdout })) {
    await seen(step)
    child.stdin.write('\n')
  }
  await closed
  return child.exitCode === 0 ? '' : `${child.exitCode}: ${await complaints}`
}
