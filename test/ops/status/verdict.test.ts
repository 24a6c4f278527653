import { describe, expect, it } from 'vitest'
import { type TimeText, timeFromMs } from '../../../src/model/time.ts'
import type { Expected, Standing } from '../../../src/ops/health/matters.ts'
import type { Mend } from '../../../src/ops/health/mend.ts'
import type { NeedKind } from '../../../src/ops/health/need-kinds.ts'
import { judge, lateAfterMs } from '../../../src/ops/health/verdict.ts'
import { needOf, sentenceOf } from '../../../src/ops/health/verdict-text.ts'
import { callOf } from '../../../src/ops/operations/calling.ts'
import { allOperations } from '../../../src/ops/operations/index.ts'
import type { EndedRun } from '../../../src/store/reconcile/left.ts'
import type { AccountHealth, DestinationHealth, Health } from '../../../src/store/upkeep/health.ts'
import { run as runRow } from '../../reconcile/report/sample.ts'

const nowMs = Date.UTC(2026, 10, 20, 10)
const S = 1_000
const MINUTE = 60 * S
const DAY = 86_400_000
const nothing = { count: 0, oldestAt: null }
const expected: Expected = { nowMs, accounts: ['acme'], destinations: ['ams'], dormantMs: 7 * DAY }

function ago(ms: number): TimeText {
  return timeFromMs(nowMs - ms)
}

const acme: AccountHealth = {
  account: 'acme',
  state: 'active',
  reason: null,
  since: null,
  brokerage: 'b1',
  submissions: 12,
  unreachable: 0,
  neverRead: 0,
  oldestWakeAt: null,
  oldestReadDueAt: ago(-MINUTE),
  failing: 0,
  newestReadAt: ago(MINUTE),
  stalestReadAt: ago(DAY),
  dead: nothing,
  loss: { expected: 0, lost: 0, since: null },
  runs: [],
  identityFault: null,
  pause: null,
}
const ams: DestinationHealth = {
  destination: 'ams',
  state: 'active',
  reason: null,
  since: null,
  failures: 0,
  retry_at: null,
  oldestUnsentAt: null,
  dead: nothing,
  unknown: nothing,
  held: nothing,
  unmapped: nothing,
  lacking: nothing,
}

/** A run of which everything that it left holds until today. */
function run(over: Parameters<typeof runRow>[0] & Partial<Pick<EndedRun, 'left'>>): EndedRun {
  const { left, ...row } = over
  const ended = runRow({ run_id: RUN, ...row })
  const differences = ended.missing + ended.different + ended.absent + ended.lost - ended.repaired
  return { ...ended, left: left ?? { differences, unreadable: ended.unreadable } }
}

function health(given: { account?: Partial<AccountHealth>; destination?: Partial<DestinationHealth> } & Partial<Health>): Health {
  const { account, destination, ...rest } = given
  return {
    accounts: [{ ...acme, ...account }],
    destinations: [{ ...ams, ...destination }],
    inbox: nothing,
    alarms: [],
    alarmsAt: null,
    isServed: true,
    unread: [],
    ...rest,
  }
}

const operations = await allOperations()
const RUN = '0000000a-0000-4000-8000-000000000001'

/** What is printed of a mend, whose operation takes its input. */
function printed(mend: Mend): object {
  if ('runbook' in mend) return mend
  const op = operations.find(({ name }) => name === mend.operation)
  if (op === undefined) throw new Error(`there is no ${mend.operation}`)
  expect(op.input.safeParse(mend.input)).toMatchObject({ success: true })
  return { command: callOf(op, mend.input).command }
}

type Given = Parameters<typeof health>[0] & { readonly standing?: readonly Standing[] }

function told({ standing = [], ...given }: Given, by: Partial<Expected> = {}) {
  const snapshot = health(given)
  const whole = { ...expected, ...by }
  const judgement = judge(snapshot, standing, whole)
  return {
    ...judgement,
    sentence: sentenceOf(judgement, snapshot, whole),
    needs: judgement.matters.map(needOf).map((need) => ({ ...need, mend: printed(need.mend) })),
  }
}

function alarm(name: string, account = '', destination = ''): Standing {
  return { name, account, destination, since: ago(2 * MINUTE), text: 'so it is', count: 1 }
}

describe('a mirror is complete and fresh', () => {
  it('when everything was read and nothing waits', () => {
    expect(told({})).toMatchObject({
      verdict: 'complete',
      needs: [],
      late: [],
      since: null,
      sentence: 'Complete and fresh: 12 submissions, each read to the end, and nothing waits.',
    })
    expect(told({ account: { submissions: 0, stalestReadAt: null, newestReadAt: null } })).toMatchObject({
      verdict: 'complete',
      sentence: 'Complete and fresh: no submission is known yet; the next delivery brings the first, and `track` adds earlier ones.',
    })
  })

  it('as far as is known: what nobody shows or looks after is said', () => {
    expect(told({ account: { unreachable: 2 }, isServed: false }).sentence).toBe(
      'Complete and fresh: 12 submissions, each read to the end, and nothing waits; the service does not show 2 of them any more; ' +
        'no process is running, and the last read was 60 s ago.',
    )
  })

  it('though an account or a destination that the settings do not have any more is behind', () => {
    const others = { accounts: [acme, { ...acme, account: 'old', state: 'suspended' as const, neverRead: 3, oldestReadDueAt: ago(DAY) }] }
    expect(told(others).verdict).toBe('complete')
    expect(told({ destination: { destination: 'old', state: 'paused', oldestUnsentAt: ago(DAY) } }).verdict).toBe('complete')
    // Settings without any account are those of somebody who only looks: then all counts.
    expect(told(others, { accounts: [] }).verdict).toBe('attention')
  })

  it('after a run that repaired everything, or came to the end of its budget with nothing left', () => {
    const repaired = run({ state: 'done', exit_code: 0, missing: 3, repaired: 3, unreadable: 0 })
    const budget = run({ state: 'budget', exit_code: 4 })
    for (const each of [repaired, budget]) expect(told({ account: { runs: [each] } }).verdict).toBe('complete')
  })
})

describe('a mirror catches up', () => {
  const old = (ms: number) => ago(ms + S)
  it.each([
    ['deliveries', { inbox: { count: 34, oldestAt: old(lateAfterMs.delivery) } }, '34 deliveries wait, the oldest for 31 s'],
    ['wakes', { account: { oldestWakeAt: old(lateAfterMs.wake) } }, 'news of account acme waits to be read for 61 s'],
    ['reads', { account: { oldestReadDueAt: old(lateAfterMs.read) } }, 'reads of account acme are overdue by 5 min'],
    ['pushes', { destination: { oldestUnsentAt: old(lateAfterMs.push) } }, 'changes for destination ams wait for 5 min'],
    ['never_read', { account: { neverRead: 5 } }, '5 submissions of account acme were never read to the end'],
    ['failing', { account: { failing: 1 } }, '1 read of account acme fails again and again'],
    ['stale', { account: { stalestReadAt: old(8 * DAY) } }, 'a submission of account acme was not read for 8 d'],
    ['not_served', { account: { brokerage: null, newestReadAt: null } }, 'account acme was never read from the service'],
    ['not_served', { accounts: [] }, 'account acme was never read from the service'],
  ])('when %s are late', (kind, given, text) => {
    expect(told(given)).toMatchObject({ verdict: 'catching_up', needs: [], late: [{ kind }], sentence: `Catching up: ${text}.` })
  })

  it('when it is empty and nobody ever served it', () => {
    expect(told({ accounts: [], destinations: [], isServed: false }, { accounts: [] }).sentence).toBe(
      'Catching up: the mirror is empty and was never served; no process is running.',
    )
  })

  it('not when that is as old as it may be', () => {
    const account = { oldestWakeAt: ago(lateAfterMs.wake), oldestReadDueAt: ago(lateAfterMs.read), stalestReadAt: ago(8 * DAY) }
    const inbox = { count: 1, oldestAt: ago(lateAfterMs.delivery) }
    expect(told({ account, inbox, destination: { oldestUnsentAt: ago(lateAfterMs.push) } }).verdict).toBe('complete')
  })

  it('since the oldest of it, of which the sentence names two', () => {
    const account = { oldestWakeAt: ago(4 * MINUTE), oldestReadDueAt: ago(20 * MINUTE), neverRead: 1 }
    expect(told({ account })).toMatchObject({
      since: ago(20 * MINUTE),
      sentence:
        'Catching up: 1 submission of account acme was never read to the end; news of account acme waits to be read for 4 min; and 1 more.',
    })
  })
})

describe('a mirror needs attention', () => {
  const some = { count: 2, oldestAt: ago(MINUTE) }
  const cases: [NeedKind, Given, string, string][] = [
    [
      'account_stopped',
      { account: { state: 'suspended', reason: 'refused' } },
      'account acme is suspended: refused',
      'account resume acme',
    ],
    ['destination_stopped', { destination: { state: 'paused' } }, 'destination ams is paused', 'destination resume ams'],
    [
      'destination_unanswered',
      { destination: { failures: 5, retry_at: ago(-MINUTE), oldestUnsentAt: ago(MINUTE) } },
      'destination ams does not answer, and its changes wait: 5 attempts in a row got no useful answer; the next attempt is made at ' +
        '2026-11-20 10:01:00 UTC by itself, or now after a resume',
      'destination resume ams',
    ],
    [
      'dead_deliveries',
      { account: { dead: some } },
      '2 deliveries of account acme were given up',
      'inbox replay --account acme --state dead',
    ],
    [
      'dead_changes',
      { destination: { dead: some, held: { count: 1, oldestAt: null } } },
      '2 changes for destination ams were given up, and 1 submission waits behind them',
      'outbox retry --destination ams --state dead',
    ],
    [
      'unknown_changes',
      { destination: { unknown: some } },
      '2 changes may or may not have reached destination ams',
      'outbox list --destination ams --state unknown',
    ],
    [
      'held_submissions',
      { destination: { held: some } },
      '2 submissions wait at destination ams behind a change that was given up',
      'outbox list --destination ams --state held',
    ],
    [
      'unmapped_submissions',
      { destination: { unmapped: some } },
      '2 submissions wait at destination ams for a client of the AMS',
      'destination map ams --file clients.csv',
    ],
  ]
  it.each(cases)('for %s', (kind, given, what, command) => {
    const { verdict, needs, sentence } = told(given)
    expect(verdict).toBe('attention')
    expect(needs).toMatchObject([{ kind, what, mend: { command: `submission-mirror ${command}` } }])
    expect(sentence).toMatch(/^Needs attention: .*\.$/)
  })

  it('while the service asks for a long pause, or does not say whose the credentials are; a stopped account says only why it is', () => {
    const [since, until] = [ago(MINUTE), '2026-11-20T11:00:00.000000Z']
    const pause = { account: 'acme', since, until, ms: 60 * MINUTE, isLong: true, reason: '429 with Retry-After to GET …/events' }
    const identityFault = { reason: 'the service answered 404', since }
    expect(told({ account: { pause, identityFault } }).needs).toEqual([
      {
        kind: 'account_throttled',
        since,
        count: 1,
        what: 'account acme waits until 2026-11-20T11:00:00Z: 429 with Retry-After to GET …/events',
        mend: { runbook: 'docker/runbook.md#the-service-asks-for-a-pause' },
      },
      {
        kind: 'identity_unknown',
        since,
        count: 1,
        what: 'GET /broker/me fails for account acme, so nobody checks whose its credentials are: the service answered 404',
        mend: { runbook: 'docker/runbook.md#the-service-does-not-say-who-we-are' },
      },
    ])
    expect(told({ account: { pause: { ...pause, isLong: false } } }).verdict).toBe('complete')
    expect(told({ account: { pause, identityFault, state: 'suspended' } }).needs.map(({ kind }) => kind)).toEqual(['account_stopped'])
  })

  it('for many lost webhooks, be it few of all, since the first was lost', () => {
    const lost = (expected: number, n: number, standing: readonly Standing[] = []) =>
      told({ account: { loss: { expected, lost: n, since: ago(9 * MINUTE) } }, standing })
    expect(lost(100, 19).needs).toEqual([
      {
        kind: 'webhooks_lost',
        since: ago(9 * MINUTE),
        count: 19,
        mend: { runbook: 'docker/runbook.md#webhooks-are-lost' },
        what:
          'no webhook announced 19 of 100 records of account acme within a day: that is 19 %, and reading found them; check in the portal ' +
          'whether the endpoint has a filter, and what its log of attempts says',
      },
    ])
    expect(lost(100, 10).verdict).toBe('attention')
    expect([lost(101, 10).verdict, lost(9, 9).verdict]).toEqual(['complete', 'complete'])
    expect(lost(100, 19, [alarm('webhook_loss', 'acme')]).needs.map(({ kind, since }) => [kind, since])).toEqual([
      ['webhooks_lost', ago(9 * MINUTE)],
    ])
    expect(lost(100, 7, [alarm('webhook_loss', 'acme')]).needs.map(({ kind }) => kind)).toEqual(['alarm'])
  })

  it('not for a destination that failed a few times, nor for one to which nothing has to go', () => {
    expect(told({ destination: { failures: 4, oldestUnsentAt: ago(MINUTE) } }).verdict).toBe('complete')
    expect(told({ destination: { failures: 9 } }).verdict).toBe('complete')
    const late = { standing: [alarm('push_late', '', 'ams')], destination: { failures: 9, oldestUnsentAt: ago(MINUTE) } }
    expect(told(late).needs.map(({ kind }) => kind)).toEqual(['destination_unanswered'])
  })

  it('whatever waits beside it', () => {
    expect(told({ account: { dead: some, neverRead: 4, oldestReadDueAt: ago(DAY) } })).toMatchObject({
      verdict: 'attention',
      since: ago(MINUTE),
    })
  })

  it('when an alarm fires, that is told where no other matter tells of it', () => {
    expect(told({ standing: [alarm('disk_space')] }).needs).toEqual([
      {
        kind: 'alarm',
        what: 'the disk is nearly full: so it is',
        since: ago(2 * MINUTE),
        count: 1,
        mend: { runbook: expect.stringContaining('#the-disk-fills') },
      },
    ])
    expect(told({ standing: [alarm('of_a_newer_release')] }).needs).toMatchObject([{ mend: { command: 'submission-mirror alarm list' } }])
    expect(told({ standing: [alarm('document_host_unnamed', 'acme')] }).needs).toMatchObject([{ what: 'so it is' }])
    const stopped = {
      account: { state: 'suspended' as const },
      standing: [alarm('account_stopped', 'acme'), alarm('account_stopped', 'other')],
    }
    expect(told(stopped).needs.map(({ kind }) => kind)).toEqual(['account_stopped', 'alarm'])
  })

  it('not for an alarm of which nothing is left: it resolves by itself', () => {
    expect(told({ standing: [alarm('push_dead', '', 'ams'), alarm('inbox_dead', 'acme')] })).toMatchObject({
      verdict: 'complete',
      needs: [],
    })
  })

  it('names two matters and counts the others', () => {
    const many = { account: { state: 'paused' as const, dead: some }, standing: [alarm('disk_space'), alarm('clock_skew', 'acme')] }
    expect(told(many).sentence).toBe('Needs attention: account acme is paused; the disk is nearly full; and 2 more.')
  })
})

describe('a reconcile run that was not clean needs attention', () => {
  const left = run({ run_id: 'left', state: 'done', exit_code: 3, different: 2, repaired: 0, options: { dry_run: true } })
  const clean = run({ run_id: 'clean', state: 'done', exit_code: 0, options: {} })
  const kinds = (...runs: (typeof left)[]) => told({ account: { runs } }).needs

  it('with what it left, or what it could not check', () => {
    expect(kinds(left)).toMatchObject([
      {
        kind: 'run_not_clean',
        count: 2,
        what: 'reconciling account acme left 2 differences',
        mend: { command: 'submission-mirror reconcile --account acme' },
      },
    ])
    expect(kinds(run({ run_id: RUN, state: 'failed', exit_code: 1, note: 'the service is away' }))).toMatchObject([
      {
        what: 'reconciling account acme could not check everything: the service is away',
        mend: { command: `submission-mirror reconcile show ${RUN}` },
      },
    ])
  })

  it('once, whatever alarm fires for the same', () => {
    const standing = ['reconcile_failed', 'reconcile_findings'].map((name) => alarm(name, 'acme'))
    expect(told({ account: { runs: [left] }, standing }).needs.map(({ kind }) => kind)).toEqual(['run_not_clean'])
  })

  it('not for changes that have not reached a destination: its own state tells of them while it is so', () => {
    const undelivered = run({ state: 'done', exit_code: 3, undelivered: 40 })
    expect(told({ account: { runs: [undelivered] } })).toMatchObject({ verdict: 'complete', needs: [] })
  })

  it('until what it left is put right', () => {
    expect(kinds({ ...left, left: { differences: 0, unreadable: 0 } })).toEqual([])
    const unread = run({ state: 'done', exit_code: 1, unreadable: 2 })
    expect(kinds(unread)).toHaveLength(1)
    expect(kinds({ ...unread, left: { differences: 0, unreadable: 0 } })).toEqual([])
  })

  it('until a newer run that looked at the same is clean', () => {
    const narrowed = run({ ...left, options: { submissions: ['a', 'b'], dry_run: true } })
    expect(kinds(clean, left)).toEqual([])
    expect(kinds(left, clean)).toHaveLength(1)
    expect(kinds(narrowed, clean)).toHaveLength(1)
    expect(kinds(run({ ...clean, options: { submissions: ['a'] } }), narrowed)).toHaveLength(1)
    expect(kinds(run({ ...clean, options: { submissions: ['a', 'b', 'c'] } }), narrowed)).toEqual([])
    expect(kinds(run({ ...clean, options: { submissions: ['a', 'b'], since: ago(DAY) } }), narrowed)).toHaveLength(1)
    expect(kinds(run({ ...clean, options: { no_state: true } }), left)).toHaveLength(1)
    expect(kinds(run({ ...clean, state: 'budget', exit_code: 4 }), left)).toHaveLength(1)
  })
})
