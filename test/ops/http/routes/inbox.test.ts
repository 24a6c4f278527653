import { describe, expect, it } from 'vitest'
import { inApplyTransaction } from '../../../../src/apply/apply.ts'
import { silentObserver } from '../../../../src/base/observer.ts'
import { timeFromMs } from '../../../../src/model/time.ts'
import { InboxAppender } from '../../../../src/store/inbox/append.ts'
import { RejectedStore } from '../../../../src/store/inbox/rejected.ts'
import { claimDeliveries, settleDeliveries } from '../../../../src/store/inbox/work.ts'
import type { InboxState } from '../../../../src/store/schema/inbox.ts'
import { json, runHere } from '../../../app/run.ts'
import { sign } from '../../../receive/support.ts'
import { silentLog, testDatabases } from '../../../tools/databases.ts'
import { observedMessage, observedState, uuid, wireMessage, wireRequirements } from '../../../tools/observations.ts'
import { adminRigForEach, type Page, refusal } from '../rig.ts'

describe.each(testDatabases)('deliveries by the admin routes, on $name', (database) => {
  const rig = adminRigForEach(database)

  async function deliveries(...states: Exclude<InboxState, 'ready'>[]): Promise<void> {
    const appended = await new InboxAppender(rig.db).append(
      states.map((_, n) => ({
        account: 'default',
        deliveryId: `msg_${n}`,
        receivedAt: timeFromMs(Date.now()),
        secret: 1,
        headers: { 'svix-id': `msg_${n}` },
        body: Buffer.from(`{"n":${n}}`),
      })),
    )
    expect(appended.every((failure) => failure === null)).toBe(true)
    const claimed = await claimDeliveries(rig.db, states.length, 60_000)
    const settlements = claimed.map((delivery, n) => {
      const state = states[n] ?? 'done'
      return { delivery, state, submissionId: null, kind: 'submission.events', error: state === 'dead' ? 'broken' : null }
    })
    await rig.db.write('test', (tx) => settleDeliveries(tx, settlements))
  }

  it('counts in a dry run without changes', async () => {
    await deliveries('done', 'dead', 'aside', 'done', 'dead')
    const would = async (what: string, body: object) => (await rig.ask('POST', `/inbox/${what}`, { body: { ...body, dry_run: true } })).json
    expect(await would('replay', { state: 'dead' })).toEqual({ replayed: 2 })
    expect(await would('replay', { ids: ['msg_0', 'msg_1', 'msg_2'] })).toEqual({ replayed: 3 })
    expect(await would('skip', { ids: ['msg_0', 'msg_1'] })).toEqual({ skipped: 1 })
    expect(await would('skip', { state: 'dead', until: '1h' })).toEqual({ skipped: 0 })
    expect(await rig.notes()).toEqual([])
    expect((await rig.ask('POST', '/inbox/replay', { body: { state: 'dead' } })).json).toEqual({ replayed: 2 })
    expect(await would('replay', { state: 'dead' })).toEqual({ replayed: 0 })
    expect((await rig.ask('POST', '/inbox/replay', { body: { ids: ['none'], dry_run: true } })).status).toBe(404)
  })

  it('finds deliveries by type and by part of an id or error, page by page', async () => {
    await deliveries('done', 'dead', 'aside', 'done', 'dead')
    const found = async (query: string) => (await rig.ask<Page>('GET', `/inbox?${query}`)).json
    const ids = async (query: string) => (await found(query)).items.map((item) => item['delivery_id'])
    expect(await ids('text=BROK')).toEqual(['msg_4', 'msg_1'])
    expect(await ids('text=sg_2')).toEqual(['msg_2'])
    expect(await ids('kind=submission.events&state=dead')).toEqual(['msg_4', 'msg_1'])
    expect(await ids('kind=other')).toEqual([])
    const first = await found('text=broken&limit=1')
    expect(first).toMatchObject({ items: [{ delivery_id: 'msg_4' }], next_cursor: expect.any(String) })
    expect(await ids(`text=broken&limit=1&cursor=${first.next_cursor}`)).toEqual(['msg_1'])
  })

  it('shows the changes of a delivery', async () => {
    const body = Buffer.from('{}')
    const submission = 'bbbbbbbb-0000-4000-8000-000000000001'
    const one = { account: 'default', deliveryId: 'msg_1', receivedAt: timeFromMs(Date.now()), secret: 1, headers: {}, body }
    await new InboxAppender(rig.db).append([one])
    const [delivery] = await claimDeliveries(rig.db, 1, 60_000)
    if (!delivery) throw new Error('nothing is claimed')
    await inApplyTransaction(rig.db, silentObserver, 'test', async (apply) => {
      await apply.apply([observedMessage('default', submission, wireMessage(1, { body_text: 'Not shown.' }))])
      await settleDeliveries(apply.tx, [{ delivery, state: 'done', submissionId: submission, kind: 'submission.thread', error: null }])
    })
    const became = await rig.ask<Page>('GET', '/inbox/msg_1/changes')
    expect(became.json.items).toMatchObject([{ account: 'default', inbox_id: delivery.inboxId }])
    const changes = became.json.items[0]?.['changes'] as readonly object[]
    expect(changes).toContainEqual(expect.objectContaining({ entity: 'thread_messages', operation: 'insert', cause: 'webhook' }))
    expect(became.text).not.toContain('Not shown')
    expect((await rig.ask('GET', '/inbox/none/changes')).status).toBe(404)
  })

  it('lists deliveries page by page', async () => {
    await deliveries('done', 'dead', 'aside', 'done', 'dead')
    const all = (await rig.ask<Page>('GET', '/inbox')).json
    const seen: unknown[] = []
    for (let cursor: string | null = ''; cursor !== null; ) {
      const { items, next_cursor }: Page = (await rig.ask<Page>('GET', `/inbox?limit=2${cursor && `&cursor=${cursor}`}`)).json
      expect(items.length).toBeLessThanOrEqual(2)
      seen.push(...items)
      cursor = next_cursor
    }
    expect(seen).toEqual(all.items)
    const narrowed = async (query: string) => (await rig.ask<Page>('GET', `/inbox?${query}`)).json.items.length
    expect(await narrowed('state=dead&since=1h&account=default')).toBe(2)
    for (const none of ['until=1h', 'submission_id=bbbbbbbb-0000-4000-8000-000000000001']) expect(await narrowed(none)).toBe(0)
    // A full page can be the last one.
    expect((await rig.ask<Page>('GET', '/inbox?limit=5')).json.next_cursor).toBeNull()
  })

  it('shows a delivery with headers and body, by id and number', async () => {
    await deliveries('dead')
    const byId = await rig.ask<Page>('GET', '/inbox/msg_0')
    expect(byId.json.items[0]).toMatchObject({ body: '{"n":0}', headers: { 'svix-id': 'msg_0' } })
    const number = String(byId.json.items[0]?.['inbox_id'])
    expect((await rig.ask<Page>('GET', `/inbox/${number}`)).json).toEqual(byId.json)
    expect(await rig.ask('GET', '/inbox/none')).toMatchObject(refusal(404, 'delivery none does not exist'))
  })

  it('accepts the longest stored id', async () => {
    const deliveryId = `msg_${'0'.repeat(508)}`
    const receivedAt = timeFromMs(Date.now())
    const delivery = { account: 'default', deliveryId, receivedAt, secret: 1, headers: {}, body: Buffer.from('{}') }
    await new InboxAppender(rig.db).append([delivery])
    const shown = await rig.ask<Page>('GET', `/inbox/${deliveryId}`)
    expect(shown).toMatchObject({ status: 200, json: { items: [{ delivery_id: deliveryId }] } })
    expect(await rig.ask('POST', '/inbox/replay', { body: { ids: [deliveryId] } })).toMatchObject({ status: 200, json: { replayed: 0 } })
    expect(await rig.ask('GET', `/inbox/${deliveryId}0`)).toMatchObject({ status: 414 })
  })

  it('accepts shortened ids for reads, but not for changes', async () => {
    await deliveries('done', 'dead')
    for (const id of ['msg_1', 'msg…1', '1']) expect((await rig.ask('GET', `/inbox/${encodeURIComponent(id)}`)).status, id).toBe(200)
    expect(await rig.ask('GET', '/inbox/msg_')).toMatchObject(refusal(409, '2 ids begin with "msg_"; use more characters: msg_0, msg_1'))
    expect((await runHere(['inbox', 'changes', 'msg_'], rig.env)).err).toContain('use more characters')
    expect((await rig.ask('GET', '/inbox/ms_')).status).toBe(404)
    expect((await rig.ask('POST', '/inbox/replay', { body: { ids: ['msg'] } })).status).toBe(404)
  })

  it('replays by id and by state, and records it', async () => {
    await deliveries('dead', 'aside', 'dead')
    const replay = (body: unknown) => rig.ask('POST', '/inbox/replay', { body })
    expect(await replay({ ids: ['msg_0', 'none', 'nowhere'] })).toMatchObject({
      status: 404,
      json: { detail: '2 problems; see problems', problems: ['delivery none does not exist', 'delivery nowhere does not exist'] },
    })
    expect(await rig.notes()).toEqual([])
    expect(await replay({ ids: ['msg_0'] })).toMatchObject({ status: 200, json: { replayed: 1 } })
    expect(await replay({ state: 'dead', since: '1h' })).toMatchObject({ status: 200, json: { replayed: 1 } })
    expect((await rig.ask<Page>('GET', '/inbox?state=ready')).json.items).toHaveLength(2)
    expect((await runHere(['inbox', 'replay', '--state', 'aside'], rig.env)).code).toBe(0)
    const note = { action: 'inbox.replay', target: null, outcome: 'done' }
    expect(await rig.notes()).toEqual([
      { who: 'alice', ...note, detail: { ids: ['msg_0'], count: 1 } },
      { who: 'alice', ...note, detail: { state: 'dead', since: expect.stringMatching(/Z$/), replayed: 1 } },
      { who: 'command', ...note, detail: { state: 'aside', replayed: 1 } },
    ])
    for (const [body, problem] of [
      [{}, /give either ids or a filter/],
      [{ ids: ['msg_0'], state: 'dead' }, /give either ids or a filter/],
      [{ ids: ['msg_0'], since: '1h' }, /give either ids or a filter/],
      [{ state: 'gone' }, /^body state: /],
    ] as const) {
      expect(await replay(body)).toMatchObject(refusal(400, expect.stringMatching(problem)))
    }
  })

  it('replays by every filter of the list, by route and by command, with a dry run first', async () => {
    await deliveries('done', 'dead', 'aside', 'done', 'dead')
    const would = async (body: object) => (await rig.ask('POST', '/inbox/replay', { body: { ...body, dry_run: true } })).json
    const nobody = 'bbbbbbbb-0000-4000-8000-000000000001'
    for (const [body, options, n] of [
      [{ state: 'done' }, ['--state', 'done'], 2],
      [{ text: 'BROK' }, ['--text', 'BROK'], 2],
      [{ text: 'sg_2', since: '1h' }, ['--text', 'sg_2', '--since', '1h'], 1],
      [{ kind: 'submission.events', account: 'default' }, ['--kind', 'submission.events', '--account', 'default'], 5],
      [{ kind: 'submission.message' }, ['--kind', 'submission.message'], 0],
      [{ submission_id: nobody }, ['--submission', nobody], 0],
      [{ until: '1h' }, ['--until', '1h'], 0],
    ] as const) {
      expect(await would(body), JSON.stringify(body)).toEqual({ replayed: n })
      const word = n === 1 ? 'delivery' : 'deliveries'
      const expected = { code: 0, out: `${n} ${word} would be processed again\n`, err: '' }
      expect(await runHere(['inbox', 'replay', ...options, '--dry-run'], rig.env)).toEqual(expected)
      expect(json<Page>(await runHere(['inbox', 'list', ...options, '--json'], rig.env)).items).toHaveLength(n)
    }
    expect(await rig.notes()).toEqual([])
    expect((await rig.ask('POST', '/inbox/replay', { body: { text: 'broken' } })).json).toEqual({ replayed: 2 })
    expect((await runHere(['inbox', 'replay', '--text', 'msg_0'], rig.env)).out).toBe('1 delivery will be processed again\n')
    const states = (await rig.ask<Page>('GET', '/inbox')).json.items.map(({ state }) => state).reverse()
    expect(states).toEqual(['ready', 'ready', 'aside', 'done', 'ready'])
    expect(await rig.notes()).toMatchObject([{ detail: { text: 'broken', replayed: 2 } }, { detail: { text: 'msg_0', replayed: 1 } }])
    for (const args of [['--text', 'x'], ['--dry-run']]) {
      const refused = await runHere(['inbox', 'replay', '--rejected', ...args], rig.env)
      expect(refused).toEqual({ code: 2, out: '', err: expect.stringMatching(/^--[\w-]+ does not work with --rejected\n/) })
    }
  })

  it('skips only dead deliveries, by id and by state, and records it; they can be replayed', async () => {
    await deliveries('dead', 'aside', 'dead', 'done', 'dead')
    const skip = (body: unknown) => rig.ask('POST', '/inbox/skip', { body })
    const states = async () => (await rig.ask<Page>('GET', '/inbox')).json.items.map(({ state }) => state).reverse()
    expect(await skip({ ids: ['msg_0', 'none'] })).toMatchObject(refusal(404, 'delivery none does not exist'))
    expect(await skip({ ids: ['msg_0', 'msg_1', 'msg_3'] })).toMatchObject({ status: 200, json: { skipped: 1 } })
    expect(await states()).toEqual(['aside', 'aside', 'dead', 'done', 'dead'])
    expect(await runHere(['inbox', 'skip', 'msg_2'], rig.env)).toEqual({ code: 0, out: '1 dead delivery set aside\n', err: '' })
    expect(await skip({ state: 'dead' })).toMatchObject({ status: 200, json: { skipped: 1 } })
    expect(await states()).toEqual(['aside', 'aside', 'aside', 'done', 'aside'])
    expect((await rig.ask<Page>('GET', '/inbox/msg_0')).json.items[0]).toMatchObject({ error: 'broken', settled_at: expect.any(String) })
    expect(await rig.notes()).toMatchObject([
      { action: 'inbox.skip', detail: { ids: ['msg_0', 'msg_1', 'msg_3'], count: 3 }, outcome: 'done' },
      { who: 'command', action: 'inbox.skip', detail: { ids: ['msg_2'], count: 1 }, outcome: 'done' },
      { action: 'inbox.skip', detail: { state: 'dead', skipped: 1 }, outcome: 'done' },
      { action: 'inbox.show', detail: { deliveries: [{ account: 'default', delivery_id: 'msg_0' }] }, outcome: 'done' },
    ])
    expect((await rig.ask('POST', '/inbox/replay', { body: { ids: ['msg_0'] } })).json).toEqual({ replayed: 1 })
    expect(await skip({ state: 'aside' })).toMatchObject({ status: 400 })
    for (const [args, problem] of [
      [[], 'inbox skip: give either ids or state'],
      [['msg_0', '--state', 'dead'], 'inbox skip: give either ids or state'],
      [['msg_0', '--since', '1h'], 'inbox skip: use account, submission_id, since, until, kind and text with state, not with ids'],
    ] as const) {
      expect(await runHere(['inbox', 'skip', ...args], rig.env)).toEqual({ code: 2, out: '', err: `${problem}\n` })
    }
  })

  it('lists, shows and replays rejected deliveries', async () => {
    const submission = uuid(9, 1)
    await inApplyTransaction(rig.db, silentObserver, 'test', (apply) =>
      apply.apply([observedState('default', submission, wireRequirements(submission, [], { insured_name: 'Bluebird Diner' }), 1)]),
    )
    const store = new RejectedStore(rig.db, silentLog)
    const origin = { account: 'default', path: '/webhooks', address: '192.0.2.1' }
    const refused = { ...origin, receivedAt: timeFromMs(Date.now()), reason: 'wrong_signature' }
    const body = Buffer.from(JSON.stringify({ type: 'submission.events', submission_id: submission }))
    const [secret] = rig.config.accounts[0]?.webhookSecrets ?? []
    const headers = sign(secret?.reveal() ?? '', body)
    store.keep({ ...refused, headers, body })
    store.keep({ ...refused, headers: { 'svix-id': 'msg_bad' }, body: Buffer.from('bad') })
    store.keep({ ...refused, account: null, path: '/webhooks/nobody', reason: 'unknown_account', headers: {}, body: null })
    await store.settled()
    const all = await rig.ask<Page>('GET', '/rejected')
    const first = await rig.ask<Page>('GET', '/rejected?limit=2')
    const last = await rig.ask<Page>('GET', `/rejected?limit=2&cursor=${first.json.next_cursor}`)
    expect(last.json).toEqual({ items: [all.json.items[2]], next_cursor: null })
    expect((await rig.ask<Page>('GET', '/rejected?account=default&since=1h')).json.items).toHaveLength(2)
    expect(all.json.items[2]).toMatchObject({ kind: 'submission.events', submission_id: submission, insured_name: 'Bluebird Diner' })
    expect(all.json.items[1]).toMatchObject({ kind: null, submission_id: null, insured_name: null })
    const open = async () => [
      (await rig.ask<Page>('GET', '/rejected?open=true')).json.items.length,
      (await rig.ask<Page>('GET', '/inbox/counts')).json.items.find(({ state }) => state === 'rejected')?.['count'],
    ]
    expect(await open()).toEqual([3, 3])
    const none = await runHere(['inbox', 'list', '--rejected', '--reason', 'unknown_account', '--until', '1h'], rig.env)
    expect(none).toEqual({ code: 0, out: 'No rejected deliveries.\n', err: '' })
    expect(await runHere(['inbox', 'list', '--state', 'dead', '--rejected', '--limit', '0'], rig.env)).toEqual({
      code: 2,
      out: '',
      err: expect.stringMatching(/^--state does not work with --rejected\n--limit: "0" is not a number from 1 to 10000\n$/),
    })
    const id = String(all.json.items[1]?.['rejected_id'])
    expect((await rig.ask('GET', `/rejected/${id}`)).json).toMatchObject({ headers: { 'svix-id': 'msg_bad' }, body: 'bad' })
    const shown = await runHere(['inbox', 'show', id, '--rejected'], rig.env)
    expect(shown.out).toMatch(/^reason +wrong_signature$/m)
    expect((await rig.ask('GET', '/rejected/999')).status).toBe(404)
    expect((await rig.ask('GET', '/rejected/x')).status).toBe(400)

    expect(await rig.ask('POST', '/rejected/replay', { body: { account: 'other' } })).toMatchObject({ status: 422 })
    expect(await rig.ask('POST', '/rejected/replay', { body: { ids: ['1'], account: 'default' } })).toMatchObject({ status: 400 })
    expect((await runHere(['inbox', 'replay', '--rejected', '999'], rig.env)).err).toBe('rejected delivery 999 does not exist\n')
    const replay = async (body: object) => (await rig.ask('POST', '/rejected/replay', { body })).json
    expect(await replay({ ids: [id] })).toEqual({ accepted: 0, rejected: { missing_headers: 1 } })
    expect(await replay({})).toMatchObject({ accepted: 1, rejected: { unknown_account: 1 } })
    expect(await open()).toEqual([2, 2])
    expect((await rig.ask<Page>('GET', '/inbox?state=ready')).json.items).toHaveLength(1)
    const [stored] = (await rig.ask<Page>('GET', '/inbox')).json.items
    const shownStored = (await rig.ask<Page>('GET', `/inbox/${stored?.['inbox_id']}`)).json.items[0]
    // Delivery and account show the same secret.
    const accounts = (await rig.ask<Page>('GET', '/accounts')).json.items
    expect(shownStored).toMatchObject({ secret: 1 })
    expect(accounts[0]).toMatchObject({ webhook_secrets: [{ position: 1, last_verified_at: stored?.['received_at'] }] })
    const again = await rig.ask('POST', '/rejected/replay', { body: { ids: [String(all.json.items[2]?.['rejected_id'])] } })
    expect(again).toMatchObject(refusal(409, expect.stringContaining('already accepted')))
    expect(await rig.notes()).toMatchObject([
      { who: 'alice', action: 'rejected.show', target: id, detail: { account: 'default' }, outcome: 'done' },
      { who: 'alice', action: 'rejected.replay', target: null, detail: { ids: [id], accepted: 0 }, outcome: 'done' },
      { who: 'alice', action: 'rejected.replay', target: null, detail: { accepted: 1 }, outcome: 'done' },
      { action: 'inbox.show' },
    ])
  })
})
