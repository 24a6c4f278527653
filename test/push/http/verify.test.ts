import { describe, expect, it } from 'vitest'
import type { HttpDestination } from '../../../src/config/config.ts'
import type { Presence } from '../../../src/push/contract/delivery.ts'
import { checkTemplates } from '../../../src/push/http/check-templates.ts'
import { destinationTo, itemOf, openKind, serve } from './support.ts'

const GET = { method: 'GET', headers: {}, format: 'json', body: null } as const
const lookup: HttpDestination['lookup'] = { ...GET, url: '$url(settings.base_url, "find", message_id, remote_id)', found: 'body.id' }
const check: HttpDestination['check'] = {
  ...GET,
  url: '$url(settings.base_url, "notes", remote_id)',
  found: 'status = 404 and $not(body.code = 404) ? $error("another server answers") : body.id',
  same: 'body.text = item.after.detail',
}
const SENT = itemOf().after?.['detail']

async function verified(answer: { status?: number; body?: unknown }, own: Partial<HttpDestination>, item = itemOf({ remoteId: 'n-1' })) {
  const paths: string[] = []
  const { baseUrl } = await serve((request, response) => {
    paths.push((request.url ?? '').replace('/api/v1', ''))
    response.writeHead(answer.status ?? 200, { 'content-type': 'application/json' }).end(JSON.stringify(answer.body ?? {}))
  })
  const kind = openKind(destinationTo(baseUrl, own))
  const presence = (await kind.verify?.(item, new AbortController().signal)) as Presence
  return { presence, path: paths[0] }
}

describe('whether a target has what it took', () => {
  it('is asked by check where the id of its record is known', async () => {
    const { presence, path } = await verified({ body: { id: 'n-1', text: SENT } }, { check, lookup })
    expect([presence, path]).toEqual([{ type: 'has' }, '/notes/n-1'])
    expect((await verified({ body: { id: 'n-1', text: 'another' } }, { check })).presence).toEqual({ type: 'differs' })
    expect((await verified({ body: { id: 'n-1', text: 'another' } }, { check: { ...check, same: null } })).presence).toEqual({
      type: 'has',
    })
    expect((await verified({ status: 404, body: { code: 404 } }, { check })).presence).toEqual({ type: 'lacks' })
    expect((await verified({ status: 410 }, { check })).presence).toEqual({ type: 'lacks' })
  })

  it('is otherwise asked by lookup, which finds an inserted record by our id only', async () => {
    const { messageId } = itemOf()
    const of = { ...lookup, url: '$url(settings.base_url, "find", message_id, {"of": remote_id})' }
    const insert = await verified({ body: { id: 'n-1' } }, { lookup: of })
    expect([insert.presence, insert.path]).toEqual([{ type: 'has' }, `/find/${messageId}`])
    const update = await verified({ body: {} }, { lookup }, itemOf({ operation: 'update', remoteId: 'n-1' }))
    expect([update.presence, update.path]).toEqual([{ type: 'lacks' }, `/find/${messageId}/n-1`])
    const unknown = await verified({}, { check }, itemOf())
    expect(unknown).toMatchObject({ presence: { type: 'undetermined', outcome: { error: expect.stringContaining('is unknown') } } })
    expect(unknown.path).toBeUndefined()
  })

  it.each([
    ['an error', { status: 500 }, 'answered 500'],
    ['a 404 of another server', { status: 404, body: {} }, 'another server answers'],
    ['an empty list, which is no id', { body: { id: [] } }, 'check.found must return an id or nothing'],
    ['a refused credential', { status: 403 }, 'answered 403'],
  ])('cannot be determined from %s', async (_, answer, error) => {
    const { presence } = await verified(answer, { check, suspendOn: [403] })
    expect(presence).toMatchObject({ type: 'undetermined', outcome: { error: expect.stringContaining(error) } })
  })

  it('cannot be asked without either, and verify is then rejected at startup', async () => {
    const destination = destinationTo('https://ams.example', { verify: { cron: '0 4 * * *', sample: null } })
    expect(openKind(destination).verify).toBeUndefined()
    expect(checkTemplates(destination)).toEqual(['destination ams: verify needs check or lookup; set one of them'])
    expect(checkTemplates({ ...destination, check: { ...check, same: '(' } })).toEqual([
      expect.stringContaining('check.same is not a JSONata'),
    ])
  })
})
