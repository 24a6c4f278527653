import { describe, expect, it } from 'vitest'
import type { HttpDestination } from '../../../src/config/config.ts'
import type { Outcome, PushItem } from '../../../src/push/contract/delivery.ts'
import { checkTemplates } from '../../../src/push/http/check-templates.ts'
import { SETTLED_ROWS } from '../../../src/push/send/settler.ts'
import { account, problemsOf, withFile } from '../../config/support.ts'
import { destinationTo, itemOf, openKind, serve } from './support.ts'

const RESULT = 'body.results'
const request = {
  method: 'POST',
  url: '$url(settings.base_url, "batch")',
  headers: { 'x-count': '$string($count(items))' },
  format: 'json',
  body: '{"notes": [items.{"id": message_id, "text": after.detail}]}',
} as const

function batching(url: string, own: Partial<HttpDestination> = {}): HttpDestination {
  const settings = { base_url: url, pause: '5' }
  return destinationTo(url, { idempotent: true, settings, request, batch: { max: 200, result: RESULT, by: null }, ...own })
}

function itemsOf(count: number): PushItem[] {
  return Array.from({ length: count }, (_, n) => itemOf({ outboxId: n + 1, messageId: `m${n + 1}`, submissionId: `s${n + 1}` }))
}

async function outcomesFor(body: string, count: number, own: Partial<HttpDestination> = {}, status = 200): Promise<readonly Outcome[]> {
  const { baseUrl } = await serve((_, response) => response.writeHead(status).end(body))
  return await openKind(batching(baseUrl, own)).send(itemsOf(count), new AbortController().signal)
}

const results = (...each: object[]) => JSON.stringify({ results: each })

describe('several changes in one request', () => {
  it('are sent in their order, in a request whose templates get them as items', async () => {
    const { baseUrl, arrived } = await serve((_, response) => response.end(results({ ok: true, remote_id: 'r1' }, { ok: true })))
    const kind = openKind(batching(baseUrl))
    const outcomes = await kind.send(itemsOf(2), new AbortController().signal)
    const taken = { type: 'delivered', status: 200, detail: null }
    expect(outcomes).toEqual([
      { ...taken, remoteId: 'r1' },
      { ...taken, remoteId: null },
    ])
    const notes = ['m1', 'm2'].map((id) => ({ id, text: 'Quote "A" & <B>' }))
    expect(arrived.map(({ url, headers, body }) => [url, headers['x-count'], JSON.parse(body)])).toEqual([
      ['/api/v1/batch', '2', { notes }],
    ])
  })

  it('are shown as the request of a single one', async () => {
    const kind = openKind(batching('https://ams.example'))
    const built = await kind.preview?.(itemOf({ messageId: 'm1' }))
    expect(built).toMatchObject({ method: 'POST', url: 'https://ams.example/batch', headers: { 'x-count': '1' } })
    expect(JSON.parse(built?.body ?? '')).toEqual({ notes: [{ id: 'm1', text: 'Quote "A" & <B>' }] })
  })

  it('are of one entity or operation if configured, and always of one request', () => {
    const update = { ...request, method: 'PATCH' }
    const groups = (by: 'entity' | 'operation' | null) => {
      const { batch } = openKind(batching('https://ams.example', { update, batch: { max: 7, result: RESULT, by } }))
      if (batch.type === 'one') throw new Error('one at a time')
      expect(batch).toMatchObject({ maxItems: 7, gatherMs: 0 })
      const all = [itemOf(), itemOf({ operation: 'update' }), itemOf({ entity: 'quotes' }), itemOf({ remoteId: 'r1' })]
      return new Set(all.map((item) => batch.groupOf?.(item))).size
    }
    expect([groups(null), groups('entity'), groups('operation')]).toEqual([2, 3, 4])
  })
})

describe('an answer about several changes', () => {
  it('is judged for each as a single one is, in the same order', async () => {
    const all = { throttled: 7, duplicate: true, refused: true, ok: true, remote_id: 'r1', error: 'as the test wants it' }
    const { throttled: _, ...noWait } = all
    const { duplicate: __, ...noDuplicate } = noWait
    const { refused: ___, ...onlyOk } = noDuplicate
    const outcomes = await outcomesFor(results(all, noWait, noDuplicate, onlyOk, { ...onlyOk, ok: false }, {}), 6)
    const failed = { type: 'failed', alive: true, status: 200, retryAfterMs: null }
    expect(outcomes).toEqual([
      {
        type: 'throttled',
        status: 200,
        error: 'answered 200 (as the test wants it), which asks for a pause (throttled)',
        retryAfterMs: 7_000,
        isOwn: true,
      },
      { type: 'delivered', status: 200, remoteId: 'r1', detail: 'the target already had the record' },
      { ...failed, permanent: true, isFinal: true, error: 'answered 200 (as the test wants it), which rejects the change (refused)' },
      { type: 'delivered', status: 200, remoteId: 'r1', detail: null },
      { ...failed, permanent: false, error: 'answered 200 (as the test wants it), which does not count as success (ok)' },
      // The answer's text about others is not repeated.
      { ...failed, permanent: false, error: 'answered 200, which does not count as success (ok)' },
    ])
  })

  it('may have accepted a change that it denies, if that can be looked up', async () => {
    const lookup = { ...request, method: 'GET', body: null, headers: {}, url: '$url(settings.base_url, message_id)', found: 'body.id' }
    const { baseUrl } = await serve((asked, response) =>
      response.end(asked.method === 'GET' ? '{"id": 1}' : results({ ok: false }, { ok: true })),
    )
    const kind = openKind(batching(baseUrl, { idempotent: false, lookup }))
    const outcomes = await kind.send(itemsOf(2), new AbortController().signal)
    expect(outcomes.map(({ type }) => type)).toEqual(['unknown', 'delivered'])
    const found = await kind.lookUp?.(itemOf({ messageId: 'm1' }), new AbortController().signal)
    expect(found).toMatchObject({ type: 'delivered', remoteId: '1' })
  })

  it.each([
    ['one value too few', results({ ok: true }), 'batch.result returned 1 values for 2 changes'],
    ['one too many', results({ ok: true }, { ok: true }, { ok: true }), 'batch.result returned 3 values for 2 changes'],
    ['no list', '{"results": {"ok": true}}', 'batch.result returned no values for 2 changes'],
    ['nothing', '{}', 'batch.result returned no values for 2 changes'],
    ['a page', '<html>Down for maintenance</html>', 'batch.result returned no values for 2 changes'],
    ['a value that is none', '{"results": [{"ok": true}, 7]}', 'batch.result returned a value that is not an object'],
  ])('counts as none when it has %s', async (_, body, why) => {
    const unknown = { type: 'unknown', status: 200, error: expect.stringContaining(`, but ${why}`) }
    expect(await outcomesFor(body, 2)).toEqual([unknown, unknown])
  })

  it('may be one value for one change, because JSONata unwraps a list of one', async () => {
    const own = { batch: { max: 200, result: 'body.results.{"ok": ok}', by: null } }
    expect(await outcomesFor(results({ ok: true }), 1, own)).toMatchObject([{ type: 'delivered' }])
    expect(await outcomesFor(results({ ok: true }, { ok: false }), 2, own)).toMatchObject([{ type: 'delivered' }, { type: 'failed' }])
    expect(await outcomesFor('{}', 1, own)).toMatchObject([{ type: 'unknown' }])
  })

  it('is judged as a whole first', async () => {
    const throttled = { throttled: 'status = 403 and body.code = "quota" ? $number(settings.pause) * $count(items)' }
    const both = results({ ok: true }, { ok: true })
    expect(await outcomesTo(403, '{"code": "quota"}', throttled)).toMatchObject(Array(2).fill({ type: 'throttled', retryAfterMs: 10_000 }))
    expect((await outcomesTo(403, '{"code": "quota"}', throttled))[0]).not.toHaveProperty('isOwn')
    expect(await outcomesTo(403, '{}', { suspendOn: [403] })).toMatchObject(Array(2).fill({ type: 'suspend' }))
    expect(await outcomesTo(500, both, {})).toMatchObject(Array(2).fill({ type: 'failed', permanent: false, status: 500 }))
    expect(await outcomesTo(200, both, { success: 'body.done' })).toMatchObject(Array(2).fill({ type: 'failed', permanent: false }))
    expect(await outcomesTo(422, both, { success: 'status = 422' })).toMatchObject(Array(2).fill({ type: 'delivered', status: 422 }))
  })

  it('that rejects the whole may mean one of them: all go again in smaller batches, and only a single one is rejected', async () => {
    const error = 'answered 400 (bad)'
    const own = { error: 'body.message' }
    expect(await outcomesFor('{"message": "bad"}', 2, own, 400)).toEqual(Array(2).fill({ type: 'split', status: 400, error }))
    expect(await outcomesFor('{"message": "bad"}', 1, own, 400)).toMatchObject([{ type: 'failed', permanent: true, status: 400, error }])
  })
})

it('is not sent when a template fails for one of the changes', async () => {
  const { baseUrl, arrived } = await serve()
  const body = '{"notes": [items.(message_id = "m2" ? $error("no text") : message_id)]}'
  const kind = openKind(batching(baseUrl, { request: { ...request, body } }))
  const outcomes = async (items: readonly PushItem[]) => await kind.send(items, new AbortController().signal)
  const [one, two] = itemsOf(2)
  if (one === undefined || two === undefined) throw new Error('no items')
  const error = expect.stringContaining('no text')
  expect(await outcomes([one, two])).toMatchObject(Array(2).fill({ type: 'split', status: null, error }))
  expect(await outcomes([two])).toMatchObject([{ type: 'failed', permanent: true, alive: null, error }])
  expect(arrived).toEqual([])
})

describe('at the start', () => {
  it('a batch that is more than one transaction settles is refused, and what `by` cannot be', () => {
    const problems = (batch: string) => {
      const keys = `{ name: ams, kind: http, request: { url: '"https://ams.example"', body: items }, batch: ${batch} }`
      return problemsOf({ ...account, ...withFile(`destinations:\n  - ${keys}\n`) })
    }
    expect(problems(`{ max: ${SETTLED_ROWS}, result: body, by: operation }`)).toEqual([])
    expect(problems(`{ max: ${SETTLED_ROWS + 1}, result: body, by: account }`)).toEqual([
      expect.stringContaining('batch.max in CONFIG_FILE must be a whole number from 1 to 400'),
      expect.stringContaining('batch.by in CONFIG_FILE must be one of entity, operation'),
    ])
    expect(problems('{ max: 2 }')).toEqual([expect.stringContaining('batch.result in CONFIG_FILE')])
  })

  it('names settings that exclude a batch', () => {
    const own = { duplicate: 'true', refused: 'true', remoteId: 'body.id', documents: true, request: { ...request, body: null } }
    expect(checkTemplates(batching('https://ams.example', own))).toEqual([
      'destination ams: remote_id cannot apply to a whole batch; return it for each change in batch.result',
      'destination ams: duplicate cannot apply to a whole batch; return it for each change in batch.result',
      'destination ams: refused cannot apply to a whole batch; return it for each change in batch.result',
      'destination ams: batch cannot be combined with documents or upload; remove one',
      'destination ams: request needs a body that contains the changes of the batch (items)',
    ])
    expect(checkTemplates(batching('https://ams.example', { batch: { max: 1, result: '[', by: null } }))).toEqual([
      expect.stringContaining('destination ams: batch.result is not a JSONata expression'),
    ])
    expect(checkTemplates(batching('https://ams.example', { update: request }))).toEqual([])
  })
})

function outcomesTo(status: number, body: string, own: Partial<HttpDestination>): Promise<readonly Outcome[]> {
  return outcomesFor(body, 2, own, status)
}
