import { expect, test } from 'vitest'
import { together } from '../../src/base/together.ts'

/** Something that is asked, and answered by hand. */
function byHand() {
  const asked: PromiseWithResolvers<string>[] = []
  const ask = together(() => {
    const one = Promise.withResolvers<string>()
    asked.push(one)
    return one.promise
  })
  return { ask, asked }
}

test('callers during a call share the next one, which begins when it has ended', async () => {
  const { ask, asked } = byHand()
  const first = ask()
  const [second, third] = [ask(), ask()]
  expect(asked).toHaveLength(1)
  asked[0]?.resolve('one')
  expect(await first).toBe('one')
  expect(asked).toHaveLength(2)
  const fourth = ask()
  asked[1]?.resolve('two')
  expect(await Promise.all([second, third])).toEqual(['two', 'two'])
  asked[2]?.resolve('three')
  expect(await fourth).toBe('three')
  expect(asked).toHaveLength(3)
})

test('a failure reaches only the callers that share it', async () => {
  const { ask, asked } = byHand()
  const [first, second, third] = [ask(), ask(), ask()]
  asked[0]?.reject(new Error('away'))
  await expect(first).rejects.toThrow('away')
  asked[1]?.reject(new Error('still away'))
  await expect(second).rejects.toThrow('still away')
  await expect(third).rejects.toThrow('still away')
  const fourth = ask()
  asked[2]?.resolve('back')
  expect(await fourth).toBe('back')
})
