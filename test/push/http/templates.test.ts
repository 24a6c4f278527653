import { describe, expect, it, onTestFinished } from 'vitest'
import { PermanentError, TransientError } from '../../../src/base/errors.ts'
import type { Json } from '../../../src/model/json.ts'
import { checkFilter, checkTemplates } from '../../../src/push/http/check-templates.ts'
import { Templates } from '../../../src/push/http/templates.ts'
import { destinationTo, loginAuth } from './support.ts'

const ENDLESS = '($loop := function($n) { $loop($n + 1) }; $loop(0))'

function open(expressions: Readonly<Record<string, string>>, deadlineMs?: number): Templates {
  const templates = new Templates(
    Object.entries(expressions).map(([name, text]) => ({ name, text })),
    deadlineMs,
  )
  onTestFinished(() => templates.close())
  return templates
}

describe('templates', () => {
  it('yield JSON, and null for nothing', async () => {
    const templates = open({ a: 'x.y', none: 'z', list: 'l.n', fn: '{"f": $sum, "d": x}' })
    const input = { x: { y: 'ü\u0000' }, l: [{ n: 1 }, { n: 2 }] }
    expect(await templates.evaluate(['a', 'none', 'list', 'fn'], input)).toEqual([
      'ü\u0000',
      null,
      [1, 2],
      { f: null, d: { y: 'ü\u0000' } },
    ])
  })

  it('that never end harm no other job', async () => {
    const templates = open({ endless: ENDLESS, fine: 'n * 2' }, 1_500)
    const [stuck, ...others] = await Promise.allSettled([
      templates.evaluate(['endless'], {}),
      templates.evaluate(['fine'], { n: 1 }),
      templates.evaluate(['fine'], { n: 2 }),
    ])
    expect(stuck).toMatchObject({ status: 'rejected', reason: new PermanentError('endless did not finish within 1500 ms') })
    expect(others).toEqual([
      { status: 'fulfilled', value: [2] },
      { status: 'fulfilled', value: [4] },
    ])
  })

  it('that hang in one step are ended too', async () => {
    const templates = open({ hang: '$match(s, /^(a+)+$/)', fine: '1' }, 1_500)
    await expect(templates.evaluate(['hang'], { s: `${'a'.repeat(40)}!` })).rejects.toThrow('hang did not finish within 1500 ms')
    expect(await templates.evaluate(['fine'], {})).toEqual([1])
  })

  it('are not blamed for the time in which this process was blocked', async () => {
    const templates = open({ fine: 'n * 2' }, 200)
    await templates.evaluate(['fine'], { n: 1 })
    // Then timers run first, and after them the answers of other processes.
    await new Promise((resolve) => setImmediate(resolve))
    const value = templates.evaluate(['fine'], { n: 2 })
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 400)
    expect(await value).toEqual([4])
  })

  it.each([
    ['objects', '$map([1..100000], function($n) { $map([1..1000], function($m) { {"a": $m, "n": $n} }) })'],
    ['lists within lists', '$reduce([1..100000], function($all, $n) { $append($all, {"n": $n, "all": $all}) }, [])'],
    ['a huge string', '$pad("x", 400000000)'],
    ['a string that doubles', '$reduce([1..27], function($a, $b) { $a & $a }, "xx")'],
    ['a doubled string in capitals', '$reduce([1..24], function($a, $b) { $a & $a }, "0123456789abcdef") ~> $uppercase'],
    ['characters of a long string', '$split($pad("x", 30000000, "ab"), "")'],
    ['strings that V8 keeps outside of its heap', '($s := $pad("x", 5000000); $map([1..10000], function($i) { $base64encode($s) }))'],
    ['a regular expression', '$match($pad("x", 3000000, "ab"), /(a|b)*c/)'],
    ['a value for each item', 'items.{"ok": true, "error": $string($$.body)}'],
  ])('that take too much memory fail alone: %s', async (_, hungry) => {
    const templates = open({ hungry, fine: '1' }, 60_000)
    const items = Array.from({ length: 120 }, (_, n) => ({ n }))
    const answer = { text: JSON.stringify({ notes: Array.from({ length: 120 }, () => 'x'.repeat(10_000)) }), isWhole: true }
    const refused = new PermanentError('hungry took too much memory (limit: 64 MB)')
    await expect(templates.evaluate(['hungry'], { items }, answer)).rejects.toThrow(refused)
    expect(await templates.evaluate(['fine'], {})).toEqual([1])
  })

  it.each([
    ['deeper than its stack', '($f := function($n) { 1 + $f($n + 1) }; $f(0))', /^refused failed: /],
    ['a longer list', '[1..9000000].{"n": $}', /^refused failed: .*maximum sequence length/],
    [
      'a longer value',
      '$reduce([1..20], function($a, $b) { $a & $a }, "0123456789abcdef")',
      /the result is longer than 8388608 characters$/,
    ],
    ['more values', '$split($pad("", 500000, "ab"), "")', /the result contains more than 250000 values$/],
    [
      'a deeper value',
      '($f := function($v, $n) { $n = 0 ? $v : $f([[[[[[[[[[$v]]]]]]]]]], $n - 1) }; $f("", 60))',
      /the result is nested deeper than 500 levels$/,
    ],
    ['a value that is none', '$uppercase({"a": function($x) { $x }})', /^refused failed: /],
  ])('that make more than they may fail with one sentence: %s', async (_, refused, why) => {
    const templates = open({ refused, fine: '1' }, 60_000)
    await expect(templates.evaluate(['refused'], {})).rejects.toThrow(why)
    expect(await templates.evaluate(['fine'], {})).toEqual([1])
  })

  it('read the longest answer that is parsed', async () => {
    const templates = open({ found: '$count(body.results.{"ok": ok, "remote_id": id})' }, 60_000)
    const results = Array.from({ length: 41_000 }, (_, n) => ({ id: `a${n}`, ok: true, code: null, message: 'x'.repeat(50) }))
    expect(await templates.evaluate(['found'], {}, { text: JSON.stringify({ results }), isWhole: true })).toEqual([41_000])
  })

  it('of one destination do not see those of another', async () => {
    const first = open({ same: '1', gone: '2' })
    expect(await first.evaluate(['same', 'gone'], {})).toEqual([1, 2])
    first.close()
    const second = open({ same: 'n' })
    expect(await second.evaluate(['same', 'gone'], { n: 3 })).toEqual([3, null])
  })

  it('fail as temporary when they are closed during the call', async () => {
    const templates = open({ fine: '1' })
    const jobs = [templates.evaluate(['fine'], {}), templates.evaluate(['fine'], {})]
    templates.close()
    for (const job of [...jobs, templates.evaluate(['fine'], {})]) await expect(job).rejects.toBeInstanceOf(TransientError)
  })

  it('whose input is nested too deeply fail alone, wherever they wait', async () => {
    const deep = (levels: number) => ({ n: JSON.parse('['.repeat(levels) + ']'.repeat(levels)) as Json })
    const templates = open({ fine: 'n' })
    const jobs = [{ n: 1 }, deep(50_000), { n: 2 }, deep(50_000), { n: 3 }]
    const [first, second, third, fourth, fifth] = await Promise.allSettled(jobs.map((input) => templates.evaluate(['fine'], input)))
    const refused = { status: 'rejected', reason: expect.any(PermanentError) }
    expect([second, fourth]).toEqual([refused, refused])
    expect((second as PromiseRejectedResult).reason.message).toMatch(/^fine cannot be evaluated: Maximum call stack size exceeded/)
    expect([first, third, fifth].map((result) => (result as PromiseFulfilledResult<Json[]>).value)).toEqual([[1], [2], [3]])
  })
})

describe('the check at start', () => {
  it('accepts valid templates', () => {
    expect(checkTemplates(destinationTo('http://x'))).toEqual([])
  })

  it('names each broken place in one sentence', () => {
    const base = destinationTo('http://x')
    const broken = {
      ...base,
      request: { ...base.request, body: '{"a": ', headers: { Authorization: '"x"', 'x-ok': '1 +' } },
      lookup: { ...base.request, method: 'GET', found: ')' },
      success: 'status = ',
      auth: {
        ...loginAuth,
        request: { ...base.request, headers: { Authorization: '"x"', Connection: '"x"' } },
        token: 'body.(',
        refreshToken: 'body.)',
        header: 'Expect',
      },
    }
    expect(checkTemplates(broken)).toEqual([
      'destination ams: auth.header: the header expect is set automatically; remove it',
      'destination ams: auth.request.headers: the header connection is set automatically; remove it',
      'destination ams: auth.refresh and auth.refresh_token must be set together',
      'destination ams: request.headers: authorization can only be set by auth; remove it',
      'destination ams: lookup: a GET request cannot have a body; remove it',
      expect.stringMatching(/^destination ams: request\.body is not a JSONata expression: .+\(at character \d+\)$/),
      expect.stringMatching(/^destination ams: request\.headers\.x-ok is not a JSONata expression: /),
      expect.stringMatching(/^destination ams: lookup\.found is not a JSONata expression: /),
      expect.stringMatching(/^destination ams: success is not a JSONata expression: /),
      expect.stringMatching(/^destination ams: auth\.token is not a JSONata expression: /),
      expect.stringMatching(/^destination ams: auth\.refresh_token is not a JSONata expression: /),
    ])
  })

  it('names a filter that is not JSONata, for any kind of destination', () => {
    const check = (filter: string | null) => checkFilter({ name: 'ams', entities: null, filter })
    expect(check(null)).toEqual([])
    expect(check('entity = "lanes"')).toEqual([])
    expect(check('row.chip = ')).toEqual([expect.stringMatching(/^destination ams: filter is not a JSONata expression: /)])
  })

  it.each([
    ['row.no_such = 1', null, 'row.no_such, but no table has a column no_such'],
    ['entity = "lanes" and ($c := row.`chips`; $exists($c))', null, 'row.chips, but no table has a column chips'],
    ['$map([1], function($n) { after.typ = "x" })', null, 'after.typ, but no table has a column typ'],
    ['submission.State = "TX"', null, 'submission.State, but submissions has no column State'],
    ['row.raw = "x"', null, 'row.raw, but no table has a column raw'],
    ['row.chip = "bound" and submission.last_event_at != null and before.status != after.status', null, null],
    ['"x" in row.lines.foo and row[whatever.x = 1].chip = 1 and settings.row.x = 1 and $lookup(row, "x") = 1', null, null],
    ['row.* ~> $exists', null, null],
  ])('finds a column that no table has in the filter %s', (filter, entities, problem) => {
    expect(checkFilter({ name: 'ams', entities, filter })).toEqual(problem === null ? [] : [`destination ams: filter uses ${problem}`])
  })

  it('finds a column that no table has in a template, and row, which templates lack', () => {
    const base = destinationTo('http://x')
    const request = {
      ...base.request,
      body: '{"a": after.no_such, "b": submission.insured_name, "c": row.chip}',
      headers: { 'x-b': 'before.b' },
    }
    expect(checkTemplates({ ...base, request, error: 'body.after.x' })).toEqual([
      'destination ams: request.body uses after.no_such, but no table has a column no_such',
      'destination ams: request.body uses row.chip, but row exists only in filter; use after',
      'destination ams: request.headers.x-b uses before.b, but no table has a column b',
    ])
  })

  it('asks for remote_id where there is an update, which would never be sent without it', () => {
    const base = destinationTo('http://x')
    expect(checkTemplates({ ...base, update: base.request, remoteId: 'body.id' })).toEqual([])
    expect(checkTemplates({ ...base, update: base.request, remoteId: null })).toEqual([
      'destination ams: update needs remote_id: an update is sent only if the id of the record at the target is known',
    ])
  })

  it.each(['Content-Length', 'transfer-encoding', 'Connection', 'keep-alive', 'upgrade', 'expect', 'proxy-authorization'])(
    'refuses the header %s, which belongs to the connection',
    (header) => {
      const base = destinationTo('http://x')
      const update = { ...base.request, headers: { [header]: '"5"' } }
      const auth = { type: 'header', name: header, value: { reveal: () => '5' } } as const
      const why = `the header ${header.toLowerCase()} is set automatically; remove it`
      expect(checkTemplates({ ...base, request: update, update, remoteId: 'body.id', auth })).toEqual([
        `destination ams: auth.name: ${why}`,
        `destination ams: request.headers: ${why}`,
        `destination ams: update.headers: ${why}`,
      ])
    },
  )
})
