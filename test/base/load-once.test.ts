import { describe, expect, it, onTestFinished } from 'vitest'
import { loadOnce } from '../../src/base/load-once.ts'
import { startChild } from '../tools/child.ts'

it('a load is shared by all callers, and repeated after a failure', async () => {
  const results = [Promise.reject(new Error('too many open files')), Promise.resolve({})]
  const load = loadOnce(() => results.shift() as Promise<object>)
  const failed = [load(), load()]
  for (const each of failed) await expect(each).rejects.toThrow('too many open files')
  expect(await load()).toBe(await load())
})

describe('a process that could not open files for the first load of', () => {
  it.each(['queue', 'bucket'])('a %s loads its client later', async (what) => {
    const child = startChild('base/children/few-files.ts', [what], 'ulimit -n 200')
    onTestFinished(() => child.kill())
    expect(await child.says('without: ')).toContain('EMFILE')
    expect(await child.says('with: ')).toMatch(/ECONNREFUSED/)
  })
})
