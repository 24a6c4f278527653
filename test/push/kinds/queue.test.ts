import { expect, it, onTestFinished, vi } from 'vitest'
import { systemClock } from '../../../src/base/clock.ts'
import { loadConfig } from '../../../src/config/config.ts'
import { changeMessage } from '../../../src/push/contract/change-message.ts'
import type { DeliveryKind, Outcome, PushItem } from '../../../src/push/contract/delivery.ts'
import { createKind } from '../../../src/push/kinds/create.ts'
import { account, withFile } from '../../config/support.ts'
import { type SqsEmulator, type SqsOptions, startSqs } from '../../emulators/sqs.ts'
import { silentLog, sqliteDatabase } from '../../tools/databases.ts'
import { observedEvent, uuid, wireEvent } from '../../tools/observations.ts'
import { closedAtEnd } from '../../tools/servers.ts'
import { until } from '../../tools/until.ts'
import { itemOf } from '../http/support.ts'
import { ACCOUNT, PushRig } from '../presets/rig.ts'

const KEY = { accessKeyId: 'AKIDOFTHETEST', secretAccessKey: 'the-secret-of-the-test' }
const ENV = { QUEUE_SECRET: KEY.secretAccessKey, SHUTDOWN_GRACE: '1s' }
const NEAR = 'allow_private: true, entities: [market_events], timeout: 30s'
const CREDENTIALS = `access_key_id: ${KEY.accessKeyId}, secret_access_key: "$\{QUEUE_SECRET}"`

async function startQueue(own: Partial<SqsOptions> = {}): Promise<SqsEmulator> {
  const target = await closedAtEnd(startSqs({ ...KEY, queue: 'changes.fifo', ...own }))
  return target
}

function settings(url: string, own = NEAR, credentials = CREDENTIALS): string {
  const patient = 'schedule: [50ms, 50ms, 50ms, 50ms, 50ms, 50ms, 50ms, 50ms, 50ms, 50ms]'
  return `{ name: bus, kind: queue, queue: { type: sqs, url: "${url}", region: eu-central-1, ${credentials} }, ${patient}, ${own} }`
}

function open(url: string, own = NEAR, credentials = CREDENTIALS): DeliveryKind {
  const [destination] = loadConfig({ ...account, ...withFile(`destinations:\n  - ${settings(url, own, credentials)}\n`, ENV) }).destinations
  if (destination === undefined) throw new Error('no destination')
  const kind = createKind(destination, { clock: systemClock, log: silentLog, proxy: {} })
  onTestFinished(() => kind.close())
  return kind
}

const item = (n: number, own: Partial<PushItem> = {}): PushItem => itemOf({ messageId: uuid(7, n), submissionId: uuid(9, n), ...own })

const sendAll = (kind: DeliveryKind, items: readonly PushItem[]): Promise<readonly Outcome[]> =>
  kind.send(items, new AbortController().signal)

it('sends changes in one request, each a message', async () => {
  const target = await startQueue()
  const items = [1, 2, 3].map((n) => item(n))
  const outcomes = await sendAll(open(target.queueUrl), items)
  expect(target.batches).toEqual([3])
  for (const [n, each] of items.entries()) {
    const message = target.messages[n]
    expect(message).toMatchObject({
      body: changeMessage(each),
      group: `acme/${each.submissionId}`,
      deduplicationId: each.messageId,
      attributes: { 'message-id': each.messageId },
    })
    expect(outcomes[n]).toEqual({ type: 'delivered', status: 200, remoteId: null, detail: `message ${message?.id} of the queue` })
  }
})

it('keeps a batch within a mebibyte, and dead-letters a message that is larger', async () => {
  const target = await startQueue()
  const large = (n: number, length: number) => item(n, { after: { detail: 'x'.repeat(length) } })
  const outcomes = await sendAll(open(target.queueUrl), [large(1, 600_000), large(2, 600_000), large(3, 1_100_000)])
  expect(outcomes.map(({ type }) => type)).toEqual(['delivered', 'delivered', 'failed'])
  const error = expect.stringMatching(/has 1100\d{3} bytes, but a queue accepts at most 1048576/)
  expect(outcomes[2]).toMatchObject({ isFinal: true, error })
  expect(target.batches).toEqual([1, 1])
})

it('judges each message of a batch separately', async () => {
  const target = await startQueue()
  target.entryErrors.set(uuid(7, 1), { code: 'RequestThrottled', senderFault: true })
  target.entryErrors.set(uuid(7, 2), { code: 'InvalidMessageContents', senderFault: true })
  target.entryErrors.set(uuid(7, 3), { code: 'InternalError', senderFault: false })
  const outcomes = await sendAll(open(target.queueUrl), [item(0), item(1), item(2), item(3)])
  expect(outcomes).toMatchObject([
    { type: 'delivered' },
    { type: 'throttled' },
    { type: 'failed', permanent: true, error: expect.stringContaining('InvalidMessageContents of this message') },
    { type: 'failed', permanent: false },
  ])
})

it('needs no group in a standard queue', async () => {
  const target = await startQueue({ queue: 'changes' })
  const [outcome] = await sendAll(open(target.queueUrl), [item(1)])
  expect(outcome?.type).toBe('delivered')
  expect(target.messages).toMatchObject([{ group: null, deduplicationId: null, attributes: { 'message-id': uuid(7, 1) } }])
})

it('takes credentials that the settings do not hold from the SDK’s own chain', async () => {
  const target = await startQueue()
  onTestFinished(() => void vi.unstubAllEnvs())
  vi.stubEnv('AWS_EC2_METADATA_DISABLED', 'true')
  vi.stubEnv('AWS_SHARED_CREDENTIALS_FILE', '/nowhere')
  vi.stubEnv('AWS_CONFIG_FILE', '/nowhere')
  const [none] = await sendAll(open(target.queueUrl, NEAR, ''), [item(1)])
  expect(none).toMatchObject({ type: 'failed', permanent: false, alive: null, error: expect.stringMatching(/^there are no credentials/) })
  expect(target.arrived).toEqual([])
  vi.stubEnv('AWS_ACCESS_KEY_ID', KEY.accessKeyId)
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', KEY.secretAccessKey)
  const [outcome] = await sendAll(open(target.queueUrl, NEAR, ''), [item(1)])
  expect(outcome?.type).toBe('delivered')
})

it('previews its message', async () => {
  const preview = await open('https://sqs.eu-central-1.amazonaws.com/123456789012/changes.fifo').preview?.(item(1))
  expect(preview).toMatchObject({ method: 'POST', headers: { authorization: 'AWS4-HMAC-SHA256 ••••' } })
  expect(preview?.url).toBe('https://sqs.eu-central-1.amazonaws.com/')
  expect(JSON.parse(preview?.body ?? '').Entries).toMatchObject([{ Id: '0', MessageDeduplicationId: uuid(7, 1) }])
})

it('connects to no address that is not allowed', async () => {
  const target = await startQueue()
  const kind = open(target.queueUrl.replace('http://127.0.0.1', 'https://127.0.0.1'), 'allow_private: false')
  expect(await sendAll(kind, [item(1)])).toMatchObject([{ type: 'suspend', error: expect.stringContaining('allow_private') }])
})

it('probes whether the queue exists and the credentials are right', async () => {
  const target = await startQueue({ mostBytes: 262_144 })
  const { signal } = new AbortController()
  expect(await open(target.queueUrl).probe(signal)).toEqual({
    ok: true,
    text: 'the FIFO queue arn:aws:sqs:eu-central-1:123456789012:changes.fifo answers and accepts messages of at most 262144 bytes',
  })
  const stranger = await open(target.queueUrl, NEAR, CREDENTIALS.replace(KEY.accessKeyId, 'AKIDOFANOTHER')).probe(signal)
  expect(stranger).toMatchObject({
    ok: false,
    text: expect.stringContaining('the queue rejects the credentials; check queue.access_key_id'),
  })
  const gone = await open(target.queueUrl.replace('changes', 'other')).probe(signal)
  expect(gone).toMatchObject({ ok: false, text: expect.stringContaining('compare queue.url') })
  target.errors.push({ status: 403, code: 'AccessDenied', message: 'not authorized to perform: sqs:getqueueattributes' })
  expect(await open(target.queueUrl).probe(signal)).toMatchObject({ ok: false, text: expect.stringContaining('allow sqs:SendMessage') })
  await target.close()
  expect(await open(target.queueUrl).probe(signal)).toMatchObject({ ok: false, text: expect.stringContaining('ECONNREFUSED') })
})

async function startRig(target: SqsEmulator, credentials = CREDENTIALS, more = ''): Promise<PushRig> {
  const own = `allow_private: true, entities: [market_events], timeout: 2s, ${more}`
  const rig = await PushRig.start(sqliteDatabase, settings(target.queueUrl, own, credentials), ENV)
  await rig.run()
  return rig
}

const event = (submission: number, n: number, over = {}) => observedEvent(ACCOUNT, uuid(9, submission), wireEvent(n, over))

it('collects waiting changes into batches of ten, with one change of each submission', async () => {
  const target = await startQueue()
  const rig = await startRig(target)
  await rig.apply(...Array.from({ length: 12 }, (_, n) => [event(n, 2 * n), event(n, 2 * n + 1)]).flat())
  await rig.becomes(...Array<string>(24).fill('delivered'))
  expect(Math.max(...target.batches)).toBe(10)
  const groups = target.messages.map(({ group }) => group)
  let from = 0
  for (const size of target.batches) {
    expect(new Set(groups.slice(from, from + size)).size).toBe(size)
    from += size
  }
})

it('finds the message for which a whole batch is rejected, and delivers the others', async () => {
  const target = await startQueue({ mostBatchBytes: 3_000, mostBytes: 3_000 })
  const rig = await startRig(target, CREDENTIALS, 'personal_fields: [market_events.detail]')
  await rig.apply(event(1, 1), event(2, 2, { detail: 'x'.repeat(5_000) }), event(3, 3))
  const rows = await rig.becomes('delivered', 'dead', 'delivered')
  expect(rows[1]).toMatchObject({ attempts: 3, status: 400 })
})

it('has each change once, in the order of its submission, despite any faults', async () => {
  const target = await startQueue()
  const rig = await startRig(target)
  target.fail('lose', 'take', 'drop', 'busy', 'hang', 'take', 'refuse', 'fall', 'page', 'lose')
  for (let n = 0; n < 10; n += 1) await rig.apply(event(1, 10 + n), event(2, 30 + n), event(3, 50 + n))
  const rows = await rig.becomes(...Array<string>(30).fill('delivered'))
  await until('all faults have happened', () => target.left() === 0 || target.messages.length === 30)
  expect(target.messages.map(({ deduplicationId }) => deduplicationId).sort()).toEqual(rows.map(({ message_id: id }) => id).sort())
  for (const submission of [1, 2, 3]) {
    const sent = rows.filter(({ submission_id: id }) => id === uuid(9, submission)).map(({ message_id: id }) => id)
    const got = target.messages.filter(({ group }) => group === `${ACCOUNT}/${uuid(9, submission)}`).map((each) => each.deduplicationId)
    expect(got).toEqual(sent)
  }
})

it('counts no attempt while it is throttled, and retries later when its clock is wrong', async () => {
  const target = await startQueue()
  const rig = await startRig(target)
  target.errors.push(
    { status: 400, code: 'ThrottlingException' },
    { status: 403, code: 'SignatureDoesNotMatch', message: 'Signature expired: too late' },
  )
  await rig.apply(event(1, 1))
  expect(await rig.becomes('delivered')).toMatchObject([{ attempts: 2 }])
  expect((await rig.state())?.state).toBe('active')
})

it('is suspended when the credentials are rejected, and shows no secret', async () => {
  const target = await startQueue()
  const rig = await startRig(target, CREDENTIALS.replace(KEY.accessKeyId, 'AKIDOFANOTHER'))
  await rig.apply(event(1, 1))
  await until('it is suspended', async () => (await rig.state())?.state === 'suspended')
  const shown = JSON.stringify([await rig.state(), await rig.outbox()])
  expect(shown).toContain('the queue rejects the credentials')
  expect(shown).not.toContain(KEY.secretAccessKey)
})

it('exists once if it is sent again within five minutes, and twice if later', async () => {
  const target = await startQueue()
  const kind = open(target.queueUrl)
  await sendAll(kind, [item(1)])
  await sendAll(kind, [item(1)])
  expect(target.messages).toHaveLength(1)
  target.aheadMs = 301_000
  await sendAll(kind, [item(1)])
  expect(target.messages).toHaveLength(2)
})
