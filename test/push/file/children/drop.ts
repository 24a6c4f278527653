// Delivers 500 rows into a folder. Arguments: the folder, and what happens: `nobody`: as a user who owns nothing. `full`: a shell has
// limited the size of files; after any input, it lifts the limit and tries again. `write`, `manifest`, `rename`, `last`: it is killed while
// rows are written, before the manifest is written, after the first rename, after the last one.
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { systemClock } from '../../../../src/base/clock.ts'
import { writeBatch } from '../../../../src/push/file/batch.ts'
import type { Drop } from '../../../../src/push/file/drop.ts'
import { folderTarget } from '../../../../src/push/file/folder.ts'
import { rowWriter } from '../../../../src/push/file/rows.ts'
import { createFile } from '../../../../src/push/kinds/file.ts'
import { silentLog } from '../../../tools/databases.ts'
import { fileDestination, pushItems } from '../support.ts'

const [path = '', point = ''] = process.argv.slice(2)
const signal = new AbortController().signal
const items = pushItems(500)
const destination = fileDestination({ type: 'folder', path }, { per: 'submission' })

if (point === 'nobody') {
  if (process.getuid?.() === 0) process.setuid?.(65_534)
  await tryOnce()
} else if (point === 'full') {
  process.on('SIGXFSZ', () => {})
  await tryOnce()
  await once(process.stdin, 'data')
  spawnSync('prlimit', ['--pid', String(process.pid), '--fsize=unlimited'])
  await tryOnce()
  process.stdin.destroy()
} else await crash()

async function tryOnce(): Promise<void> {
  const kind = createFile({ ...destination, per: 'batch' }, { clock: systemClock, log: silentLog, proxy: {} })
  const [outcome] = await kind.send(items, signal)
  console.log(`outcome ${JSON.stringify(outcome)}`)
}

async function crash(): Promise<void> {
  const drop = await folderTarget(path).open(signal)
  let [written, renamed] = [0, 0]
  const die = () => {
    process.kill(process.pid, 'SIGKILL')
    return new Promise<never>(() => {})
  }
  const failing: Drop = {
    ...drop,
    async write(name, chunks) {
      if (point === 'write') await drop.write(name, halved(chunks, die))
      if (point === 'manifest' && written === 3) await die()
      await drop.write(name, chunks)
      written++
    },
    async rename(from, to) {
      await drop.rename(from, to)
      renamed++
      if (point === 'rename' || renamed === 3) await die()
    },
  }
  const options = {
    destination,
    place: path,
    writer: rowWriter(destination),
    late: () => false,
    progress: { renaming: null, left: new Set<string>() },
    openDocument: null,
  }
  await writeBatch(inTurn(failing), items, options)
}

async function* halved(chunks: AsyncIterable<Buffer>, then: () => Promise<never>): AsyncGenerator<Buffer> {
  for await (const chunk of chunks) {
    yield chunk.subarray(0, chunk.length / 2)
    await then()
  }
}

function inTurn(drop: Drop): Drop {
  let last: Promise<unknown> = Promise.resolve()
  const turn = <T>(work: () => Promise<T>): Promise<T> => {
    const next = last.then(work)
    last = next
    return next
  }
  return { ...drop, write: (name, chunks) => turn(() => drop.write(name, chunks)), rename: (from, to) => turn(() => drop.rename(from, to)) }
}
