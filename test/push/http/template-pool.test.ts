import { readFileSync } from 'node:fs'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { TransientError } from '../../../src/base/errors.ts'
import { Templates } from '../../../src/push/http/templates.ts'
import { type Child, startChild } from '../../tools/child.ts'
import { isAlive } from '../../tools/processes.ts'
import { endEvaluators, evaluators } from './evaluators.ts'

const ENDLESS = '($loop := function($n) { $loop($n + 1) }; $loop(0))'

function open(text: string, deadlineMs?: number): Templates {
  const templates = new Templates([{ name: 'value', text }], deadlineMs)
  onTestFinished(() => templates.close())
  return templates
}

function start(way: string): Child {
  const child = startChild('push/http/children/evaluating.ts', [way])
  onTestFinished(() => child.kill())
  return child
}

beforeEach(endEvaluators)

function evaluator(pid = process.pid): number {
  const found = evaluators(pid)
  expect(found).toHaveLength(1)
  return found[0] as number
}

describe('the processes that evaluate', () => {
  it('are shared by all destinations, and know nothing of the environment', async () => {
    process.env['TEMPLATES_SECRET'] = 'a secret of the settings'
    onTestFinished(() => void delete process.env['TEMPLATES_SECRET'])
    const [first, second] = [open('1'), open('2')]
    expect(await first.evaluate(['value'], {})).toEqual([1])
    const pid = evaluator()
    expect(await second.evaluate(['value'], {})).toEqual([2])
    expect(evaluator()).toBe(pid)
    const environment = readFileSync(`/proc/${pid}/environ`, 'utf8')
    expect(environment.split('\0').map((each) => each.split('=')[0])).toEqual(
      expect.not.arrayContaining(['TEMPLATES_SECRET', 'PATH', 'HOME']),
    )
  })

  it('of a destination that never end do not delay others', async () => {
    const [stuck, fine] = [open(ENDLESS, 30_000), open('n')]
    const ends: string[] = []
    const bad = [1, 2, 3].map((n) => stuck.evaluate(['value'], {}).catch(() => ends.push(`stuck ${n}`)))
    for (const n of [1, 2, 3, 4]) {
      await fine.evaluate(['value'], { n })
      ends.push(`fine ${n}`)
    }
    stuck.close()
    await Promise.all(bad)
    expect(ends).toEqual(['fine 1', 'fine 2', 'fine 3', 'fine 4', 'stuck 1', 'stuck 2', 'stuck 3'])
  })

  it('finish their job though the terminal or systemd signals them, too', async () => {
    const templates = open('$count($map([1..50000], function($n) { $uppercase($string($n)) }))', 60_000)
    await templates.evaluate(['value'], {})
    const value = templates.evaluate(['value'], {})
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.kill(evaluator(), signal)
    expect(await value).toEqual([50_000])
  })

  it('that the system ends fail their job as something that passes', async () => {
    const templates = open(ENDLESS, 60_000)
    await open('1').evaluate(['value'], {})
    const value = templates.evaluate(['value'], {})
    const failed = expect(value).rejects.toThrow(new TransientError('value could not be evaluated: the system ended the process'))
    process.kill(evaluator(), 'SIGKILL')
    await failed
    expect(await open('3').evaluate(['value'], {})).toEqual([3])
  })

  it('end with the program, in any state', async () => {
    for (const end of ['SIGKILL', 'exit'] as const) {
      const program = start('endless')
      await program.says('evaluating')
      const pid = evaluator(program.process.pid)
      if (end === 'exit') program.tell(end)
      else program.process.kill(end)
      await program.ended()
      await expect.poll(() => isAlive(pid)).toBe(false)
    }
  })
})

describe('a short command', () => {
  // Moments at which only an evaluation kept the program alive.
  it.each([
    'evaluates',
    'closes after several',
    'closes while the process starts',
    'closes while it evaluates',
    'goes on after an end',
    'uses too much memory',
  ])('ends with its own result when it %s', async (way) => {
    const program = start(way)
    expect(await program.says('result ')).toBe('as expected')
    expect(await program.ended()).toBe(0)
  })
})
