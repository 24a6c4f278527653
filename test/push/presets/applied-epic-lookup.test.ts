import { expect, it } from 'vitest'
import { type HttpDestination, loadConfig } from '../../../src/config/config.ts'
import type { PushItem } from '../../../src/push/contract/delivery.ts'
import { account, withFile } from '../../config/support.ts'
import { destinationTo, itemOf, openKind, serve } from '../http/support.ts'

const ID = itemOf().messageId
const MAPPING = { client: 'c-1', policy: null, fields: {} }

function lookupOfPreset(): HttpDestination['lookup'] {
  const names = ['CLIENT_ID', 'CLIENT_SECRET', 'ACTIVITY_CODE_ID', 'AGENCY_ID', 'BRANCH_ID', 'ACCESS_LEVEL_ID']
  const env = Object.fromEntries(names.map((name) => [`EPIC_${name}`, 'a-value']))
  const [preset] = loadConfig({ ...account, ...withFile('destinations: [{ name: epic, preset: applied-epic }]', env) }).destinations
  if (preset?.kind !== 'http') throw new Error('the preset is of another kind')
  return preset.lookup
}

const activities = (length: number, total = length, of: (n: number) => string | null = (n) => `activity [${n}]`) => ({
  total,
  _embedded: {
    activities: Array.from({ length }, (_, n) => ({ id: `a-${n}`, description: of(n), links: 'x'.repeat(length < 500 ? 0 : 6_000) })),
  },
})
const MORE = 'the client has more activities since than one page shows; look by hand'
const failed = (error: string) => ({ type: 'failed', permanent: false, error: `the lookup failed: ${error}` })
async function lookedUp(answer: unknown, own: Partial<PushItem> = {}, status = 200) {
  const text = typeof answer === 'string' ? answer : JSON.stringify(answer)
  const { baseUrl } = await serve((_, response) => response.writeHead(status).end(text))
  const kind = openKind(destinationTo(baseUrl, { lookup: lookupOfPreset() }))
  return await kind.lookUp?.(itemOf({ mapping: MAPPING, ...own }), new AbortController().signal)
}

it.each([
  ['that has it', activities(3, 3, (n) => (n === 1 ? `Quote [${ID}]` : 'other')), { type: 'delivered', remoteId: 'a-1' }],
  ['that has it not', activities(3), null],
  ['some of which are described by nothing', activities(3, 3, (n) => (n === 2 ? `[${ID}]` : null)), { remoteId: 'a-2' }],
  ['that is empty', { total: 0, _links: {} }, null],
  ['of 500, three MiB long, at the end of which it is', activities(500, 500, (n) => (n === 499 ? `[${ID}]` : '')), { remoteId: 'a-499' }],
  ['of more than one page', activities(500, 501), failed(`lookup.found failed: ${MORE}`)],
  ['of shorter pages than were asked for', activities(100, 130), failed(`lookup.found failed: ${MORE}`)],
  ['that is none', '<html>Down for maintenance</html>', failed('lookup.found failed: the answer is no list; look by hand')],
  ['that is longer than is read', 'x'.repeat(4 * 1024 * 1024 + 1), failed('the answer is longer than 4194304 bytes; narrow the lookup')],
])('a list of activities %s', async (_, answer, expected) => {
  const found = await lookedUp(answer)
  if (expected === null) expect(found).toBeNull()
  else expect(found).toMatchObject(expected)
})

it('a list of activities starts before the change, however late it was restated after a restore', async () => {
  const asked: (string | undefined)[] = []
  const { baseUrl } = await serve((request, response) => {
    asked.push(new URL(request.url ?? '', 'http://epic').searchParams.get('enteredByDate_after') ?? undefined)
    response.end(JSON.stringify(activities(1)))
  })
  const kind = openKind(destinationTo(baseUrl, { lookup: lookupOfPreset(), settings: { base_url: baseUrl } }))
  await kind.lookUp?.(itemOf({ mapping: MAPPING, changedAt: '2026-03-10T05:06:07.123456Z' }), new AbortController().signal)
  expect(asked).toEqual(['2026-03-02'])
})

it.each([
  ['a problem of Epic', { title: 'Not Found', status: 404 }],
  ['a page of a proxy', '<html>404 page not found</html>'],
])('an answer of 404 is not a list, and does not show absence: %s', async (_, answer) => {
  expect(await lookedUp(answer, {}, 404)).toMatchObject(failed('lookup.found failed: the answer is no list; look by hand'))
})

it('a list of notes that is only the first of them', async () => {
  const notes = { total: 2, _embedded: { notes: [{ id: 'n-1', content: 'Filled in' }] } }
  const error = 'lookup.found failed: there are more notes than one page shows; look by hand'
  expect(await lookedUp(notes, { remoteId: 'a-1' })).toMatchObject(failed(error))
})

it('a list of notes, some of them empty', async () => {
  const notes = [null, `Filled in\nReference: ${ID}`].map((content, n) => ({ id: `n-${n}`, content }))
  const found = await lookedUp({ total: 2, _embedded: { notes } }, { remoteId: 'a-1' })
  expect(found).toMatchObject({ type: 'delivered', remoteId: 'a-1' })
})
