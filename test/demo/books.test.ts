import { expect, it } from 'vitest'
import { Books } from '../../src/demo/books.ts'
import { shortDetail } from '../../src/upstream/http/answer.ts'

it('accounting refuses the first policy with a reason until it is dead-lettered', async () => {
  const books = new Books()
  const url = await books.listen()
  try {
    const send = async (id: string) => {
      const answer = await fetch(url, { method: 'POST', headers: { 'webhook-id': id }, body: '{}' })
      return [answer.status, shortDetail(await answer.text())] as const
    }
    const refusal = [422, 'the month was closed for a minute; it is open again, so send this again']
    expect(await send('first')).toEqual(refusal)
    expect(await send('other')).toEqual([200, ''])
    expect(await send('first')).toEqual(refusal)
    expect(await send('first')).toEqual([200, ''])
  } finally {
    await books.close()
  }
})
