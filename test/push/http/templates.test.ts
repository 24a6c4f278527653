import { Worker } from 'node:worker_threads'
import { describe, expect, it, onTestFinished } from 'vitest'
import { PermanentError, TransientError } from '../../../src/base/errors.ts'
import type { Json } from '../../../src/model/json.ts'
import { checkFilter, checkTemplates } from '../../../src/push/http/check-templates.ts'
import { type TemplateLimits, Templates } from '../../../src/push/http/templates.ts'
import { destinationTo } from './support.ts'

const ENDLESS = '($loop := function($n) { $loop($n + 1) }; $loop(0))'

function open(expressions: Readonly<Record<string, string>>, limits: Partial<TemplateLimits> = {}): Templates {
  const templates = new Templates(
    Object.entries(expressions).map(([name, text]) => ({ name, text })),
    limits,
  )
  onTestFinished(() => templates.close())
  return templates
}

/** Starts a thread. @returns its number: the process numbers all that it starts. */
const numberOfNewThread = () => new Worker('', { eval: true }).threadId

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

  it('that never end harm no other job, and their worker is replaced', async () => {
    const templates = open({ endless: ENDLESS, fine: 'n * 2' }, { deadlineMs: 1_500, workers: 1 })
    const [stuck, ...others] = await Promise.allSettled([
      templates.evaluate(['endless'], {}),
      templates.evaluate(['fine'], { n: 1 }),
      templates.evaluate(['fine'], { n: 2 }),
    ])
    expect(stuck).toMatchObject({ status: 'rejected', reason: new PermanentError('endless did not end within 1500 ms') })
    expect(others).toEqual([
      { status: 'fulfilled', value: [2] },
      { status: 'fulfilled', value: [4] },
    ])
  })

  it('that hang in one step are ended too', async () => {
    const templates = open({ hang: '$match(s, /^(a+)+$/)', fine: '1' }, { deadlineMs: 1_500, workers: 1 })
    await expect(templates.evaluate(['hang'], { s: `${'a'.repeat(40)}!` })).rejects.toThrow('hang did not end within 1500 ms')
    expect(await templates.evaluate(['fine'], {})).toEqual([1])
  })

  it('whose machine stood still for longer than their time are not blamed for it', async () => {
    const templates = open({ fine: 'n * 2' }, { deadlineMs: 200, workers: 1 })
    await templates.evaluate(['fine'], { n: 1 })
    // Behind it come timers, and only then what the thread says.
    await new Promise((resolve) => setImmediate(resolve))
    const value = templates.evaluate(['fine'], { n: 2 })
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 400)
    expect(await value).toEqual([4])
  })

  it('that would eat all memory fail alone', async () => {
    const hungry = {
      bit: '$map([1..100000], function($n) { $map([1..1000], function($m) { {"a": $m, "n": $n} }) })',
      deep: '($f := function($n) { 1 + $f($n + 1) }; $f(0))',
      long: '[1..9000000].{"n": $}',
      text: '$reduce([1..26], function($all, $n) { $all & $all }, "0123456789abcdef") ~> $uppercase',
    }
    const templates = open({ ...hungry, fine: '1' }, { workers: 1, deadlineMs: 30_000, memoryMb: 32 })
    for (const name of Object.keys(hungry)) await expect(templates.evaluate([name], {})).rejects.toBeInstanceOf(PermanentError)
    expect(await templates.evaluate(['fine'], {})).toEqual([1])
  })

  it('that fill the memory at once fail alone, each time', async () => {
    const tree = '$reduce([1..100000], function($all, $n) { $append($all, {"n": $n, "all": $all}) }, [])'
    const templates = open({ tree, fine: '1' }, { deadlineMs: 30_000 })
    for (let time = 0; time < 2; time += 1) await expect(templates.evaluate(['tree'], {})).rejects.toThrow('tree broke its thread')
    expect(await templates.evaluate(['fine'], {})).toEqual([1])
  })

  it('cannot reach the environment of the process', async () => {
    const templates = open({ reach: '$string($.constructor) & $string(($f := function($x){$x}; $f.constructor))' })
    const [seen] = await templates.evaluate(['reach'], {})
    expect(seen).toBe('')
  })

  it('of one destination after another are evaluated in one thread, each by its own text', async () => {
    const first = open({ same: '1', gone: '2' }, { memoryMb: 64 })
    expect(await first.evaluate(['same', 'gone'], {})).toEqual([1, 2])
    await first.close()
    const before = numberOfNewThread()
    const second = open({ same: 'n' }, { memoryMb: 64 })
    expect(await second.evaluate(['same', 'gone'], { n: 3 })).toEqual([3, null])
    expect(numberOfNewThread()).toBe(before + 1)
  })

  it('fail as something that passes when they are closed meanwhile', async () => {
    const templates = open({ fine: '1' })
    const asked = templates.evaluate(['fine'], {})
    await Promise.all([expect(asked).rejects.toBeInstanceOf(TransientError), templates.close()])
    await expect(templates.evaluate(['fine'], {})).rejects.toBeInstanceOf(TransientError)
  })
})

describe('a job', () => {
  const deep = (levels: number) => ({ n: JSON.parse('['.repeat(levels) + ']'.repeat(levels)) as Json })

  it('that cannot be handed to its thread fails alone, wherever it waits', async () => {
    const templates = open({ fine: 'n' }, { workers: 1 })
    const jobs = [{ n: 1 }, deep(50_000), { n: 2 }, deep(50_000), { n: 3 }]
    const [first, second, third, fourth, fifth] = await Promise.allSettled(jobs.map((input) => templates.evaluate(['fine'], input)))
    const refused = { status: 'rejected', reason: expect.any(PermanentError) }
    expect([second, fourth]).toEqual([refused, refused])
    expect((second as PromiseRejectedResult).reason.message).toMatch(/^fine cannot be evaluated: Maximum call stack size exceeded/)
    expect([first, third, fifth].map((result) => (result as PromiseFulfilledResult<Json[]>).value)).toEqual([[1], [2], [3]])
  })

  it('whose value nobody can take says so, and its thread lives on', async () => {
    const grow = '($f := function($v, $n) { $n = 0 ? $v : $f([[[[[[[[[[$v]]]]]]]]]], $n - 1) }; $f("", 60))'
    const templates = open({ grow, told: '$uppercase({"a": function($x) { $x }})', fine: '1' }, { workers: 1 })
    await expect(templates.evaluate(['grow'], {})).rejects.toThrow(
      new PermanentError('grow failed: its value is nested deeper than 500 levels'),
    )
    await expect(templates.evaluate(['told'], {})).rejects.toThrow(/^told failed: /)
    expect(await templates.evaluate(['fine'], {})).toEqual([1])
  })

  it('for which no thread can be had may be tried later', async () => {
    const templates = open({ fine: (() => 1) as unknown as string })
    await expect(templates.evaluate(['fine'], {})).rejects.toBeInstanceOf(TransientError)
  })
})

describe('the check at start', () => {
  it('finds nothing in what is right', () => {
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
        type: 'login' as const,
        credentials: {},
        request: { ...base.request, headers: { Authorization: '"x"', Connection: '"x"' } },
        token: 'body.(',
        expiresIn: null,
        refresh: null,
        refreshToken: 'body.)',
        header: 'Expect',
        scheme: '',
      },
    }
    expect(checkTemplates(broken)).toEqual([
      'destination ams: auth.header: expect belongs to the connection, and no request sets it; leave it out',
      'destination ams: auth.request.headers: connection belongs to the connection, and no request sets it; leave it out',
      'destination ams: auth.refresh and auth.refresh_token need each other; give both',
      'destination ams: request.headers: authorization comes from auth alone',
      'destination ams: lookup: a GET has no body',
      expect.stringMatching(/^destination ams: request\.body is no JSONata expression: .+\(at character \d+\)$/),
      expect.stringMatching(/^destination ams: request\.headers\.x-ok is no JSONata expression: /),
      expect.stringMatching(/^destination ams: lookup\.found is no JSONata expression: /),
      expect.stringMatching(/^destination ams: success is no JSONata expression: /),
      expect.stringMatching(/^destination ams: auth\.token is no JSONata expression: /),
      expect.stringMatching(/^destination ams: auth\.refresh_token is no JSONata expression: /),
    ])
  })

  it('names a filter that is no JSONata, of whatever kind the destination is', () => {
    expect(checkFilter({ name: 'ams', filter: null })).toEqual([])
    expect(checkFilter({ name: 'ams', filter: 'entity = "lanes"' })).toEqual([])
    expect(checkFilter({ name: 'ams', filter: 'row.chip = ' })).toEqual([
      expect.stringMatching(/^destination ams: filter is no JSONata expression: /),
    ])
  })

  it('asks for remote_id where there is an update, which would never be sent without it', () => {
    const base = destinationTo('http://x')
    expect(checkTemplates({ ...base, update: base.request, remoteId: 'body.id' })).toEqual([])
    expect(checkTemplates({ ...base, update: base.request, remoteId: null })).toEqual([
      'destination ams: update needs remote_id: an update is sent only where the id at the target is known',
    ])
  })

  it.each(['Content-Length', 'transfer-encoding', 'Connection', 'keep-alive', 'upgrade', 'expect', 'proxy-authorization'])(
    'refuses the header %s, which belongs to the connection',
    (header) => {
      const base = destinationTo('http://x')
      const request = { ...base.request, headers: { [header]: '"5"' } }
      const update = { ...base.request, headers: { [header]: '"5"' } }
      const auth = { type: 'header', name: header, value: { reveal: () => '5' } } as const
      const why = `${header.toLowerCase()} belongs to the connection, and no request sets it; leave it out`
      expect(checkTemplates({ ...base, request, update, remoteId: 'body.id', auth })).toEqual([
        `destination ams: auth.name: ${why}`,
        `destination ams: request.headers: ${why}`,
        `destination ams: update.headers: ${why}`,
      ])
    },
  )
})
