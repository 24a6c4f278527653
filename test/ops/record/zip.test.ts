import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { buffer } from 'node:stream/consumers'
import { expect, it } from 'vitest'
import { fromBufferPromise } from 'yauzl'
import { zipOf } from '../../../src/ops/record/zip.ts'

const MIB = randomBytes(1 << 20)

it('packs files one after the other, and only as fast as the archive is read', async () => {
  let read = 0
  async function* endless() {
    for (;;) {
      read += 1
      yield MIB
    }
  }
  let failure: unknown
  const archive = zipOf(new Date(), async (pack) => {
    await pack('endless', endless()).catch((error: unknown) => {
      failure = error
      throw error
    })
  })
  await once(archive, 'readable')
  await new Promise((resolve) => setTimeout(resolve, 50))
  expect(read).toBeLessThan(10)
  archive.destroy()
  await expect.poll(() => failure).toBeInstanceOf(Error)
})

it('returns the hash of each file', async () => {
  const hashes: string[] = []
  const archive = zipOf(new Date(), async (pack) => {
    hashes.push(await pack('a.txt', ['one', 'two']), await pack('b/c.txt', []))
  })
  const zip = await fromBufferPromise(await buffer(archive))
  const names: string[] = []
  for await (const { fileName, uncompressedSize } of zip.eachEntry()) names.push(`${fileName} ${uncompressedSize}`)
  expect(names).toEqual(['a.txt 6', 'b/c.txt 0'])
  expect(hashes).toEqual(['onetwo', ''].map((text) => createHash('sha256').update(text).digest('hex')))
})

it('fails with the error of the writer', async () => {
  const archive = zipOf(new Date(), async () => {
    throw new Error('the storage is away')
  })
  await expect(buffer(archive)).rejects.toThrow('the storage is away')
})
