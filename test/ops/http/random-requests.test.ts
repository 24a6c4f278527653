import { expect, it } from 'vitest'
import { sqliteDatabase } from '../../tools/databases.ts'
import { Described } from '../../tools/described.ts'
import { askAtRandom } from '../../tools/random-requests.ts'
import { closedAtEnd } from '../../tools/servers.ts'
import { AdminRig, ALICE } from './rig.ts'

/** Streams and long actions have their own tests. */
const NOT_ASKED: readonly string[] = ['getLive', 'postBackup', 'postDoctor']

it('answers a thousand random requests as described', async () => {
  const rig = await closedAtEnd(AdminRig.open(sqliteDatabase))
  const described = new Described((await rig.ask<object>('GET', '/openapi.json')).json)
  const names = { name: ['default', 'ams', 'mapped'], account: ['default'], destination: ['ams', 'mapped'] }
  const { wrong, statuses } = await askAtRandom(rig.origin, described, {
    seed: 2,
    count: 1_000,
    operations: described.operations.filter(({ operationId }) => !NOT_ASKED.includes(operationId)),
    known: { ...names, table: ['submissions', 'thread_messages'], limit: [1, 50] },
    // Few wrong tokens, because they are limited per address.
    authorizations: [...Array.from({ length: 60 }, () => `Bearer ${ALICE}`), 'Bearer nonsense', undefined],
  })
  expect(wrong).toEqual([])
  expect([...statuses]).toEqual(expect.arrayContaining([200, 400, 401, 404, 414, 415, 422, 431]))
})
