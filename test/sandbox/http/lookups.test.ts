import { expect, test } from 'vitest'
import { create, Writer, world } from '../writer.ts'

test('trap 56: a search of forms returns at most 50', async () => {
  const { writer } = await world()
  const all = (await writer.get('/broker/forms')).body
  expect(all).toHaveLength(50)
  const found = (await writer.get('/broker/forms?q=SUPPLEMENT')).body
  expect(found.length).toBeGreaterThan(0)
  expect(found.length).toBeLessThan(50)
  for (const form of found) expect(`${form.form_key} ${form.title}`.toLowerCase()).toContain('supplement')
  const known = new Set(all.map(({ form_key }: { form_key: string }) => form_key))
  const beyond = (await writer.get('/broker/forms?q=hospitality')).body
  expect(beyond.filter(({ form_key }: { form_key: string }) => !known.has(form_key)).length).toBeGreaterThan(0)
  expect((await writer.get('/broker/forms?q=nothing%20like%20it')).body).toEqual([])
})

test('trap 55: both appetite operations share one daily limit', async () => {
  const { writer, sandbox, pass } = await world({ unshown: { appetite_daily_limit: 3, daily_limit: 402 } })
  const read = () => writer.get('/broker/appetite?q=roofing&state=tx&lob=gl')
  const search = () => writer.send('POST', '/broker/appetite/search', { query: 'roofing', state: 'TX', lines: ['gl'] })
  expect((await writer.get('/broker/appetite')).status).toBe(422)
  const answers = [await read(), await search(), await search(), await read(), await search()]
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 402, 402])
  pass(86_400)
  await writer.login()
  expect((await read()).status).toBe(200)
  expect(sandbox.activity.requests.filter(({ operation }) => operation === 'appetite')).toHaveLength(7)
})

test('appetite lists markets for the line in the state, with speed and no outcome', async () => {
  const reader = await (await world()).writer.login('readOnly')
  const { body } = await reader.get('/broker/appetite?q=cyber&state=TX&lob=cyber')
  expect(body).toMatchObject({ query: 'cyber', state: 'TX', lob: 'cyber' })
  expect(body.results.length).toBeGreaterThan(0)
  for (const { lines, turnaround } of body.results) {
    expect(lines).toContainEqual({ slug: 'cyber', label: 'Cyber' })
    expect(Object.keys(turnaround ?? {}).filter((key) => /hit|declin/.test(key))).toEqual([])
  }
  expect((await reader.get('/broker/appetite?q=cyber&state=HI')).body).toMatchObject({ lob: null, results: [] })
  const ranked = await reader.send('POST', '/broker/appetite/search', { query: 'kestrel', lines: ['wc'] })
  expect(ranked.body.results[0]).toMatchObject({ name: 'Kestrel Underwriting', category: 'specialty' })
})

test("an admin turns a program's line off and on; off, it is not matched", async () => {
  const { writer, pass, sandbox } = await world()
  const admin = new Writer(sandbox).signIn('admin')
  const id = await create(writer, 'Harrow Roofing LLC')
  pass(300)
  const lanesOf = async (of: string) => (await writer.get(`/broker/submissions/${of}/requirements`)).body.rail.lanes
  const [{ program_id, market_name }] = await lanesOf(id)
  const set = (body: object, as: Writer = admin) => as.send('PUT', '/broker/market-access/program-line', body)
  const off = await set({ program_id, lob_slug: 'general_liability', enabled: false })
  expect(off.status).toBe(200)
  const row = off.body.programs.find((program: { program_id: string }) => program.program_id === program_id)
  expect(row.lines).toContainEqual({ lob_slug: 'general_liability', enabled: false })
  expect(row.enabled).toBe(true)
  const next = await create(writer, 'Other Roofing LLC')
  pass(300)
  expect((await lanesOf(next)).map((lane: { market_name: string }) => lane.market_name)).not.toContain(market_name)
  for (const { lob_slug } of row.lines) await set({ program_id, lob_slug, enabled: false })
  const last = await set({ program_id, lob_slug: 'general_liability', enabled: false })
  expect(last.body.programs.find((program: { program_id: string }) => program.program_id === program_id).enabled).toBe(false)
  const on = await set({ program_id, lob_slug: 'general_liability', enabled: true })
  expect(on.body.programs.find((program: { program_id: string }) => program.program_id === program_id).enabled).toBe(true)
})
