import { describe, expect, it, onTestFinished } from 'vitest'
import { openAgain, testDatabases } from '../tools/databases.ts'
import { messageFact, uuid, wireMessage } from '../tools/facts.ts'
import { applyAll } from '../tools/mirror.ts'

const ACCOUNT = 'default'

describe.each(testDatabases)('a document that two submissions name, on $name', ({ open }) => {
  it('is stored once when both become known at the same time, and nobody need come again for it', async () => {
    const { db, config, close } = await open()
    const other = await openAgain(config)
    onTestFinished(async () => {
      await other.close()
      await close()
    })
    for (let n = 0; n < 30; n++) {
      await Promise.all([db, other].map((each, index) => applyAll(each, [messageFact(ACCOUNT, uuid(9, index), wireMessage(n))])))
    }
    const documents = await db.read.sql.selectFrom('documents').select('document_key').execute()
    expect(documents.length).toBeGreaterThan(0)
    expect(new Set(documents.map((row) => row.document_key)).size).toBe(documents.length)
  })
})
