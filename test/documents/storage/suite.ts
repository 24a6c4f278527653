import { createHash } from 'node:crypto'
import { buffer } from 'node:stream/consumers'
import { describe, expect, it } from 'vitest'
import {
  type DocumentStorage,
  type Expected,
  foreignDocuments,
  MissingDocument,
  pathOf,
  RefusedDocument,
} from '../../../src/documents/storage/storage.ts'

/** A storage that a test may read and damage. */
export interface Rig {
  readonly storage: DocumentStorage
  /** Makes everything two hours old. */
  age(): Promise<void>
  /** All files, also half-written ones. */
  all(): Promise<readonly string[]>
  /** Leaves what a process leaves if it dies while it writes. */
  leaveHalf(): Promise<void>
}

export const anything: Expected = { maxBytes: 1 << 20, bytes: null, isPdf: false }

export async function* body(...chunks: readonly (string | Uint8Array)[]): AsyncGenerator<Uint8Array> {
  for (const chunk of chunks) yield Buffer.from(chunk)
}

export function sha256(text: string | Uint8Array): string {
  return createHash('sha256').update(text).digest('hex')
}

export async function collected(storage: DocumentStorage): Promise<string[]> {
  const paths: string[] = []
  for await (const path of storage.paths()) paths.push(path)
  return paths.sort()
}

export const none = () => Promise.resolve(new Set<string>())

export function storageSuite(name: string, rig: () => Promise<Rig>): void {
  describe(name, () => {
    it('keeps a document under its hash, and gives it back', async () => {
      const { storage } = await rig()
      const kept = await storage.keep(body('%P', 'DF-1.7', ' and more'), { maxBytes: 17, bytes: 17, isPdf: true })
      const hash = sha256('%PDF-1.7 and more')
      expect(kept).toEqual({ sha256: hash, bytes: 17, path: `${hash.slice(0, 2)}/${hash}` })
      expect((await buffer(await storage.read(kept.path))).toString()).toBe('%PDF-1.7 and more')
      expect(await storage.size(kept.path)).toBe(17)
      expect(await collected(storage)).toEqual([kept.path])
    })

    it('keeps the same bytes once, however often and however many at a time', async () => {
      const { storage, all } = await rig()
      const kept = await Promise.all(Array.from({ length: 8 }, () => storage.keep(body('the same'), anything)))
      expect(new Set(kept.map(({ path }) => path)).size).toBe(1)
      expect(await all()).toHaveLength(1)
    })

    it('belongs to one mirror, and rejects another mirror', async () => {
      const { storage } = await rig()
      const foreign = async (mirror: string) => foreignDocuments(storage.place, { owner: await storage.owner(), mirror })
      expect([await storage.owner(), await foreign('mine')]).toEqual([null, null])
      await storage.takeFor('mine')
      expect([await storage.owner(), await foreign('mine')]).toEqual(['mine', null])
      expect(await foreign('yours')).toContain('names mine, and this mirror is yours): check DATABASE_URL')
      expect(await collected(storage)).toEqual([])
      expect(await storage.sweep(none)).toBe(0)
      expect(await storage.owner()).toBe('mine')
    })

    const refused: readonly (readonly [string, Partial<Expected>, readonly string[], RegExp])[] = [
      ['one byte too long', { maxBytes: 3 }, ['ab', 'cd'], /more than 3 bytes, but at most 3 bytes are allowed/],
      ['promised too long', { maxBytes: 3, bytes: 4 }, ['abcd'], /has 4 bytes, but at most 3 bytes are allowed/],
      ['shorter than promised', { bytes: 5 }, ['abcd'], /ended after 4 of the 5 bytes/],
      ['longer than promised', { bytes: 3 }, ['ab', 'cd'], /longer than the 3 bytes/],
      ['empty', {}, [], /is empty/],
      ['empty, as promised', { bytes: 0 }, [], /is empty/],
      ['no PDF', { isPdf: true }, ['<html>'], /does not begin with %PDF-/],
      ['no PDF from its fourth byte', { isPdf: true }, ['%P', 'D', '-', 'F'], /does not begin with %PDF-/],
      ['the beginning of a PDF', { isPdf: true }, ['%PDF'], /does not begin with %PDF-/],
    ]
    it.each(refused)('refuses a document that is %s, and keeps nothing', async (_, expected, chunks, message) => {
      const { storage, all } = await rig()
      const kept = storage.keep(body(...chunks), { ...anything, ...expected })
      await expect(kept).rejects.toThrow(RefusedDocument)
      await expect(kept).rejects.toThrow(message)
      expect(await all()).toEqual([])
    })

    it('keeps nothing when the bytes break off, and throws what broke them off', async () => {
      const { storage, all } = await rig()
      const broken = new Error('the connection was cut')
      async function* cut(): AsyncGenerator<Uint8Array> {
        yield Buffer.from('half')
        throw broken
      }
      await expect(storage.keep(cut(), anything)).rejects.toBe(broken)
      expect(await all()).toEqual([])
    })

    it('stops reading a body that it refuses', async () => {
      const { storage } = await rig()
      let [taken, isClosed] = [0, false]
      async function* endless(): AsyncGenerator<Uint8Array> {
        try {
          for (; taken < 1000; taken++) yield Buffer.alloc(1024)
        } finally {
          isClosed = true
        }
      }
      await expect(storage.keep(endless(), { ...anything, maxBytes: 4096 })).rejects.toThrow(RefusedDocument)
      expect([taken, isClosed]).toEqual([4, true])
    })

    it('reports a missing document, and reads only paths of documents', async () => {
      const { storage } = await rig()
      const path = pathOf(sha256('never kept'))
      await expect(storage.read(path)).rejects.toThrow(MissingDocument)
      await expect(storage.read(path)).rejects.toThrow(new RegExp(`${path} is missing in `))
      expect(await storage.size(path)).toBeNull()
      await storage.remove(path)
      for (const wrong of ['../../etc/passwd', '/etc/passwd', '', 'ab', `aa/${'b'.repeat(64)}`, `${path}/..`]) {
        await expect(storage.read(wrong), wrong).rejects.toThrow(MissingDocument)
        await expect(storage.size(wrong), wrong).rejects.toThrow(MissingDocument)
        await expect(storage.remove(wrong), wrong).rejects.toThrow(MissingDocument)
      }
    })

    it('removes a document', async () => {
      const { storage, all } = await rig()
      const { path } = await storage.keep(body('to be removed'), anything)
      await storage.remove(path)
      expect(await all()).toEqual([])
      await expect(storage.read(path)).rejects.toThrow(MissingDocument)
    })

    it('sweeps half-written files and unknown documents, once they are old', async () => {
      const { storage, age, all, leaveHalf } = await rig()
      const [known, unknown] = [await storage.keep(body('known'), anything), await storage.keep(body('unknown'), anything)]
      await leaveHalf()
      const asked: string[] = []
      const ask = (paths: readonly string[]) => {
        asked.push(...paths)
        return Promise.resolve(new Set([known.path]))
      }
      expect(await storage.sweep(ask)).toBe(0)
      expect(asked).toEqual([])
      expect(await all()).toHaveLength(3)
      await age()
      expect(await storage.sweep(ask)).toBe(2)
      expect(asked.sort()).toEqual([known.path, unknown.path].sort())
      expect(await all()).toHaveLength(1)
      expect((await buffer(await storage.read(known.path))).toString()).toBe('known')
      expect(await storage.sweep(ask)).toBe(0)
    })

    it('does not sweep a document that is stored again while the database is asked', async () => {
      const { storage, age } = await rig()
      const { path } = await storage.keep(body('again'), anything)
      await age()
      const ask = async () => {
        await storage.keep(body('again'), anything)
        return new Set<string>()
      }
      expect(await storage.sweep(ask)).toBe(0)
      expect(await storage.size(path)).toBe(5)
    })

    it('sweeps many in batches', async () => {
      const { storage, age, all } = await rig()
      for (let n = 0; n < 25; n++) await storage.keep(body(`document ${n}`), anything)
      await age()
      expect(await storage.sweep(none)).toBe(25)
      expect(await all()).toEqual([])
    })

    it('is checked without a trace', async () => {
      const { storage, all } = await rig()
      await storage.check()
      expect(await all()).toEqual([])
    })

    it('sweeps and lists an empty storage', async () => {
      const { storage } = await rig()
      expect(await collected(storage)).toEqual([])
      expect(await storage.sweep(none)).toBe(0)
    })
  })
}
