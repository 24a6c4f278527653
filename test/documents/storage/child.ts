// Keeps a document in a folder, and dies where a test wants:  node child.ts FOLDER TEXT KILL_AT  Each call to the file system counts;
// before call KILL_AT it is killed, with 0 never. It prints each call, then the path that it kept, or the error.
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'

const [folder = '', text = '', killAt = '0'] = process.argv.slice(2)
let calls = 0

function count(name: string): void {
  calls += 1
  fs.writeSync(1, `${name}\n`)
  if (calls === Number(killAt)) process.kill(process.pid, 'SIGKILL')
}

function watch(methods: Record<string, unknown>, names: readonly string[], prefix: string): void {
  for (const name of names) {
    const original = methods[name] as (...values: unknown[]) => unknown
    methods[name] = function counted(this: unknown, ...values: unknown[]) {
      count(`${prefix}${name}`)
      return original.apply(this, values)
    }
  }
}

const handle = await fs.promises.open(import.meta.filename, 'r')
watch(Object.getPrototypeOf(handle) as Record<string, unknown>, ['writeFile', 'sync'], 'file.')
await handle.close()
watch(fs.promises as unknown as Record<string, unknown>, ['open', 'mkdir', 'rename', 'rm'], '')
syncBuiltinESMExports()
const { FolderStorage } = await import('../../../src/documents/storage/folder.ts')

async function* body(): AsyncGenerator<Uint8Array> {
  for (const half of [text.slice(0, 5), text.slice(5)]) yield Buffer.from(half)
}
const kept = new FolderStorage(folder).keep(body(), { maxBytes: 1 << 20, bytes: text.length, isPdf: false })
console.log(
  await kept.then(
    ({ path }) => path,
    (error: Error) => error.message,
  ),
)
