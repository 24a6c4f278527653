import { describe, expect, it } from 'vitest'
import { type TimeText, timeFromMs } from '../../../src/model/time.ts'
import type { Fix } from '../../../src/ops/health/fix.ts'
import type { Expected } from '../../../src/ops/health/from-health.ts'
import { issueOf, type Problem, problemOf } from '../../../src/ops/health/problem.ts'
import type { ProblemName } from '../../../src/ops/health/problems.ts'
import { judge, lateAfterMs } from '../../../src/ops/health/verdict.ts'
import { sentenceOf } from '../../../src/ops/health/verdict-text.ts'
import { callOf } from '../../../src/ops/operations/calling.ts'
import { allOperations } from '../../../src/ops/operations/index.ts'
import type { EndedRun } from '../../../src/store/reconcile/left.ts'
import type { AccountHealth, DestinationHealth, Health } from '../../../src/store/upkeep/health.ts'
import { run as runRow } from '../../reconcile/report/sample.ts'

const nowMs = Date.UTC(2026, 10, 20, 10)
const S = 1_000
const MINUTE = 60 * S
const DAY = 86_400_000
const nothing = { count: 0, oldest_at: null }
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
  never_read: 0,
  oldest_read_request_at: null,
  oldest_read_due_at: ago(-MINUTE),
  failing: { once: 0, often: 0, long: 0 },
  newest_read_at: ago(MINUTE),
  stalest_read_at: ago(DAY),
  dead: nothing,
  loss: { expected: 0, lost: 0, since: null },
  runs: [],
  identity_error: null,
  identity_failing_since: null,
  pause: null,
}
const ams: DestinationHealth = {
  destination: 'ams',
  state: 'active',
  reason: null,
  since: null,
  failures: 0,
  retry_at: null,
  filter_error: null,
  filter_failed_at: null,
  oldest_unsent_at: null,
  dead: nothing,
  unknown: nothing,
  held: nothing,
  unmapped: nothing,
  lacking: nothing,
}

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

function printed(fix: Fix): object {
  if ('runbook' in fix) return fix
  const op = operations.find(({ name }) => name === fix.operation)
  if (op === undefined) throw new Error(`there is no ${fix.operation}`)
  expect(op.input.safeParse(fix.input)).toMatchObject({ success: true })
  return { command: callOf(op, fix.input).command }
}

type Given = Parameters<typeof health>[0] & { readonly standing?: readonly Problem[] }

function verdictOf({ standing = [], ...given }: Given, by: Partial<Expected> = {}) {
  const snapshot = health(given)
  const whole = { ...expected, ...by }
  const judgement = judge(snapshot, standing, whole)
  return {
    ...judgement,
    sentence: sentenceOf(judgement, snapshot, whole),
    issues: judgement.problems.map(issueOf).map((issue) => ({ ...issue, fix: printed(issue.fix) })),
  }
}

function alarm(name: string, account = '', destination = ''): Problem {
  const [since, text] = [ago(2 * MINUTE), 'so it is']
  const times = { last_at: since, resolved_at: null, notified_at: null }
  return problemOf({ name, account, destination, since, text, severity: 'warning', state: 'firing', ...times })
}

describe('a mirror is complete and fresh', () => {
  it('when everything was read and nothing waits', () => {
    expect(verdictOf({})).toMatchObject({
      verdict: 'complete',
      issues: [],
      late: [],
      since: null,
      sentence: 'Complete and fresh: 12 submissions, all fully read; no work is waiting.',
    })
    expect(verdictOf({ account: { submissions: 0, stalest_read_at: null, newest_read_at: null } })).toMatchObject({
      verdict: 'complete',
      sentence: 'Complete and fresh: no submission is known yet; the next delivery adds the first one, and `track` adds earlier ones.',
    })
  })

  it('as far as is known: unknown and unwatched parts are named', () => {
    expect(verdictOf({ account: { unreachable: 2 }, isServed: false }).sentence).toBe(
      'Complete and fresh: 12 submissions, all fully read; no work is waiting; the service no longer shows 2 of them; ' +
        'no process is running, and the last read was 60 s ago.',
    )
  })

  it('even if a removed account or destination is behind', () => {
    const others = {
      accounts: [acme, { ...acme, account: 'old', state: 'suspended' as const, never_read: 3, oldest_read_due_at: ago(DAY) }],
    }
    expect(verdictOf(others).verdict).toBe('complete')
    expect(verdictOf({ destination: { destination: 'old', state: 'paused', oldest_unsent_at: ago(DAY) } }).verdict).toBe('complete')
    expect(verdictOf(others, { accounts: [] }).verdict).toBe('attention')
  })

  it('after a run that repaired everything, or came to the end of its budget with nothing left', () => {
    const repaired = run({ state: 'done', exit_code: 0, missing: 3, repaired: 3, unreadable: 0 })
    const budget = run({ state: 'budget', exit_code: 4 })
    for (const each of [repaired, budget]) expect(verdictOf({ account: { runs: [each] } }).verdict).toBe('complete')
  })
})

describe('a mirror catches up', () => {
  const old = (ms: number) => ago(ms + S)
  it.each([
    ['deliveries', { inbox: { count: 34, oldest_at: old(lateAfterMs.delivery) } }, '34 deliveries wait, the oldest for 31 s'],
    ['wakes', { account: { oldest_read_request_at: old(lateAfterMs.wake) } }, 'account acme has had unread activity for 61 s'],
    ['reads', { account: { oldest_read_due_at: old(lateAfterMs.read) } }, 'reads of account acme are overdue by 5 min'],
    ['pushes', { destination: { oldest_unsent_at: old(lateAfterMs.push) } }, 'changes for destination ams have waited for 5 min'],
    ['never_read', { account: { never_read: 5 } }, '5 submissions of account acme were never fully read'],
    ['failing', { account: { failing: { once: 2, often: 1, long: 0 } } }, '1 read of account acme fails repeatedly'],
    ['stale', { account: { stalest_read_at: old(8 * DAY) } }, 'a submission of account acme has not been read for 8 d'],
    ['not_served', { account: { brokerage: null, newest_read_at: null } }, 'account acme has never been read from the service'],
    ['not_served', { accounts: [] }, 'account acme has never been read from the service'],
  ])('when %s are late', (kind, given, text) => {
    expect(verdictOf(given)).toMatchObject({ verdict: 'catching_up', issues: [], late: [{ kind }], sentence: `Catching up: ${text}.` })
  })

  it('when it is empty and was never served', () => {
    expect(verdictOf({ accounts: [], destinations: [], isServed: false }, { accounts: [] }).sentence).toBe(
      'Catching up: the mirror is empty, and `serve` never ran; no process is running.',
    )
  })

  it('not when that is as old as it may be', () => {
    const account = {
      oldest_read_request_at: ago(lateAfterMs.wake),
      oldest_read_due_at: ago(lateAfterMs.read),
      stalest_read_at: ago(8 * DAY),
    }
    const inbox = { count: 1, oldest_at: ago(lateAfterMs.delivery) }
    expect(verdictOf({ account, inbox, destination: { oldest_unsent_at: ago(lateAfterMs.push) } }).verdict).toBe('complete')
  })

  it('since the oldest of them; the sentence names two', () => {
    const account = { oldest_read_request_at: ago(4 * MINUTE), oldest_read_due_at: ago(20 * MINUTE), never_read: 1 }
    expect(verdictOf({ account })).toMatchObject({
      since: ago(20 * MINUTE),
      sentence:
        'Catching up: 1 submission of account acme was never fully read; account acme has had unread activity for 4 min; and 1 more.',
    })
  })
})

describe('a mirror needs attention', () => {
  const some = { count: 2, oldest_at: ago(MINUTE) }
  const cases: [ProblemName, Given, string, string][] = [
    [
      'account_stopped',
      { account: { state: 'suspended', reason: 'refused' } },
      'account acme is suspended: refused',
      'account resume acme',
    ],
    ['destination_stopped', { destination: { state: 'paused' } }, 'destination ams is paused', 'destination resume ams'],
    [
      'push_late',
      { destination: { failures: 5, retry_at: ago(-MINUTE), oldest_unsent_at: ago(MINUTE) } },
      'destination ams does not answer, so its changes wait: 5 attempts in a row failed; the next attempt is at ' +
        '2026-11-20 10:01:00 UTC; resume the destination to retry now',
      'destination resume ams',
    ],
    [
      'push_late',
      { destination: { failures: 5, retry_at: ago(45_000), oldest_unsent_at: ago(MINUTE) } },
      'destination ams does not answer, so its changes wait: 5 attempts in a row failed; the next attempt was due 45 s ago; ' +
        'resume the destination to retry now',
      'destination resume ams',
    ],
    [
      'inbox_dead',
      { account: { dead: some } },
      '2 deliveries of account acme are dead-lettered',
      'inbox replay --account acme --state dead',
    ],
    [
      'push_dead',
      { destination: { dead: some, held: { count: 1, oldest_at: null } } },
      '2 changes for destination ams are dead-lettered; 1 submission waits behind them',
      'outbox retry --destination ams --state dead',
    ],
    [
      'push_unknown',
      { destination: { unknown: some } },
      '2 changes for destination ams have an unknown outcome',
      'outbox list --destination ams --state unknown',
    ],
    [
      'held_submissions',
      { destination: { held: some } },
      '2 submissions wait at destination ams behind a dead-lettered change',
      'outbox list --destination ams --state held',
    ],
    [
      'push_unmapped',
      { destination: { unmapped: some } },
      '2 submissions need an AMS client (destination ams)',
      'destination map ams --file clients.csv',
    ],
  ]
  it.each(cases)('for %s', (kind, given, what, command) => {
    const { verdict, issues, sentence } = verdictOf(given)
    expect(verdict).toBe('attention')
    expect(issues).toMatchObject([{ kind, what, fix: { command: `submission-mirror ${command}` } }])
    expect(sentence).toMatch(/^Needs attention: .*\.$/)
  })

  it('while the service requests a long pause, or does not identify the credentials; a stopped account shows only its reason', () => {
    const [since, until] = [ago(MINUTE), '2026-11-20T11:00:00.000000Z']
    const pause = { account: 'acme', since, until, ms: 60 * MINUTE, isLong: true, reason: '429 with Retry-After to GET …/events' }
    const fault = { identity_error: 'the service answered 404', identity_failing_since: since }
    expect(verdictOf({ account: { pause, ...fault } }).issues).toEqual([
      {
        kind: 'account_throttled',
        since,
        count: 1,
        what: 'account acme waits until 2026-11-20T11:00:00Z: 429 with Retry-After to GET …/events',
        fix: { runbook: 'docker/warnings-service.md#the-service-asks-for-a-pause' },
      },
      {
        kind: 'identity_unknown',
        since,
        count: 1,
        what: 'GET /broker/me fails for account acme, so the owner of its credentials is unknown: the service answered 404',
        fix: { runbook: 'docker/warnings-service.md#the-service-does-not-identify-the-account' },
      },
    ])
    expect(verdictOf({ account: { pause: { ...pause, isLong: false } } }).verdict).toBe('complete')
    expect(verdictOf({ account: { pause, ...fault, state: 'suspended' } }).issues.map(({ kind }) => kind)).toEqual(['account_stopped'])
  })

  it('for many lost webhooks, be it few of all, since the first was lost', () => {
    const lost = (expected: number, n: number, standing: readonly Problem[] = []) =>
      verdictOf({ account: { loss: { expected, lost: n, since: ago(9 * MINUTE) } }, standing })
    expect(lost(100, 19).issues).toEqual([
      {
        kind: 'webhook_loss',
        since: ago(9 * MINUTE),
        count: 19,
        fix: { runbook: 'docker/warnings-service.md#webhooks-are-lost' },
        what:
          'no webhook announced 19 of 100 records of account acme within a day: that is 19 %; polling found them. ' +
          "Check the endpoint's filter and its log of attempts in the portal",
      },
    ])
    expect(lost(100, 10).verdict).toBe('attention')
    expect([lost(101, 10).verdict, lost(9, 9).verdict]).toEqual(['complete', 'complete'])
    expect(lost(100, 19, [alarm('webhook_loss', 'acme')]).issues.map(({ kind, since }) => [kind, since])).toEqual([
      ['webhook_loss', ago(9 * MINUTE)],
    ])
    expect(lost(100, 7, [alarm('webhook_loss', 'acme')]).issues.map(({ kind }) => kind)).toEqual(['webhook_loss'])
  })

  it('not for a destination that failed a few times, nor for one to which nothing has to go', () => {
    expect(verdictOf({ destination: { failures: 4, oldest_unsent_at: ago(MINUTE) } }).verdict).toBe('complete')
    expect(verdictOf({ destination: { failures: 9 } }).verdict).toBe('complete')
    const late = { standing: [alarm('push_late', '', 'ams')], destination: { failures: 9, oldest_unsent_at: ago(MINUTE) } }
    expect(verdictOf(late).issues.map(({ kind }) => kind)).toEqual(['push_late'])
  })

  it('with any other waiting work', () => {
    const waiting = verdictOf({ account: { dead: some, never_read: 4, oldest_read_due_at: ago(DAY) } })
    expect(waiting).toMatchObject({ verdict: 'attention', since: ago(MINUTE) })
  })

  it('when an alarm fires; it is shown unless another issue shows it', () => {
    const fix = { runbook: expect.stringContaining('#the-disk-fills') }
    const issues = [{ kind: 'disk_space', what: 'so it is', since: ago(2 * MINUTE), count: 1, fix }]
    expect(verdictOf({ standing: [alarm('disk_space')] }).issues).toEqual(issues)
    const named = { command: 'submission-mirror document list --account acme --state failed' }
    expect(verdictOf({ standing: [alarm('document_host_unlisted', 'acme')] }).issues).toMatchObject([{ fix: named }])
    const both = ['acme', 'other'].map((account) => alarm('account_stopped', account))
    const stopped = { account: { state: 'suspended' as const }, standing: both }
    expect(verdictOf(stopped).issues.map(({ kind }) => kind)).toEqual(['account_stopped', 'account_stopped'])
  })

  it('not for an alarm whose condition is over: it resolves automatically', () => {
    const standing = [alarm('push_dead', '', 'ams'), alarm('inbox_dead', 'acme')]
    expect(verdictOf({ standing })).toMatchObject({ verdict: 'complete', issues: [] })
  })

  it('names two matters and counts the others', () => {
    const many = { account: { state: 'paused' as const, dead: some }, standing: [alarm('disk_space'), alarm('clock_skew', 'acme')] }
    expect(verdictOf(many).sentence).toBe('Needs attention: account acme is paused; the disk is nearly full; and 2 more.')
  })
})

describe('a reconcile run that was not clean needs attention', () => {
  const left = run({ run_id: 'left', state: 'done', exit_code: 3, different: 2, repaired: 0, options: { dry_run: true } })
  const clean = run({ run_id: 'clean', state: 'done', exit_code: 0, options: {} })
  const kinds = (...runs: (typeof left)[]) => verdictOf({ account: { runs } }).issues

  it('with its remaining differences, or what it could not check', () => {
    expect(kinds(left)).toMatchObject([
      {
        kind: 'reconcile_findings',
        count: 2,
        what: 'reconciling account acme left 2 differences',
        fix: { command: 'submission-mirror reconcile --account acme' },
      },
    ])
    expect(kinds(run({ run_id: RUN, state: 'failed', exit_code: 1, note: 'the service is away' }))).toMatchObject([
      {
        what: 'reconciling account acme could not check everything: the service is away',
        fix: { command: `submission-mirror reconcile show ${RUN}` },
      },
    ])
  })

  it('once, with any number of alarms for the same issue', () => {
    const standing = [alarm('reconcile_findings', 'acme')]
    expect(verdictOf({ account: { runs: [left] }, standing }).issues.map(({ kind }) => kind)).toEqual(['reconcile_findings'])
  })

  it('not for changes that have not reached a destination: its own state shows them', () => {
    const undelivered = run({ state: 'done', exit_code: 3, undelivered: 40 })
    expect(verdictOf({ account: { runs: [undelivered] } })).toMatchObject({ verdict: 'complete', issues: [] })
  })

  it('until its remaining differences are resolved', () => {
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
