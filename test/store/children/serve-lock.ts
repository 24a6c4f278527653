// Takes the lock of `serve` and keeps it until it gets an input or is killed. Argument: the path of the database.
import { once } from 'node:events'
import { messageOf } from '../../../src/base/errors.ts'
import { acquireServeLock } from '../../../src/store/open/serve-lock.ts'

try {
  const lock = await acquireServeLock({ kind: 'sqlite', path: process.argv[2] ?? '' })
  console.log('held')
  await once(process.stdin, 'data')
  lock.release()
  console.log('released')
} catch (error) {
  console.log('refused', (error as Error).name, messageOf(error))
}
process.exit(0)
