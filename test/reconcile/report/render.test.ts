import { describe, expect, it } from 'vitest'
import { documentOf } from '../../../src/reconcile/report/compose.ts'
import { renderHtml } from '../../../src/reconcile/report/html.ts'
import { meaningsOf } from '../../../src/reconcile/report/meaning.ts'
import type { ReportData } from '../../../src/reconcile/report/report-data.ts'
import { verdictOf } from '../../../src/reconcile/report/verdict.ts'
import { uuid } from '../../tools/facts.ts'
import { finding, group, moment, report, run } from './sample.ts'

const hostile = '<script>alert("1")</script> | `a` **b** [c](https://evil.example) \u202e&'

/** One of each kind, with what somebody might send to do harm. */
const full: ReportData = report({
  run: run({
    missing: 1,
    different: 1,
    absent: 1,
    unreadable: 1,
    undelivered: 1,
    lost: 1,
    repaired: 3,
    known: 1,
    exit_code: 1,
    requested_by: `admin:${hostile}`,
    note: hostile,
    options: { since: moment(-86_400), no_state: true },
  }),
  groups: [
    group('missing', [finding(1, 'missing')], { total: 7 }),
    group('different', [
      finding(2, 'different', { entity: 'lanes', differences: [{ field: 'status', mirror: '"old"', service: JSON.stringify(hostile) }] }),
    ]),
    group('absent', [finding(3, 'absent')]),
    group('unreadable', [finding(4, 'unreadable', { entity: null, record: null, read: 'thread', repairedAt: null, detail: hostile })]),
    group('undelivered', [finding(5, 'undelivered', { destination: 'agency', repairedAt: null, detail: hostile })]),
    group('lost', [finding(7, 'lost', { submissionId: null, entity: 'changes', record: '41 / 43', repairedAt: null })]),
    group('absent', [finding(6, 'absent', { repairedAt: null })], { standing: true }),
  ],
})

const html = renderHtml(full)

describe('the report', () => {
  it('tells what was compared, found, repaired and what stands, by ids', () => {
    for (const n of [1, 2, 3, 5, 6]) expect(html).toContain(uuid(1, n))
    expect(html).toContain(uuid(9, 1))
    for (const said of [
      'Missing here',
      'Different here',
      'no longer shown by the service',
      'Could not be read',
      'Not known to be delivered',
    ]) {
      expect(html).toContain(said)
    }
    for (const said of ['Holes in the change log', '41 / 43']) expect(html).toContain(said)
    expect(html).toContain('And 6 more findings')
    expect(html).toContain('Known before and still true')
  })

  it('tells who asked, when, with which options, and how it ended', () => {
    for (const said of [uuid(8, 1), '2026-11-20 03:00:01 UTC', '1 min 14 s', 'since: 2026-11-19', 'something could not be checked'])
      expect(html).toContain(said)
  })

  it('says in every case what no run can exclude', () => {
    expect(html).toContain('The service describes no list of submissions')
    expect(html).toContain('State was left out of this run')
    expect(html).toContain('some submissions only')
  })
})

describe('a finding that was not repaired', () => {
  const tableOf = (found: ReturnType<typeof group>) => {
    const { sections } = documentOf(report({ run: run({ [found.kind]: found.total }), groups: [found] }))
    const tables = sections.flatMap(({ blocks }) => blocks.flatMap((block) => (block.kind === 'table' ? [block] : [])))
    const table = tables.find(({ columns }) => columns[0]?.name === 'Submission')
    return [table?.columns.map(({ name }) => name).slice(3), ...(table?.rows.map((row) => row.slice(3)) ?? [])]
  }

  it('stands under no heading that says it was', () => {
    const left = { repairedAt: null, detail: 'not asked twice' }
    expect(tableOf(group('missing', [finding(1, 'missing', left)]))).toEqual([['What was seen'], ['not asked twice']])
    expect(tableOf(group('missing', [finding(1, 'missing')]))).toEqual([['Added'], ['2026-11-20 03:01:01 UTC']])
    expect(tableOf(group('absent', [finding(1, 'absent'), finding(2, 'absent', left)]))).toEqual([
      ['Marked', 'What was seen'],
      [expect.stringMatching(/ UTC$/), ''],
      ['', 'not asked twice'],
    ])
  })
})

describe('changes that a destination may lack', () => {
  const text = renderHtml(
    report({ run: run({ undelivered: 2, exit_code: 3 }), groups: [group('undelivered', [finding(1, 'undelivered')])] }),
  )

  it('are not said never to have arrived, and what may have is not to be sent unseen', () => {
    expect(text).not.toMatch(/never (?:reached|delivered)/i)
    expect(text).toContain('2 changes are not known to have reached a destination that should have them.')
    expect(text).toContain('Look at the destination first for what may have arrived already')
  })
})

describe('the report in HTML', () => {
  it('takes nothing of what was sent for markup', () => {
    expect(html).not.toMatch(/<script|<a |\son\w+=|javascript:/i)
    expect(html).toContain('&lt;script&gt;alert(')
  })

  it('fetches nothing: no address in an attribute, no import, no font, and a policy that forbids it', () => {
    expect(html).not.toMatch(/(?:src|href|url|@import|xlink)\s*[=(]/i)
    expect(html).toContain(`content="default-src 'none'; style-src 'unsafe-inline'"`)
  })

  it('closes every element in order', () => {
    const open: string[] = []
    for (const [tag, slash, name] of html.matchAll(/<(\/?)([a-z][a-z0-9]*)[^>]*>/g)) {
      if (slash) expect(open.pop()).toBe(name)
      else if (!tag.endsWith('/>') && !['meta', 'br', 'hr'].includes(String(name))) open.push(String(name))
    }
    expect(open).toEqual([])
  })

  it('draws a column for each day, stacked to the scale of its numbers', () => {
    const heights = [...html.matchAll(/<rect class="(w\d)"[^>]*height="([\d.]+)"/g)].map(
      ([, way, height]) => [way, Number(height)] as const,
    )
    expect(heights.map(([way]) => way)).toEqual(['w2', 'w0', 'w1', 'w0', 'w3'])
    const [history, webhook] = [heights[0]?.[1] ?? 0, heights[1]?.[1] ?? 0]
    expect(webhook / history).toBeCloseTo(9 / 40, 1)
    expect(html.match(/<g><title>/g)).toHaveLength(5)
  })
})

describe('the verdict', () => {
  it.each([
    ['agrees', run(), 'The mirror agrees with the service'],
    ['repaired', run({ missing: 2, absent: 1, repaired: 3 }), 'The mirror agrees with the service again'],
    ['dry', run({ missing: 2, options: { dry_run: true }, exit_code: 3 }), 'Differences were found and left'],
    ['undelivered', run({ undelivered: 2, exit_code: 3 }), 'The mirror agrees; a destination may lack changes'],
    ['lost', run({ lost: 1, exit_code: 3 }), 'The mirror agrees; its change log has holes'],
    ['unreadable', run({ missing: 1, repaired: 1, unreadable: 1, exit_code: 1 }), 'Not everything could be checked'],
    [
      'unreadable and out of time',
      run({ state: 'budget', submissions_done: 5, unreadable: 1, exit_code: 1 }),
      'Not everything could be checked',
    ],
    ['out of time', run({ state: 'budget', submissions_done: 5, exit_code: 4 }), '5 of 12 submissions compared'],
    ['stopped', run({ state: 'stopped', submissions_done: 5, exit_code: 1 }), '5 of 12 submissions compared'],
    ['failed', run({ state: 'failed', submissions_done: 5, exit_code: 1 }), 'The run failed'],
    ['running', run({ state: 'running', submissions_done: 5, ended_at: null, exit_code: null }), 'This run has not ended'],
    [
      'waiting',
      run({ state: 'requested', submissions_done: 0, started_at: null, ended_at: null, exit_code: null }),
      'This run has not started',
    ],
    ['empty', run({ submissions_total: 0, submissions_done: 0, rows_compared: 0 }), 'There was nothing to compare'],
  ])('of a run that is %s', (_, one, title) => {
    expect(verdictOf(report({ run: one })).title).toBe(title)
  })

  const textOf = (over: Parameters<typeof run>[0]) => verdictOf(report({ run: run(over) })).text
  const far = 'after 5 of 12 submissions; the next run begins with the others'

  it.each([
    ['out of time', { state: 'budget', note: `its budget ended ${far}` }, `Its budget ended ${far}. Between`],
    [
      'out of time, and dry',
      { state: 'budget', note: 'its budget ended; a dry run leaves no mark' },
      'Its budget ended; a dry run leaves no mark. Between',
    ],
    ['stopped', { state: 'stopped', note: `it was stopped ${far}` }, `It was stopped ${far}. Between`],
    [
      'failed',
      { state: 'failed', note: `it ended ${far}: the service is away` },
      `It ended ${far}: the service is away. What it did not reach`,
    ],
    ['failed and unreadable', { state: 'failed', unreadable: 1, note: `it ended ${far}: away` }, `It ended ${far}: away. Between`],
    ['shorter than it was', { state: 'done' }, 'It ended regularly: when their turn came, the others were gone'],
  ] as const)('of a run that is %s says why, once', (_, over, said) => {
    const text = textOf({ ...over, submissions_done: 5 })
    expect(text).toContain(said)
    expect(text.match(/5 of 12|next run/g)?.length ?? 0).toBe(said.match(/5 of 12|next run/g)?.length ?? 0)
  })

  it('of a run that could not read everything leaves the reasons to the list: the service may have answered, that something is not there', () => {
    expect(textOf({ unreadable: 1, exit_code: 1 })).toMatch(/^1 thing could not be read, for the reason below\. About it/)
    expect(textOf({ unreadable: 2, exit_code: 1 })).toMatch(/^2 things could not be read, for the reasons below\. About these/)
  })

  it('of a run that never began says why, and of no comparison', () => {
    const never = { submissions_total: 0, submissions_done: 0, rows_compared: 0, started_at: null, exit_code: 4 }
    const skipped = report({ run: run({ ...never, state: 'stopped', note: 'run 7 was still in progress at that time' }) })
    expect(verdictOf(skipped)).toEqual({ tone: 'left', title: 'This run did not start', text: 'Run 7 was still in progress at that time.' })
  })

  it.each([
    ['failed', 3],
    ['done', 0],
  ] as const)('of a run that %s before it compared anything claims that nothing was read', (state, total) => {
    const none = run({
      state,
      submissions_total: total,
      submissions_done: 0,
      rows_compared: 0,
      note: state === 'failed' ? 'refused' : null,
    })
    const text = renderHtml(report({ run: none }))
    expect(text).toContain('<h2>What was compared</h2><p>No submission: nothing was read again.</p>')
    expect(text).not.toContain('Every row of')
  })
})

describe('what differences mean', () => {
  const different = (n: number, repaired: number) => {
    const found = Array.from({ length: n }, (_, no) => finding(no, 'different', no < repaired ? {} : { repairedAt: null }))
    const data = report({ run: run({ different: n, repaired, exit_code: repaired < n ? 3 : 0 }), groups: [group('different', found)] })
    const meaning = meaningsOf(data).find(({ term }) => term === 'Different here')
    return { meaning: meaning?.text ?? '', verdict: verdictOf(data).text, whole: renderHtml(data) }
  }

  it('follows from what was repaired of them', () => {
    expect(different(2, 2).meaning).toMatch(/ The rows were set to what it says; what they said before stands in `changes`/)
    expect(different(3, 2).meaning).toMatch(
      / 2 of the rows were set to what it says; .* The others were left as they are, because no second/,
    )
    const none = different(1, 0)
    expect(none.meaning).toMatch(/ Nothing was changed, because no second reading confirmed it/)
    expect(none.meaning).not.toContain('what they said before')
    expect(none.verdict).toBe('1 difference was found and left as it is.')
  })

  it('tells what was marked of what the service does not show, and what only a hand can remove', () => {
    const absent = (n: number, repaired: number, dry = false) => {
      const found = Array.from({ length: n }, (_, no) => finding(no, 'absent', no < repaired ? {} : { repairedAt: null }))
      const options = dry ? { dry_run: true } : {}
      const data = report({ run: run({ absent: n, repaired, options }), groups: [group('absent', found)] })
      return meaningsOf(data).find(({ term }) => term.startsWith('Here, but'))?.text ?? ''
    }
    expect(absent(2, 2)).toMatch(/ The rows were marked and kept; they come back by themselves when the service shows them again\.$/)
    expect(absent(2, 0, true)).toMatch(/ Nothing was marked\.$/)
    expect(absent(3, 2)).toMatch(/ 2 of the rows were marked and kept; .* Where nothing was marked, the table below says what to do\.$/)
    expect(absent(1, 0)).toMatch(/ not proof that the record was wrong\. Where nothing was marked, the table below says what to do\.$/)
  })

  it('claims no row of the change log for raw alone', () => {
    const { meaning, whole } = different(1, 1)
    expect(meaning).toContain('there is no row of a difference in `raw` alone')
    expect(whole).not.toContain('each repair stands in')
  })
})

describe('what destinations have', () => {
  const sectionOf = (destinations: ReportData['destinations']) =>
    documentOf(report({ destinations })).sections.find(({ heading }) => heading === 'At the destinations')
  const counts = { delivered: 211, has: 0, lacks: 0, differs: 0, cannot_tell: 0, repaired: 0, oldest_at: null, newest_at: null }

  it('is said only where they were asked', () => {
    const asked = {
      ...counts,
      destination: 'ams',
      has: 208,
      lacks: 2,
      differs: 1,
      repaired: 2,
      oldest_at: moment(0),
      newest_at: moment(60),
    }
    const [table] = sectionOf([asked, { ...counts, destination: 'hook' }])?.blocks ?? []
    expect(table).toMatchObject({
      rows: [
        ['ams', 211, 208, 2, 1, 0, 2, '2026-11-20 03:00:00 UTC to 2026-11-20 03:01:00 UTC'],
        ['hook', 211, '', '', '', '', '', 'never'],
      ],
    })
    expect(sectionOf([])?.blocks).toEqual([{ kind: 'text', texts: ['No destination has taken a change of this account.'] }])
  })
})
