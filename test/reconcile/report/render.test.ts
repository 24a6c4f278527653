import { describe, expect, it } from 'vitest'
import { documentOf } from '../../../src/reconcile/report/compose.ts'
import { renderHtml } from '../../../src/reconcile/report/html.ts'
import { meaningsOf } from '../../../src/reconcile/report/meaning.ts'
import type { ReportData } from '../../../src/reconcile/report/report-data.ts'
import { verdictOf } from '../../../src/reconcile/report/verdict.ts'
import { uuid } from '../../tools/observations.ts'
import { finding, group, moment, report, run } from './sample.ts'

const hostile = '<script>alert("1")</script> | `a` **b** [c](https://evil.example) \u202e&'

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
    group('absent', [finding(6, 'absent', { repairedAt: null })], { known: true }),
  ],
})

const html = renderHtml(full)

describe('the report', () => {
  it('shows comparisons, findings, repairs and the rest, by id', () => {
    for (const n of [1, 2, 3, 5, 6]) expect(html).toContain(uuid(1, n))
    expect(html).toContain(uuid(9, 1))
    for (const said of [
      'Missing in the mirror',
      'Different in the mirror',
      'No longer at the service',
      'Could not be read',
      'Delivery unconfirmed',
    ]) {
      expect(html).toContain(said)
    }
    for (const said of ['Gaps in the change log', '41 / 43']) expect(html).toContain(said)
    expect(html).toContain('And 6 more findings')
    expect(html).toContain('Known findings')
  })

  it('shows who requested it, when, its options and its end', () => {
    for (const said of [uuid(8, 1), '2026-11-20 03:00:01 UTC', '1 min 14 s', 'since: 2026-11-19', 'something could not be checked'])
      expect(html).toContain(said)
  })

  it('always lists what no run can exclude', () => {
    expect(html).toContain('The service documents no list of submissions')
    expect(html).toContain('This run excluded state')
    expect(html).toContain('only some submissions')
  })
})

describe('a finding that was not repaired', () => {
  const tableOf = (found: ReturnType<typeof group>) => {
    const { sections } = documentOf(report({ run: run({ [found.kind]: found.total }), groups: [found] }))
    const tables = sections.flatMap(({ blocks }) => blocks.flatMap((block) => (block.kind === 'table' ? [block] : [])))
    const table = tables.find(({ columns }) => columns[0]?.name === 'Submission')
    return [table?.columns.map(({ name }) => name).slice(3), ...(table?.rows.map((row) => row.slice(3)) ?? [])]
  }

  it('is not under a heading for repaired ones', () => {
    const left = { repairedAt: null, detail: 'not asked twice' }
    expect(tableOf(group('missing', [finding(1, 'missing', left)]))).toEqual([['Details'], ['not asked twice']])
    expect(tableOf(group('missing', [finding(1, 'missing')]))).toEqual([['Added'], ['2026-11-20 03:01:01 UTC']])
    expect(tableOf(group('absent', [finding(1, 'absent'), finding(2, 'absent', left)]))).toEqual([
      ['Marked', 'Details'],
      [expect.stringMatching(/ UTC$/), ''],
      ['', 'not asked twice'],
    ])
  })
})

describe('changes that a destination may lack', () => {
  const text = renderHtml(
    report({ run: run({ undelivered: 2, exit_code: 3 }), groups: [group('undelivered', [finding(1, 'undelivered')])] }),
  )

  it('are reported as uncertain, with a warning before resending', () => {
    expect(text).not.toMatch(/never (?:reached|delivered)/i)
    expect(text).toContain('2 changes may not have reached a destination.')
    expect(text).toContain('Check the destination first for changes that may have arrived')
  })
})

describe('the report in HTML', () => {
  it('escapes all values', () => {
    expect(html).not.toMatch(/<script|<a |\son\w+=|javascript:/i)
    expect(html).toContain('&lt;script&gt;alert(')
  })

  it('loads nothing: no URL in an attribute, no import, no font, and a strict policy', () => {
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

  it('draws a stacked column per day, to scale', () => {
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
    ['lost', run({ lost: 1, exit_code: 3 }), 'The mirror agrees; its change log has gaps'],
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
  const far = 'after 5 of 12 submissions; the next run continues with the others'

  it.each([
    ['out of time', { state: 'budget', note: `its budget ended ${far}` }, `Its budget ended ${far}. No new`],
    [
      'out of time, and dry',
      { state: 'budget', note: 'its budget ended; a dry run leaves no mark' },
      'Its budget ended; a dry run leaves no mark. No new',
    ],
    ['stopped', { state: 'stopped', note: `it was stopped ${far}` }, `It was stopped ${far}. No new`],
    [
      'failed',
      { state: 'failed', note: `it ended ${far}: the service is away` },
      `It ended ${far}: the service is away. The other submissions are unverified`,
    ],
    ['failed and unreadable', { state: 'failed', unreadable: 1, note: `it ended ${far}: away` }, `It ended ${far}: away. No new`],
    ['shorter than it was', { state: 'done' }, 'The other submissions were removed'],
  ] as const)('of a run that is %s states the reason once', (_, over, said) => {
    const text = textOf({ ...over, submissions_done: 5 })
    expect(text).toContain(said)
    expect(text.match(/5 of 12|next run/g)?.length ?? 0).toBe(said.match(/5 of 12|next run/g)?.length ?? 0)
  })

  it('of a run with unreadable data refers to the list for reasons', () => {
    expect(textOf({ unreadable: 1, exit_code: 1 })).toMatch(/^1 read failed, for the reason below\. /)
    expect(textOf({ unreadable: 2, exit_code: 1 })).toMatch(/^2 reads failed, for the reasons below\. /)
  })

  it('of a run that never began states only the reason', () => {
    const never = { submissions_total: 0, submissions_done: 0, rows_compared: 0, started_at: null, exit_code: 4 }
    const skipped = report({ run: run({ ...never, state: 'stopped', note: 'run 7 was still in progress at that time' }) })
    expect(verdictOf(skipped)).toEqual({ tone: 'left', title: 'This run did not start', text: 'Run 7 was still in progress at that time.' })
  })

  it.each([
    ['failed', 3],
    ['done', 0],
  ] as const)('of a run that %s before any comparison says that nothing was read', (state, total) => {
    const none = run({
      state,
      submissions_total: total,
      submissions_done: 0,
      rows_compared: 0,
      note: state === 'failed' ? 'refused' : null,
    })
    const text = renderHtml(report({ run: none }))
    expect(text).toContain('<h2>What was compared</h2><p>No submission was read again.</p>')
    expect(text).not.toContain('Every row of')
  })
})

describe('what differences mean', () => {
  const different = (n: number, repaired: number) => {
    const found = Array.from({ length: n }, (_, no) => finding(no, 'different', no < repaired ? {} : { repairedAt: null }))
    const data = report({ run: run({ different: n, repaired, exit_code: repaired < n ? 3 : 0 }), groups: [group('different', found)] })
    const meaning = meaningsOf(data).find(({ term }) => term === 'Different in the mirror')
    return { meaning: meaning?.text ?? '', verdict: verdictOf(data).text, whole: renderHtml(data) }
  }

  it('depends on their repairs', () => {
    expect(different(2, 2).meaning).toMatch(/ The rows were corrected; `changes` has their previous values/)
    expect(different(3, 2).meaning).toMatch(/ 2 of the rows were corrected; .* The others were left unchanged, because no second/)
    const none = different(1, 0)
    expect(none.meaning).toMatch(/ Nothing was changed, because no second read confirmed it/)
    expect(none.meaning).not.toContain('previous values')
    expect(none.verdict).toBe('1 difference was found and left unchanged.')
  })

  it('states which absent rows were marked, and which need manual deletion', () => {
    const absent = (n: number, repaired: number, dry = false) => {
      const found = Array.from({ length: n }, (_, no) => finding(no, 'absent', no < repaired ? {} : { repairedAt: null }))
      const options = dry ? { dry_run: true } : {}
      const data = report({ run: run({ absent: n, repaired, options }), groups: [group('absent', found)] })
      return meaningsOf(data).find(({ term }) => term === 'No longer at the service')?.text ?? ''
    }
    expect(absent(2, 2)).toMatch(/ The rows were marked and kept; they come back automatically when the service shows them again\.$/)
    expect(absent(2, 0, true)).toMatch(/ Nothing was marked\.$/)
    expect(absent(3, 2)).toMatch(/ 2 of the rows were marked and kept; .* For unmarked rows, see the table below\.$/)
    expect(absent(1, 0)).toMatch(/ may still be right\. For unmarked rows, see the table below\.$/)
  })

  it('promises no change-log row for raw alone', () => {
    const { meaning, whole } = different(1, 1)
    expect(meaning).toContain('except for differences only in `raw`')
    expect(whole).not.toContain('each repair stands in')
  })
})

describe('what destinations have', () => {
  const sectionOf = (destinations: ReportData['destinations']) =>
    documentOf(report({ destinations })).sections.find(({ heading }) => heading === 'What the destinations have')
  const counts = { delivered: 211, has: 0, lacks: 0, differs: 0, undetermined: 0, repaired: 0, oldest_at: null, newest_at: null }

  it('is shown only for verified destinations', () => {
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
    expect(sectionOf([])?.blocks).toEqual([{ kind: 'text', texts: ['No destination has received a change of this account.'] }])
  })
})
